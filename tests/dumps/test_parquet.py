"""Parquet, written here with pyarrow: what is read, what is copied, and what damage comes to."""

import io
import json
import os
import random
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from pyarrow.parquet import encryption

from dump_pipeline import ONE_SPLIT, index_all, open_one
from independent_readers import read_parquet
from kcompact.dumps.dump import Dump
from kcompact.dumps.layouts import LAYOUTS
from kcompact.dumps.note_checks import check_notes
from kcompact.dumps.output.assemble import Fragment, write_joined
from kcompact.dumps.output.outputs import Target
from kcompact.dumps.parquet.parquet_output import row_groups_in
from kcompact.dumps.records.layout import Chosen
from kcompact.dumps.records.record import EXTRA_FIELDS, Record
from kcompact.errors import InputError
from laid_out import SPARK_SCHEMA

LAYOUT = LAYOUTS["parquet"]
KEYS = [b"a", b"", None, b"\xff\x00", b"b"]
VALUES = [b"x", b"", None, b"null", b"\xfe" * 40]


def spark_rows(count: int) -> list[dict[str, Any]]:
    return [
        {
            "key": KEYS[number % 5],
            "value": VALUES[number // 5 % 5],
            "topic": "orders",
            "partition": number % 2,
            "offset": number,
            "timestamp": datetime(2025, 10, 9, tzinfo=UTC),
            "timestampType": 0,
            "headers": [{"key": "h", "value": None}, {"key": "h", "value": b""}] if number % 3 else None,
        }
        for number in range(count)
    ]


def written(path: Path, rows: list[dict[str, Any]], schema: pa.Schema = SPARK_SCHEMA, **how: Any) -> Path:
    parquet.write_table(pa.Table.from_pylist(rows, schema), path, **how)
    return path


def decoded(path: Path, **options: Any) -> list[Record]:
    with open_one(path, **options) as dump:
        return [r for split in dump.splits(1) for _, _, r in LAYOUT.records(dump.files[0], split)]


def copied(dump: Dump, rows: list[dict[str, Any]], folder: Path, split_bytes: int = ONE_SPLIT) -> Path:
    """An output file that holds the given rows' records, as the command joins it."""
    table = pa.Table.from_pylist(rows)
    fragments = []
    with (folder / "part").open("wb") as part:
        for split in dump.splits(split_bytes):
            split_rows = table.filter(pa.compute.equal(table["split_id"], split.split_id))
            start = part.tell()
            places = split_rows["position"].to_numpy(), split_rows["record_bytes"].to_numpy()
            LAYOUT.copy(Chosen(dump.files[split.file_id], split, *places), part)
            fragments.append(Fragment(split.split_id, "part", start, part.tell(), len(split_rows)))
    output = folder / "out.parquet"
    with output.open("wb") as out:
        write_joined(out, Target(output, dump.files), fragments, folder)
    return output


def test_records_are_what_was_written(tmp_path: Path) -> None:
    path = written(tmp_path / "d.parquet", spark_rows(100), row_group_size=30)
    assert decoded(path) == read_parquet(path)


@pytest.mark.parametrize("statistics", [True, False])
def test_rows_do_not_depend_on_splits_or_on_how_much_of_a_row_is_read(
    tmp_path: Path, *, statistics: bool
) -> None:
    rows = spark_rows(200)
    path = written(tmp_path / "d.parquet", rows, row_group_size=7, write_statistics=statistics)
    with open_one(path) as dump:
        whole, _ = index_all(dump)
        parts, _ = index_all(dump, 1)
        full, _ = index_all(dump, 1, frozenset(EXTRA_FIELDS))
    assert len(set(parts["split_id"].to_pylist())) == 29
    assert whole["key"].num_chunks == 1  # 29 row groups of some rows, which cost as much as large ones
    for name in ("offset", "key", "timestamp_ms", "is_tombstone", "position", "record_bytes"):
        assert whole[name] == parts[name] == full[name]
    assert whole["key"].to_pylist() == [row["key"] for row in rows]
    assert whole["is_tombstone"].to_pylist() == [row["value"] is None for row in rows]


def test_rows_read_in_batches_are_those_of_the_logs_that_are_asked_for(tmp_path: Path) -> None:
    rows = [row | {"topic": f"t{number % 3}"} for number, row in enumerate(spark_rows(90))]
    path = written(tmp_path / "d.parquet", rows, row_group_size=40)
    with open_one(path, topics=frozenset({"t1"}), partitions=(range(1),)) as dump:
        table, notes = index_all(dump)
    assert table["offset"].to_pylist() == [n for n in range(90) if n % 3 == 1 and n % 2 == 0]
    assert notes[0].left_out == {("t0", 0), ("t0", 1), ("t1", 1), ("t2", 0), ("t2", 1)}
    assert set(notes[0].logs.values()) == {("t1", 0)}


@pytest.mark.parametrize(
    ("field", "wrong"), [("topic", None), ("partition", -1), ("offset", None), ("offset", 2**63 - 1)]
)
def test_a_row_that_names_no_log_or_offset_is_named(tmp_path: Path, field: str, wrong: Any) -> None:
    rows = spark_rows(30)
    rows[17][field] = wrong
    path = written(tmp_path / "d.parquet", rows, row_group_size=10)
    with open_one(path) as dump:
        _, notes = index_all(dump)
        with pytest.raises(InputError, match="row group 1, row 7: "):
            check_notes(dump, notes)


def test_record_bytes_add_up_to_the_packed_bytes_of_the_row_groups(tmp_path: Path) -> None:
    path = written(tmp_path / "d.parquet", spark_rows(200), row_group_size=64)
    about = parquet.read_metadata(path)
    groups = [about.row_group(number) for number in range(about.num_row_groups)]
    packed = sum(group.column(n).total_compressed_size for group in groups for n in range(group.num_columns))
    with open_one(path) as dump:
        assert sum(index_all(dump)[0]["record_bytes"].to_pylist()) == packed


def test_survivors_are_row_groups_of_the_same_making(tmp_path: Path) -> None:
    codecs = dict.fromkeys(["key", "topic", "partition", "offset", "timestamp", "timestampType"], "gzip")
    path = tmp_path / "d.parquet"
    with parquet.ParquetWriter(
        path,
        SPARK_SCHEMA,
        compression={**codecs, "value": "zstd", "headers.list.element.key": "none"},
        use_dictionary=["key"],
        use_deprecated_int96_timestamps=True,
        store_schema=False,
    ) as writer:
        writer.write_table(pa.Table.from_pylist(spark_rows(100), SPARK_SCHEMA), row_group_size=20)
        writer.add_key_value_metadata({"made.by": "somebody"})
    with open_one(path) as dump:
        rows = index_all(dump)[0].to_pylist()
        output = copied(dump, rows[:3] + rows[50:], tmp_path)
    assert read_parquet(output) == [read_parquet(path)[number] for number in [0, 1, 2, *range(50, 100)]]
    before, after = (parquet.ParquetFile(file) for file in (path, output))
    assert after.schema.equals(before.schema)
    assert after.metadata.metadata == {b"made.by": b"somebody"}
    for number in range(after.metadata.num_columns):
        column, other = (file.metadata.row_group(0).column(number) for file in (before, after))
        assert (
            column.path_in_schema,
            column.compression,
            column.has_dictionary_page,
            column.is_stats_set,
        ) == (
            other.path_in_schema,
            other.compression,
            other.has_dictionary_page,
            other.is_stats_set,
        )
    assert max(after.metadata.row_group(n).num_rows for n in range(after.metadata.num_row_groups)) <= 20


def test_records_are_copied_in_the_order_that_is_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path / "d.parquet", spark_rows(30), row_group_size=7)
    with open_one(path) as dump:
        rows = index_all(dump)[0].to_pylist()
        output = copied(dump, [rows[number] for number in (29, 3, 17, 0, 4)], tmp_path)
    assert [record.offset for record in read_parquet(output)] == [29, 3, 17, 0, 4]


