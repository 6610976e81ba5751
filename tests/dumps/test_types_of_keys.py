"""Keys of an Avro schema that changed within a dump: what their bytes mean is in each file's schema alone."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dump_pipeline import judged
from kcompact.errors import InputError


def enum(*symbols: str) -> dict[str, Any]:
    return {"type": "enum", "name": "E", "symbols": [*symbols]}


def record(*names: str) -> dict[str, Any]:
    return {"type": "record", "name": "K", "fields": [{"name": name, "type": "int"} for name in names]}


def decimal(scale: int) -> dict[str, Any]:
    return {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": scale}


def write(folder: Path, name: str, key_type: Any, key: Any, *, topic: str = "t", offset: int = 0) -> bytes:
    """A file of one record, and the bytes of its key."""
    fields = {"topic": "string", "partition": "int", "offset": "long", "key": key_type, "value": "string"}
    schema = {
        "type": "record",
        "name": "Row",
        "fields": [{"name": field, "type": kind} for field, kind in fields.items()],
    }
    row = {"topic": topic, "partition": 0, "offset": offset, "key": key, "value": "v"}
    with (folder / name).open("wb") as out:
        fastavro.writer(out, schema, [row])
    with (folder / "key").open("w+b") as out:
        fastavro.schemaless_writer(out, fastavro.parse_schema(key_type), key)
        out.seek(0)
        data = out.read()
    (folder / "key").unlink()
    return data


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ((enum("A", "B"), "B"), (enum("B", "A"), "A")),
        ((record("a", "b"), {"a": 1, "b": 2}), (record("b", "a"), {"a": 2, "b": 1})),
        ((decimal(2), Decimal("1.50")), (decimal(1), Decimal("15.0"))),
        ((["null", enum("A", "B")], "B"), (["null", enum("B", "A")], "A")),
    ],
)
def test_keys_of_another_type_are_refused_as_they_may_look_alike(tmp_path: Path, old: Any, new: Any) -> None:
    keys = [write(tmp_path, "1.avro", *old), write(tmp_path, "2.avro", *new, offset=1)]
    assert keys[0] == keys[1]  # though they are two keys: one would be gone
    with pytest.raises(InputError, match=r"keys of t have another type than in .*1\.avro"):
        judged(tmp_path)


def test_keys_of_several_topics_may_have_types_of_their_own(tmp_path: Path) -> None:
    write(tmp_path, "1.avro", enum("A", "B"), "B")
    write(tmp_path, "2.avro", enum("B", "A"), "A", topic="other")
    judged(tmp_path)


@pytest.mark.parametrize("types", [("string", "bytes"), ("int", "long"), (["null", "string"], "string")])
def test_plain_keys_stand_for_themselves_whatever_their_type(tmp_path: Path, types: Any) -> None:
    for number, kind in enumerate(types):
        key = 7 if "int" in types else b"k" if kind == "bytes" else "k"
        write(tmp_path, f"{number}.avro", kind, key, offset=number)
    judged(tmp_path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (pa.array([7]), pa.array([7.0, None])),
        (pa.array([{"a": 1, "b": 2}]), pa.array([{"b": 2, "a": 1}])),
        (pa.array([[1, 2000]]), pa.array([[1.0, 2000.0]])),
        (pa.array([Decimal("1.5")]), pa.array([Decimal("1.50")])),
        (pa.array([1], pa.timestamp("ms")), pa.array([1000], pa.timestamp("us"))),
    ],
)
def test_keys_of_parquet_that_are_spelt_in_two_ways_are_refused(
    tmp_path: Path, old: pa.Array, new: pa.Array
) -> None:
    """As pandas makes doubles of whole numbers where one is missing: 7.0 superseded no 7."""
    columns(tmp_path / "1.parquet", old)
    columns(tmp_path / "2.parquet", new, offset=5)
    with pytest.raises(InputError, match=r"keys of t have another type than in .*1\.parquet"):
        judged(tmp_path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (pa.array([7], pa.int32()), pa.array(["7"])),
        (pa.array(["k"]).dictionary_encode(), pa.array([b"k"], pa.large_binary())),
        (pa.array([{"a": 1}]), pa.array([{"a": 1}], pa.struct([("a", pa.int16())]))),
    ],
)
def test_keys_of_parquet_that_are_spelt_alike_are_taken(tmp_path: Path, old: pa.Array, new: pa.Array) -> None:
    columns(tmp_path / "1.parquet", old)
    columns(tmp_path / "2.parquet", new, offset=5)
    judged(tmp_path)


@pytest.mark.parametrize("keys", [pa.array([{"a": 1}]), pa.array([1.0]), pa.array([1])])
def test_typed_keys_beside_json_are_noted(keys: pa.Array, tmp_path: Path) -> None:
    """Python's json writes a blank behind a colon: the same key would be two, without a word."""
    columns(tmp_path / "1.parquet", keys)
    key = '{"a": 1}' if pa.types.is_struct(keys.type) else "1"
    line = f'{{"topic":"t","partition":0,"offset":1,"key":{key},"value":"v"}}\n'
    (tmp_path / "2.jsonl").write_text(line)
    notes = [said for said in judged(tmp_path) if "keys of t are compared as they are spelt here" in said]
    assert len(notes) == int(not pa.types.is_integer(keys.type))
    (tmp_path / "2.jsonl").write_text(line.replace('"topic":"t"', '"topic":"u"'))
    assert judged(tmp_path) == []


def columns(path: Path, keys: pa.Array, *, offset: int = 0) -> None:
    """A file of records with these keys."""
    count = len(keys)
    offsets = [*range(offset, offset + count)]
    fields = {"topic": ["t"] * count, "partition": [0] * count, "offset": offsets}
    pq.write_table(pa.table(fields | {"key": keys, "value": ["v"] * count}), path)
