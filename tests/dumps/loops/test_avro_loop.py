"""The loop must never change what is read: every hostile block comes out as the reference reads it."""

import importlib
import io
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from fastavro.utils import generate_many
from hypothesis import given, settings
from hypothesis import strategies as st

from avro_files import SHAPES, SYNC, avro_bytes, write_avro
from dump_pipeline import index_all, open_one
from kcompact.dumps.avro import avro_layout as avro
from kcompact.dumps.avro.avro_bounds import AvroBounds
from kcompact.dumps.avro.avro_container import Chunk, encode_long, pack_block
from kcompact.dumps.avro.avro_schema import wire_schema
from kcompact.dumps.layouts import LAYOUTS
from kcompact.dumps.loops import columns
from kcompact.dumps.loops.avro.block_loop import BlockLoop, Cursor
from kcompact.dumps.loops.readiness import load_loops
from kcompact.dumps.records.indexing import CONTENT_EXTRA
from kcompact.dumps.records.layout import DumpFile, SplitNotes, SplitToIndex
from kcompact.dumps.records.record import Record
from loop_parity import some_of, whole
from siphash import SECRET

assert load_loops("avro")


def scanner_of(file: DumpFile, extra: frozenset[str] = frozenset()) -> Any:
    return scanner_for(*whole([file]), extra)


def scanner_for(part: SplitToIndex, extra: frozenset[str]) -> Any:
    return importlib.import_module("kcompact.dumps.loops.avro.avro_scanner").scanner_for(part, extra)


def some_records(count: int, seed: int) -> list[Record]:
    chance = random.Random(seed)
    return [
        Record(
            topic=chance.choice(["orders", "orders", "a", "a-longer-topic"][: 1 + seed % 4]),
            partition=chance.choice([0, 1, 2, 70]),
            offset=chance.choice([offset, offset << 20, offset << 40]),
            timestamp_ms=1_700_000_000_000 + offset,
            key=chance.choice([None, b"", b"k" * chance.randrange(200), str(offset).encode()]),
            value=chance.choice([None, b"", b"v" * chance.randrange(300)]),
            headers=(("trace", b"t" * chance.randrange(80)),) * chance.randrange(2),
        )
        for offset in range(count)
    ]


def rows_and_notes(
    path: Path, extra: frozenset[str] = frozenset(), **options: Any
) -> tuple[list[dict[str, Any]], SplitNotes]:
    with open_one(path, **options) as dump:
        table, notes = index_all(dump, extra=extra)
    return table.to_pylist(), notes[0]