def test_dates_that_nanoseconds_cannot_hold_survive_int96(tmp_path: Path) -> None:
    schema = pa.schema([*SPARK_SCHEMA, pa.field("valid_to", pa.timestamp("us"))])
    rows = [row | {"valid_to": datetime.fromisoformat("9999-12-31")} for row in spark_rows(5)]
    path = written(tmp_path / "d.parquet", rows, schema, use_deprecated_int96_timestamps=True)
    with open_one(path) as dump:
        output = copied(dump, index_all(dump)[0].to_pylist(), tmp_path)
    dates = parquet.ParquetFile(output, coerce_int96_timestamp_unit="us").read()["valid_to"].to_pylist()
    assert dates == [datetime.fromisoformat("9999-12-31")] * 5


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_are_read_in_the_unit_of_their_column(tmp_path: Path, unit: str) -> None:
    schema = pa.schema([("key", pa.binary()), ("value", pa.binary()), ("time", pa.timestamp(unit))])
    schema = schema.append(pa.field("offset", pa.int64()))
    rows = [{"key": b"k", "value": b"v", "time": datetime.fromisoformat("2025-01-01"), "offset": 1}]
    path = written(tmp_path / "orders-3.parquet", rows, schema)
    assert decoded(path) == [Record("orders", 3, 1, 1_735_689_600_000, b"k", b"v")]


def test_uuids_are_told_as_their_text(tmp_path: Path) -> None:
    uuid = UUID("12345678-1234-5678-1234-5678123456ff")
    fields = [("key", pa.uuid()), ("value", pa.struct([("id", pa.uuid()), ("n", pa.int8())]))]
    schema = pa.schema([*fields, ("offset", pa.int64())])
    columns = [
        pa.array([uuid.bytes, None], pa.uuid()),
        pa.StructArray.from_arrays(
            [pa.array([uuid.bytes, None], pa.uuid()), pa.array([1, 2], pa.int8())], ["id", "n"]
        ),
        pa.array([0, 1]),
    ]
    parquet.write_table(pa.Table.from_arrays(columns, schema=schema), tmp_path / "orders-3.parquet")
    records = decoded(tmp_path / "orders-3.parquet")
    assert [record.key for record in records] == [str(uuid).encode(), None]
    assert [json.loads(record.value or b"") for record in records] == [
        {"id": str(uuid), "n": 1},
        {"id": None, "n": 2},
    ]


