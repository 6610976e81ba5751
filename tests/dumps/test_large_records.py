"""Records of any size that Kafka can say, and a word about larger ones (the limit is lowered to see it)."""

import json
from pathlib import Path

import pytest

from dump_pipeline import index_all, open_one
from kcompact.dumps.detect import candidate, json_recognition
from kcompact.dumps.loops import readiness, windows
from kcompact.dumps.note_checks import refuse_rejects
from kcompact.dumps.records import framed
from kcompact.dumps.text import lines
from kcompact.errors import InputError

LIMIT = 100_000


def line(offset: int, value: object) -> bytes:
    record = {"topic": "t", "partition": 0, "offset": offset, "tstype": "create", "ts": 1, "broker": 0}
    return (
        json.dumps({**record, "key": f"k{offset}", "payload": value}, separators=(",", ":")).encode() + b"\n"
    )


@pytest.fixture
def low_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Heads and windows of a few KB, and no record longer than LIMIT."""
    for module in (framed, json_recognition, windows, lines):
        monkeypatch.setattr(module, "LARGEST_RECORD_BYTES", LIMIT)
    monkeypatch.setattr(candidate, "HEAD_BYTES", 1 << 10)
    monkeypatch.setattr(candidate, "LONGEST_HEAD_BYTES", 1 << 12)
    monkeypatch.setattr(windows, "WINDOW_BYTES", 1 << 12)
    monkeypatch.setattr(lines, "CHUNK_BYTES", 1 << 12)


@pytest.fixture(params=[0, 1 << 40], ids=["loop", "reference"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    for layout in ("json_lines", "csv_lines"):
        assert readiness.load_loops(layout)
        monkeypatch.setitem(readiness.SMALLEST_DUMP_BYTES, layout, request.param)


VALUES = {"string": "x" * 90_000, "object": {"a": "x" * 90_000}, "escapes": 'x"' * 30_000}


@pytest.mark.usefixtures("low_limits", "either_way")
@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("value", VALUES)
def test_one_huge_record_is_read_wherever_it_stands(tmp_path: Path, place: int, value: str) -> None:
    records = [line(offset, VALUES[value] if offset == place else "v") for offset in range(3)]
    path = tmp_path / "d.jsonl"
    path.write_bytes(b"".join(records))

    table, _ = index_all(open_one(path))

    assert [0, 1, 2] == table["offset"].to_pylist()
    assert [len(record) for record in records] == table["record_bytes"].to_pylist()


@pytest.mark.usefixtures("low_limits", "either_way")
@pytest.mark.parametrize("place", [1, 2])
def test_a_larger_record_is_named_by_file_and_line(tmp_path: Path, place: int) -> None:
    path = tmp_path / "d.jsonl"
    path.write_bytes(b"".join(line(offset, "x" * LIMIT if offset == place else "v") for offset in range(3)))
    dump = open_one(path)

    _, notes = index_all(dump)

    with pytest.raises(InputError, match=rf"d\.jsonl:{place + 1}: no end of the record within 2,147,483,647"):
        refuse_rejects(dump, notes)


@pytest.mark.usefixtures("low_limits")
def test_a_larger_first_record_is_told_when_the_dump_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_bytes(line(0, "x" * LIMIT) + line(1, "v"))

    with pytest.raises(InputError, match=r"d\.jsonl: byte 0: no end of the record within 2,147,483,647"):
        open_one(path)


@pytest.mark.usefixtures("low_limits")
def test_objects_side_by_side_in_one_long_line_are_told_from_one_huge_record(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    path.write_bytes(b"".join(line(offset, "v" * 50).strip() for offset in range(100)))
    dump = open_one(path)

    table, _ = index_all(dump)

    assert "json_objects" == dump.files[0].layout
    assert list(range(100)) == table["offset"].to_pylist()
