"""Files of a dump that are told by a glance are recognised as they are alone."""

import json
from base64 import b64encode
from dataclasses import replace
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest

from kcompact.dumps.dump import open_dump
from kcompact.dumps.opened_files import open_group
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.records.layout import DumpFile
from kcompact.errors import InputError

FIXTURES = sorted(path for path in (Path(__file__).parent / "fixtures").iterdir() if path.is_file())
OPTIONS = ReadOptions()


def opened(path: Path, spool: Path, neighbour: DumpFile | None = None) -> DumpFile | str:
    try:
        return open_group(0, {"value": str(path)}, OPTIONS, spool, neighbour)
    except InputError as error:
        return str(error)


@pytest.fixture(scope="module")
def long_files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The fixtures with their lines again and again, which is much more than a glance sees."""
    folder = tmp_path_factory.mktemp("long")
    for fixture in FIXTURES:
        data = fixture.read_bytes()
        (folder / fixture.name).write_bytes(data * (100_000 // len(data) + 1))
    return sorted(folder.iterdir())


@pytest.mark.slow
def test_a_file_is_recognised_alike_beside_any_other(long_files: list[Path], tmp_path: Path) -> None:
    alone = {path: opened(path, tmp_path) for path in long_files}
    neighbours = {
        repr(file.dialect): file
        for file in alone.values()
        if isinstance(file, DumpFile) and file.layout.endswith("_lines")
    }
    assert len(neighbours) > 20
    for path, file in alone.items():
        for neighbour in neighbours.values():
            beside = opened(path, tmp_path, neighbour)
            if isinstance(beside, DumpFile) and isinstance(file, DumpFile):
                beside = replace(beside, data_path=file.data_path)  # of a copy that was unpacked anew
            assert beside == file


def lines(partition: int, **more: Any) -> list[str]:
    record = {"topic": "t", "partition": partition, "timestamp": 1_700_000_000_000, **more}
    return [json.dumps({**record, "offset": number, "key": f"k{number}"}) for number in range(600)]


@pytest.mark.parametrize("place", [0, 5])
def test_a_file_that_begins_otherwise_is_looked_at_thoroughly(place: int, tmp_path: Path) -> None:
    """Of six files one has its values under another name, in records behind the first, too."""
    for number in range(6):
        names = {"payload": "x" * 40} if number == place else {"value": "x" * 40}
        (tmp_path / f"{number}.jsonl").write_text("\n".join(lines(number, **names)) + "\n")
    with open_dump([str(tmp_path)], OPTIONS) as dump:
        dialects = [file.dialect.value.place for file in dump.files]
    assert dialects == ["payload" if number == place else "value" for number in range(6)]


def test_files_alike_share_what_was_found_out(tmp_path: Path) -> None:
    """What only a thorough look sees, a key that is no string, is not looked for in the second file."""
    (tmp_path / "0.jsonl").write_text("\n".join(lines(0)) + "\n")
    late = lines(1)
    late[190] = json.dumps({**json.loads(late[190]), "key": 7})
    (tmp_path / "1.jsonl").write_text("\n".join(late) + "\n")
    with open_dump([str(tmp_path / "1.jsonl")], OPTIONS) as dump:
        assert [file.dialect.key.encoding for file in dump.files] == ["json"]
    with open_dump([str(tmp_path)], OPTIONS) as dump:
        assert [file.dialect.key.encoding for file in dump.files] == ["text", "text"]


def test_wide_characters_are_seen_beside_a_file_of_named_columns(tmp_path: Path) -> None:
    """Bytes of UTF-16 would pass for text of columns that the user named."""
    text = "".join(f"k{number}\tv{number}\n" for number in range(600))
    (tmp_path / "t-0.txt").write_text(text)
    (tmp_path / "t-1.txt").write_text(text, encoding="utf-16")
    options = replace(OPTIONS, columns=("key", "value"), delimiter="\t")
    with open_dump([str(tmp_path)], options) as dump:
        notes = [[note for note in file.notes if "UTF-16" in note] for file in dump.files]
    assert notes == [[], ["UTF-16; read and written as UTF-8"]]


def test_of_long_records_more_is_looked_at(tmp_path: Path) -> None:
    """One key of eight characters may be base64 by accident; in 4 KiB there is hardly more than one."""
    for number in range(2):
        keys = [f"user-{at:03}" if number == 0 else b64encode(b"id%04d" % at).decode() for at in range(60)]
        record = {"topic": "t", "partition": number, "timestamp": 1_700_000_000_000, "value": "x y " * 800}
        rows = [json.dumps({**record, "offset": at, "key": key}) for at, key in enumerate(keys)]
        (tmp_path / f"{number}.jsonl").write_text("\n".join(rows) + "\n")
    with pytest.raises(InputError, match="base64") as alone, open_dump([str(tmp_path / "1.jsonl")], OPTIONS):
        pass
    with pytest.raises(InputError) as beside, open_dump([str(tmp_path)], OPTIONS):
        pass
    assert str(beside.value) == str(alone.value)


def test_a_file_called_as_standard_input_is_not_read_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.jsonl").write_text("\n".join(lines(0)) + "\n")
    Path("-").write_text("\n".join(lines(1)) + "\n")
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(("\n".join(lines(2)) + "\n").encode())))
    with open_dump(["a.jsonl", "-"], OPTIONS) as dump:
        assert b'"partition": 2' in Path(dump.files[1].data_path).read_bytes()