@pytest.mark.parametrize("kind", [pa.json_(), pa.json_(pa.large_string()), pa.opaque(pa.binary(), "a", "b")])
def test_types_that_wrap_text_or_bytes_are_what_they_wrap(tmp_path: Path, kind: pa.DataType) -> None:
    """As DuckDB, parquet-go and hyparquet write JSON: it became a JSON text of itself."""
    texts = ['{"id": 1}', '{"a":"ü"}', None]
    column = pa.ExtensionArray.from_storage(kind, pa.array(texts).cast(kind.storage_type))
    rows = {"key": column, "value": column, "offset": [0, 1, 2]}
    parquet.write_table(pa.table(rows), tmp_path / "orders-3.parquet")
    stored = [None if text is None else text.encode() for text in texts]
    records = decoded(tmp_path / "orders-3.parquet")
    assert [(record.key, record.value) for record in records] == [(text, text) for text in stored]


@pytest.mark.parametrize("kind", [pa.list_(pa.uint8()), pa.large_list(pa.uint8()), pa.list_(pa.int8())])
def test_lists_of_numbers_of_8_bits_are_the_bytes(tmp_path: Path, kind: pa.DataType) -> None:
    """As serde_arrow writes Rust's Vec<u8>: they became the text of a JSON array."""
    stored = [b"a", b"", b"\x00\xff\x80", None]
    is_signed = kind.value_type == pa.int8()
    cells = [
        None if raw is None else np.frombuffer(raw, np.int8 if is_signed else np.uint8).tolist()
        for raw in stored
    ]
    rows = {"key": pa.array(cells, kind), "value": pa.array(cells, kind), "offset": [0, 1, 2, 3]}
    parquet.write_table(pa.table(rows), tmp_path / "orders-3.parquet")
    assert [(record.key, record.value) for record in decoded(tmp_path / "orders-3.parquet")] == [
        (raw, raw) for raw in stored
    ]


def test_columns_of_other_types_are_told_as_json(tmp_path: Path) -> None:
    inner = pa.struct([("id", pa.int64()), ("price", pa.decimal128(9, 2)), ("raw", pa.binary())])
    inner = [
        *inner,
        pa.field("tags", pa.map_(pa.string(), pa.int32())),
        pa.field("rate", pa.decimal128(9, 9)),
    ]
    schema = pa.schema(
        [("key", pa.int64()), ("value", pa.struct(inner)), ("offset", pa.int32()), ("topic", pa.string())]
    ).append(pa.field("headers", pa.map_(pa.string(), pa.binary())))
    value = {"id": 1, "price": Decimal("9.50"), "raw": b"\xff", "tags": [("a", 1)], "rate": Decimal("1E-9")}
    rows = [
        {"key": 7, "value": value, "offset": 0, "topic": "t", "headers": [("h", b"1")]},
        {"key": 7, "value": None, "offset": 1, "topic": "t", "headers": None},
    ]
    records = decoded(written(tmp_path / "d.parquet", rows, schema))
    expected = {"id": 1, "price": "9.50", "raw": "\xff", "tags": {"a": 1}, "rate": "0.000000001"}
    assert json.loads(records[0].value or b"") == expected
    assert [(r.key, r.headers) for r in records] == [(b"7", (("h", b"1"),)), (b"7", ())]
    assert records[1].value is None
    with open_one(tmp_path / "d.parquet") as dump:
        assert index_all(dump)[0]["is_tombstone"].to_pylist() == [False, True]


def test_text_that_is_no_utf_8_inside_a_value_is_refused_where_it_would_be_json(tmp_path: Path) -> None:
    """Spark casts any bytes to text, and writes them as they are; text alone stays the bytes that it is."""
    text = pa.array([b"a\xff", b"b"]).view(pa.string())
    columns = {"key": text, "offset": pa.array([0, 1]), "value": pa.StructArray.from_arrays([text], ["s"])}
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    with open_one(tmp_path / "t.parquet") as dump:
        assert index_all(dump)[0]["key"].to_pylist() == [b"a\xff", b"b"]
    with pytest.raises(InputError, match="row group 0: text inside a structured key or value is no UTF-8"):
        decoded(tmp_path / "t.parquet")


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (pa.map_(pa.string(), pa.int32()), [], {}),  # an empty map is no empty list
        (pa.list_(pa.int32()), [], []),
        (pa.map_(pa.string(), pa.list_(pa.int32())), [("a", []), ("b", None)], {"a": [], "b": None}),
        (pa.list_(pa.map_(pa.int32(), pa.float64())), [[(1, float("inf"))], []], [{"1": "inf"}, {}]),
        (pa.map_(pa.binary(), pa.bool_()), [(b"a", True)], {"a": True}),
    ],
)
def test_maps_are_told_as_objects_also_where_they_are_empty(
    kind: pa.DataType, value: Any, expected: Any, tmp_path: Path
) -> None:
    schema = pa.schema([("key", pa.string()), ("value", pa.struct([("one", kind)])), ("offset", pa.int32())])
    rows = [{"key": "k", "value": {"one": value}, "offset": 0}]
    (record,) = decoded(written(tmp_path / "t-0.parquet", rows, schema))
    assert json.loads(record.value or b"") == {"one": expected}


