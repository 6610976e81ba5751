"""Keys and values that are arrays of numbers: bytes, as Gson and Rust's serde write them, or JSON."""

import json
import shlex
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from dump_pipeline import index_all, open_one, records_of
from kcompact.errors import InputError

PLACE = {"topic": "t", "partition": 0, "offset": 0, "timestamp": 1}
BINARY = bytes([0, 255, 128, 127])
OF_JAVA = [0, -1, -128, 127]


def written(path: Path, *rows: dict[str, Any]) -> Path:
    texts = [json.dumps(PLACE | {"offset": at} | row) for at, row in enumerate(rows)]
    if path.suffix == ".json":
        path.write_text(f"[{','.join(texts)}]")
    else:
        path.write_text("".join(f"{text}\n" for text in texts))
    return path


def test_arrays_that_are_text_are_bytes(tmp_path: Path) -> None:
    """What follows the first of them may be any bytes, signed or not; an empty array is an empty value."""
    row = {"key": [*b"user-0"], "payload": [*b"value number 0"]}
    later: list[dict[str, Any]] = [{"key": [*BINARY], "payload": None}, {"key": OF_JAVA, "payload": []}]
    path = written(tmp_path / "d.jsonl", *[row] * 200, *later)
    read = records_of(path)
    assert [(each.key, each.value) for each in read[199:]] == [
        (b"user-0", b"value number 0"),
        (BINARY, None),
        (BINARY, b""),
    ]
    with open_one(path) as dump:
        (note,) = dump.files[0].notes
        rows, _ = index_all(dump)
    assert rows["key"].to_pylist()[199:] == [b"user-0", BINARY, BINARY]
    assert "keys and values are arrays of numbers, which are read as bytes" in note


def test_sizes_of_a_client_tell_that_arrays_are_bytes(tmp_path: Path) -> None:
    sizes = {"serializedKeySize": 4, "serializedValueSize": 2}
    path = written(tmp_path / "d.jsonl", sizes | {"key": OF_JAVA, "value": [0, 1]})
    assert [(each.key, each.value) for each in records_of(path)] == [(BINARY, b"\0\1")]
    path = written(tmp_path / "d.jsonl", sizes | {"key": "text", "value": [0, 1]})
    assert [(each.key, each.value) for each in records_of(path)] == [(b"text", b"\0\1")]
    path = written(tmp_path / "d.jsonl", sizes | {"key": "text", "value": [0, 1], "serializedValueSize": 6})
    assert [each.value for each in records_of(path)] == [b"[0, 1]"]


@pytest.mark.parametrize("name", ["d.jsonl", "d.json"])
@pytest.mark.parametrize(
    "row",
    [
        {"key": OF_JAVA, "payload": [1, 2]},
        {"key": [9], "payload": "v"},
        {"kafka-key": [9], "payload": "v"},
    ],
)
def test_arrays_that_may_be_json_are_asked_about(name: str, row: dict[str, Any], tmp_path: Path) -> None:
    """Both answers of the hint work as printed."""
    path = written(tmp_path / name, row)
    with pytest.raises(InputError, match="bytes, or JSON") as asked:
        open_one(path)
    as_json, _, as_bytes = str(asked.value.hint).partition("; where they are bytes, ")
    assert '{"type": "Buffer", "data": [...]}' in as_bytes
    words = shlex.split(as_json.partition(" takes ")[0])
    fields = dict(part.partition("=")[::2] for part in words[3].split(","))
    (record,) = records_of(path, dialect=words[1], fields=fields)
    texts = [
        value.encode() if isinstance(value, str) else json.dumps(value).encode() for value in row.values()
    ]
    assert [record.key, record.value] == texts
    marked = {
        role: {"type": "Buffer", "data": [n % 256 for n in each]} if isinstance(each, list) else each
        for role, each in row.items()
    }
    (record,) = records_of(written(tmp_path / f"new-{name}", marked))
    expected = [
        bytes(n % 256 for n in each) if isinstance(each, list) else each.encode() for each in row.values()
    ]
    assert [record.key, record.value] == expected


@pytest.mark.parametrize(
    "values",
    [[[1, 256]], [[1.0]], [[True, False]], [[1, "a"]], [[], []], [[1], {"a": [1]}], [[-129]], [[[1]]]],
)
def test_other_arrays_stay_json(values: list[Any], tmp_path: Path) -> None:
    path = written(tmp_path / "d.jsonl", *[{"key": "k", "value": value} for value in values])
    assert [json.loads(record.value or b"") for record in records_of(path)] == values


def test_arrays_beside_keys_of_text_are_json_with_a_note(tmp_path: Path) -> None:
    """Shares of a hundred, for all that is known: they are printable characters, too."""
    values = [[45, 67, 33 + at] for at in range(20)]
    path = written(
        tmp_path / "d.jsonl", *[{"key": f"k{at}", "value": each} for at, each in enumerate(values)]
    )
    (note,) = open_one(path).files[0].dialect.notes
    assert note.startswith("values are arrays of numbers, taken as JSON; where they are bytes, write each")
    assert [json.loads(record.value or b"") for record in records_of(path)] == values