def both_ways(path: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> list[dict[str, Any]]:
    """The rows, which must be the same by the loop and by the reference: rows, notes and what is refused.

    Behind a block that cannot be read nothing counts; the loop may have found more rows before it.
    """
    rows = []
    for extra in (CONTENT_EXTRA, frozenset[str]()):
        with monkeypatch.context() as patched:
            patched.setattr(avro, "scanner_of", scanner_for)
            rows, notes = rows_and_notes(path, extra, **options)
        with monkeypatch.context() as patched:
            patched.setattr(avro, "scanner_of", lambda *_: None)
            expected, expected_notes = rows_and_notes(path, extra, **options)
        if expected_notes.rejects:
            assert rows[: len(expected)] == expected
            assert notes.rejects == expected_notes.rejects
        else:
            assert rows == expected
            assert notes == expected_notes
            if extra:
                assert_the_same_where_needed(path, rows, **options)
    return rows


def assert_the_same_where_needed(path: Path, in_full: list[dict[str, Any]], **options: Any) -> None:
    with open_one(path, **options) as dump:
        file, (split,) = dump.files[0], dump.splits(1 << 40)
        part = SplitToIndex(file, split, SplitNotes(), SECRET, some_of)
        rows = [row for batch in LAYOUTS["avro"].index(part, CONTENT_EXTRA) for row in batch.to_pylist()]
    assert len(rows) == len(in_full)
    for row, expected in zip(rows, in_full, strict=True):
        whole_row = row["value_hash"] is not None
        assert row == (expected if whole_row else expected | dict.fromkeys(CONTENT_EXTRA))
        assert whole_row or row["offset"] % 3 != 1


def no_reference(chunk: Chunk, first: Cursor, last: Cursor) -> Iterator[pa.RecordBatch]:
    raise AssertionError(chunk, first, last)


def fits_the_loop(path: Path, extra: frozenset[str] = frozenset()) -> bool:
    """Whether the loop reads all records of a file by itself."""
    with open_one(path) as dump:
        file, (split,) = dump.files[0], dump.splits(1 << 40)
        scanner = scanner_of(file, extra)
        if scanner is None:
            return False
        by_loop = BlockLoop(scanner, SplitToIndex(file, split, SplitNotes(), SECRET), extra, no_reference)
        with avro.map_file(file.data_path) as data:
            for chunk in avro._chunks(data, file, split):
                list(by_loop.index(chunk))
    return True


@pytest.mark.everyday(8)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("block_bytes", [1, 120, 900])
@pytest.mark.parametrize("seed", range(4))
def test_the_loop_reads_what_the_reference_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shape: str, block_bytes: int, seed: int
) -> None:
    records = some_records(200, seed)
    path = write_avro(tmp_path / "dump.avro", SHAPES[shape], records, codec="snappy", block_bytes=block_bytes)
    rows = both_ways(path, monkeypatch)
    assert [row["offset"] for row in rows] == [record.offset for record in records]
    assert [row["key"] for row in rows] == [record.key for record in records]
    assert fits_the_loop(path)
    assert fits_the_loop(path, CONTENT_EXTRA)


def test_chunks_follow_one_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = some_records(700, 3)
    path = write_avro(tmp_path / "dump.avro", SHAPES["plain"], records, block_bytes=100)
    whole = both_ways(path, monkeypatch)
    monkeypatch.setattr(avro, "CHUNK_BYTES", 20_000)
    monkeypatch.setattr(columns, "MOST_ROWS", 7)
    assert both_ways(path, monkeypatch) == whole


def test_filters_hold_in_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_avro(tmp_path / "dump.avro", SHAPES["plain"], some_records(300, 3), block_bytes=1)
    rows = both_ways(path, monkeypatch, partitions=(range(70, 71),), topics=frozenset({"orders"}))
    assert 0 < len(rows) < 300


@pytest.mark.parametrize("key", [2.0**53, float("nan")])
@pytest.mark.parametrize("kind", ["double", ["null", "double"], "float"])
def test_keys_that_may_have_been_rounded_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: float, kind: Any
) -> None:
    fields = {"topic": "string", "partition": "int", "offset": "long", "key": kind, "value": "string"}
    schema = {"type": "record", "name": "r", "fields": [{"name": n, "type": t} for n, t in fields.items()]}
    records = [
        {"topic": "t", "partition": 0, "offset": i, "key": k, "value": "v"} for i, k in enumerate((1.5, key))
    ]
    with (tmp_path / "dump.avro").open("wb") as out:
        fastavro.writer(out, schema, records, sync_interval=1)
    both_ways(tmp_path / "dump.avro", monkeypatch)
    notes = rows_and_notes(tmp_path / "dump.avro")[1]
    assert len(notes.rejects) == 1


@pytest.mark.slow
def test_damage_is_reported_as_the_reference_reports_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = avro_bytes(SHAPES["trivadis"], some_records(200, 1), block_bytes=1)
    path = tmp_path / "dump.avro"
    path.write_bytes(data)
    with open_one(path) as dump:
        start = len(dump.files[0].shape.header.raw)
    chance = random.Random(2)
    for _ in range(25):
        at = chance.randrange(start, len(data))
        path.write_bytes(data[:at] + chance.randbytes(1) + data[at + 1 :])
        both_ways(path, monkeypatch)


_primitives = st.sampled_from(["null", "boolean", "int", "long", "float", "double", "bytes", "string"])
_flat = st.one_of(
    _primitives, _primitives.filter(lambda kind: kind != "null").map(lambda kind: ["null", kind])
)


