"""Inputs that grow, shrink, vanish or are replaced while they are read, and inputs that are no plain files.

Changes are made between the stages of a run, all of which read the file (KCOMPACT_TORTURE_COUNT of 10,000 and
more: every change at every moment). Whatever else goes wrong by them, the input is named, nothing is written,
nothing stays.
"""

import functools
import importlib
import json
import os
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import Run

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]
Cli = Callable[..., Run]
IS_LONG = int(os.environ.get("KCOMPACT_TORTURE_COUNT", "1000")) >= 10_000
MOST_SECONDS = 60
HOLE_BYTES = 64 << 20


def line(offset: int, key: str = "k") -> str:
    return f'{{"topic":"t","partition":0,"offset":{offset},"timestamp":1,"key":"{key}","value":"v"}}\n'


def lines(records: int = 200) -> str:
    return "".join(line(offset, f"k{offset % 50}") for offset in range(records))


def grow(path: Path) -> None:
    with path.open("a") as out:
        out.write(line(1_000))


def shrink(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2 - 7)


def empty(path: Path) -> None:
    os.truncate(path, 0)


def vanish(path: Path) -> None:
    path.unlink()


def replace(path: Path) -> None:
    other = path.with_name("other")
    other.write_text(lines(20))
    other.rename(path)


def rewrite(path: Path) -> None:
    """The same size and time, other records."""
    before = path.stat()
    path.write_text(path.read_text().replace("v", "w", 1))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES = [grow, shrink, empty, vanish, replace, rewrite]
