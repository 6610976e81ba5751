"""Private folders: those of runs that died go, those of anybody who may still live stay."""

import fcntl
import os
import signal
import tempfile
from pathlib import Path

import pytest

from kcompact.errors import OutputError
from kcompact.storage import scratch
from kcompact.storage.scratch import PREFIX, scratch_folder


def die_in(folder: Path) -> Path:
    """Have a run killed in the middle; the private folder that it leaves."""
    if (child := os.fork()) == 0:
        with scratch_folder(folder) as private:
            (private / "deep").mkdir()
            (private / "deep" / "part").touch()
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    (left,) = folder.iterdir()
    return left


def test_what_a_dead_run_left_is_removed(tmp_path: Path) -> None:
    left = die_in(tmp_path)
    with scratch_folder(tmp_path):
        assert not left.exists()
    assert not list(tmp_path.iterdir())


def test_a_part_in_a_folder_that_somebody_removed_is_refused_by_the_name_above(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written: No such file or directory") as caught:
        scratch.create_part(tmp_path / "out" / f"{PREFIX}abc" / "work" / "part-0")
    assert caught.value.message.startswith(f"{tmp_path}/out cannot")


def test_a_living_run_keeps_its_folder(tmp_path: Path) -> None:
    with scratch_folder(tmp_path) as first, scratch_folder(tmp_path) as other:
        assert first.is_dir()
        assert other.is_dir()


@pytest.mark.parametrize("content", ["", "part", "lock.new"])
def test_a_folder_without_a_lock_stays_as_it_is(tmp_path: Path, content: str) -> None:
    """It may be of another version's run, which lives."""
    foreign = Path(tempfile.mkdtemp(prefix=PREFIX, dir=tmp_path))
    if content:
        (foreign / content).write_text("precious")
    with scratch_folder(tmp_path):
        pass
    assert [path.name for path in foreign.iterdir()] == ([content] if content else [])


def test_a_lock_can_be_had_only_when_its_run_is_dead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even by a run that could not wait until another one had made its folder."""
    tried = []
    rename = Path.rename

    def look(path: Path, target: Path) -> Path:
        tried.append((target.name, os.path.lexists(target)))
        with path.open() as lock, pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return rename(path, target)

    monkeypatch.setattr(scratch.Path, "rename", look)
    with scratch_folder(tmp_path):
        pass
    assert tried == [("lock", False)]
