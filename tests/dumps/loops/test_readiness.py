"""Compiled code: made once, kept where nobody else can write, used only as it was written."""

import errno
import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from engine_runs import processes_of, run_python, wait_until
from kcompact.commands import starting
from kcompact.dumps.loops import compiled_code, readiness
from kcompact.options.run_options import RunOptions

LINE = '{"topic":"t","partition":0,"offset":0,"tstype":"create","ts":1,"key":"k","payload":"v"}\n'


def load(*layouts: str) -> str:
    return f"""
import sys
from kcompact.dumps.loops.readiness import load_loops
sys.exit(not all(map(load_loops, {layouts})))
"""


def run(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "CI"} | variables
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def compiled_files(home: Path) -> list[Path]:
    return sorted((home / ".cache" / "kcompact" / "loops").glob("*/*/*.nb*"))


def no_home(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "XDG_CACHE_HOME": str(home / ".cache"), "NUMBA_DISABLE_JIT": "0"}


@pytest.mark.slow
def test_compiled_code_is_kept_for_the_next_run_and_thrown_away_when_damaged(tmp_path: Path) -> None:
    """One process may compile for several layouts: another one that loads only one then compiles nothing."""
    tmp_path.chmod(0o700)
    assert run(load("csv_lines", "avro"), **no_home(tmp_path)).returncode == 0
    files = compiled_files(tmp_path)
    stamps = [file.stat().st_mtime_ns for file in files]
    assert files
    assert all(
        not folder.stat().st_mode & 0o077 for folder in (tmp_path / ".cache/kcompact/loops").glob("*/")
    )

    assert run(load("avro"), **no_home(tmp_path)).returncode == 0
    assert stamps == [file.stat().st_mtime_ns for file in compiled_files(tmp_path)]

    code = bytearray(files[0].read_bytes())
    code[len(code) // 2] ^= 1
    files[0].write_bytes(code)
    assert run(load("avro"), **no_home(tmp_path)).returncode == 0
    assert bytes(code) != compiled_files(tmp_path)[0].read_bytes()


def test_where_the_home_cannot_be_written_loops_are_kept_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container without a writable home still gets compiled loops."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", "/proc/nobody")
    monkeypatch.setenv(compiled_code.RUN_FOLDER, str(tmp_path))
    assert compiled_code.folder_of("json_lines").parent == tmp_path / "loops"


def test_a_cache_that_can_only_be_read_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in an image with a prepared cache, mounted to be read only."""
    tmp_path.chmod(0o700)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = compiled_code.folder_of("json_lines")
    folder.mkdir(mode=0o700)
    (folder / "seal.json").write_text("{}")

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(compiled_code, "make_private", refuse)
    monkeypatch.setattr(os, "utime", refuse)
    assert compiled_code.folder_of("json_lines") == folder
    assert compiled_code.is_sealed(folder)
    assert compiled_code.folder_of("csv").parent != folder.parent


def test_without_numba_the_reference_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness.importlib.util, "find_spec", lambda _: None)
    assert not readiness.is_numba_installed()
    assert readiness.likely_layouts(["dump.jsonl"], 1 << 30) == ()
    assert readiness.is_numba_missed(["dump.jsonl"], 1 << 30)
    assert not readiness.is_numba_missed(["dump.jsonl"], 1 << 20)
    assert not readiness.is_numba_missed(["dump.unknown"], 1 << 30)


def test_a_note_says_that_numba_is_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "dump.avro").touch()
    monkeypatch.setattr(readiness.importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(starting, "_input_bytes", lambda _: 1 << 30)
    monkeypatch.setattr(starting, "_java_starting", lambda *_: nullcontext())
    with starting.spark_starting(
        [str(tmp_path / "dump.avro")], RunOptions("local"), "kcompact.compact.pipeline"
    ):
        pass
    assert "note: numba is not installed" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault", ["raise ImportError", "raise RuntimeError", "from numpy import no_such_name"]
)
def test_where_numba_cannot_be_imported_the_reference_reads_and_says_so(tmp_path: Path, fault: str) -> None:
    (tmp_path / "numba").mkdir()
    (tmp_path / "numba/__init__.py").write_text(fault)
    path = tmp_path / "d.jsonl"
    path.write_text(LINE)
    code = f"""
import sys
sys.path[:0] = [{str(tmp_path)!r}, *{sys.path!r}]
from pathlib import Path
from dump_pipeline import index_all, open_one
from kcompact.dumps.note_checks import check_notes
from kcompact.dumps.loops import compiled_code, readiness
readiness.SMALLEST_DUMP_BYTES["json_lines"] = readiness.WORTH_COMPILING_BYTES = 0
assert not readiness.load_loops("json_lines")
dump = open_one(Path({str(path)!r}))
table, notes = index_all(dump)
assert table.num_rows == 1
(remark,) = check_notes(dump, notes)
assert remark.startswith("numba is installed, but"), remark
"""
    done = run(code, **no_home(tmp_path))
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_dump_that_is_not_large_waits_for_no_compiler(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    path = tmp_path / "d.jsonl"
    path.write_text(LINE)
    code = f"""
import sys
sys.path[:0] = {sys.path!r}
from pathlib import Path
from dump_pipeline import index_all, open_one
from kcompact.dumps.loops import compiled_code, readiness
readiness.SMALLEST_DUMP_BYTES["json_lines"] = 0
assert index_all(open_one(Path({str(path)!r})))[0].num_rows == 1
assert "numba" not in sys.modules
"""
    done = run(code, **no_home(tmp_path))
    assert done.returncode == 0, done.stderr
    assert not compiled_files(tmp_path)
    assert readiness.likely_layouts(["d.jsonl"], readiness.SMALLEST_DUMP_BYTES["json_lines"] - 1) == ()


@pytest.mark.everyday(1)
@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["compact", "--no-such-option"]])
def test_help_and_usage_errors_import_no_numba(arguments: list[str]) -> None:
    code = f"""
import sys
from kcompact.app import main
try:
    main({arguments!r})
except SystemExit:
    pass
assert "numba" not in sys.modules
"""
    assert run(code).returncode == 0


@pytest.mark.slow
def test_a_small_dump_is_read_without_numba(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text(LINE)
    code = f"""
import sys
sys.path[:0] = {sys.path!r}
from pathlib import Path
from dump_pipeline import index_all, open_one
assert index_all(open_one(Path({str(path)!r})))[0].num_rows == 1
assert "numba" not in sys.modules
"""
    done = run(code)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("end", ["pass", "os.kill(os.getpid(), signal.SIGKILL)"])
def test_a_compiler_whose_work_is_not_kept_ends_with_its_run(end: str, tmp_path: Path) -> None:
    code = f"""
import os, signal, time
from pathlib import Path
from kcompact.dumps.loops.compiled_code import RUN_FOLDER
from kcompact.dumps.loops.readiness import prepared_in_background
with prepared_in_background(["json_lines"], os.environ | {{RUN_FOLDER: {str(tmp_path / "run")!r}}}):
    while not Path({str(tmp_path / "run" / "loops")!r}).exists():
        time.sleep(0.01)
    {end}
"""
    run_python(code, tmp_path, CI="true")
    assert wait_until(lambda: not processes_of(tmp_path), seconds=5), processes_of(tmp_path)
