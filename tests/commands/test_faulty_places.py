"""Disks that are full, read-only or limited, inputs that change: a sentence that names which."""

import errno
import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Run
from full_device import needs_full_device
from kcompact.dumps.dump import open_dump
from kcompact.dumps.files.sources import find_files
from kcompact.dumps.options import ReadOptions
from kcompact.errors import InputError, OutputError
from kcompact.storage.disk import write_error
from kcompact.storage.scratch import create_part, scratch_folder
from other_user import folder_for_all, other_user

ORDERS = Path(__file__).parents[2] / "samples" / "orders.jsonl"
MAIN = "import sys; from kcompact.app import main; sys.exit(main())"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES])
def test_the_place_may_be_that_of_a_report_or_a_state(number: int) -> None:
    error = write_error("orders.state", OSError(number, "no"))
    assert error.message.startswith("orders.state")
    assert "-o, --report, --state or TMPDIR" in str(error.hint)


@pytest.mark.everyday(1)
@needs_full_device
@pytest.mark.parametrize("line", ["--help", "inspect --dialects", "--version"])
def test_a_full_standard_output_is_named(line: str) -> None:
    with Path("/dev/full").open("w") as full:
        run = subprocess.run(
            [
                sys.executable,
                "-c",
                "import sys; from kcompact.app import main; sys.exit(main())",
                *line.split(),
            ],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert run.returncode == 2
    assert run.stderr.startswith("error: standard output cannot be written: No space left on device")


@pytest.mark.slow
@needs_full_device
def test_a_table_that_cannot_be_shown_is_all_that_is_missing(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    line = [sys.executable, "-c", MAIN, "compact", str(ORDERS), "-o", str(out)]
    with Path("/dev/full").open("w") as full:
        run = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (run.returncode, out.exists()) == (2, True)
    assert "hint: all files are written" in run.stderr


@pytest.mark.slow
@needs_full_device
def test_no_report_is_left_of_a_dump_that_cannot_be_written(tmp_path: Path) -> None:
    report = tmp_path / "report"
    line = [sys.executable, "-c", MAIN, "compact", str(ORDERS), "-o", "-", "--report", str(report)]
    with Path("/dev/full").open("w") as full:
        run = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (run.returncode, list(tmp_path.iterdir())) == (2, [])
    assert "hint: all files are written" not in run.stderr


@pytest.mark.parametrize("change", ["rewritten", "cut", "deleted", "replaced"])
def test_an_input_that_changes_is_named_whatever_else_goes_wrong(tmp_path: Path, change: str) -> None:
    path = tmp_path / "a.jsonl"
    shutil.copy(ORDERS, path)
    before = path.stat()
    with (
        pytest.raises(InputError, match=r"a\.jsonl changed while it was read"),
        open_dump([str(path)], ReadOptions()),
    ):
        if change == "rewritten":
            data = path.read_bytes()
            path.write_bytes(data[::-1])
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        elif change == "cut":
            os.truncate(path, 1000)
        else:
            path.unlink()
        if change == "replaced":
            shutil.copy(ORDERS, path)
        raise FileNotFoundError


@pytest.mark.parametrize(
    ("argument", "mode", "named"),
    [
        ("", 0o000, "private"),
        ("", 0o444, "private/b.jsonl"),
        ("private", 0o111, "private"),
        ("private/b.jsonl", 0o000, "private/b.jsonl"),
        ("private/*.jsonl", 0o000, "private"),
        ("private/*.jsonl", 0o111, "private"),
        ("private/[b].jsonl", 0o444, "private/b.jsonl"),
        ("*/*.jsonl", 0o111, "private"),
        ("*/b.jsonl", 0o000, "private/b.jsonl"),
        ("*/*/*.jsonl", 0o444, "private/b.jsonl"),
        ("**/*.jsonl", 0o111, "private"),
    ],
)
def test_what_may_not_be_looked_at_is_refused_and_named(argument: str, mode: int, named: str) -> None:
    """Of a pattern, too: a folder that it passes over would be left out unsaid."""
    with folder_for_all() as folder:
        for name in ("other", "private"):
            (folder / name).mkdir()
            shutil.copy(ORDERS, folder / name / "b.jsonl")
        (folder / "private").chmod(mode)
        with other_user(), pytest.raises(InputError, match=f"^{folder}/{named}: Permission denied"):
            find_files([f"{folder}/{argument}".removesuffix("/")])


def test_a_part_that_outgrows_a_limit_names_the_folder(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with scratch_folder(tmp_path) as folder:
        assert create_part(folder / "part").close() is None
        assert (folder / "part").stat().st_mode & 0o777 == 0o600
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, before[1]))
        try:
            with (
                pytest.raises(OutputError, match="larger than files may become") as caught,
                create_part(folder / "part") as part,
            ):
                part.write(bytes(1 << 20))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert caught.value.message.startswith(f"{tmp_path}:")


@pytest.mark.usefixtures("spark")
def test_a_place_that_cannot_be_written_is_found_out_first(
    tmp_path: Path, kcompact: Callable[..., Run]
) -> None:
    """No folder can be made below a file: found out before a dump is read, which here is no dump."""
    (tmp_path / "file").touch()
    (tmp_path / "bad.jsonl").write_text("no dump\n")
    for line in (
        f"compact {tmp_path}/bad.jsonl -o {tmp_path}/o.jsonl --report {tmp_path}/file/report",
        f"verify {tmp_path}/bad.jsonl -o {tmp_path}/file/answer",
        f"inspect {tmp_path}/bad.jsonl -o {tmp_path}/file/answer",
        f"dirty-ratio {tmp_path}/bad.jsonl -o {tmp_path}/file/answer",
    ):
        run = kcompact(*line.split())
        assert run.exit_code == 2
        assert f"{tmp_path}/file" in run.stderr
        assert "Not a directory" in run.stderr
        assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.jsonl", "file"]


def test_a_working_folder_that_is_gone_is_named(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = 'rmdir "$1"; shift; exec "$@"'
    run = subprocess.run(
        ["sh", "-c", script, "sh", str(gone), sys.executable, "-c", MAIN, "inspect", str(ORDERS)],
        cwd=gone,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == "error: the working folder is gone\nhint: change to one that is there (cd)\n"


@pytest.mark.slow
def test_where_too_few_files_may_be_open_for_java_the_hint_says_so(tmp_path: Path) -> None:
    """Java itself says what it missed, in the last line of a stack trace that is more than a place."""
    script = 'ulimit -n 64; exec "$@"'
    run = subprocess.run(
        ["sh", "-c", script, "sh", sys.executable, "-c", MAIN, "inspect", str(ORDERS)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 2
    # Before it, a note may tell of a folder that the killed run of another test has left.
    assert re.search(r"(?m)^error: Spark cannot be started: .*: [A-Z]\w+(?:Exception|Error): ", run.stderr)
    assert "hint: only 64 files may be open here: raise ulimit -n; --verbose shows" in run.stderr
