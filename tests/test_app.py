"""The frame: what a user sees of errors that nobody foresaw."""

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Run
from kcompact.app import main
from kcompact.dumps.files import sources
from other_user import folder_for_all, other_user

SAMPLE = Path(__file__).parents[1] / "samples" / "orders.jsonl"


class _Speechless(Exception):  # noqa: N818  stands for PySpark's errors once their JVM is gone
    def __str__(self) -> str:
        raise AssertionError


@pytest.mark.parametrize(
    ("error", "words"),
    [(ValueError("\x1b[31mred"), "bug: ValueError: \\x1b[31mred"), (_Speechless(), "its message is lost")],
)
def test_a_bug_is_a_sentence_with_exit_code_3(
    error: Exception, words: str, kcompact: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: str) -> None:
        raise error

    # Looked up when it is called: a module that is first imported now must not keep it.
    monkeypatch.setattr(sources, "_files_of", fail)

    run = kcompact("compact", "x.jsonl")

    assert run.exit_code == 3
    assert words in run.stderr
    assert "Traceback" not in run.stderr


def test_too_little_memory_is_no_bug(kcompact: Callable[..., Run], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: str) -> None:
        raise MemoryError

    monkeypatch.setattr(sources, "_files_of", fail)
    run = kcompact("compact", "x.jsonl")
    assert run.exit_code == 2
    assert run.stderr.startswith("error: there is not enough memory")


@pytest.mark.parametrize("name", ["n" * 256, f"{'folder/' * 1_000}o.jsonl"])
@pytest.mark.parametrize(
    "command",
    [
        "compact {}",
        "compact {sample} -o {}",
        "compact {sample} -o o.jsonl --report {}",
        "compact {sample} -o o.jsonl --state {}",
        "compact {sample} -o o.jsonl --checkpoint {}",
        "inspect {sample} -o {}",
        "verify {sample} {}",
    ],
)
def test_a_name_that_no_file_can_have_is_refused_wherever_it_is_given(
    name: str, command: str, kcompact: Callable[..., Run]
) -> None:
    run = kcompact(*command.format(name, sample=SAMPLE).split())
    assert run.exit_code == 2
    assert "bytes is too long for a file: " in run.stderr
    assert len(run.stderr) < 300


@pytest.mark.parametrize(
    "command",
    [
        "compact {dump} -o {}",
        "compact {dump} -o o.jsonl --report {}",
        "compact {dump} -o o.jsonl --state {}",
        "compact {dump} -o o.jsonl --checkpoint {}",
        "compact {dump} -o o.jsonl --batches {}",
        "inspect {dump} -o {}",
        "verify {dump} {}",
    ],
)
def test_a_place_in_a_folder_that_may_not_be_looked_into_is_refused_wherever_it_is_given(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with folder_for_all() as folder:
        (folder / "scratch").mkdir()
        (folder / "scratch").chmod(0o777)
        monkeypatch.setattr("tempfile.tempdir", str(folder / "scratch"))
        dump, closed = shutil.copy(SAMPLE, folder), folder / "closed"
        main(command.format("n" * 256, dump=dump).split())  # imports what the other user may not
        closed.mkdir(mode=0o000)
        with other_user():
            exit_code = main(command.format(closed / "place", dump=dump).split())
    assert exit_code == 2
    assert f"{closed}/place: Permission denied" in capsys.readouterr().err


def test_too_little_memory_to_address_is_said_before_a_library_ends_the_process(
    kcompact: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """OpenBLAS would, with the exit code of a finding."""
    monkeypatch.setattr("resource.getrlimit", lambda _: (100_000 << 10, -1))
    run = kcompact("inspect", SAMPLE)
    assert (run.exit_code, run.stdout) == (2, "")
    assert run.stderr.startswith("error: a process may address only 97 MiB of memory here")
    assert "ulimit -v" in run.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "locale", [{"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}, {"PYTHONIOENCODING": "latin-1"}]
)
def test_a_locale_without_signs_for_a_dump_is_no_obstacle(
    locale: dict[str, str], tmp_path: Path, temporary: str
) -> None:
    dump = tmp_path / "dump.jsonl"
    record = {"topic": "t", "partition": 0, "offset": 0, "timestamp": 0, "key": "é中", "value": "v"}
    dump.write_text(json.dumps(record) + "\n")

    def run(*options: str) -> bytes:
        command = [sys.executable, "-P", "-m", "kcompact", "inspect", str(dump), *options]
        environment = os.environ | {"PYTHONUTF8": "0", "TMPDIR": temporary} | locale
        done = subprocess.run(command, env=environment, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout

    assert rb"\u4e2d" in run()
    assert "é中" in json.dumps(json.loads(run("--format", "json").decode()), ensure_ascii=False)


def test_without_a_folder_for_temporary_files_the_user_is_told_to_name_one(
    kcompact: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> str:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr("tempfile.gettempdir", fail)
    run = kcompact("inspect", SAMPLE)
    assert (run.exit_code, "error: temporary files cannot be written: No usable" in run.stderr) == (2, True)
    assert "hint: name a folder that can be written with TMPDIR" in run.stderr


def test_a_working_folder_that_goes_while_a_command_runs_is_named(
    kcompact: Callable[..., Run], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(_: str) -> None:
        (tmp_path / "gone").rmdir()
        Path("../x.jsonl").read_bytes()

    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    monkeypatch.setattr(sources, "_files_of", fail)
    run = kcompact("compact", "../x.jsonl")
    assert (run.exit_code, run.stderr.splitlines()[0]) == (2, "error: the working folder is gone")


_AMID_IMPORTS = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from kcompact.__main__ import main
class Interrupting:
    def find_spec(self, *_):
        os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
sys.argv[1:] = ["--version"]
main()
"""


def test_a_signal_amid_the_first_import_ends_the_process_without_a_word() -> None:
    command = [sys.executable, "-c", _AMID_IMPORTS]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
