"""Compiled code: made once, kept where nobody else can write, used only as it was written."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kcompact.dumps.loops import readiness

LOAD = """
import sys
from kcompact.dumps.loops.readiness import load_loops
sys.exit(not load_loops("json_lines"))
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
    tmp_path.chmod(0o700)
    assert run(LOAD, **no_home(tmp_path)).returncode == 0
    files = compiled_files(tmp_path)
    stamps = [file.stat().st_mtime_ns for file in files]
    assert files
    assert all(
        not folder.stat().st_mode & 0o077 for folder in (tmp_path / ".cache/kcompact/loops").glob("*/")
    )

    assert run(LOAD, **no_home(tmp_path)).returncode == 0
    assert stamps == [file.stat().st_mtime_ns for file in compiled_files(tmp_path)]

    code = bytearray(files[0].read_bytes())
    code[len(code) // 2] ^= 1
    files[0].write_bytes(code)
    assert run(LOAD, **no_home(tmp_path)).returncode == 0
    assert bytes(code) != compiled_files(tmp_path)[0].read_bytes()


def test_without_numba_the_reference_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness.importlib.util, "find_spec", lambda _: None)
    assert not readiness.is_numba_there()
    assert readiness.likely_layouts(["dump.jsonl"], 1 << 30) == ()


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


def test_a_small_dump_is_read_without_numba(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text(
        '{"topic":"t","partition":0,"offset":0,"tstype":"create","ts":1,"key":"k","payload":"v"}\n'
    )
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
