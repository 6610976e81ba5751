"""Publishing is all or nothing: for whoever looks, for runs side by side, and over a kill at any call."""

import json
import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from faulty_disk import Faulty
from kcompact.errors import OutputError
from kcompact.storage import disk
from kcompact.storage.publication import open_publication, settle


def contents(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_text() for path in files}


OLD = {"out/a": "old", "out/gone": "old", "report": "old", "state/one": "old", "state/two": "old"}
NEW = {"out/a": "new", "out/b": "new", "report": "new", "state/one": "new", "state/two": "new"}


def write_old(folder: Path) -> None:
    for name, text in OLD.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def publish_new(folder: Path) -> None:
    targets = [folder / "out", folder / "report", folder / "state" / "one", folder / "state" / "two"]
    with disk.explained(folder), open_publication(targets) as publication:
        for target in targets:
            prepared = publication.prepare(target)
            if target.name == "out":
                disk.make_folder(prepared)
                disk.write(prepared / "a", b"new")
                disk.write(prepared / "b", b"new")
            else:
                disk.write(prepared, b"new")
        publication.commit()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_nothing_is_there_before_commit_and_nothing_else_after(tmp_path: Path) -> None:
    with open_publication([tmp_path / "new" / "out.jsonl"]) as publication:
        disk.write(publication.prepare(tmp_path / "new" / "out.jsonl"), b"new")
        assert not (tmp_path / "new" / "out.jsonl").exists()
        publication.commit()
    assert contents(tmp_path) == {"new/out.jsonl": "new"}


def test_all_is_replaced_together(tmp_path: Path) -> None:
    write_old(tmp_path)
    publish_new(tmp_path)
    assert contents(tmp_path) == NEW


def test_a_run_that_fails_leaves_the_old_and_no_folder(tmp_path: Path) -> None:
    write_old(tmp_path)
    with (
        pytest.raises(RuntimeError),
        open_publication([tmp_path / "out", tmp_path / "deep" / "er"]) as publication,
    ):
        disk.write(publication.prepare(tmp_path / "deep" / "er"), b"half")
        raise RuntimeError
    assert contents(tmp_path) == OLD
    assert not (tmp_path / "deep").exists()


def test_private_folders_are_private(tmp_path: Path) -> None:
    with open_publication([tmp_path / "out"]) as publication:
        assert publication.folder.parent == tmp_path
        assert publication.folder.stat().st_mode & 0o777 == 0o700
        assert publication.work_folder.stat().st_mode & 0o777 == 0o700


def test_what_replaces_a_private_file_is_as_private(tmp_path: Path) -> None:
    """Names that are new have the permissions that any new file has."""
    write_old(tmp_path)
    kept = {"out": 0o750, "out/a": 0o640, "report": 0o600, "state/one": 0o660, "state/two": 0o444}
    for name, mode in kept.items():
        (tmp_path / name).chmod(mode)
    before = (tmp_path / "report").stat()
    if os.geteuid() == 0:  # nobody else may give files away
        os.chown(tmp_path / "report", 65534, 65533)
        before = (tmp_path / "report").stat()
    publish_new(tmp_path)
    assert contents(tmp_path) == NEW
    assert {name: (tmp_path / name).stat().st_mode & 0o7777 for name in kept} == kept
    after = (tmp_path / "report").stat()
    assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)
    (tmp_path / "any").touch()
    assert (tmp_path / "out/b").stat().st_mode == (tmp_path / "any").stat().st_mode


def test_names_of_the_greatest_length_are_published(tmp_path: Path) -> None:
    target = tmp_path / ("n" * 255)
    with open_publication([target]) as publication:
        disk.write(publication.prepare(target), b"new")
        publication.commit()
    assert target.read_text() == "new"