@pytest.mark.parametrize("other", ["text", [300], {"a": 1}, 5])
def test_what_is_no_array_of_bytes_behind_them_is_refused(other: Any, tmp_path: Path) -> None:
    row = {"key": [*b"user-0"], "value": [*b"value number 0"]}
    path = written(tmp_path / "d.jsonl", *[row] * 200, row | {"key": other})
    with open_one(path) as dump:
        (reject,) = index_all(dump)[1][0].rejects
    assert reject.reason.startswith("the key's bytes cannot be read")


def test_bytes_of_values_that_were_lost_are_told_of(tmp_path: Path) -> None:
    """As JavaScript's ``toString()`` and Python's ``decode(errors="replace")`` leave Avro."""
    row = '{"offset":0,"key":"k","value":"%s"}\n'
    values = [b"\xef\xbf\xbdA", rb"\ufffdA", b"A", b"\xff\xfe"]  # the last as kcat -J has such bytes
    told = []
    for number, value in enumerate(values):
        (path := tmp_path / f"{number}.jsonl").write_bytes(row.encode().replace(b"%s", value))
        with open_one(path) as dump:
            told.append(any("values of the first records have U+FFFD" in note for note in dump.notes))
    assert told == [True, True, False, False]


@pytest.mark.parametrize(
    ("value", "header", "told"),
    [("A", "\ufffd", "headers"), ("\ufffd", "\ufffd", "values and headers"), ("\ufffd", "", "values")],
)
def test_a_dump_of_kcat_that_jq_has_rewritten_is_told_of(
    value: str, header: str, told: str, tmp_path: Path
) -> None:
    row = {"tstype": "create", "ts": 1, "headers": ["trace", header], "key": "k", "payload": value}
    path = tmp_path / "d.jsonl"
    path.write_text(json.dumps({"topic": "t", "partition": 0, "offset": 0, "broker": 1} | row) + "\n")
    with open_one(path) as dump:
        (note,) = dump.files[0].notes
    assert note.startswith(f"{told} of the first records have U+FFFD")


@pytest.mark.parametrize(("values", "is_told"), [(["\ufffd", "y"], True), (["\ufffd".encode(), b"y"], False)])
def test_columns_of_text_may_have_lost_bytes(values: list[Any], is_told: bool, tmp_path: Path) -> None:
    columns = {"topic": ["t", "t"], "partition": [0, 0], "offset": [0, 1], "timestamp": [1, 2]}
    path = tmp_path / "d.parquet"
    parquet.write_table(pa.table(columns | {"key": ["a", "b"], "value": values}), path)
    with open_one(path) as dump:
        assert any("have U+FFFD" in note for note in dump.notes) == is_told


@pytest.mark.parametrize(
    ("keys", "options", "is_noted"),
    [
        (["a", 7, "b"], {}, True),
        ([1.5, "a"], {}, True),
        ([1, 7], {}, False),
        (["a", "7"], {}, False),
        (["a", {"id": 7}], {}, False),
        (["a", 7], {"dialect": "kaf"}, False),  # embeds what reads as JSON: 007 does not
    ],
)
def test_numbers_beside_texts_may_have_been_texts(
    keys: list[Any], options: dict[str, str], is_noted: bool, tmp_path: Path
) -> None:
    """PHP's ``JSON_NUMERIC_CHECK`` makes 7 of 007: records of one went as superseded by the other's."""
    value = "payload" if options else "value"
    path = written(tmp_path / "d.jsonl", *({"key": key, value: "v"} for key in keys))
    with open_one(path, **options) as dump:
        assert any("numbers beside texts" in note for note in dump.files[0].notes) == is_noted


@pytest.mark.parametrize(
    ("keys", "is_noted"),
    [
        ([1234567890123456800], True),  # by jq 1.6 and Node: 1234567890123456789 and its neighbours
        ([1234567890123456800, 7, "a"], True),
        ([1234567890123456800, 1234567890123456789], False),
        ([4539123456781230, 4539123456781240], True),  # 16 digits, 15 of which a spreadsheet keeps
        ([4539123456781230], False),
        ([4539123456781230, 4539123456781234], False),
        ([1700000000000, 1700000001000], False),
        ([], False),
    ],
)
@pytest.mark.parametrize("layout", ["jsonl", "csv"])
def test_keys_that_all_end_in_zeros_may_have_been_rounded(
    layout: str, keys: list[Any], is_noted: bool, tmp_path: Path
) -> None:
    """Nothing else shows that they are several keys: all records but one of them went as superseded."""
    path = tmp_path / f"d.{layout}"
    if layout == "jsonl":
        written(path, *({"offset": n, "key": key, "value": "v"} for n, key in enumerate([*keys, None])))
    else:
        path.write_text("offset,key,value\n" + "".join(f"{n},{key},v\n" for n, key in enumerate([*keys, ""])))
    with open_one(path) as dump:
        assert any("they were rounded" in note for note in dump.files[0].notes) == is_noted


def test_texts_of_digits_in_json_were_never_numbers(tmp_path: Path) -> None:
    path = written(tmp_path / "d.jsonl", {"offset": 0, "key": "1234567890123456800", "value": "v"})
    with open_one(path) as dump:
        assert not any("they were rounded" in note for note in dump.files[0].notes)
