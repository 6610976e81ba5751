"""What is written is kept apart from what is read, whatever lies between the two names."""

import os
from pathlib import Path

import pytest

from kcompact.errors import OutputError
from kcompact.storage.apart import ReadPath, WrittenPath, check_apart


def made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}\n")
    return path


def check(read: object, written: object, *, inside: tuple[object, ...] = (), replaces: bool = False) -> None:
    source = ReadPath(str(read), tuple(map(str, inside)), is_compacted=True)
    check_apart([source], [WrittenPath(Path(str(written)), "-o", replaces_input=replaces)])


def test_an_input_and_what_is_around_it_is_never_written(tmp_path: Path) -> None:
    dump = made(tmp_path / "d" / "in" / "a.jsonl")
    folder = dump.parent
    for written in (dump, folder, tmp_path / "d", tmp_path):
        with pytest.raises(OutputError, match=r"is an input|holds .*a\.jsonl"):
            check(dump, written)
    for written in (folder, folder / "out.jsonl", folder / "new" / "out"):
        with pytest.raises(OutputError, match=r"is an input|lies inside"):
            check(folder, written, inside=(dump,))


def test_what_lies_beside_is_written(tmp_path: Path) -> None:
    dump = made(tmp_path / "d" / "a.jsonl")
    check(dump, tmp_path / "d" / "a.compacted.jsonl")
    check(dump, tmp_path / "d.compacted")
    check(dump.parent, tmp_path / "d" / ".." / "out.jsonl", inside=(dump,))  # beside d


def test_no_link_hides_an_input(tmp_path: Path) -> None:
    dump = made(tmp_path / "d" / "a.jsonl")
    (tmp_path / "way").symlink_to(tmp_path / "d")
    (tmp_path / "link.jsonl").symlink_to(dump)
    os.link(dump, tmp_path / "hard.jsonl")
    for written in ("way/a.jsonl", "way", "link.jsonl", "hard.jsonl", "d/../way/../d/a.jsonl"):
        with pytest.raises(OutputError, match=r"is an input|holds .*a\.jsonl"):
            check(dump, tmp_path / written)
    with pytest.raises(OutputError, match=r"lies inside"):
        check(dump.parent, tmp_path / "way" / "out.jsonl", inside=(dump,))


def test_a_folder_that_holds_a_hard_link_of_an_input_or_a_link_on_the_way_to_one_is_not_replaced(
    tmp_path: Path,
) -> None:
    dump = made(tmp_path / "d" / "a.jsonl")
    (tmp_path / "hard").mkdir()
    os.link(dump, tmp_path / "hard" / "x")
    (tmp_path / "soft").mkdir()
    (tmp_path / "soft" / "way").symlink_to(tmp_path / "d")
    (tmp_path / "again").symlink_to(tmp_path / "soft" / "way")
    with pytest.raises(OutputError, match=r"holds .*a\.jsonl"):
        check(dump, tmp_path / "hard")
    with pytest.raises(OutputError, match=r"holds .*again"):
        check(tmp_path / "again" / "a.jsonl", tmp_path / "soft")


def test_an_input_is_replaced_only_by_its_own_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dump = made(tmp_path / "d" / "a.jsonl")
    (tmp_path / "link.jsonl").symlink_to(dump)
    os.link(dump, tmp_path / "hard.jsonl")
    monkeypatch.chdir(tmp_path)
    check("d/a.jsonl", dump, replaces=True)
    check("./d/../d", tmp_path / "d", inside=(dump,), replaces=True)
    for written in ("link.jsonl", "hard.jsonl", "d"):
        with pytest.raises(OutputError, match=r"is an input|holds"):
            check(dump, tmp_path / written, replaces=True)


def test_a_replaced_folder_may_hold_nothing_else_that_is_read(tmp_path: Path) -> None:
    dump, state = made(tmp_path / "d" / "a.jsonl"), made(tmp_path / "d" / "told" / "segments")
    read = [ReadPath(str(tmp_path / "d"), (str(dump),), is_compacted=True), ReadPath(str(state))]
    with pytest.raises(OutputError, match=r"holds .*segments"):
        check_apart(read, [WrittenPath(tmp_path / "d", "-o", replaces_input=True)])


def test_the_working_folder_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dump = made(tmp_path / "d" / "a.jsonl")
    (tmp_path / "here" / "below").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here" / "below")
    for written in (".", "..", "../below", tmp_path / "here"):
        with pytest.raises(OutputError, match=r"holds the working folder"):
            check(dump, written)
    check(dump, "out")


@pytest.mark.parametrize("second", ["out", "out/state", "out/deep/er", "link/state", "x/../out"])
def test_outputs_do_not_hold_each_other(tmp_path: Path, second: str) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "out")
    target, other = WrittenPath(tmp_path / "out", "-o"), WrittenPath(tmp_path / second, "--state")
    for pair in ([target, other], [other, target]):
        with pytest.raises(OutputError, match=r"--state .* -o|-o .* --state"):
            check_apart([], pair)
    check_apart([], [target, WrittenPath(tmp_path / "output", "--state")])


def test_standard_output_does_not_grow_an_input(tmp_path: Path) -> None:
    dump = made(tmp_path / "a.jsonl")
    before = os.dup(1)
    try:
        with dump.open("ab") as grown:
            os.dup2(grown.fileno(), 1)
            with pytest.raises(OutputError, match=r"standard output goes to"):
                check_apart([ReadPath(str(dump))], [])
    finally:
        os.dup2(before, 1)
        os.close(before)