def _nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        inner.map(lambda kind: {"type": "array", "items": kind}),
        inner.map(lambda kind: {"type": "map", "values": kind}),
        st.lists(inner, min_size=1, max_size=3).map(lambda kinds: {"fields": kinds}),
    )


_types = st.one_of(_flat, _nested(_flat), _nested(_nested(_flat)))


def _named(kind: Any, number: list[int]) -> Any:
    """Give records their names and fields."""
    if isinstance(kind, dict) and "fields" in kind:
        number[0] += 1
        name = f"R{number[0]}"
        fields = [{"name": f"f{i}", "type": _named(k, number)} for i, k in enumerate(kind["fields"])]
        return {"type": "record", "name": name, "fields": fields}
    if isinstance(kind, dict):
        return {key: _named(value, number) if key != "type" else value for key, value in kind.items()}
    return kind


_KEYS = ["long", ["null", "int"], "string", ["bytes", "null"], ["null", {"type": "array", "items": "int"}]]


@pytest.mark.slow
@settings(max_examples=15)
@given(
    extra=st.lists(_types, min_size=3, max_size=3),
    key=st.sampled_from(_KEYS),
    seed=st.integers(0, 99),
    order=st.permutations(range(7)),
)
def test_the_loop_walks_over_any_schema(
    tmp_path_factory: pytest.TempPathFactory, extra: list[Any], key: Any, seed: int, order: list[int]
) -> None:
    number = [0]
    types = {f"x{i}": _named(kind, number) for i, kind in enumerate(extra)}
    types |= {"key": key, "value": ["null", "double"], "partition": "int", "offset": "long"}
    names = list(types)
    fields = [{"name": names[i], "type": types[names[i]]} for i in order]
    schema = fastavro.parse_schema({"type": "record", "name": "Top", "fields": fields})
    random.seed(seed)
    rows = list(generate_many(schema, 60))
    for place, row in enumerate(rows):
        row |= {"offset": place, "partition": place % 3}
    path = tmp_path_factory.mktemp("dump") / "t.avro"
    with path.open("wb") as out:
        fastavro.writer(out, schema, rows, sync_interval=1, sync_marker=SYNC)
    with pytest.MonkeyPatch.context() as monkeypatch:
        both_ways(path, monkeypatch)
    # Items without bytes may be without end: such a schema is walked over first, and read one by one.
    with open_one(path) as dump:
        needs_walk = AvroBounds(wire_schema(dump.files[0].shape.header.schema)).needs_walk
    assert fits_the_loop(path) != needs_walk


def test_a_schema_within_itself_is_left_to_the_reference(tmp_path: Path) -> None:
    node = {
        "type": "record",
        "name": "Node",
        "fields": [{"name": "next", "type": ["null", "Node"]}, {"name": "name", "type": "string"}],
    }
    types = {"key": "string", "value": ["null", node], "offset": "long"}
    fields = [{"name": name, "type": kind} for name, kind in types.items()]
    rows = [
        {"key": "k", "value": {"next": {"next": None, "name": "b"}, "name": "a"}, "offset": offset}
        for offset in range(100)
    ]
    path = tmp_path / "t.avro"
    with path.open("wb") as out:
        fastavro.writer(out, {"type": "record", "name": "Top", "fields": fields}, rows, sync_interval=1)
    assert not fits_the_loop(path)
    assert [row["offset"] for row in rows_and_notes(path)[0]] == list(range(100))


_LAST = 2**63 - 1
_FIELDS: dict[str, Any] = {
    "topic": "string",
    "partition": "int",
    "offset": "long",
    "timestamp": ["null", "long"],
    "key": ["null", "bytes"],
    "value": ["null", "bytes"],
    "headers": {"type": "map", "values": "bytes"},
    "kind": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]},
    "digest": {"type": "fixed", "name": "Digest", "size": 3},
    "tags": {"type": "array", "items": ["null", "string"]},
    "inner": {
        "type": "record",
        "name": "Inner",
        "fields": [{"name": "a", "type": "float"}, {"name": "b", "type": "boolean"}],
    },
}
HOSTILE_SCHEMA = {
    "type": "record",
    "name": "Hostile",
    "fields": [{"name": name, "type": kind} for name, kind in _FIELDS.items()],
}