def test_columns_that_may_both_be_the_key_are_asked_about(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    parquet.write_table(pa.table({"offset": [1], "Key": ["a"], "key": ["b"], "value": ["v"]}), path)
    with pytest.raises(InputError, match="the key may be the field Key, key"):
        decoded(path)
    assert [record.key for record in decoded(path, fields={"key": "key"})] == [b"b"]


@pytest.mark.parametrize("name", ["topic", "offset", "key", "value"])
def test_two_columns_of_one_name_are_refused(name: str, tmp_path: Path) -> None:
    columns = {"topic": ["t"], "partition": [0], "offset": [1], "key": ["k"], "value": ["v"]}
    arrays = [pa.array(cells) for cells in (*columns.values(), columns[name])]
    parquet.write_table(pa.Table.from_arrays(arrays, names=[*columns, name]), tmp_path / "d.parquet")
    with pytest.raises(InputError, match=f"the {name} may be the field {name}, {name}"):
        open_one(tmp_path / "d.parquet")


@pytest.mark.parametrize("column", ["key", "value", "extra"])
def test_nanoseconds_of_96_bits_are_not_cut_off(column: str, tmp_path: Path) -> None:
    """Two keys would be one, or a survivor other than it was. Years that 64 bits cannot hold so are read."""
    path = tmp_path / "rows.parquet"
    rows = pa.table({"offset": [1, 2], "key": ["a", "b"], "value": ["v", "w"], "extra": [None, None]})
    at = rows.schema.get_field_index(column)
    for times, unit in (([2**60, None], "us"), ([1_000_000_001, 1_000_000_002], "ns")):
        odd = rows.set_column(at, column, pa.array(times, pa.timestamp(unit)))
        parquet.write_table(odd, path, use_deprecated_int96_timestamps=True)
        if unit == "us":
            with open_one(path) as dump:
                assert dump.files[0].layout == "parquet"
    with pytest.raises(InputError, match=f"the column {column} has timestamps of 96 bits"):
        open_one(path)


@pytest.mark.parametrize("view", [pa.string_view(), pa.binary_view()])
def test_columns_of_views_are_copied(view: pa.DataType, tmp_path: Path) -> None:
    headers = pa.array(
        [None, [{"key": "h", "value": "x"}]], pa.list_(pa.struct({"key": view, "value": view}))
    )
    columns = {"offset": [1, 2], "key": pa.array(["a", "b"], view), "value": pa.array(["v", None], view)}
    before = pa.table({**columns, "headers": headers})
    path = tmp_path / "rows.parquet"
    parquet.write_table(before, path)
    with open_one(path) as dump:
        rows = index_all(dump)[0].to_pylist()
        output = copied(dump, rows[1:], tmp_path)
    assert [row["key"] for row in rows] == [b"a", b"b"]
    assert parquet.read_table(output).equals(before.slice(1))


@pytest.mark.parametrize(
    ("kind", "cell"),
    [
        (pa.large_list(pa.string_view()), ["a", None]),
        (pa.list_(pa.binary_view(), 2), [b"a", b"\xff"]),
        (pa.map_(pa.string_view(), pa.list_(pa.string_view()), keys_sorted=True), [("a", ["x"])]),
        (pa.struct([("inner", pa.large_list(pa.binary_view()))]), {"inner": [b"x"]}),
    ],
)
def test_views_within_every_kind_of_column_are_copied(kind: pa.DataType, cell: Any, tmp_path: Path) -> None:
    before = pa.table({"offset": [1, 2], "key": ["a", "b"], "value": pa.array([None, cell], kind)})
    path = tmp_path / "rows.parquet"
    parquet.write_table(before, path)
    with open_one(path) as dump:
        rows, notes = index_all(dump)
        if pa.types.is_fixed_size_list(kind) and int(pa.__version__.partition(".")[0]) < 26:
            (reject,) = notes[0].rejects  # those releases of Arrow cannot read a null among lists of one size
            assert "cannot be read (Expected all lists to be of size=2" in reject.reason
            return
        output = copied(dump, rows.to_pylist()[1:], tmp_path)
    assert parquet.read_table(output).equals(before.slice(1))


def test_rows_without_an_envelope_are_the_values(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("name", pa.string())])
    path = written(tmp_path / "people.parquet", [{"id": n % 2, "name": "x"} for n in range(4)], schema)
    with pytest.raises(InputError, match=r"the key \(fields: id, name\)") as caught:
        open_one(path)
    assert caught.value.hint is not None
    assert "--key-field" in caught.value.hint
    records = decoded(path, key_fields=("name", "id"))
    assert [(r.key, r.offset) for r in records] == [
        (b'["x",0]', 0),
        (b'["x",1]', 1),
        (b'["x",0]', 2),
        (b'["x",1]', 3),
    ]
    assert records[0].value == b'{"id":0,"name":"x"}'


ROW = pa.struct([("id", pa.int64()), ("name", pa.string())])
EVENTS = pa.schema(
    [
        ("before", ROW),
        ("after", ROW),
        ("source", pa.struct([("db", pa.string()), ("table", pa.string())])),
        ("op", pa.string()),
        ("ts_ms", pa.int64()),
    ]
)


def events() -> list[dict[str, Any]]:
    row, source = {"id": 1, "name": "x"}, {"db": "d", "table": "t"}
    return [
        {"before": None, "after": row, "source": source, "op": "c", "ts_ms": 1},
        {"before": None, "after": {"id": 2, "name": "y"}, "source": source, "op": "c", "ts_ms": 1},
        {"before": row, "after": None, "source": source, "op": "d", "ts_ms": 2},
    ]