COMPACT = "compact in/a.jsonl -o out.jsonl --report report --overwrite"
# A command line, and the functions that are called at its moments: before the first of which, or after it.
MOMENTS = [
    (COMPACT, "kcompact.commands.compact_run.compact_dump", "before"),
    (COMPACT, "kcompact.compact.read_dump.check_notes", "before"),  # between its two passes
    (COMPACT, "kcompact.commands.compact_run.compact_dump", "after"),
    (f"{COMPACT} --state state", "kcompact.commands.compact_run.compact_dump", "before"),
    (f"{COMPACT} --state state", "kcompact.compact.offset_maps.decided_keys.log_contexts", "after"),
    (f"{COMPACT} --segment-bytes 1KiB", "kcompact.compact.whole_logs.decided_records.clean_records", "after"),
    (f"{COMPACT} --state state", "kcompact.commands.compact_run.compact_dump", "after"),
    (
        "compact b.jsonl --read-committed in/a.jsonl -o out.jsonl",
        "kcompact.compact.whole_logs.decided_records.log_contexts",
        "after",
    ),
    ("inspect in/a.jsonl", "kcompact.commands.inspect_run.inspect_dump", "before"),
    ("inspect in/a.jsonl", "kcompact.commands.inspect_run.inspect_dump", "after"),
    ("inspect in/a.jsonl --key k1", "kcompact.commands.inspect_keys_run.key_histories", "before"),
    ("dirty-ratio in/a.jsonl", "kcompact.commands.dirty_ratio_run.scan_dump", "before"),
    ("dirty-ratio in/a.jsonl", "kcompact.commands.dirty_ratio_run.scan_dump", "after"),
    (
        "dirty-ratio b.jsonl --read-committed in/a.jsonl",
        "kcompact.commands.dirty_ratio_run.scan_dump",
        "after",
    ),
    ("verify in/a.jsonl b.jsonl", "kcompact.commands.verify_run.read_dumps", "before"),
    ("verify in/a.jsonl b.jsonl", "kcompact.commands.verify_run.read_dumps", "after"),
    ("verify b.jsonl in/a.jsonl", "kcompact.commands.verify_run.read_dumps", "after"),
    (
        "verify b.jsonl b.jsonl --read-committed in/a.jsonl",
        "kcompact.commands.verify_run.read_dumps",
        "after",
    ),
]
PAIRS = [
    pytest.param(moment, change, id=f"{number}-{change.__name__}")
    for number, moment in enumerate(MOMENTS)
    for at, change in enumerate(CHANGES)
    if IS_LONG or (number + at) % len(CHANGES) in (0, 1)
]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder: the dump that will move, one that stays, and what an older run left."""
    (tmp_path / "in").mkdir()
    for name in ("in/a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text(lines())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def around(
    monkeypatch: pytest.MonkeyPatch, name: str, when: str, moved: Callable[[], None]
) -> Callable[[], bool]:
    """Have ``moved`` called once, before or after the first call of a function; tells whether it was."""
    module, _, function = name.rpartition(".")
    real = getattr(importlib.import_module(module), function)
    left = [moved]

    @functools.wraps(real)
    def called(*arguments: Any, **named: Any) -> Any:
        if when == "before" and left:
            left.pop()()
        result = real(*arguments, **named)
        if left:
            left.pop()()
        return result

    monkeypatch.setattr(name, called)
    return lambda: not left


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(("moment", "change"), PAIRS)
def test_an_input_that_moves_is_named_and_nothing_written(
    moment: tuple[str, str, str],
    change: Callable[[Path], None],
    place: Path,
    kcompact: Cli,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    command, function, when = moment
    monkeypatch.setattr("kcompact.compact.pipeline.LARGEST_SINGLE_TASK_BYTES", 0)  # stages, not one task
    if "--overwrite" in command:
        assert kcompact(*command.split()).exit_code == 0
    has_happened = around(monkeypatch, function, when, lambda: change(place / "in" / "a.jsonl"))
    before = {name: data for name, data in contents(place).items() if not name.startswith("in/")}
    run = kcompact(*command.split())
    assert has_happened()
    assert (run.exit_code, run.stdout) == (2, "")
    assert "error: in/a.jsonl changed while it was read" in run.stderr
    assert "remove" not in run.stderr
    assert {name: data for name, data in contents(place).items() if not name.startswith("in/")} == before
    assert list(Path(tempfile.gettempdir()).iterdir()) == []


def test_a_pipe_is_read_as_a_file_is(place: Path, kcompact: Cli) -> None:
    os.mkfifo("pipe.jsonl")
    for text, exit_code in ((lines(), 0), (lines()[:-9], 2), ("", 2)):
        writer = threading.Thread(target=Path("pipe.jsonl").write_text, args=(text,), daemon=True)
        writer.start()
        run = kcompact("compact", "pipe.jsonl", "-o", "out.jsonl", "--overwrite", "--no-report")
        writer.join()
        assert run.exit_code == exit_code, run.stderr
        assert exit_code == 0 or "pipe.jsonl" in run.stderr
    assert kcompact("compact", "b.jsonl", "-o", "same.jsonl", "--no-report").exit_code == 0
    assert (place / "out.jsonl").read_bytes() == (place / "same.jsonl").read_bytes()


def test_a_descriptor_is_the_file_that_it_is_open_for(place: Path, kcompact: Cli) -> None:
    """A worker has other descriptors, or none, by the same numbers."""
    with Path("b.jsonl").open("rb") as source:
        path = f"/proc/self/fd/{source.fileno()}"
        Path("link.jsonl").symlink_to(path)
        assert kcompact("compact", path, "-o", "out.jsonl", "--no-report").exit_code == 0
        assert kcompact("inspect", "link.jsonl").exit_code == 0
        run = kcompact("compact", path, "-o", "b.jsonl", "--overwrite", "--no-report")
        assert (run.exit_code, "is an input of this run" in run.stderr) == (2, True)
        assert kcompact("compact", "b.jsonl", "-o", "same.jsonl", "--no-report").exit_code == 0
        Path("b.jsonl").unlink()
        run = kcompact("compact", path, "-o", "gone.jsonl", "--no-report")
        assert run.exit_code == 0, run.stderr
    same = (place / "same.jsonl").read_bytes()
    assert same == (place / "out.jsonl").read_bytes() == (place / "gone.jsonl").read_bytes()


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("dump", ["b.jsonl", "in"])
def test_what_a_path_of_this_process_leads_to_is_read_by_workers(dump: str, kcompact: Cli) -> None:
    """A worker has another working folder."""
    run = kcompact("inspect", f"/proc/self/cwd/{dump}", "--format", "json")
    assert run.exit_code == 0, run.stderr
    plain = kcompact("inspect", dump, "--format", "json")
    assert json.loads(run.stdout)["topics"] == json.loads(plain.stdout)["topics"]


def test_a_pipe_in_a_folder_is_not_waited_for(place: Path, kcompact: Cli) -> None:
    os.mkfifo(place / "in" / "pipe.jsonl")
    assert kcompact("inspect", "in").exit_code == 0
    assert kcompact("inspect", "in/*.jsonl").exit_code == 0


@pytest.mark.parametrize("hole", ["front", "end", "all"])
def test_a_hole_in_a_file_is_refused_by_its_place(hole: str, place: Path, kcompact: Cli) -> None:
    """As a file system leaves it behind after a crash: 64 MiB that take no room."""
    path = place / "in" / "a.jsonl"
    with path.open("wb") as out:
        if hole == "front":
            out.seek(HOLE_BYTES)
        if hole != "all":
            out.write(lines().encode())
        if hole != "front":
            out.truncate(HOLE_BYTES)
    started = time.monotonic()
    run = kcompact("compact", "in/a.jsonl", "-o", "out.jsonl")
    assert time.monotonic() - started < MOST_SECONDS
    assert (run.exit_code, "in/a.jsonl" in run.stderr) == (2, True), run.stderr
    assert len(run.stderr) < 2_000
    assert not (place / "out.jsonl").exists()


def test_empty_files_are_named_or_left_out_of_a_folder(place: Path, kcompact: Cli) -> None:
    (place / "in" / "empty.jsonl").touch()
    assert kcompact("inspect", "in").exit_code == 0
    run = kcompact("inspect", "in/empty.jsonl")
    assert (run.exit_code, "in/empty.jsonl: the file is empty" in run.stderr) == (2, True)


@pytest.mark.parametrize("named", ["in", "in/**/*.jsonl", "**/a.jsonl"])
def test_a_folder_that_holds_itself_is_read_once(named: str, place: Path, kcompact: Cli) -> None:
    (place / "in" / "loop").symlink_to(place / "in")
    (place / "in" / "up").symlink_to("..")
    run = kcompact("compact", named, "-o", "out/", "--no-report")
    assert run.exit_code == 0, run.stderr
    assert [path.name for path in (place / "out").rglob("*.jsonl")] == ["a.jsonl"]
    assert "note" not in run.stderr
