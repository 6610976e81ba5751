"""Folders that only look as if a run had left them: nothing that they say is done."""

import json
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from kcompact.errors import OutputError
from kcompact.storage import disk
from kcompact.storage.journal import JOURNAL
from kcompact.storage.publication import open_publication, settle
from kcompact.storage.scratch import make_scratch, scratch_folder


def contents(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_text() for path in files}


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    home = tmp_path / "victim"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "id").write_text("key")
    (home / ".bashrc").write_text("original")
    return home


def steps_of_an_attack(victim: Path) -> list[dict[str, Any]]:
    marks = {"prepared_mark": "x", "target_mark": None}
    return [
        {"prepared": "no", "target": "no2", "replaced": str(victim / ".ssh"), **marks},
        {"prepared": "new-0", "target": str(victim / ".profile"), "replaced": "old-0", **marks},
        {"prepared": "new-0", "target": "../dump.jsonl", "replaced": "../../victim/.bashrc", **marks},
    ]


def plant(folder: Path, steps: list[dict[str, Any]], *, mark: str | None) -> Path:
    """A private folder as an archive could hold it."""
    planted = folder / ".kcompact-planted"
    planted.mkdir(parents=True, mode=0o700)
    (planted / "lock").touch()
    (planted / "new-0").write_text("echo gotcha")
    (planted / "claim").write_text(json.dumps({"process": 1, "names": ["x"], "journal": "."}))
    (planted / JOURNAL).write_text(json.dumps({"schema_version": 1, "steps": steps}))
    if mark is not None:
        (planted / "mark").write_text(mark)
    return planted


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("mark", [None, "", "1 2", "inode"])
def test_a_planted_journal_is_refused_and_nothing_of_it_done(
    number: int, mark: str | None, tmp_path: Path, victim: Path
) -> None:
    planted = plant(tmp_path / "dump", [steps_of_an_attack(victim)[number]], mark=mark)
    if mark == "inode":  # which could be guessed; the time could not
        (planted / "mark").write_text(f"{(planted / 'lock').stat().st_ino} 1700000000000000000")
    before = contents(tmp_path)
    with (
        pytest.raises(OutputError, match="was made to look so") as refused,
        open_publication([tmp_path / "dump" / "out.jsonl"]),
    ):
        pass
    assert "move it away" in str(refused.value.hint)
    with pytest.raises(OutputError, match="was made to look so"):
        settle(tmp_path / "dump")
    assert contents(tmp_path) == before


@pytest.mark.parametrize("number", range(3))
def test_a_journal_of_other_steps_than_a_run_takes_is_refused(
    number: int, tmp_path: Path, victim: Path
) -> None:
    """Even in a folder that was made here."""
    (tmp_path / "dump").mkdir()
    genuine = make_scratch(tmp_path / "dump")
    plant(tmp_path / "other", [steps_of_an_attack(victim)[number]], mark=None)
    for name in ("claim", JOURNAL, "new-0"):
        shutil.copyfile(tmp_path / "other" / ".kcompact-planted" / name, genuine.folder / name)
    os.close(genuine.lock)
    before = contents(tmp_path)
    with pytest.raises(OutputError, match="no run of this program has written it"):
        settle(tmp_path / "dump")
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    "claim", ["[]", "5", '{"process": 1, "names": 5}', '{"names": [], "journal": 5}', "{"]
)
def test_a_damaged_claim_says_nothing(claim: str, tmp_path: Path) -> None:
    genuine = make_scratch(tmp_path)
    (genuine.folder / "claim").write_text(claim)
    os.close(genuine.lock)
    with open_publication([tmp_path / "out.jsonl"]) as publication:
        disk.write(publication.prepare(tmp_path / "out.jsonl"), b"new")
        publication.commit()
    assert contents(tmp_path) == {"out.jsonl": "new"}


def test_a_link_that_is_called_like_a_removed_folder_leads_nowhere(tmp_path: Path, victim: Path) -> None:
    (victim / "lock").write_text("mine")
    (tmp_path / ".kcompact-removed-z").symlink_to(victim)
    (tmp_path / ".kcompact-link").symlink_to(victim)
    with scratch_folder(tmp_path):
        pass
    assert (victim / "lock").read_text() == "mine"


def test_what_a_dead_run_was_publishing_is_finished_where_it_was_moved_and_not_where_it_was_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "out").write_text("old")
    pid = os.fork()
    if pid == 0:
        with suppress(BaseException), open_publication([folder / "out"]) as publication:
            disk.write(publication.prepare(folder / "out"), b"new")
            monkeypatch.setattr(disk, "link_or_rename", lambda *_: os._exit(0))
            publication.commit()
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    shutil.copytree(folder, tmp_path / "copied")
    with pytest.raises(OutputError, match="this folder was copied while a run was publishing"):
        settle(tmp_path / "copied")
    folder.rename(tmp_path / "moved")
    settle(tmp_path / "moved")
    assert contents(tmp_path / "moved") == {"out": "new"}
