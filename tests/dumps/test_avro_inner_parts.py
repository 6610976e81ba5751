"""Parts of records in Avro's maps, and below records that may be null."""

import json
from pathlib import Path
from typing import Any

import fastavro
import pytest

from dump_pipeline import index_all, open_one
from kcompact.dumps.avro.avro_reader import AvroReader
from kcompact.dumps.layouts import LAYOUTS
from kcompact.dumps.loops.avro.avro_program import compile_program
from kcompact.dumps.note_checks import check_notes
from kcompact.dumps.records.layout import SplitNotes
from kcompact.dumps.records.record import Record
from kcompact.errors import InputError

ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": ["null", "int"]}, {"name": "note", "type": "string"}],
}
ORDERS: list[Any] = [{"id": 7, "note": "\u00e9"}, None, {"id": None, "note": ""}]


def write(path: Path, fields: dict[str, Any], rows: list[dict[str, Any]]) -> Path:
    schema = {
        "type": "record",
        "name": "Row",
        "fields": [{"name": name, "type": kind} for name, kind in fields.items()],
    }
    with path.open("wb") as out:
        fastavro.writer(out, schema, rows)
    return path


def records_of(path: Path, fields: dict[str, str]) -> list[Record]:
    with open_one(path, fields=fields) as dump:
        check_notes(dump, index_all(dump)[1])
        (split,) = dump.splits(1 << 40)
        return [record for _, _, record in LAYOUTS["avro"].records(dump.files[0], split)]


def test_structured_values_below_a_record_that_may_be_null_become_json(tmp_path: Path) -> None:
    inner = [{"name": "key", "type": "string"}, {"name": "value", "type": ["null", ORDER]}]
    data = {"type": "record", "name": "Data", "fields": inner}
    rows = [{"data": {"key": f"k{number}", "value": order}} for number, order in enumerate(ORDERS)]
    path = write(tmp_path / "t.avro", {"data": ["null", data]}, rows)
    records = records_of(path, {"key": "data.key", "value": "data.value"})
    assert [record.key for record in records] == [b"k0", b"k1", b"k2"]
    assert [record.value and json.loads(record.value) for record in records] == ORDERS


@pytest.mark.parametrize("is_nullable", [False, True])
def test_a_part_may_be_in_a_map(tmp_path: Path, is_nullable: bool) -> None:
    """As keys of Event Hubs Capture are, in maps of several types of values."""
    kind = {"type": "map", "values": ["long", "double", "string", "bytes"]}
    fields = {"SystemProperties": ["null", kind] if is_nullable else kind, "Body": ["null", "bytes"]}
    keys: list[Any] = ["a", b"\xff", 7, None]
    rows = [
        {
            "SystemProperties": {"x-opt-ratio": 0.5} | ({} if key is None else {"x-opt-key": key}),
            "Body": b"x",
        }
        for key in keys
    ]
    path = write(tmp_path / "hub.avro", fields, rows)
    places = {"key": "SystemProperties.x-opt-key", "value": "Body"}
    assert [record.key for record in records_of(path, places)] == [b"a", b"\xff", b"7", None]
    with open_one(path, fields=places) as dump:
        assert index_all(dump)[0]["key"].to_pylist() == [b"a", b"\xff", b"7", None]
        reader = AvroReader(dump.files[0], SplitNotes(), values=True)
    assert compile_program(reader.wire, reader.paths, contents=False) is None  # no loop leaves out the key


def test_structured_values_in_maps_become_json(tmp_path: Path) -> None:
    rows = [{"id": "a", "parts": {} if order is None else {"order": order}} for order in ORDERS]
    path = write(tmp_path / "t.avro", {"id": "string", "parts": {"type": "map", "values": ORDER}}, rows)
    values = [record.value for record in records_of(path, {"key": "id", "value": "parts.order"})]
    assert [value and json.loads(value) for value in values] == ORDERS


def test_a_key_in_a_map_that_stands_for_no_bytes_is_refused(tmp_path: Path) -> None:
    fields = {"parts": {"type": "map", "values": ["double", "string"]}, "value": "string"}
    rows = [{"parts": {"id": number}, "value": "x"} for number in ("a", 0.5)]
    path = write(tmp_path / "t.avro", fields, rows)
    with pytest.raises(InputError, match=r"the key is 0\.5 in a map"):
        records_of(path, {"key": "parts.id"})


@pytest.mark.parametrize(
    ("kinds", "ids", "keys"),
    [
        (["int", "string"], [5, "x"], [b"5", b"x"]),
        (["string", "int"], ["x", 5], [b"x", b"5"]),
        ([["null", "string"], "long"], [None, -1], [None, b"-1"]),
        ([{"type": "enum", "name": "E", "symbols": ["A"]}, "string"], ["A", "x"], None),
    ],
)
def test_a_key_field_has_the_type_that_its_own_record_gives_it(
    tmp_path: Path, kinds: list[Any], ids: list[Any], keys: list[bytes | None] | None
) -> None:
    """Where values are records of several kinds, as in a topic of several events."""
    events = [
        {"type": "record", "name": f"Event{number}", "fields": [{"name": "id", "type": kind}]}
        for number, kind in enumerate(kinds)
    ]
    rows = [
        {"offset": number, "key": None, "value": (f"Event{number}", {"id": value})}
        for number, value in enumerate(ids)
    ]
    path = write(tmp_path / "t.avro", {"offset": "long", "key": ["null", "bytes"], "value": events}, rows)
    with open_one(path, key_fields=("id",)) as dump:
        table, notes = index_all(dump)
        if keys is None:
            with pytest.raises(InputError, match="the key is 'A' in a map or a union of records: only"):
                check_notes(dump, notes)
        else:
            check_notes(dump, notes)
            assert table["key"].to_pylist() == keys