def test_change_events_are_proposed_and_read(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.parquet", events(), EVENTS)
    with pytest.raises(InputError, match="change events of Debezium") as caught:
        open_one(path)
    assert "--cdc debezium --key-field id" in str(caught.value.hint)
    records = decoded(path, cdc="debezium", key_fields=("id",))
    assert [(r.key, r.is_delete) for r in records] == [(b"1", False), (b"2", False), (b"1", True)]
    with open_one(path, cdc="debezium", key_fields=("id",)) as dump:
        assert index_all(dump)[0]["is_tombstone"].to_pylist() == [False, False, True]


def damaged(path: Path, at: int) -> Path:
    data = bytearray(path.read_bytes())
    data[at : at + 40] = b"\xff" * 40
    path.write_bytes(data)
    return path


def test_damage_is_named_with_its_row_group(tmp_path: Path) -> None:
    path = written(tmp_path / "d.parquet", spark_rows(90), row_group_size=30, compression="snappy")
    where = parquet.read_metadata(path).row_group(1).column(0).data_page_offset
    with open_one(damaged(path, where)) as dump:
        _, notes = index_all(dump)
        with pytest.raises(InputError, match=r"d\.parquet: row group 1, row \d+: cannot be read") as caught:
            check_notes(dump, notes)
    assert caught.value.hint


def test_a_page_that_does_not_fit_its_checksum_is_refused(tmp_path: Path) -> None:
    how = {
        "write_page_checksum": True,
        "compression": "none",
        "use_dictionary": False,
        "write_statistics": False,
    }
    path = written(tmp_path / "d.parquet", spark_rows(90), row_group_size=90, **how)
    data = path.read_bytes()
    at = data.index(b"\xfe" * 40)
    path.write_bytes(data[:at] + b"\xfd" + data[at + 1 :])
    with open_one(path) as dump, pytest.raises(InputError, match="row group 0"):
        list(LAYOUT.records(dump.files[0], dump.splits(ONE_SPLIT)[0]))


@pytest.mark.parametrize("kept", [10, 1_000, -1])
def test_a_cut_file_is_called_cut(tmp_path: Path, kept: int) -> None:
    path = written(tmp_path / "d.parquet", spark_rows(90))
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(InputError, match="the Parquet file is cut off"):
        open_one(path)


def test_a_footer_that_is_no_footer_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "d.parquet", spark_rows(90))
    with pytest.raises(InputError, match="table of contents cannot be read"):
        open_one(damaged(path, path.stat().st_size - 200))


_OPEN_FLIPPED = """
import sys
from pathlib import Path
from dump_pipeline import index_all, open_one
from kcompact.dumps.note_checks import check_notes
from kcompact.errors import InputError
path, begin = Path(sys.argv[1]), int(sys.argv[2])
whole = path.read_bytes()
for at in range(begin, len(whole) - 8, 3):
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :])
    print(at, flush=True)
    try:
        with open_one(path) as dump:
            rows, notes = index_all(dump)
            check_notes(dump, notes)
            assert len(rows) == 90
    except InputError:
        pass
"""


@pytest.mark.slow
def test_a_table_of_contents_at_odds_with_itself_is_refused(tmp_path: Path) -> None:
    """Where pyarrow is asked for such a column, it ends the process."""
    path = written(tmp_path / "d.parquet", spark_rows(90), row_group_size=30, compression="snappy")
    footer_bytes = int.from_bytes(path.read_bytes()[-8:-4], "little")
    begin = path.stat().st_size - 8 - footer_bytes
    command = [sys.executable, "-c", _OPEN_FLIPPED, str(path), str(begin)]
    paths = os.pathsep.join(["tests/support", *filter(None, [os.environ.get("PYTHONPATH")])])
    ended = subprocess.run(
        command, check=False, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": paths}
    )
    assert ended.returncode == 0, ended.stdout[-9:] + ended.stderr
    assert len(ended.stdout.splitlines()) == len(range(begin, begin + footer_bytes, 3))


_GROUP_ROWS, _ALL_ROWS = (b"\x16\x3c\x26", b"\x16\x3a\x26"), (b"\xb4\x01\x19", b"\xb2\x01\x19")  # one fewer


@pytest.mark.parametrize(
    ("lies", "said"),
    [
        ([_GROUP_ROWS], "it says 90 rows, and 89 in its row groups"),
        ([_GROUP_ROWS, _ALL_ROWS], "a row group of 29 rows has 30 values in a column"),
        ([(b"\x05value", b"\x05valve")], "valve of type BYTE_ARRAY is value of type BYTE_ARRAY elsewhere"),
    ],
)
def test_rows_or_columns_that_a_table_of_contents_denies_are_missed(
    tmp_path: Path, lies: list[tuple[bytes, bytes]], said: str
) -> None:
    path = written(tmp_path / "d.parquet", spark_rows(90), row_group_size=30, store_schema=False)
    begin = -8 - int.from_bytes(path.read_bytes()[-8:-4], "little")
    body, footer = path.read_bytes()[:begin], path.read_bytes()[begin:]
    for truth, lie in lies:
        assert truth in footer
        footer = footer.replace(truth, lie, 1)
    path.write_bytes(body + footer)
    with pytest.raises(InputError, match=said):
        open_one(path)


