import io
import json
import random
from pathlib import Path
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pytest

from avro_files import CODECS, LENSES, PLAIN, SHAPES, SPARK, SYNC, Shape, avro_bytes, read_rows, write_avro
from dump_pipeline import compacted, copied, index_all, open_one
from kcompact.dumps.layouts import LAYOUTS
from kcompact.dumps.note_checks import check_notes
from kcompact.dumps.records.layout import Chosen
from kcompact.dumps.records.record import EXTRA_FIELDS, Record, headers_hash
from kcompact.errors import InputError

LAYOUT = LAYOUTS["avro"]


def some_records(count: int, seed: int = 1) -> list[Record]:
    chance = random.Random(seed)
    return [
        Record(
            topic="orders" if chance.random() < 0.7 else "other-topic",
            partition=chance.randrange(3),
            offset=offset,
            timestamp_ms=1_700_000_000_000 + offset,
            key=chance.choice([None, b"", b"k", f"key-{offset % 7}".encode()]),
            value=chance.choice([None, b"", b"v" * chance.randrange(300), b"null"]),
            headers=(("trace", b"t" * (offset % 3)),),
        )
        for offset in range(count)
    ]


def decoded(path: Path, split_bytes: int = 1 << 40) -> list[Record]:
    with open_one(path) as dump:
        return [r for split in dump.splits(split_bytes) for _, _, r in LAYOUT.records(dump.files[0], split)]


@pytest.mark.everyday(12)
@pytest.mark.parametrize("shape", ["plain", "spark", "trivadis", "flink", "null-last"])
@pytest.mark.parametrize("codec", CODECS)
def test_records_are_what_was_written(tmp_path: Path, shape: str, codec: str) -> None:
    records = some_records(200)
    path = write_avro(tmp_path / "dump.avro", SHAPES[shape], records, codec=codec, block_bytes=500)
    expected = [r._replace(timestamp_type="create") for r in records] if shape == "spark" else records
    assert decoded(path) == expected


@pytest.mark.parametrize("name", SHAPES)
def test_rows_do_not_depend_on_splits(tmp_path: Path, name: str) -> None:
    records = some_records(300)
    path = write_avro(tmp_path / "dump.avro", SHAPES[name], records, codec="deflate", block_bytes=400)
    with open_one(path) as dump:
        whole, _ = index_all(dump)
        parts, _ = index_all(dump, 1_000)
    assert len(set(parts["split_id"].to_pylist())) > 5
    assert whole["offset"].to_pylist() == [record.offset for record in records]
    assert whole["key"].to_pylist() == [record.key for record in records]
    assert whole["is_tombstone"].to_pylist() == [record.value is None for record in records]
    assert whole["timestamp_ms"].to_pylist() == [record.timestamp_ms for record in records]
    same = ["log_id", "offset", "key", "timestamp_ms", "is_tombstone", "record_bytes"]
    assert whole.select(same) == parts.select(same)


@pytest.mark.slow
def test_every_record_is_in_one_split_wherever_it_is_cut(tmp_path: Path) -> None:
    data = avro_bytes(PLAIN, some_records(6), codec="deflate", block_bytes=60)
    path = tmp_path / "dump.avro"
    path.write_bytes(data)
    with open_one(path) as dump:
        expected = compacted(dump)
        for split_bytes in range(1, len(data) + 2):
            assert index_all(dump, split_bytes)[0]["offset"].to_pylist() == list(range(6))
            assert compacted(dump, split_bytes) == expected


@pytest.mark.parametrize("codec", CODECS)
def test_survivors_keep_schema_codec_metadata_and_marker(tmp_path: Path, codec: str) -> None:
    path = tmp_path / "dump.avro"
    records = some_records(100)
    rows = [SPARK.row(record) for record in records]
    with path.open("wb") as out:
        metadata = {"app": "spark"}
        fastavro.writer(out, SPARK.schema, rows, codec, 700, metadata, sync_marker=SYNC)
    with open_one(path) as dump:
        data = compacted(dump)
    reader = fastavro.reader(io.BytesIO(data))
    last = {(record.topic, record.partition, record.key): record.offset for record in records}
    original = fastavro.reader(path.open("rb"))
    assert list(reader) == [row for row in original if row["offset"] in last.values()]
    assert reader.metadata == original.metadata
    assert data.endswith(SYNC)


