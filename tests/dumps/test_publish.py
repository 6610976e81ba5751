from pathlib import Path

import pytest

from kcompact.dumps.publish import Publication, work_folder
from kcompact.errors import OutputError


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_nothing_is_there_before_commit_and_nothing_else_after(tmp_path: Path) -> None:
    with Publication() as publication:
        publication.prepare(tmp_path / "out.jsonl").write_text("new")
        assert not (tmp_path / "out.jsonl").exists()
        publication.commit()

    assert ["out.jsonl"] == names(tmp_path)


def test_a_run_that_fails_leaves_the_old_state(tmp_path: Path) -> None:
    (tmp_path / "out.jsonl").write_text("old")

    with pytest.raises(RuntimeError), Publication() as publication:
        publication.prepare(tmp_path / "out.jsonl").write_text("half")
        raise RuntimeError

    assert ["out.jsonl"] == names(tmp_path)
    assert (tmp_path / "out.jsonl").read_text() == "old"


def test_a_folder_is_replaced_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "old").write_text("old")

    with Publication() as publication:
        prepared = publication.prepare(tmp_path / "d")
        prepared.mkdir()
        (prepared / "new").write_text("new")
        publication.commit()

    assert ["new"] == names(tmp_path / "d")
    assert ["d"] == names(tmp_path)


def test_a_rename_that_fails_puts_everything_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "first").write_text("old")
    rename = Path.replace

    def fail_for_second(path: Path, target: Path) -> Path:
        if target.name == "second":
            raise OSError(28, "No space left on device")
        return rename(path, target)

    monkeypatch.setattr(Path, "replace", fail_for_second)
    with pytest.raises(OutputError, match="second: No space left"), Publication() as publication:
        publication.prepare(tmp_path / "first").write_text("new")
        publication.prepare(tmp_path / "second").write_text("new")
        publication.commit()

    assert ["first"] == names(tmp_path)
    assert (tmp_path / "first").read_text() == "old"


def test_the_work_folder_is_private_and_goes_away(tmp_path: Path) -> None:
    with work_folder(tmp_path / "deep" / "out.jsonl") as folder:
        assert folder.parent == tmp_path / "deep"
        assert folder.stat().st_mode & 0o077 == 0
        (folder / "part").write_text("x")

    assert names(tmp_path / "deep") == []