def test_of_runs_on_one_target_the_first_has_it(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with open_publication([target]):
        with pytest.raises(OutputError, match=f"out is being written by another run .process {os.getpid()}"):
            open_publication([target, tmp_path / "report"]).__enter__()
        with open_publication([tmp_path / "other"]):
            pass
    with open_publication([target]):
        pass
    assert names(tmp_path) == []


@pytest.mark.parametrize("moment", ["before prepare", "before prepare, and linked", "before commit"])
def test_a_folder_that_is_moved_meanwhile_is_named(tmp_path: Path, moment: str) -> None:
    """The folder is named whose file cannot be published, and nothing of the others is."""
    out, state = tmp_path / "out", tmp_path / "state" / "one"
    write_old(tmp_path / "state")
    message = f"^{state}: its folder is gone; it was removed or moved while this ran\nhint: nothing was"
    with pytest.raises(OutputError, match=message), open_publication([out, state]) as publication:
        disk.write(publication.prepare(out), b"new")
        if moment == "before commit":
            disk.write(publication.prepare(state), b"new")
        (tmp_path / "state").rename(tmp_path / "moved")
        if moment == "before prepare, and linked":
            (tmp_path / "state").symlink_to(tmp_path / "moved")
        if moment != "before commit":
            publication.prepare(state)
        publication.commit()
    assert not out.exists()


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_came_up_meanwhile_is_not_replaced(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "out"

    def come_up() -> None:
        target.write_text("precious")

    with pytest.raises(OutputError, match="by another program"), open_publication([target]) as publication:
        prepared = publication.prepare(target)
        if kind == "folder":
            prepared.mkdir()
        else:
            prepared.touch()
        monkeypatch.setattr(disk, "system", Faulty(come_up, 6))
        publication.commit()
    assert target.read_text() == "precious"
    assert names(tmp_path) == ["out"]


@pytest.mark.slow
def test_a_kill_at_any_call_is_finished_or_undone_by_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forked, each run dies at a call of its own; what is there after settling is all old or all new."""
    outcomes = []
    at = 0
    while not outcomes or outcomes[-1] != "lived":
        at += 1
        folder = tmp_path / str(at)
        write_old(folder)
        if (child := os.fork()) == 0:
            monkeypatch.setattr(disk, "system", Faulty(lambda: os.kill(os.getpid(), signal.SIGKILL), at))
            publish_new(folder)
            os._exit(0)
        died = os.waitpid(child, 0)[1] != 0
        settle(folder if at % 2 else folder / "state")
        settle(folder / "state" if at % 2 else folder)
        after = contents(folder)
        assert after in (OLD, NEW), at
        assert not list(folder.rglob(".kcompact-*")), at
        outcomes.append(("old" if after == OLD else "new") if died else "lived")
    assert outcomes.index("new") > 10
    assert outcomes == sorted(outcomes, key=["old", "new", "lived"].index)


@pytest.mark.slow
@pytest.mark.parametrize("number", [28, 5, 30, 13])
def test_a_fault_at_any_call_leaves_the_old_or_is_survived(
    tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise OSError(number, os.strerror(number))

    at, lived = 0, False
    while not lived:
        at += 1
        folder = tmp_path / str(at)
        write_old(folder)
        faulty = Faulty(fail, at)
        monkeypatch.setattr(disk, "system", faulty)
        done = False
        with suppress(OutputError):
            publish_new(folder)
            done = True
        lived = faulty.left > 0
        monkeypatch.setattr(disk, "system", os)
        settle(folder)
        settle(folder / "state")
        assert contents(folder) == (NEW if done else OLD), at
    assert at > 40


def test_what_a_dead_run_left_is_removed_and_said_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_old(tmp_path)
    if (child := os.fork()) == 0:
        with open_publication([tmp_path / "out", tmp_path / "state" / "one"]):
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert len(list(tmp_path.rglob(".kcompact-*"))) == 2
    publish_new(tmp_path)
    assert contents(tmp_path) == NEW
    assert capsys.readouterr().err.count("removed a folder that runs which died had left") == 2
    publish_new(tmp_path)
    assert "died" not in capsys.readouterr().err


@pytest.mark.slow
def test_what_a_user_changed_after_a_crash_is_kept(tmp_path: Path) -> None:
    write_old(tmp_path)
    for at in range(1, 100):
        folder = tmp_path / str(at)
        write_old(folder)
        if (child := os.fork()) == 0:
            disk.system = Faulty(lambda: os.kill(os.getpid(), signal.SIGKILL), at)
            publish_new(folder)
            os._exit(0)
        if os.waitpid(child, 0)[1] == 0:
            return
        (folder / "report").unlink(missing_ok=True)
        (folder / "report").write_text("precious")
        for _ in range(2):
            with suppress(OutputError):
                settle(folder)
        assert (folder / "report").read_text() == "precious"


def test_a_journal_says_what_it_is(tmp_path: Path) -> None:
    """Documented beside the code; a reader of another edition must not guess."""
    with open_publication([tmp_path / "out"]) as publication:
        (publication.folder / "journal").write_text(json.dumps({"schema_version": 2, "steps": []}))
    with pytest.raises(OutputError, match="cannot be read"):
        settle(tmp_path)
    assert len(names(tmp_path)) == 1