def test_blocks_without_losses_are_copied_as_they_are(tmp_path: Path) -> None:
    records = [Record("t", 0, offset, 5, str(offset).encode(), b"v") for offset in range(100)]
    data = avro_bytes(PLAIN, records, codec="zstandard", block_bytes=100)
    path = tmp_path / "dump.avro"
    path.write_bytes(data)
    with open_one(path) as dump:
        assert compacted(dump) == data


def test_records_in_another_order_are_written_in_that_order(tmp_path: Path) -> None:
    records = some_records(100)
    path = write_avro(tmp_path / "dump.avro", PLAIN, records, codec="snappy", block_bytes=900)
    with open_one(path) as dump:
        rows = index_all(dump)[0].to_pylist()[::-3]
        data = copied(dump, rows)
        (split,) = dump.splits(1 << 40)
        where = [np.array([row[name] for row in rows]) for name in ("position", "record_bytes")]
        assert list(LAYOUT.decode(Chosen(dump.files[0], split, *where))) == records[::-3]
    assert [row["offset"] for row in read_rows(data)] == [row["offset"] for row in rows]
    blocks = list(fastavro.block_reader(io.BytesIO(data)))
    assert 1 < len(blocks) < 20


def test_extra_columns_tell_what_the_record_holds(tmp_path: Path) -> None:
    records = some_records(50)
    path = write_avro(tmp_path / "dump.avro", PLAIN, records)
    with open_one(path) as dump:
        table, _ = index_all(dump, extra=frozenset(EXTRA_FIELDS))
    assert table["headers_hash"].to_pylist() == [headers_hash(record.headers) for record in records]


@pytest.mark.parametrize(
    ("kind", "keys", "expected"),
    [
        ("string", ["a", "", "\u00e9"], [b"a", b"", "\u00e9".encode()]),
        (["null", "long"], [None, 7, -300], [None, b"7", b"-300"]),
        # A union's branch tells the number 7 from the text "7": as in the file, branch byte included.
        (["null", "int", "string"], [None, 7, "7"], [None, b"\x02\x0e", b"\x04\x027"]),
        ({"type": "fixed", "name": "Id", "size": 2}, [b"ab", b"\0\0", b"zz"], [b"ab", b"\0\0", b"zz"]),
        (
            [{"type": "record", "name": "Id", "fields": [{"name": "n", "type": "double"}]}, "null"],
            [{"n": 0.0}, None, {"n": -0.0}],
            [bytes(8), None, bytes(7) + b"\x80"],
        ),
        (
            {"type": "record", "name": "Id", "fields": [{"name": "s", "type": "string"}]},
            [{"s": "a"}, {"s": ""}, {"s": "a"}],
            [b"\x02a", b"\0", b"\x02a"],
        ),
    ],
)
def test_keys_of_every_type_are_told_apart(
    tmp_path: Path, kind: object, keys: list[object], expected: list[bytes | None]
) -> None:
    fields = [
        {"name": "key", "type": kind},
        {"name": "value", "type": "int"},
        {"name": "offset", "type": "int"},
    ]
    schema = {"type": "record", "name": "R", "fields": fields}
    rows = [{"key": key, "value": 1, "offset": number} for number, key in enumerate(keys)]
    path = tmp_path / "topic-3.avro"
    with path.open("wb") as out:
        fastavro.writer(out, schema, rows)
    with open_one(path) as dump:
        table, notes = index_all(dump)
        assert notes[0].logs == {table["log_id"][0].as_py(): ("topic", 3)}
    assert table["key"].to_pylist() == expected