def sized(data: bytes) -> bytes:
    return encode_long(len(data)) + data


def wire_record(number: int, /, **parts: bytes) -> bytes:
    """A record as it lies in a block; ``parts`` take the place of its fields' bytes."""
    good = {
        "topic": sized(b"t"),
        "partition": encode_long(1),
        "offset": encode_long(number),
        "timestamp": encode_long(1) + encode_long(1_700_000_000_000),
        "key": encode_long(1) + sized(b"k"),
        "value": encode_long(1) + sized(b"v"),
        "headers": encode_long(1) + sized(b"h") + sized(b"1") + b"\0",
        "kind": encode_long(1),
        "digest": b"abc",
        "tags": encode_long(2) + encode_long(1) + sized(b"x") + encode_long(0) + b"\0",
        "inner": b"\0\0\0\0\1",
    }
    return b"".join((good | parts).values())


def hostile_dump(path: Path, *blocks: tuple[int, bytes]) -> Path:
    """A file of blocks: how many records each says that it holds, and their bytes."""
    out = io.BytesIO()
    fastavro.writer(out, HOSTILE_SCHEMA, [], sync_marker=SYNC)
    path.write_bytes(out.getvalue())
    header = avro.read_header("", str(path))
    path.write_bytes(header.raw + b"".join(pack_block(count, records, header) for count, records in blocks))
    return path


HOSTILE: dict[str, dict[str, bytes]] = {
    "topic of another length": {"topic": sized(b"orders")},
    "topic without text": {"topic": sized(b"")},
    "topic beyond ASCII": {"topic": sized("zürich".encode())},
    "topic that is no UTF-8": {"topic": sized(b"\xff")},
    "length spelt at length": {"topic": b"\x82\x80\x00t"},
    "negative length": {"topic": encode_long(-1)},
    "length over the end of the block": {"value": encode_long(1) + encode_long(1_000)},
    "length over the end of the file": {"value": encode_long(1) + encode_long(_LAST)},
    "negative partition": {"partition": encode_long(-1)},
    "partition beyond 32 bits": {"partition": encode_long(2**31)},
    "largest partition": {"partition": encode_long(2**31 - 1)},
    "negative offset": {"offset": encode_long(-1)},
    "largest offset": {"offset": encode_long(_LAST)},
    "smallest offset": {"offset": encode_long(-_LAST - 1)},
    "offset of 65 bits": {"offset": b"\xff" * 9 + b"\x02"},
    "offset of eleven bytes": {"offset": b"\xff" * 10 + b"\x00"},
    "offset in eleven bytes": {"offset": b"\x82" + b"\x80" * 9 + b"\x00"},
    "no timestamp": {"timestamp": encode_long(0)},
    "negative timestamp": {"timestamp": encode_long(1) + encode_long(-5)},
    "timestamp of ten digits": {"timestamp": encode_long(1) + encode_long(1_700_000_000)},
    "timestamp in microseconds": {"timestamp": encode_long(1) + encode_long(10**14)},
    "timestamp in nanoseconds": {"timestamp": encode_long(1) + encode_long(10**18)},
    "largest timestamp": {"timestamp": encode_long(1) + encode_long(_LAST)},
    "branch before the first": {"timestamp": encode_long(-1) + encode_long(7)},
    "branch behind the last": {"timestamp": encode_long(2) + encode_long(7)},
    "branch spelt at length": {"timestamp": b"\x82\x00" + encode_long(7)},
    "no key": {"key": encode_long(0)},
    "empty key": {"key": encode_long(1) + sized(b"")},
    "key of any bytes": {"key": encode_long(1) + sized(bytes(range(256)))},
    "key with a replacement": {"key": encode_long(1) + sized("\ufffd".encode())},
    "no value": {"value": encode_long(0)},
    "empty value": {"value": encode_long(1) + sized(b"")},
    "no headers": {"headers": b"\0"},
    "the same header twice": {"headers": encode_long(2) + (sized(b"h") + sized(b"1")) * 2 + b"\0"},
    "header that is no UTF-8": {"headers": encode_long(1) + sized(b"\xff") + sized(b"1") + b"\0"},
    "symbol behind the last": {"kind": encode_long(2)},
    "symbol before the first": {"kind": encode_long(-1)},
    "items with their size": {"tags": encode_long(-2) + encode_long(2) + b"\0\0" + b"\0"},
    "items with another size": {"tags": encode_long(-2) + encode_long(1) + b"\0\0" + b"\0"},
    "items with a negative size": {"tags": encode_long(-2) + encode_long(-9) + b"\0\0" + b"\0"},
    "items in several runs": {"tags": (encode_long(1) + b"\0") * 5 + b"\0"},
    "items without end": {"tags": encode_long(_LAST)},
    "as many items as can be": {"tags": encode_long(-_LAST - 1) + encode_long(1)},
    "truth of another kind": {"inner": b"\0\0\0\0\7"},
    "field too many": {"inner": b"\0\0\0\0\1\0"},
    "field that is missing": {"inner": b""},
}


