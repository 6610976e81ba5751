"""Every field of every dialect with a value that no exporter writes: read, or refused in a sentence."""

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastavro
import pytest
from hostile_values import spelt_in_cells, spelt_in_json
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dump_pipeline import index_all, open_one
from kcompact.dumps.dump import Dump
from kcompact.dumps.layouts import LAYOUTS
from kcompact.dumps.note_checks import check_notes
from kcompact.dumps.records.layout import Chosen, SplitNotes
from kcompact.dumps.records.record import EXTRA_FIELDS, Record
from kcompact.errors import InputError

sys.path.insert(0, str(Path(__file__).parents[1] / "dumps"))
from test_fixtures import ANSWERED, BY_FILE_ORDER, FIXTURES, TOLD

EXAMPLES = int(os.environ.get("KCOMPACT_TORTURE_COUNT", "300"))
READABLE = {name: dict(told.options) for name, told in TOLD.items() if "utf16" not in name} | {
    name: ANSWERED.get(name, {}) for name in BY_FILE_ORDER
}
IN_JSON, IN_CELLS = spelt_in_json(), spelt_in_cells()
TORTURED = settings(
    max_examples=EXAMPLES,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
_HERE = "@@here@@"


def frames_of(dump: Dump) -> list[tuple[int, int, bytes]]:
    file = dump.files[0]
    layout: Any = LAYOUTS[file.layout]
    split = dump.splits(1 << 40)[0]
    return [
        (f.position, len(f.data), f.data) for f in layout.frames(file, split.start, split.end, SplitNotes())
    ]


def places_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths to all members of a JSON value, itself among them."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, child in inner:
        yield from places_in(child, (*path, name))


def with_token(value: Any, path: tuple[Any, ...]) -> Any:
    if not path:
        return _HERE
    copied = value.copy()
    copied[path[0]] = with_token(value[path[0]], path[1:])
    return copied


def mangled_json(draw: Any, data: bytes) -> bytes:
    record = json.loads(data.decode("utf-8", "surrogateescape"))
    path = draw(st.sampled_from(list(places_in(record))))
    spelt = json.dumps(with_token(record, path), ensure_ascii=False).encode("utf-8", "surrogateescape")
    return spelt.replace(f'"{_HERE}"'.encode(), draw(st.sampled_from(IN_JSON)))


def mangled_text(draw: Any, data: bytes) -> bytes:
    pieces = re.split(rb"([,;\t|: ])", data)
    number = draw(st.integers(0, len(pieces) - 1))
    return b"".join([*pieces[:number], draw(st.sampled_from(IN_CELLS)), *pieces[number + 1 :]])


def read_every_way(path: Path, options: dict[str, Any]) -> list[Record] | None:
    """All that a command may ask of a dump; None where it is refused. Anything but InputError fails."""
    try:
        with open_one(path, **options) as dump:
            file, layout = dump.files[0], LAYOUTS[dump.files[0].layout]
            splits = dump.splits(1 << 40)
            plain, notes = index_all(dump)
            check_notes(dump, notes)
            full, notes = index_all(dump, extra=frozenset(EXTRA_FIELDS))
            check_notes(dump, notes)
            found = [row for split in splits for row in layout.records(file, split)]
            positions, sizes = (full.column(name).to_numpy() for name in ("position", "record_bytes"))
            decoded = list(layout.decode(Chosen(file, splits[0], positions, sizes)))
    except InputError as refused:
        assert refused.hint, refused.message
        assert path.name in refused.message, refused.message
        assert len(refused.message) < 1_000, refused.message
        return None
    records = [record for _, _, record in found]
    assert plain.num_rows == full.num_rows == len(records) == len(decoded)
    assert plain.column("key").to_pylist() == [record.key for record in records]
    assert plain.column("offset").to_pylist() == [record.offset for record in records]
    return records


@pytest.mark.parametrize(
    ("field", "spelt", "reason"),
    [
        ("offset", "9223372036854775807", "offset 9223372036854775807 is out of range"),
        ("offset", '"²"', "'²' is not an offset"),
        ("offset", '"' + "9" * 5_000 + '"', "is not an offset"),
        ("partition", '"²"', "'²' is not a partition"),
        ("timestamp", '"²"', "'²' is not a timestamp"),
        ("timestamp", '"' + "9" * 5_000 + '"', "is not a timestamp"),
        ("topic", "null", "no topic in the record"),
        ("partition", "null", "no partition in the record"),
        ("offset", "null", "no offset in the record"),
        ("topic", '"\\ud800"', "is not the name of a topic"),
        ("topic", "[" * 900 + "]" * 900, "is not the name of a topic"),
        ("headers", '{"\\ud800":"v"}', "headers cannot be read"),
        ("headers", '{"k":{"type":"Buffer","data":8000000000}}', "headers cannot be read"),
        ("key", '{"type":"Buffer","data":[256]}', "the key's bytes cannot be read"),
        ("value", '{"type":"Buffer","data":[-1]}', "the value's bytes cannot be read"),
        ("value", '{"type":"Buffer","data":["a"]}', "the value's bytes cannot be read"),
        (
            "value",
            '{"payload":"a","isPayloadNull":false,"rawPayload":5}',
            "the value's bytes cannot be read",
        ),
        pytest.param(
            *("value", "[" * 990 + "]" * 990, "nested too deeply"),
            marks=pytest.mark.skipif(sys.version_info >= (3, 12), reason="Python 3.12 and later read it"),
        ),
        ("value", "[" * 100_000 + "]" * 100_000, "nested too deeply"),
    ],
    ids=lambda text: text[:24],
)
def test_a_bad_record_is_named_with_its_line(tmp_path: Path, field: str, spelt: str, reason: str) -> None:
    fields = {
        "topic": '"orders"',
        "partition": "0",
        "offset": "7",
        "timestamp": "1700000000000",
        "key": '"k"',
        "value": '"v"',
        "headers": "{}",
    }
    records = [fields, fields | {"offset": "8", field: spelt}]
    lines = ["{" + ",".join(f'"{name}":{value}' for name, value in one.items()) + "}\n" for one in records]
    path = tmp_path / "dump.jsonl"
    path.write_text("".join(lines))
    with open_one(path) as dump:
        _, notes = index_all(dump, extra=frozenset(EXTRA_FIELDS))
        with pytest.raises(InputError) as refused:
            check_notes(dump, notes)
    assert refused.value.message.startswith(f"{path}:2: ")
    assert reason in refused.value.message
    assert refused.value.hint


@pytest.mark.parametrize("layout", ["csv", "avro"])
def test_a_record_without_a_partition_is_refused(tmp_path: Path, layout: str) -> None:
    """Where others name one: taken for partition 0, it might supersede what it was never newer than."""
    names = ("topic", "partition", "offset", "timestamp", "key", "value")
    cells = [("t", partition, 7, 1, "k", "v") for partition in (0, 1, None)]
    records = [dict(zip(names, row, strict=True)) for row in cells]
    path = tmp_path / f"dump.{layout}"
    with path.open("wb") as out:
        if layout == "csv":
            rows = [list(names), *([*record.values()] for record in records)]
            out.writelines(f"{','.join('' if c is None else str(c) for c in row)}\n".encode() for row in rows)
        else:
            kinds = ("string", ["null", "int"], "long", "long", "string", "string")
            fields = [{"name": name, "type": kind} for name, kind in zip(names, kinds, strict=True)]
            fastavro.writer(out, {"type": "record", "name": "r", "fields": fields}, records)
    with open_one(path) as dump:
        _, notes = index_all(dump)
        with pytest.raises(InputError, match="no partition in the record"):
            check_notes(dump, notes)


@pytest.mark.slow
@TORTURED
@given(data=st.data())
def test_a_field_of_any_kind_is_read_or_refused(tmp_path: Path, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(READABLE)))
    options = READABLE[name]
    with open_one(FIXTURES / name, **options) as dump:
        is_json = dump.files[0].layout.startswith("json")
        original = Path(dump.files[0].path)
        frames = frames_of(dump)
    position, length, record = data.draw(st.sampled_from(frames))
    mangled = (mangled_json if is_json else mangled_text)(data.draw, record)
    whole = original.read_bytes()
    path = tmp_path / original.name
    path.write_bytes(whole[:position] + mangled + whole[position + length :])
    read_every_way(path, options)