def test_structured_values_leave_avro_as_json(tmp_path: Path) -> None:
    inner = {
        "type": "record",
        "name": "V",
        "fields": [{"name": "s", "type": "string"}, {"name": "b", "type": "bytes"}],
    }
    shape = Shape(
        {
            "type": "record",
            "name": "connector_records",
            "namespace": "io.aiven.avro.output.schema",
            "fields": [
                {"name": "key", "type": "string"},
                {"name": "value", "type": ["null", inner]},
                {"name": "offset", "type": "long"},
                {"name": "timestamp", "type": "long"},
                {"name": "headers", "type": "null"},
            ],
        },
        lambda r: {
            "key": "k",
            "value": {"s": "x", "b": b"\xff"},
            "offset": r.offset,
            "timestamp": 5,
            "headers": None,
        },
    )
    path = write_avro(tmp_path / "orders-2-7.avro", shape, some_records(1))
    (record,) = decoded(path)
    assert record == Record("orders", 2, 0, 5, b"k", b'{"s":"x","b":"\xc3\xbf"}')


def with_bytes_for(path: Path, text: str, raw: bytes) -> Path:
    """The Avro file, uncompressed, with bytes that are no UTF-8 in place of text as long."""
    assert len(raw) == len(text)
    path.write_bytes(path.read_bytes().replace(text.encode(), raw))
    return path


def test_text_that_is_no_utf_8_stays_the_bytes_that_it_is(tmp_path: Path) -> None:
    fields = {"topic": "string", "partition": "int", "offset": "long", "key": "string", "value": "string"}
    schema = {"type": "record", "name": "R", "fields": [{"name": n, "type": t} for n, t in fields.items()]}
    shape = Shape(
        schema, lambda r: {"topic": "t", "partition": 0, "offset": r.offset, "key": "KEY", "value": "VAL"}
    )
    path = with_bytes_for(write_avro(tmp_path / "d.avro", shape, some_records(1)), "VAL", b"\0\xff\x92")
    with_bytes_for(path, "KEY", b"\xffk\xfe")
    assert [(record.key, record.value) for record in decoded(path)] == [(b"\xffk\xfe", b"\0\xff\x92")]


def test_text_that_is_no_utf_8_inside_a_value_is_refused_where_it_would_be_json(tmp_path: Path) -> None:
    inner = {"type": "record", "name": "V", "fields": [{"name": "s", "type": "string"}]}
    fields: dict[str, Any] = {"offset": "long", "key": "string", "value": ["null", inner]}
    schema = {"type": "record", "name": "R", "fields": [{"name": n, "type": t} for n, t in fields.items()]}
    shape = Shape(schema, lambda r: {"offset": r.offset, "key": "k", "value": {"s": "TEXT"}})
    path = with_bytes_for(write_avro(tmp_path / "d.avro", shape, some_records(1)), "TEXT", b"a\xff\xfeb")
    with open_one(path) as dump:
        assert index_all(dump)[0].num_rows == 1
    with pytest.raises(InputError, match="in this block: text inside a structured key or value is no UTF-8"):
        decoded(path)


@pytest.mark.parametrize(
    ("kind", "data", "digits"),
    [
        ({"type": "bytes", "precision": 10, "scale": 2}, "04d2", "12.34"),
        ({"type": "bytes", "precision": 10, "scale": 2}, "fb2e", "-12.34"),
        ({"type": "bytes", "precision": 10, "scale": 2}, "", "0.00"),
        ({"type": "bytes", "precision": 4}, "05", "5"),
        ({"type": "bytes", "precision": 12, "scale": 9}, "01", "0.000000001"),
        ({"type": "bytes", "precision": 1}, "7fffffffffffffffffffffffffffffff", str((1 << 127) - 1)),
        ({"type": "fixed", "name": "F", "size": 4, "precision": 4, "scale": 1}, "ffffffff", "-0.1"),
        (
            {"type": "fixed", "name": "U", "size": 16, "logicalTypo": "uuid"},
            "123456781234567812345678123456ff",
            "12345678-1234-5678-1234-5678123456ff",
        ),
        ({"type": "bytes", "precision": 4, "scale": "two"}, "05", "\x05"),  # no decimal, by the specification
    ],
)
def test_decimals_and_uuids_within_values_leave_avro_as_text(
    tmp_path: Path, kind: dict[str, object], data: str, digits: str
) -> None:
    kind = {"logicalTypo": "decimal"} | kind  # fastavro would refuse to write some of them
    inner = {"type": "record", "name": "V", "fields": [{"name": "d", "type": ["null", kind]}]}
    fields = [{"name": "key", "type": "string"}, {"name": "value", "type": inner}]
    written = {"type": "record", "name": "R", "fields": [*fields, {"name": "offset", "type": "long"}]}
    path = tmp_path / "orders-2.avro"
    with path.open("wb") as out:
        fastavro.writer(out, written, [{"key": "k", "value": {"d": bytes.fromhex(data)}, "offset": 0}])
    path.write_bytes(path.read_bytes().replace(b"logicalTypo", b"logicalType"))
    (record,) = decoded(path)
    assert record.value == json.dumps({"d": digits}, ensure_ascii=False, separators=(",", ":")).encode()