@pytest.mark.everyday(16)
@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("most_rows", [1, 3, 1 << 15])
def test_hostile_records_are_read_as_the_reference_reads_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, most_rows: int
) -> None:
    monkeypatch.setattr(columns, "MOST_ROWS", most_rows)
    before, after = (b"".join(map(wire_record, numbers)) for numbers in (range(3), range(4, 6)))
    hostile = before + wire_record(3, **HOSTILE[name]) + after
    more = 4, b"".join(map(wire_record, range(6, 10)))
    both_ways(hostile_dump(tmp_path / "in.avro", more, (6, hostile), more), monkeypatch)
    both_ways(
        hostile_dump(tmp_path / "last.avro", (4, before + wire_record(3, **HOSTILE[name]))), monkeypatch
    )


@pytest.mark.parametrize("count", [0, 1, 2, 4, 5, 6])
def test_blocks_that_say_another_number_of_records_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    good = b"".join(map(wire_record, range(3)))
    path = hostile_dump(tmp_path / "dump.avro", (3, good), (count, good), (3, good))
    both_ways(path, monkeypatch)
    with monkeypatch.context() as patched:
        patched.setattr(avro, "scanner_of", lambda part, extra: scanner_of(part.file, extra))
        assert rows_and_notes(path)[1].rejects


@pytest.mark.slow
def test_records_with_any_bytes_changed_are_read_as_the_reference_reads_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = b"".join(map(wire_record, range(6)))
    chance = random.Random(4)
    for _ in range(150):
        changed = bytearray(good)
        for _ in range(chance.randrange(1, 4)):
            changed[chance.randrange(len(good))] = chance.choice([0, 1, 2, 3, 4, 127, 128, 255])
        cut = changed[: chance.choice([len(good), len(good), chance.randrange(6, len(good))])]
        both_ways(hostile_dump(tmp_path / "dump.avro", (6, bytes(cut)), (6, good)), monkeypatch)


def test_change_events_are_left_to_the_reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds: dict[str, Any] = {"key": "string", "value": ["null", "string"], "offset": "long"}
    fields = [{"name": name, "type": kind} for name, kind in kinds.items()]
    events = ['{"op":"c","before":null,"after":{"id":1}}', '{"op":"d","before":{"id":1},"after":null}', None]
    path = tmp_path / "t.avro"
    with path.open("wb") as out:
        rows = [{"key": "k", "value": event, "offset": n} for n, event in enumerate(events)]
        fastavro.writer(out, {"type": "record", "name": "Top", "fields": fields}, rows)
    read_rows = both_ways(path, monkeypatch, cdc="debezium")
    assert [row["is_tombstone"] for row in read_rows] == [False, True, True]
