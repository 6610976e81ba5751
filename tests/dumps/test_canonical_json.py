"""``--canonical-keys``: keys whose JSON is equal are one key in whatever form the dump holds them."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from pyarrow import parquet

from dump_pipeline import open_one, read_by_tasks
from kcompact.dumps.json.canonical_json import as_compared
from kcompact.dumps.note_checks import check_notes
from kcompact.dumps.options import ReadOptions
from kcompact.errors import InputError

TEXTS = ['{"a":1,"b":2}', '{"b": 2, "a": 1}', "1.0", "1", "1e0", "[1, 2]", "[1,2]", '"1"', "k-1", "007"]
COMPARED = [
    *(b'{"a":1,"b":2}', b'{"a":1,"b":2}', b"1", b"1", b"1", b"[1,2]", b"[1,2]"),
    *(b'"1"', b"k-1", b"007"),  # strings and what is no JSON are as they are
]


def row(offset: int, key: Any) -> dict[str, Any]:
    return {"topic": "t", "partition": 0, "offset": offset, "timestamp": 1, "key": key, "value": "v"}


def json_lines(path: Path, keys: list[Any]) -> Path:
    path.write_text("".join(json.dumps(row(i, key) | {"headers": []}) + "\n" for i, key in enumerate(keys)))
    return path


def files_of_texts(folder: Path) -> list[Path]:
    rows = [row(i, text) for i, text in enumerate(TEXTS)]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    (folder / "t.csv").write_text(text.getvalue())
    binary = [each | {"key": each["key"].encode(), "value": b"v"} for each in rows]
    parquet.write_table(pa.Table.from_pylist(binary), folder / "t.parquet")
    types = {"topic": "string", "partition": "int", "offset": "long", "timestamp": "long"}
    types |= {"key": "bytes", "value": "bytes"}
    schema = {"type": "record", "name": "r", "fields": [{"name": n, "type": t} for n, t in types.items()]}
    with (folder / "t.avro").open("wb") as file:
        fastavro.writer(file, fastavro.parse_schema(schema), binary)
    kcat = [
        {"topic": "t", "partition": 0, "offset": i, "tstype": "create", "ts": 1, "broker": 1, "key": key}
        for i, key in enumerate(TEXTS)
    ]
    (folder / "kcat.jsonl").write_text("".join(json.dumps(k | {"payload": "v"}) + "\n" for k in kcat))
    names = ("t.csv", "t.parquet", "t.avro", "kcat.jsonl")
    return [*(folder / name for name in names), json_lines(folder / "plain.jsonl", TEXTS)]


def compared_keys(path: Path, folder: Path, *, canonical: bool = True) -> list[bytes]:
    """The keys of the index rows that tasks read, once the dump is found to be readable."""
    with open_one(path, canonical_keys=canonical) as dump:
        table, notes = read_by_tasks(dump, folder / "run")
        check_notes(dump, notes)
    return list(table["key"].to_pylist())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    return tmp_path


def test_text_that_is_json_is_compared_by_what_it_means_in_every_format(folder: Path) -> None:
    for path in files_of_texts(folder):
        assert compared_keys(path, folder) == COMPARED, path
        assert compared_keys(path, folder, canonical=False) == [text.encode() for text in TEXTS], path


def test_json_that_is_no_string_is_compared_by_what_it_means(folder: Path) -> None:
    path = folder / "t.jsonl"
    path.write_text(
        "".join(
            f'{{"topic":"t","partition":0,"offset":{i},"timestamp":1,"key":{key},"value":"v","headers":[]}}\n'
            for i, key in enumerate(['{"a":1,"b":2}', '{"b": 2, "a": 1}', "1.0", "1", '"7"', '"k"'])
        )
    )
    assert compared_keys(path, folder) == [b'{"a":1,"b":2}', b'{"a":1,"b":2}', b"1", b"1", b'"7"', b"k"]


MANY = [f"key-{i}" for i in range(5_000)]  # more than what a file is recognised by


def test_json_of_several_types_behind_text_is_read(folder: Path) -> None:
    path = json_lines(folder / "t.jsonl", [*MANY, 7, {"a": 1}])
    assert compared_keys(path, folder)[-2:] == [b"7", b'{"a":1}']
    with pytest.raises(InputError, match="the key is no string, but the keys at the beginning of the dump"):
        compared_keys(path, folder, canonical=False)


def test_text_that_may_be_the_same_as_json_behind_it_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match='some keys are strings such as "7", others'):
        compared_keys(json_lines(folder / "t.jsonl", [*MANY, "7", 7]), folder)


def test_a_key_that_cannot_be_compared_is_refused_by_its_line(folder: Path) -> None:
    path = json_lines(folder / "t.jsonl", ["a", '{"a": 1, "a": 2}', "b"])
    for text in (path.read_text(), path.read_text().replace(r'"{\"a\": 1, \"a\": 2}"', '{"a":1,"a":2}')):
        path.write_text(text)
        with pytest.raises(InputError, match=r"t\.jsonl:2: the key has the member 'a' twice"):
            compared_keys(path, folder)


def test_keys_that_a_user_names_are_spelt_like_the_dump_s() -> None:
    named = [text.encode() for text in TEXTS]
    assert as_compared(named, ReadOptions(canonical_keys=True)) == COMPARED
    assert as_compared(named, ReadOptions()) == named