@pytest.mark.parametrize("seed", range(30))
def test_bytes_that_changed_are_read_or_refused_in_a_sentence(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    codec = chance.choice(["none", "snappy", "zstd"])
    path = written(tmp_path / "d.parquet", spark_rows(60), row_group_size=20, compression=codec)
    data = bytearray(path.read_bytes())
    first = len(data) - 1_200 if chance.random() < 0.6 else 4  # the footer, or all of it
    for _ in range(chance.randrange(1, 4)):
        data[chance.randrange(first, len(data) - 4)] = chance.randrange(256)
    path.write_bytes(data)
    with suppress(InputError), open_one(path) as dump:
        _, notes = index_all(dump)
        check_notes(dump, notes)
        list(LAYOUT.records(dump.files[0], dump.splits(ONE_SPLIT)[0]))


def test_a_file_without_rows_is_a_dump_without_records(tmp_path: Path) -> None:
    with open_one(written(tmp_path / "d.parquet", [])) as dump:
        assert index_all(dump)[0].num_rows == 0


@pytest.mark.slow
def test_pyarrow_s_parquet_is_imported_only_where_such_a_file_is_met() -> None:
    code = "import sys, kcompact.dumps.output.assemble; print('pyarrow.parquet' in sys.modules)"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_output_goes_to_what_cannot_be_wound_back(tmp_path: Path) -> None:
    path = written(tmp_path / "d.parquet", spark_rows(9))

    class Pipe(io.RawIOBase):
        got = b""

        def writable(self) -> bool:
            return True

        def write(self, data: Any) -> int:
            Pipe.got += bytes(data)
            return len(data)

    with open_one(path) as dump:
        rows = index_all(dump)[0].to_pylist()
        copied(dump, rows, tmp_path)
        part = tmp_path / "part"
        whole = Fragment(0, "part", 0, part.stat().st_size, len(rows))
        write_joined(Pipe(), Target(Path("-"), dump.files), [whole], tmp_path)  # type: ignore[arg-type]
    assert parquet.read_table(io.BytesIO(Pipe.got)).num_rows == 9


HEADER_TEXTS = ['[{"key": "h", "value": "1"}]', '{"h": "1"}', "h=1"]


@pytest.mark.parametrize("text", HEADER_TEXTS)
def test_headers_may_be_text_as_in_csv(text: str, tmp_path: Path) -> None:
    """As huantt/kafka-dump and data frames hold them."""
    rows = {
        "topic": ["t"],
        "partition": [0],
        "offset": ["7"],
        "key": ["k"],
        "value": ["v"],
        "headers": [text],
    }
    parquet.write_table(pa.table(rows), tmp_path / "d.parquet")
    (record,) = decoded(tmp_path / "d.parquet")
    assert (record.offset, record.headers) == (7, (("h", b"1"),))


def test_headers_of_no_known_shape_are_named(tmp_path: Path) -> None:
    rows = {
        "topic": ["t"],
        "partition": [0],
        "offset": [7],
        "key": ["k"],
        "value": ["v"],
        "headers": [[1, 2, 3]],
    }
    parquet.write_table(pa.table(rows), tmp_path / "d.parquet")
    with pytest.raises(InputError, match=r"row group 0: headers cannot be read: \[1, 2, 3\]"):
        decoded(tmp_path / "d.parquet")


def test_parquet_with_files_of_keys_beside_it_is_refused_as_what_it_is(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"id": ["a"]}), tmp_path / "orders+0+0000000000.snappy.parquet")
    (tmp_path / "orders+0+0000000000.keys.json").write_text('"a"\n')
    with pytest.raises(InputError, match=r"Parquet, whose keys lie beside it in .*keys\.json"):
        open_one(tmp_path)


def test_a_folder_that_spark_wrote_is_its_part_files(tmp_path: Path) -> None:
    """Marks, checksums and summaries are no parts; topic and partition are told by folders."""
    for partition in (0, 1):
        folder = tmp_path / "topic=orders" / f"partition={partition}"
        folder.mkdir(parents=True)
        rows = {"key": [b"a", b"a"], "value": [b"x", None], "offset": [5, 6]}
        parquet.write_table(pa.table(rows), folder / "part-00000-8a1c-c000.snappy.parquet")
        (folder / ".part-00000-8a1c-c000.snappy.parquet.crc").write_bytes(b"crc\0")
    schema = pa.schema([("key", pa.binary())])
    parquet.write_metadata(schema, tmp_path / "_metadata")
    parquet.write_metadata(schema, tmp_path / "_common_metadata")
    (tmp_path / "_SUCCESS").touch()
    with open_one(tmp_path) as dump:
        assert [(file.topic, file.partition) for file in dump.files] == [("orders", 0), ("orders", 1)]
        table, _ = index_all(dump)
    assert table["is_tombstone"].to_pylist() == [False, True] * 2


