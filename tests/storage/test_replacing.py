"""What is there is replaced when asked for, and only if nothing else goes with it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kcompact.errors import OutputError
from kcompact.storage.replacing import check_replaceable
from other_user import folder_for_all, other_user


def test_what_exists_is_replaced_only_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    check_replaceable(path, overwrite=False)
    path.write_text("precious")
    with pytest.raises(OutputError, match=r"exists already"):
        check_replaceable(path, overwrite=False)
    check_replaceable(path, overwrite=True)


def test_what_may_not_be_written_is_not_replaced() -> None:
    """Though its folder may be written: somebody has protected it."""
    with folder_for_all() as folder:
        folder.chmod(0o777)
        (folder / "file").write_text("precious")
        (folder / "file").chmod(0o444)
        (folder / "folder").mkdir(mode=0o555)
        with other_user():
            for path, names in ((folder / "file", None), (folder / "folder", ("a.jsonl",))):
                with pytest.raises(OutputError, match=f"{path} may not be written"):
                    check_replaceable(path, overwrite=True, names=names)


@pytest.mark.parametrize("overwrite", [False, True])
def test_only_files_and_folders_are_replaced(tmp_path: Path, overwrite: bool) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "stdout").symlink_to("pipe")  # as /dev/stdout leads to a pipe
    for path in (Path("/dev/null"), tmp_path / "pipe", tmp_path / "stdout"):
        with pytest.raises(OutputError, match=r"neither a file nor a folder") as caught:
            check_replaceable(path, overwrite=overwrite)
        assert "--overwrite" not in str(caught.value.hint)
    with pytest.raises(OutputError, match=r"symbolic link") as caught:
        check_replaceable(tmp_path / "link", overwrite=overwrite)
    assert str(tmp_path / "nowhere") in str(caught.value.hint)


def test_who_wants_no_report_is_told_how_to_have_none() -> None:
    with pytest.raises(OutputError, match=r"/dev/null is neither a file nor a folder") as caught:
        check_replaceable(Path("/dev/null"), overwrite=True, option="--report", names=("report.json",))
    assert "--no-report" in str(caught.value.hint)


@pytest.mark.skipif(not Path("/dev/stdout").is_symlink(), reason="no such link here")
def test_a_link_to_the_file_of_standard_output_is_told_of_the_dash(tmp_path: Path) -> None:
    """The shell has just emptied that file: to name it would be refused, too."""
    code = (
        "from pathlib import Path; from kcompact.storage.replacing import check_replaceable\n"
        "check_replaceable(Path('/dev/stdout'), overwrite=False)"
    )
    with (tmp_path / "out.jsonl").open("w") as out:
        run = subprocess.run(
            [sys.executable, "-c", code], stdout=out, stderr=subprocess.PIPE, text=True, check=False
        )
    assert run.stderr.splitlines()[-1].startswith("hint: -o - is standard output")


def test_a_file_is_no_folder_nor_a_folder_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    with pytest.raises(OutputError, match=r"file is a file, and --report will be a folder"):
        check_replaceable(tmp_path / "file", overwrite=True, option="--report", names=("report.json",))
    with pytest.raises(OutputError, match=r"folder is a folder, and -o will be a file"):
        check_replaceable(tmp_path / "folder", overwrite=True)


def test_a_folder_is_replaced_only_if_all_in_it_is_written_anew(tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "sub").mkdir(parents=True)
    (out / "a.jsonl").touch()
    (out / "sub" / "b.jsonl").touch()
    check_replaceable(out, overwrite=True, names=("a.jsonl", "sub/b.jsonl", "c.jsonl"))
    for name in ("thesis.tex", "sub/.hidden", "sub/deeper/x"):
        (out / name).parent.mkdir(exist_ok=True)
        (out / name).write_text("precious")
        with pytest.raises(OutputError, match=r"holds (thesis\.tex|sub/\.hidden|sub/deeper)"):
            check_replaceable(out, overwrite=True, names=("a.jsonl", "sub/b.jsonl"))
        (out / name).unlink()


def test_a_link_in_a_folder_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").symlink_to("elsewhere")
    with pytest.raises(OutputError, match=r"holds a\.jsonl"):
        check_replaceable(tmp_path, overwrite=True, names=("a.jsonl",))


def test_a_name_that_no_file_can_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"a name of 256 bytes is too long"):
        check_replaceable(tmp_path / ("ü" * 128), overwrite=False)
