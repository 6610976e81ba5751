"""Runs whose state is on a store: killed at each write to it, overtaken there, or one beside the other."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from conftest import AT_LENGTH
from kcompact.broker.state.cleaner_state import CleanerState
from kcompact.broker.state.state_of_dump import state_that_counts
from kcompact.broker.state.state_output import OutputFile
from kcompact.broker.state.state_places import read_states
from nights import NIGHTS, STATE, expected, now_ms, put_nights, stored_line
from s3_server import S3
from store_proxy import Proxy, Request, store_proxy
from store_runs import SECONDS, run_kcompact

pytestmark = pytest.mark.spark
WITHOUT_SPARK = Path(__file__).parents[1] / "support" / "without_spark.py"
WRITES = {"PUT", "POST", "DELETE"}


def line_here(night: int) -> tuple[str, ...]:
    """As ``stored_line``, of a dump that is replaced where it lies on the disk."""
    inputs = [*(["out.jsonl"] if night else []), f"s3://bucket/new-{night}/"]
    line = ("compact", *inputs, "-o", "out.jsonl", "--state", STATE)
    return (*line, "--overwrite", "--now", str(now_ms(night)))


def outputs_of(files: Mapping[str, bytes]) -> dict[str, OutputFile]:
    return {
        name: OutputFile(name, len(content), hashlib.sha256(content).hexdigest())
        for name, content in files.items()
    }


def lines_of(files: Mapping[str, bytes]) -> list[str]:
    return sorted(b"".join(files.values()).decode().splitlines(keepends=True))


@dataclass
class SecondNight:
    """The run that is killed: its command line, and what is there before it."""

    where: str
    proxy: Proxy
    folder: Path
    objects: dict[str, bytes] = field(default_factory=dict)
    states: list[CleanerState] = field(default_factory=list)  # before and after the night

    @property
    def line(self) -> tuple[str, ...]:
        return stored_line(1) if self.where == "on the store" else line_here(1)

    def prepare(self) -> None:
        """The night before, and this one to its end, of which Spark's work is kept."""
        put_nights(self.proxy.store)
        first = stored_line(0) if self.where == "on the store" else line_here(0)
        (self.folder / "here").mkdir()
        (self.folder / "temporary").mkdir()
        first = tuple(word.replace("out.jsonl", str(self.folder / "here" / "out.jsonl")) for word in first)
        run = run_kcompact(*first, environment={}, folder=self.folder / "temporary")
        assert run.returncode == 0, run.stderr
        self.states += read_states(STATE)
        self.objects = self.proxy.store.objects("s3://bucket/")
        shutil.copytree(self.folder / "here", self.folder / "before")
        process = self.start("keep")
        assert process.wait(SECONDS) == 0, process.communicate()
        self.states += read_states(STATE)
        assert lines_of(self.dump()) == expected(NIGHTS[:2])

    def restore(self) -> None:
        self.proxy.store.remove("s3://bucket/")
        for name, content in self.objects.items():
            self.proxy.store.put(f"s3://bucket/{name}", content)
        shutil.rmtree(self.folder / "here")
        shutil.copytree(self.folder / "before", self.folder / "here")

    def start(self, mode: str = "find", lease: str = "600 1") -> "subprocess.Popen[str]":
        kept = str(self.folder / "kept")
        return subprocess.Popen(
            [sys.executable, str(WITHOUT_SPARK), lease, mode, kept, *self.line],
            cwd=self.folder / "here",
            env=os.environ | self.proxy.store.environment | {"TMPDIR": str(self.folder / "temporary")},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def dump(self) -> dict[str, bytes]:
        """The files of the dump that this night, or the one before, has left."""
        if self.where == "on a disk":
            return {"out.jsonl": (self.folder / "here" / "out.jsonl").read_bytes()}
        for night in (1, 0):
            objects = self.proxy.store.objects(f"s3://bucket/out-{night}/")
            if "_kcompact.json" in objects:
                named = json.loads(objects["_kcompact.json"])["parts"]
                return {part["name"]: objects[part["name"]] for part in named}
        raise AssertionError

    def found(self) -> str:
        """Old or new: the dump that is there, and the state that counts beside it; fails for a mixture."""
        dump = self.dump()
        which = {tuple(expected(NIGHTS[:n])): n - 1 for n in (1, 2)}[tuple(lines_of(dump))]
        assert state_that_counts(read_states(STATE), outputs_of(dump)) == self.states[which]
        return ("old", "new")[which]


@pytest.fixture(
    scope="module", params=["on the store", pytest.param("on a disk", marks=pytest.mark.at_length)]
)
def prepared(
    request: pytest.FixtureRequest, store: S3, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SecondNight]:
    store.remove("s3://bucket/")
    with pytest.MonkeyPatch.context() as patch, store_proxy(store) as proxy:
        for name, value in proxy.store.environment.items():
            patch.setenv(name, value)
        night = SecondNight(request.param, proxy, tmp_path_factory.mktemp("night"))
        night.prepare()
        yield night


@pytest.fixture
def night(prepared: SecondNight) -> Iterator[SecondNight]:
    prepared.restore()
    yield prepared
    prepared.proxy.fault = lambda _: None


def killed_at(night: SecondNight, number: int) -> tuple[bool, str]:
    """Kill a run right before a write reaches the store; whether there was one, and what it said."""
    asked: list[Request] = []

    def kill(request: Request) -> int | None:
        asked.extend([request] if request.method in WRITES else [])
        if len(asked) < number:
            return None
        os.kill(process.pid, signal.SIGKILL)
        return 403

    process = night.start()
    night.proxy.fault = kill
    _, said = process.communicate(timeout=SECONDS)
    night.proxy.fault = lambda _: None
    assert process.returncode in (0, -signal.SIGKILL), said
    return process.returncode != 0, said


def test_a_kill_at_each_write_leaves_all_old_or_all_new(night: SecondNight) -> None:
    """Then the same line again does the night's work, or the next night goes on."""
    every = 1 if AT_LENGTH else 5
    found, number, died = [], 0, True
    while died:
        number += every
        died, said = killed_at(night, number)
        found.append(night.found())
        if died and found[-1] == "old" and number % (3 * every) == 0:
            again = night.start()
            _, said = again.communicate(timeout=SECONDS)
            assert again.returncode == 0, said
            assert "locked by another run" in said
            assert night.found() == "new"
        night.restore()
    assert {"old", "new"} == set(found)
    assert found == sorted(found, reverse=True)


def test_the_night_after_a_kill_goes_on_from_the_dump_that_is_there(night: SecondNight) -> None:
    """The dump is published, and the state does not say so yet."""
    written: list[str] = []

    def kill(request: Request) -> int | None:
        written.extend([request.path] if request.method == "PUT" and "state.json" in request.path else [])
        if len(written) < 2:
            return None
        os.kill(process.pid, signal.SIGKILL)
        return 403

    process = night.start()
    night.proxy.fault = kill
    process.communicate(timeout=SECONDS)
    night.proxy.fault = lambda _: None
    assert night.found() == "new"
    assert len(read_states(STATE)) == 2
    night.proxy.store.remove_one(f"{STATE}lock")  # by hand: else the run waits before it takes the lock over
    line = stored_line(2) if night.where == "on the store" else line_here(2)
    here = str(night.folder / "here" / "out.jsonl")
    line = tuple(word.replace("out.jsonl", here) for word in line)
    run = run_kcompact(*line, environment={}, folder=night.folder / "temporary")
    assert run.returncode == 0, run.stderr
    store = night.proxy.store.objects("s3://bucket/out-2/")
    parts = {name: content for name, content in store.items() if name.startswith("part-")}
    assert lines_of(parts or night.dump()) == expected(NIGHTS)
    assert len(read_states(STATE)) == 1


def test_a_run_whose_state_another_has_changed_publishes_nothing(night: SecondNight) -> None:
    other = night.objects["orders.state/state.json"] + b"\n"

    def overtake(request: Request) -> None:
        if request.method == "PUT" and "state.json" in request.path:
            behind.put(f"{STATE}state.json", other)

    before = night.dump()
    behind = S3(night.proxy.behind)
    process = night.start()
    night.proxy.fault = overtake
    _, said = process.communicate(timeout=SECONDS)
    assert process.returncode == 2, said
    assert f"{STATE}: another run has changed this state since this one began; nothing was written" in said
    assert night.dump() == before
    assert behind.objects("s3://bucket/out-1/") == {}
    assert behind.objects(STATE) == {"state.json": other}


def test_of_two_runs_at_once_one_wins_and_the_other_says_who_does(night: SecondNight) -> None:
    is_held, may_go_on = threading.Event(), threading.Event()

    def hold(request: Request) -> None:
        if request.method == "PUT" and "state.json" in request.path:
            is_held.set()
            may_go_on.wait(SECONDS)

    night.proxy.fault = hold
    first = night.start(lease="0.2 60")
    assert is_held.wait(SECONDS)
    second = night.start(lease="0.2 60")
    _, said = second.communicate(timeout=SECONDS)
    may_go_on.set()
    _, also_said = first.communicate(timeout=SECONDS)
    assert (first.returncode, second.returncode) == (0, 2), also_said + said
    assert f"{STATE}: in use by another run (process {first.pid} on " in said
    assert night.found() == "new"