class PlainKeys(encryption.KmsClient):
    """Wraps keys in nothing."""

    def __init__(self, _: Any) -> None:
        super().__init__()

    def wrap_key(self, key: bytes, _: str) -> bytes:
        return key

    def unwrap_key(self, key: bytes, _: str) -> bytes:
        return key


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plain_footer", "said"),
    [(True, "Parquet with encrypted columns"), (False, "encrypted Parquet, not a dump that kcompact reads")],
)
def test_an_encrypted_file_is_refused_as_one(tmp_path: Path, said: str, *, plain_footer: bool) -> None:
    """In a process of its own: pyarrow aborts where an encrypted column of a plain footer is asked about."""
    properties = encryption.CryptoFactory(PlainKeys).file_encryption_properties(
        encryption.KmsConnectionConfig(),
        encryption.EncryptionConfiguration(
            "footer", column_keys={"k": ["value"]}, plaintext_footer=plain_footer
        ),
    )
    path = written(tmp_path / "d.parquet", spark_rows(9), encryption_properties=properties)
    done = kcompact_alone("inspect", path)
    assert done.returncode == 2
    assert f"{path}: {said}" in done.stderr
    assert "hint: decrypt it first" in done.stderr


def kcompact_alone(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "kcompact", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def never_null(path: Path, said: bytes) -> Path:
    """The file, the statistics of whose values (16 nulls) are made to say ``said`` (a zigzag varint)."""
    data = path.read_bytes()
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    count = b"\x36\x20"  # field 3 of the statistics, a long: 16
    assert data.count(count, footer) == 1
    at = data.index(count, footer) + 1
    path.write_bytes(data[:at] + said + data[at + 1 :])
    return path


def test_tombstones_that_statistics_deny_are_refused(tmp_path: Path) -> None:
    """By the statistics alone the first pass tells that a row group has no tombstone."""
    rows = {"key": [b"k"] * 40, "value": [None] * 16 + [b"v"] * 24, "offset": range(40), "topic": ["t"] * 40}
    path = tmp_path / "d.parquet"
    parquet.write_table(pa.table(rows), path)
    with open_one(path) as dump:
        table, _ = index_all(dump)
        assert sum(table["is_tombstone"].to_pylist()) == 16
    with open_one(never_null(path, b"\0")) as dump:
        table, _ = index_all(dump)
        with pytest.raises(
            InputError, match="row group 0: its statistics say that value is never null"
        ) as bad:
            copied(dump, table.to_pylist(), tmp_path)
    assert "nulls are tombstones" in (bad.value.hint or "")


def test_tombstones_are_not_told_by_a_writer_that_leaves_nulls_out_of_its_count(tmp_path: Path) -> None:
    """xitongsys/parquet-go says that a column has no null where it has one in each page."""
    rows = {"key": [b"k"] * 40, "value": [None] * 16 + [b"v"] * 24, "offset": range(40), "topic": ["t"] * 40}
    path = tmp_path / "d.parquet"
    parquet.write_table(pa.table(rows), path)
    path = never_null(path, b"\0")
    by_us, by_others = (
        bytes([len(name)]) + name
        for name in (parquet.read_metadata(path).created_by.encode(), b"parquet-go version latest")
    )
    body, end = path.read_bytes()[:-8], path.read_bytes()[-8:]
    assert body.count(by_us) == 1
    length = int.from_bytes(end[:4], "little") + len(by_others) - len(by_us)
    path.write_bytes(body.replace(by_us, by_others) + length.to_bytes(4, "little") + end[4:])
    with open_one(path) as dump:
        table, _ = index_all(dump)
        assert sum(table["is_tombstone"].to_pylist()) == 16
        output = copied(dump, table.to_pylist(), tmp_path)
    assert parquet.read_table(output) == pa.table(rows)


def test_hadoop_s_lz4_is_copied_in_the_lz4_that_can_be_written(tmp_path: Path) -> None:
    """As parquet-mr and Connect's sinks write it. pyarrow reads it and knows no name for it."""
    path = written(tmp_path / "d.parquet", spark_rows(60), compression="lz4")
    codec, hadoop_s = b"\x15\x0e", b"\x15\x0a"  # field 4 of a column chunk: 7, and 5
    data = path.read_bytes()
    for name in (b"key", b"value", b"topic", b"partition", b"offset", b"timestamp", b"timestampType"):
        assert name + codec in data
        data = data.replace(name + codec, name + hadoop_s)
    path.write_bytes(data)
    assert parquet.read_metadata(path).row_group(0).column(0).compression == "UNKNOWN"
    with open_one(path) as dump:
        output = copied(dump, index_all(dump)[0].to_pylist(), tmp_path)
    assert read_parquet(output) == read_parquet(path)
    assert parquet.read_metadata(output).row_group(0).column(0).compression == "LZ4"


def test_encodings_that_cannot_be_read_are_not_called_damage(tmp_path: Path) -> None:
    """As arrow-rs writes dictionaries of Arrow in its version 2.0."""
    rows = {"key": pa.array(["a", "b"]).dictionary_encode(), "value": [b"v", None], "offset": [0, 1]}
    path = tmp_path / "t+0+0.parquet"
    how = {"use_dictionary": False, "column_encoding": {"key": "DELTA_BYTE_ARRAY"}}
    parquet.write_table(pa.table(rows), path, **how)
    with open_one(path) as dump, pytest.raises(InputError, match="Not yet implemented") as bad:
        check_notes(dump, index_all(dump)[1])
    assert "write it again with plain encodings" in (bad.value.hint or "")


def test_variants_are_refused(tmp_path: Path) -> None:
    """Their inner parts are no value, and a copy would be a struct."""
    path = tmp_path / "orders-3.parquet"
    rows = duckdb.sql("SELECT i AS offset, 'k' AS key, {'a': i}::VARIANT AS value FROM range(3) t(i)")
    rows.write_parquet(str(path))
    with pytest.raises(InputError, match="column value is of Parquet's type VARIANT") as bad:
        decoded(path)
    assert "COLUMN::JSON" in (bad.value.hint or "")
    rows.project("* REPLACE (value::JSON AS value)").write_parquet(str(path))
    assert [record.value for record in decoded(path)] == [b'{"a":0}', b'{"a":1}', b'{"a":2}']


def test_a_column_named_as_a_field_of_a_struct_has_its_own_nulls(tmp_path: Path) -> None:
    rows = {"key": [b"k"] * 2, "offset": [0, 1], "topic": ["t"] * 2, "partition": [0, 0]}
    rows |= {"a": [{"b": b"x"}] * 2, "a.b": [b"v", None]}
    parquet.write_table(pa.table(rows), tmp_path / "d.parquet")
    with open_one(tmp_path / "d.parquet", fields={"value": "a.b"}) as dump:
        assert index_all(dump)[0]["is_tombstone"].to_pylist() == [False, True]


@pytest.mark.parametrize("width", [pa.decimal128(20), pa.decimal256(60), pa.decimal64(9)])
def test_whole_decimals_are_numbers(tmp_path: Path, width: pa.DataType) -> None:
    """Some databases have no other whole numbers, and export them so."""
    numbers = {"partition": [1, 1], "offset": [7, 8], "timestamp": [17, 18]}
    rows = {"topic": ["t"] * 2, "key": ["a", "b"], "value": ["x", None]}
    columns = {name: pa.array(map(Decimal, cells), width) for name, cells in numbers.items()}
    parquet.write_table(pa.table({**rows, **columns}), tmp_path / "d.parquet")
    found = [(r.partition, r.offset, r.timestamp_ms) for r in decoded(tmp_path / "d.parquet")]
    assert found == [(1, 7, 17), (1, 8, 18)]


def test_rows_behind_one_that_the_reader_judges_are_read_once(tmp_path: Path) -> None:
    """One that names no partition is refused; rows of batches before it stay as they are."""
    rows = {"topic": ["t"] * 40_000, "key": [b"k"] * 40_000, "value": [b"v"] * 40_000}
    partitions = [None if number == 30_000 else 0 for number in range(40_000)]
    numbers = {"partition": pa.array(partitions, pa.int32()), "offset": range(40_000)}
    parquet.write_table(pa.table({**rows, **numbers}), tmp_path / "d.parquet", row_group_size=40_000)
    with open_one(tmp_path / "d.parquet") as dump:
        table, notes = index_all(dump)
        with pytest.raises(InputError, match="row group 0, row 30000: no partition in the record") as refused:
            check_notes(dump, notes)
    assert "jq" not in str(refused.value.hint)
    assert table["offset"].to_pylist() == table["position"].to_pylist() == list(range(30_000))
    assert [note.fields_seen["record"] for note in notes.values()] == [30_001]


@pytest.mark.slow
def test_a_row_group_is_copied_some_bytes_at_a_time(tmp_path: Path) -> None:
    """However much it unpacks to: 400 MB in a file of some kB."""
    rows = {"topic": ["t"] * 4_000, "key": [b"k"] * 4_000, "offset": range(4_000)}
    rows["value"] = [bytes(100_000)] * 4_000
    path = tmp_path / "d.parquet"
    parquet.write_table(pa.table(rows), path, use_dictionary=False, compression="zstd")
    with open_one(path) as dump, (tmp_path / "part").open("w+b") as part:
        (split,) = dump.splits(ONE_SPLIT)
        places = np.arange(3_000), np.ones(3_000, np.int32)
        end = LAYOUT.copy(Chosen(dump.files[0], split, *places), part)
        sizes = [(table.num_rows, table.nbytes) for table in row_groups_in(part, 0, end)]
    assert sum(count for count, _ in sizes) == 3_000
    assert max(size for _, size in sizes) < 250_000_000
    assert min(count for count, _ in sizes) > 0


@pytest.mark.parametrize(
    ("name", "start"), [("offset", 10), ("kafka_offset", 0), ("id", None), (None, None), (["offset"], None)]
)
def test_an_index_of_even_steps_that_pandas_writes_no_column_for_is_no_lost_offset(
    tmp_path: Path, name: Any, start: int | None
) -> None:
    """As pandas 3 leaves it, by ``frame.set_index("offset").to_parquet()``, of every second offset."""
    index = {"kind": "range", "name": name, "start": start, "stop": 14, "step": 2}
    about = json.dumps({"index_columns": [index], "columns": []})
    table = pa.table({"key": ["a", "b"], "value": ["1", "2"]}).replace_schema_metadata({"pandas": about})
    parquet.write_table(table, tmp_path / "orders.parquet")
    if start is not None:
        with pytest.raises(InputError, match=f"{name} is an index of pandas") as caught:
            open_one(tmp_path / "orders.parquet")
        assert "reset_index()" in (caught.value.hint or "")
    with open_one(tmp_path / "orders.parquet", fields={} if start is None else {"offset": ""}) as dump:
        assert dump.files[0].dialect.offset is None
