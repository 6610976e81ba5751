"""Whole processes are killed at random moments: their driver, their Java or a worker of theirs.

Dump, report and state are then wholly the old ones or wholly the new ones, together; ``dirty-ratio --state``
follows, which settles what was half published, then the same command line once more, to its end.
KCOMPACT_KILLS kills (default 4) from KCOMPACT_TORTURE_SEED on.
"""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from old_and_new import GO_ON, KILLS, RECORDS, Campaign, Cli, follow, lines, prepared

from engine_runs import SECONDS, is_clean, processes_of, wait_until
from kcompact.storage.scratch import scratch_folder

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]
SEED = int(os.environ.get("KCOMPACT_TORTURE_SEED", "0"))


@pytest.fixture
def campaign(
    tmp_path: Path, kcompact: Cli, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Campaign:
    """Everything that is there before a run is killed."""
    return prepared(tmp_path, kcompact, monkeypatch, capsys)


def start(folder: Path, temporary: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "kcompact", *GO_ON.split(), "--master", "local[2]"],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(temporary)},
    )


@pytest.fixture(scope="module")
def seconds_of_a_run(tmp_path_factory: pytest.TempPathFactory) -> float:
    """How long a process takes that nobody kills."""
    folder, temporary = tmp_path_factory.mktemp("run"), tmp_path_factory.mktemp("temporary")
    for name, first in (("out.jsonl", 0), ("more.jsonl", RECORDS)):
        (folder / name).write_text(lines(first, first + RECORDS))
    started = time.monotonic()
    _, err = start(folder, temporary).communicate(timeout=SECONDS)
    assert (folder / "report").exists(), err
    return time.monotonic() - started


def victims(process: subprocess.Popen[str], temporary: Path, kind: str) -> list[int]:
    if kind == "driver":
        return [process.pid]
    word = {"java": "PythonGatewayServer", "worker": "worker_daemon"}[kind]
    return [pid for pid, command in processes_of(temporary).items() if word in command]


def _is_clean_after_a_run(temporary: Path) -> bool:
    """Java lets go of its folder a moment after it has ended for all who look at processes."""
    with scratch_folder(temporary):  # as any run makes that writes there
        pass
    return is_clean(temporary)


@pytest.mark.parametrize("seed", range(SEED, SEED + KILLS))
def test_a_kill_at_a_random_moment_leaves_all_old_or_all_new(
    seed: int,
    campaign: Campaign,
    seconds_of_a_run: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chance = random.Random(seed)
    kind, share = chance.choice(["driver", "driver", "java", "worker"]), chance.random()
    folder, temporary = campaign.fresh("run"), campaign.folder / "temporary"
    temporary.mkdir()
    monkeypatch.chdir(folder)
    process = start(folder, temporary)
    time.sleep(share * seconds_of_a_run)
    assert wait_until(lambda: process.poll() is not None or victims(process, temporary, kind) != [])
    killed = victims(process, temporary, kind)
    for pid in killed:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    _, err = process.communicate(timeout=SECONDS)
    note = f"seed {seed}: {len(killed)} of {kind} killed: exit {process.returncode} {err}"
    assert process.returncode in (0, 2) or (kind == "driver" and process.returncode == -signal.SIGKILL), note
    assert "Traceback" not in err, note
    found = follow(folder, campaign, in_full=True)
    assert process.returncode != 2 or found == "old", note
    assert wait_until(lambda: not processes_of(temporary), 20), note
    assert wait_until(lambda: _is_clean_after_a_run(temporary), 20), note
    campaign.tell(f"seed {seed}: {len(killed)} of {kind}: exit {process.returncode}, all {found}")