def test_what_is_no_number_leaves_avro_as_text(tmp_path: Path) -> None:
    numbers = {"type": "array", "items": ["null", "float"]}
    members = [{"name": "x", "type": "double"}, {"name": "all", "type": numbers}]
    value_type = {"type": "record", "name": "one", "fields": members}
    fields = {"offset": "long", "key": "string", "value": value_type}
    schema = {
        "type": "record",
        "name": "envelope",
        "fields": [{"name": name, "type": kind} for name, kind in fields.items()],
    }
    values = [{"x": x, "all": [None, x, 1.5]} for x in map(float, ("nan", "inf", "-inf", "2"))]
    path = tmp_path / "t-0.avro"
    with path.open("wb") as out:
        fastavro.writer(out, schema, [{"offset": n, "key": "k", "value": v} for n, v in enumerate(values)])
    texts = [json.loads(record.value or b"") for record in decoded(path)]
    assert texts == [{"x": x, "all": [None, x, 1.5]} for x in ("nan", "inf", "-inf", 2.0)]


def test_records_without_offsets_are_numbered_through_the_file(tmp_path: Path) -> None:
    fields = [{"name": "key", "type": "string"}, {"name": "value", "type": "string"}]
    shape = Shape(
        {"type": "record", "name": "R", "fields": fields},
        lambda r: {"key": str(r.offset), "value": "v"},
    )
    path = write_avro(tmp_path / "t+0+0000000100.avro", shape, some_records(50), block_bytes=20)
    with open_one(path) as dump:
        assert index_all(dump, 1)[0]["offset"].to_pylist() == list(range(100, 150))


ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "timestamp", "type": "string"},
        {
            "name": "customer",
            "type": {"type": "record", "name": "C", "fields": [{"name": "no", "type": "int"}]},
        },
    ],
}


@pytest.mark.parametrize(("key_field", "keys"), [("id", [b"a", b"\xc3\xa9"]), ("customer.no", [b"7", b"8"])])
@pytest.mark.parametrize("is_nullable", [False, True])
def test_a_field_of_bare_values_stands_for_the_key(
    tmp_path: Path, key_field: str, keys: list[bytes], is_nullable: bool
) -> None:
    rows = [
        {"id": "a", "timestamp": "noon", "customer": {"no": 7}},
        {"id": "\u00e9", "timestamp": "", "customer": {"no": 8}},
    ]
    path = tmp_path / "orders+1+0000000070.avro"
    with path.open("wb") as out:
        fastavro.writer(out, ["null", ORDER] if is_nullable else ORDER, rows)
    with open_one(path, key_fields=(key_field,)) as dump:
        table, notes = index_all(dump)
        check_notes(dump, notes)
        assert table["key"].to_pylist() == keys
        assert table["is_tombstone"].to_pylist() == [False, False]
        assert table["offset"].to_pylist() == [70, 71]
        (split,) = dump.splits(1)
        values = [record.value for _, _, record in LAYOUT.records(dump.files[0], split)]
    assert [json.loads(value or b"") for value in values] == rows


def test_a_field_of_the_value_stands_for_the_key(tmp_path: Path) -> None:
    types = {"key": "null", "value": ORDER, "offset": "long"}
    fields = [{"name": name, "type": kind} for name, kind in types.items()]
    row = {"key": None, "value": {"id": "a", "timestamp": "", "customer": {"no": 7}}, "offset": 9}
    path = tmp_path / "t.avro"
    with path.open("wb") as out:
        fastavro.writer(out, {"type": "record", "name": "R", "fields": fields}, [row])
    with open_one(path, key_fields=("id",)) as dump:
        assert index_all(dump)[0].to_pylist()[0]["key"] == b"a"


