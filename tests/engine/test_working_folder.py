"""Whatever lies in the folder that kcompact is run in: none of it is executed, and only the dump is read."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from engine_runs import is_clean, processes_of, wait_until
from kcompact.engine.startup.python_path import safe_environment
from working_folder import OF_PYTHONS_START, module_names, opened_files, plant

SAMPLE = Path(__file__).parents[2] / "samples" / "orders.jsonl"
SCRIPT = Path(sys.executable).with_name("kcompact")
COMMANDS = {
    "inspect": ["inspect", "dump.jsonl"],
    "dirty-ratio": ["dirty-ratio", "dump.jsonl"],
    "compact": ["compact", "dump.jsonl", "-o", "compacted.jsonl", "--overwrite"],
    "verify": ["verify", "dump.jsonl", "dump.jsonl"],
}
OURS = ("dump.jsonl", "compacted", ".compacted", ".kcompact")

every_command = pytest.mark.parametrize("command", COMMANDS)
on_every_master = pytest.mark.parametrize("master", ["local[2]", "local-cluster[2,1,1024]"])


def run_among_traps(
    tmp_path: Path, program: list[str], command: str, master: str, without: set[str], **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder full of traps; see that none is sprung and nothing but the dump is opened."""
    folder, temporary, sprung = (tmp_path / name for name in ("downloaded", "tmp", "sprung"))
    folder.mkdir()
    temporary.mkdir()
    plant(folder, sprung, without=without)
    shutil.copy(SAMPLE, folder / "dump.jsonl")
    before = names_in(folder)
    with opened_files(folder) as opened:
        run = subprocess.run(
            [*program, *COMMANDS[command], "--master", master],
            cwd=folder,
            env=os.environ | {"TMPDIR": str(temporary)} | environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600,  # verify on a local cluster starts many tasks
            check=False,
        )
        assert wait_until(lambda: is_clean(temporary), seconds=5), processes_of(temporary)
    assert names_in(sprung) == set()
    assert [name for name in sorted(opened) if not name.startswith(OURS)] == []
    assert [name for name in names_in(folder) - before if not name.startswith("compacted")] == []
    assert (run.returncode, run.stderr) == (0, "")
    return run


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.spark
@on_every_master
def test_no_trap_is_sprung(tmp_path: Path, master: str) -> None:
    run_among_traps(tmp_path, [str(SCRIPT)], "compact", master, set())


@pytest.mark.spark
@on_every_master
@every_command
def test_no_trap_is_sprung_by_paths_that_name_the_folder(tmp_path: Path, command: str, master: str) -> None:
    # -I: this process heeds no PYTHONPATH, so that whatever fires was started by it.
    program = [sys.executable, "-I", "-m", "kcompact"]
    paths = {"PYTHONPATH": ".:", "PATH": f".:{os.environ['PATH']}"}
    run_among_traps(tmp_path, program, command, master, set(), **paths)


@pytest.mark.spark
@pytest.mark.parametrize("python_path", ["", ":", "."])
@pytest.mark.parametrize("program", ["script", "module"])
def test_our_own_process_drops_the_folder_from_its_path(
    tmp_path: Path, program: str, python_path: str
) -> None:
    started = [str(SCRIPT)] if program == "script" else [sys.executable, "-P", "-m", "kcompact"]
    before_ours = _imported_before_ours(started)
    run_among_traps(
        tmp_path, started, "compact", "local[2]", OF_PYTHONS_START | before_ours, PYTHONPATH=python_path
    )


def _imported_before_ours(program: list[str]) -> set[str]:
    """The modules that Python imports before our first line, by their top-level names."""
    run = subprocess.run(
        [sys.executable, "-X", "importtime", *program[-1:], "--version"]
        if len(program) == 1
        else [sys.executable, "-X", "importtime", *program[1:], "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = run.stderr.splitlines()
    names = [line.rpartition("|")[2].strip().partition(".")[0] for line in lines]
    return set(names[: names.index("kcompact")])


@pytest.mark.spark
@pytest.mark.parametrize("place", ["folder", "folder and a slash", "zip"])
def test_the_pyspark_of_another_spark_in_the_path_is_left_alone(tmp_path: Path, place: str) -> None:
    (other := tmp_path / "python" / "pyspark").mkdir(parents=True)
    (other / "__init__.py").write_text("raise RuntimeError('the PySpark of another Spark')")
    paths = [str(tmp_path / "python") + ("/" if place == "folder and a slash" else "")]
    if place == "zip":
        archive = shutil.make_archive(str(tmp_path / "lib" / "pyspark"), "zip", tmp_path / "python")
        paths = [archive, str(tmp_path / "lib" / "py4j-0.10.9.7-src.zip")]
        shutil.copy(archive, paths[1])
    run = subprocess.run(
        [SCRIPT, "inspect", SAMPLE],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, "")


def test_the_traps_cover_what_is_imported() -> None:
    assert {"json", "random", "socket", "numpy", "pandas", "pyspark", "orjson", "kcompact"} <= module_names()


@pytest.mark.parametrize(
    ("named", "kept"),
    [
        (None, None),
        ("", None),
        (":", None),
        (".", None),
        ("lib:../x:", None),
        ("/a:/b", "/a:/b"),
        ("/a::./b:/c:", "/a:/c"),
    ],
)
def test_only_absolute_entries_of_the_python_path_are_handed_on(named: str | None, kept: str | None) -> None:
    environment = {"HOME": "/home"} | ({} if named is None else {"PYTHONPATH": named})
    expected = {"HOME": "/home", "PYTHONSAFEPATH": "1"} | ({} if kept is None else {"PYTHONPATH": kept})
    assert safe_environment(environment) == expected
