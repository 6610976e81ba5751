import random
from pathlib import Path
from typing import Any

import fastavro
import pytest
from fastavro.utils import generate_many
from hypothesis import given, settings
from hypothesis import strategies as st

from avro_files import SHAPES, SYNC, avro_bytes, write_avro
from dump_pipeline import index_all, open_one
from kcompact.dumps.avro import avro_lanes
from kcompact.dumps.avro import avro_layout as avro
from kcompact.dumps.avro.avro_bounds import AvroBounds
from kcompact.dumps.avro.avro_schema import wire_schema
from kcompact.dumps.records.contents import CONTENT_EXTRA
from kcompact.dumps.records.layout import SplitNotes
from kcompact.dumps.records.record import Record

MANY = 10**9


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
    """The rows, which must be the same in lanes and record by record."""
    for extra in (CONTENT_EXTRA, frozenset()):
        in_lanes = rows_and_notes(path, extra, **options)
        with monkeypatch.context() as patched:
            patched.setattr(avro_lanes, "FEWEST_LANES", MANY)
            one_by_one = rows_and_notes(path, extra, **options)
        assert in_lanes[0] == one_by_one[0]
        assert in_lanes[1] == one_by_one[1]
    return in_lanes[0]


def fits_in_lanes(path: Path, extra: frozenset[str] = frozenset()) -> bool:
    with open_one(path) as dump:
        (split,) = dump.splits(1 << 40)
        reader = avro_lanes.LaneReader(dump.files[0], split, SplitNotes(), extra)
        with avro.map_file(dump.files[0].data_path) as data:
            return all(reader.read(chunk) is not None for chunk in avro._chunks(data, dump.files[0], split))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("block_bytes", [1, 120, 900])
@pytest.mark.parametrize("seed", range(4))
def test_lanes_give_what_reading_one_by_one_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shape: str, block_bytes: int, seed: int
) -> None:
    records = some_records(500, seed)
    path = write_avro(tmp_path / "dump.avro", SHAPES[shape], records, codec="snappy", block_bytes=block_bytes)
    rows = both_ways(path, monkeypatch)
    assert [row["offset"] for row in rows] == [record.offset for record in records]
    assert [row["key"] for row in rows] == [record.key for record in records]
    assert fits_in_lanes(path)
    assert fits_in_lanes(path, CONTENT_EXTRA)


def test_chunks_follow_one_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = some_records(2_000, 3)
    path = write_avro(tmp_path / "dump.avro", SHAPES["plain"], records, block_bytes=100)
    whole = both_ways(path, monkeypatch)
    monkeypatch.setattr(avro, "CHUNK_BYTES", 20_000)
    monkeypatch.setattr(avro_lanes, "BATCH_ROWS", 7)
    assert both_ways(path, monkeypatch) == whole


def test_filters_hold_in_lanes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_avro(tmp_path / "dump.avro", SHAPES["plain"], some_records(500, 3), block_bytes=1)
    rows = both_ways(path, monkeypatch, partitions=(range(70, 71),), topics=frozenset({"orders"}))
    assert 0 < len(rows) < 500


def test_damage_is_told_as_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


@settings(max_examples=15, deadline=None)
@given(
    extra=st.lists(_types, min_size=3, max_size=3),
    key=st.sampled_from(_KEYS),
    seed=st.integers(0, 99),
    order=st.permutations(range(7)),
)
def test_lanes_walk_over_any_schema(
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
    assert fits_in_lanes(path) != needs_walk


def test_a_schema_within_itself_is_read_one_by_one(tmp_path: Path) -> None:
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
    assert not fits_in_lanes(path)
    assert [row["offset"] for row in rows_and_notes(path)[0]] == list(range(100))