def rejected(path: Path) -> InputError:
    with open_one(path) as dump:
        _, notes = index_all(dump)
        with pytest.raises(InputError) as caught:
            check_notes(dump, notes)
    return caught.value


@pytest.mark.everyday(1)
@pytest.mark.parametrize("codec", CODECS)
def test_a_cut_file_is_refused_wherever_it_was_cut(tmp_path: Path, codec: str) -> None:
    data = avro_bytes(PLAIN, some_records(6), codec=codec, block_bytes=300)
    path = tmp_path / "dump.avro"
    path.write_bytes(data)
    with open_one(path) as dump:
        starts = {dump.files[0].shape.header.raw.__len__(), len(data)}
        starts |= {start for start, _ in LAYOUT.plan(dump.files[0], 1)}
    for end in range(min(starts) + 1, len(data)):
        if end not in starts:
            path.write_bytes(data[:end])
            error = rejected(path)
            assert str(path) in error.message
            assert "byte " in error.message
            assert error.hint


@pytest.mark.parametrize("codec", ["snappy", "zstandard", "deflate", "bzip2", "xz"])
def test_a_size_that_takes_in_the_next_block_is_refused(tmp_path: Path, codec: str) -> None:
    """That block's records would be lost, as what follows a stream counts for nothing."""
    records = [Record("t", 0, offset, 5, b"k", b"v") for offset in range(2)]
    header, first, second = avro_bytes(PLAIN, records, codec=codec, block_bytes=1).split(SYNC)[:-1]
    block, out = io.BytesIO(first), io.BytesIO()
    count, _ = (fastavro.schemaless_reader(block, "long", None) for _ in ("count", "size"))
    packed = block.read() + SYNC + second
    for number in (count, len(packed)):
        fastavro.schemaless_writer(out, "long", number)
    path = tmp_path / "dump.avro"
    path.write_bytes(header + SYNC + out.getvalue() + packed + SYNC)
    assert "byte " in rejected(path).message


@pytest.mark.everyday(1)
@pytest.mark.parametrize("codec", ["snappy", "zstandard", "deflate"])
def test_damage_is_found_or_harmless(tmp_path: Path, codec: str) -> None:
    records = [Record("t", 0, offset, 5, b"k" * 9, b"v" * 50) for offset in range(40)]
    data = avro_bytes(PLAIN, records, codec=codec, block_bytes=500)
    path = tmp_path / "dump.avro"
    path.write_bytes(data)
    with open_one(path) as dump:
        start = len(dump.files[0].shape.header.raw)
    chance = random.Random(5)
    rejected = 0
    for _ in range(60):
        at = chance.randrange(start, len(data))
        path.write_bytes(data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :])
        with open_one(path) as dump:
            table, notes = index_all(dump)
            rejected += bool(notes[0].rejects)
            assert table.num_rows == 40 or notes[0].rejects
    assert rejected > 40


def test_an_unknown_codec_is_refused(tmp_path: Path) -> None:
    data = avro_bytes(PLAIN, some_records(3), codec="snappy")
    path = tmp_path / "dump.avro"
    path.write_bytes(data.replace(b"snappy", b"snappi"))
    with pytest.raises(InputError, match="codec 'snappi' is unknown"):
        open_one(path)


@pytest.mark.parametrize("end", [3, 5, 40, 500])
def test_a_cut_header_is_refused(tmp_path: Path, end: int) -> None:
    path = tmp_path / "dump.avro"
    path.write_bytes(avro_bytes(PLAIN, some_records(3))[:end])
    with pytest.raises(InputError) as caught:
        open_one(path)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (["value", "offset"], "no field of the Avro records is the key"),
        (["key", "offset"], "no field of the Avro records is the value"),
    ],
)
def test_a_missing_field_is_refused_with_a_remedy(tmp_path: Path, fields: list[str], message: str) -> None:
    schema = {
        "type": "record",
        "name": "R",
        "fields": [{"name": name, "type": "long"} for name in fields],
    }
    path = tmp_path / "dump.avro"
    with path.open("wb") as out:
        fastavro.writer(out, schema, [dict.fromkeys(fields, 1)])
    with pytest.raises(InputError, match=message) as caught:
        open_one(path)
    assert "--fields" in (caught.value.hint or "")


def test_an_example_of_a_damaged_key_names_its_offset(tmp_path: Path) -> None:
    kinds = {"key": "string", "value": "string", "offset": "long"}
    fields = [{"name": name, "type": kind} for name, kind in kinds.items()]
    path = tmp_path / "t.avro"
    with path.open("wb") as out:
        rows = [{"key": key, "value": "v", "offset": 70 + n} for n, key in enumerate(["good", "bad\ufffd"])]
        fastavro.writer(out, {"type": "record", "name": "Top", "fields": fields}, rows)
    with open_one(path) as dump:
        _, notes = index_all(dump)
    assert notes[0].examples == {"lossy_keys": ["offset 71: bad\ufffd"]}


def test_values_alone_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "dump.avro"
    with path.open("wb") as out:
        fastavro.writer(out, "string", ["a"])
    with pytest.raises(InputError, match="bare values"):
        open_one(path)


@pytest.mark.parametrize("shape", ["flink", "null-last"])
def test_a_null_in_place_of_a_record_is_refused(tmp_path: Path, shape: str) -> None:
    rows = [SHAPES[shape].row(record) for record in some_records(4)]
    path = tmp_path / "dump.avro"
    with path.open("wb") as out:
        fastavro.writer(out, SHAPES[shape].schema, [*rows[:2], None, *rows[2:]])
    assert str(path) in rejected(path).message


def test_a_union_of_a_record_that_may_hold_itself_is_refused(tmp_path: Path) -> None:
    types = {"id": "string", "next": ["null", "R"]}
    fields = [{"name": name, "type": kind} for name, kind in types.items()]
    record = {"type": "record", "name": "R", "fields": fields}
    with (tmp_path / "dump.avro").open("wb") as out:
        fastavro.writer(out, ["null", record], [{"id": "a", "next": {"id": "b", "next": None}}])
    with pytest.raises(InputError, match="bare values"):
        open_one(tmp_path / "dump.avro", key_fields=("id",))


def test_lenses_file_of_tombstones_has_no_value_field(tmp_path: Path) -> None:
    schema = {**LENSES.schema, "fields": [f for f in LENSES.schema["fields"] if f["name"] != "value"]}
    shape = Shape(schema, lambda r: {k: v for k, v in LENSES.row(r).items() if k != "value"})
    path = write_avro(tmp_path / "dump.avro", shape, some_records(5))
    with open_one(path) as dump:
        table, notes = index_all(dump)
        check_notes(dump, notes)
    assert pa.compute.all(table["is_tombstone"]).as_py()


NODE = {"name": "N", "type": "record", "fields": [{"name": "next", "type": ["null", "N"]}]}
RECURSIVE = [("key", "string"), ("offset", "long"), ("value", ["null", NODE])]


@pytest.mark.slow
@pytest.mark.parametrize(("deep", "is_told"), [(300, True), (1_500, False)])
def test_values_of_a_recursive_schema_are_told_as_json_or_refused(
    tmp_path: Path, deep: int, is_told: bool
) -> None:
    fields = [{"name": name, "type": kind} for name, kind in RECURSIVE]
    value: dict[str, Any] = {"next": None}
    for _ in range(deep - 1):
        value = {"next": value}
    path = tmp_path / "deep.avro"
    with path.open("wb") as file:
        schema = {"name": "R", "type": "record", "fields": fields}
        fastavro.writer(file, schema, [{"key": "k", "offset": 0, "value": value}])
    if is_told:
        assert [record.value for record in decoded(path)] == [b'{"next":' * deep + b"null" + b"}" * deep]
    else:
        with pytest.raises(InputError, match="nested too deeply"):
            decoded(path)


def test_files_that_were_joined_as_bytes_are_called_so(tmp_path: Path) -> None:
    path = write_avro(tmp_path / "dump.avro", SHAPES["plain"], some_records(3))
    size = path.stat().st_size
    path.write_bytes(path.read_bytes() * 2)
    with open_one(path) as dump, pytest.raises(InputError, match=f"byte {size}: another Avro file") as caught:
        check_notes(dump, index_all(dump)[1])
    assert "avro-tools concat" in str(caught.value.hint)
