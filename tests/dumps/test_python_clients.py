"""Records as Python's clients have them (``ConsumerRecord``), written as their users write them."""

import csv
import io
import json
import shlex
from pathlib import Path
from typing import Any, NamedTuple

import fastavro
import pyarrow as pa
import pytest
from pyarrow import parquet

from dump_pipeline import index_all, judged, open_one
from kcompact.dumps.doubts import doubt_about
from kcompact.dumps.layouts import LAYOUTS
from kcompact.dumps.records.headers import decode_headers
from kcompact.dumps.records.record import Record
from kcompact.dumps.writers.text_writers import header
from kcompact.errors import InputError


class ConsumerRecord(NamedTuple):
    """The fields of kafka-python's and aiokafka's record, in their order."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: int
    key: Any
    value: Any
    headers: list[tuple[str, bytes | None]]
    checksum: int | None
    serialized_key_size: int
    serialized_value_size: int
    serialized_header_size: int


HEADERS = [("trace", b"it's"), ("trace", b"\xff\x00"), ("ü", None), ("empty", b"")]
CONTENTS = [("a", "1", HEADERS), ("b", "", []), ("a", None, []), ("c", "x,y", [("h", b"1")])]


def consumed(*, decoded: bool) -> list[ConsumerRecord]:
    """What a consumer hands out, with ``decode()`` for a deserializer or without any."""

    def of_client(text: str | None) -> Any:
        return text if text is None or decoded else text.encode()

    return [
        ConsumerRecord(
            *("t", 0, offset, 5, 0, of_client(key), of_client(value), headers, None),
            *(len(key), -1 if value is None else len(value), 0),
        )
        for offset, (key, value, headers) in enumerate(CONTENTS)
    ]


def with_dict_writer(records: list[ConsumerRecord], quoting: int) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, ConsumerRecord._fields, quoting=quoting, lineterminator="\n")
    writer.writeheader()
    writer.writerows(record._asdict() for record in records)
    return out.getvalue()


def records_in(path: Path) -> list[Record]:
    with open_one(path) as dump:
        (split,) = dump.splits(1 << 40)
        return [record for _, _, record in LAYOUTS[dump.files[0].layout].records(dump.files[0], split)]


def contents(path: Path) -> list[tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]]]]:
    return [(record.key, record.value, [*record.headers]) for record in records_in(path)]


EXPECTED = [
    (key.encode(), None if value is None else value.encode(), headers) for key, value, headers in CONTENTS
]


@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC, csv.QUOTE_ALL])
def test_of_csv_sizes_tell_null_from_empty_and_headers_are_python_s(quoting: int, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(with_dict_writer(consumed(decoded=True), quoting))
    assert contents(path) == EXPECTED
    with open_one(path) as dump:
        _, notes = index_all(dump)
        assert doubt_about(dump.files[0], notes[0], "value") is None


def test_json_of_records_that_nobody_decoded_has_headers_as_python_prints_bytes(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    records = [record._asdict() for record in consumed(decoded=False)]
    path.write_text("".join(json.dumps(record, default=str) + "\n" for record in records))
    assert contents(path) == EXPECTED


@pytest.mark.parametrize(
    "cell", ["[('a', 1)]", "[('a', b'1'", "[(b'a', b'1')]", "[('a', b'1', 2)]", "[(1, 2), f()]"]
)
def test_what_is_no_list_of_headers_is_refused(cell: str) -> None:
    with pytest.raises(ValueError, match=r"not a list of|values to unpack|malformed"):
        decode_headers(cell)


def test_bytes_that_python_smuggled_into_text_come_out_as_they_were(tmp_path: Path) -> None:
    """``decode(errors="surrogateescape")`` makes a half character of each byte that is no UTF-8."""
    texts = [b"\xff\x01", b"\xed\xb3\xbf", "\u00fc\U0001f600".encode(), b"a\x80\xc3"]
    escaped = [text.decode("utf-8", "surrogateescape") for text in texts]
    rows = [
        consumed(decoded=True)[0]._asdict()
        | {"offset": at, "key": key, "value": key, "headers": [("h", key)]}
        for at, key in enumerate(escaped)
    ]
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert contents(path) == [(text, text, [("h", text)]) for text in texts]


@pytest.mark.parametrize(
    ("sizes", "is_noted"),
    [
        ([("", 1), ("\u00e9", 3), ("ok", 2)], True),
        ([("a", 3), ("bc", 4)], False),  # JSON
        ([("5", 1), ("a", 3)], False),
        ([("7", 8), ("12345678", 8), ("123456789", 8)], False),  # numbers of 64 bits
        ([("a", 1), ("ok", 2)], False),
    ],
)
def test_keys_that_may_have_lost_bytes_are_noted(
    sizes: list[tuple[str, int]], is_noted: bool, tmp_path: Path
) -> None:
    """``decode(errors="ignore")`` leaves bytes out, and keys that differ in them would be one."""
    plain = consumed(decoded=True)[0]._asdict() | {"headers": []}
    rows = [plain | {"key": key, "serialized_key_size": size} for key, size in sizes]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with open_one(tmp_path / "t.jsonl") as dump:
        notes = dump.files[0].dialect.notes
    assert any("such as ''" in note and "serialized_key_size" in note for note in notes) is is_noted


@pytest.mark.parametrize(
    ("cell", "headers"),
    [
        ("()", ()),
        ("(('h', b'v'),)", (("h", b"v"),)),
        ("[('h', 'text'), ('n', None)]", (("h", b"text"), ("n", None))),
        ("{'h': b'v', 'n': None}", (("h", b"v"), ("n", None))),
        ("[{'key': 'h', 'value': 'text'}, {'key': 'h', 'value': None}]", (("h", b"text"), ("h", None))),
    ],
)
def test_headers_may_be_a_tuple_or_decoded(cell: str, headers: Any) -> None:
    assert decode_headers(cell) == headers


@pytest.mark.parametrize(
    "cell", ["[{'h': 'v'}]", "[{'key': 'h', 'value': 1}]", "[{'key': 'h'}\n {'key': 'g'}]"]
)
def test_dicts_of_other_headers_are_none(cell: str) -> None:
    """As numpy prints several, without commas."""
    with pytest.raises(ValueError, match=r"header|list"):
        decode_headers(cell)


def test_sizes_may_be_floats(tmp_path: Path) -> None:
    """As pandas has a column in which one is missing."""
    (tmp_path / "t.csv").write_text(
        "topic,partition,offset,key,value,serialized_key_size,serialized_value_size\n"
        "t,0,0,a,,1.0,-1.0\nt,0,1,b,,1.0,0.0\nt,0,2,c,v,1.0,\n"
    )
    assert [record.value for record in records_in(tmp_path / "t.csv")] == [None, b"", b"v"]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_that_bytes_are_read_as_python_prints_them_is_said(form: str, tmp_path: Path) -> None:
    path = tmp_path / f"t.{form}"
    pairs = [("b'a'", "b'1'"), ("b'a'", "None"), ("b'a'", "None"), ("None", "b'1'"), ("None", "b'2'")]
    rows = [f"t,0,{offset},{key},{value}\n" for offset, (key, value) in enumerate(pairs)]
    path.write_text("topic,partition,offset,key,value\n" + "".join(rows))
    if form == "jsonl":
        lines = [
            {"topic": "t", "partition": 0, "offset": offset, "key": key, "value": value}
            for offset, (key, value) in enumerate(pairs)
        ]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert open_one(path).files[0].dialect.notes == (
        "keys and values are read as the bytes that Python prints as b'...', and None as null",
    )


@pytest.mark.parametrize(
    "headers",
    [
        [["h", "b'1'"], ["n", None], ["h", "b'\\xff'"]],
        [{"key": "h", "value": "b'1'"}, {"key": "n", "value": None}, {"key": "h", "value": "b'\\xff'"}],
    ],
)
def test_headers_alone_may_be_printed(headers: Any, tmp_path: Path) -> None:
    """As ``json.dumps(..., default=str)`` does with them where keys and values were decoded before."""
    path = tmp_path / "t.jsonl"
    row = {"topic": "t", "partition": 0, "offset": 0, "timestamp": 1, "key": "a", "value": "b"}
    path.write_text(json.dumps(row | {"headers": headers}) + "\n" + json.dumps(row | {"offset": 1}) + "\n")
    assert open_one(path).files[0].dialect.notes == (
        "headers are read as the bytes that Python prints as b'...'",
    )
    with open_one(path) as dump:
        (notes,) = index_all(dump, extra=frozenset({"headers_hash"}))[1].values()
    assert notes.counts["doubtful_headers"] == 1  # of a dump whose sample has none they are text
    assert [record.headers for record in records_in(path)] == [
        (("h", b"1"), ("n", None), ("h", b"\xff")),
        (),
    ]


def test_headers_that_a_producer_printed_stay_so_in_what_is_converted(tmp_path: Path) -> None:
    row = {"topic": "t", "partition": 0, "offset": 0, "timestamp": 1, "key": "a", "value": "b"}
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps(row | {"headers": [header("h", b"b'1'")]}) + "\n")
    (record,) = records_in(path)
    assert record.headers == (("h", b"b'1'"),)
    assert header("h", b"1") == {"key": "h", "value": "1"}


@pytest.mark.parametrize(("key", "value"), [("b'a'", "None"), ("[B@3cd661db", "[B@3cd661dc"), ("a", "b'1'")])
def test_what_kcat_wrote_is_what_kafka_has(key: str, value: str, tmp_path: Path) -> None:
    """A producer that sends ``str(key)``, or ``toString()`` of an array, has such texts in its topic."""
    row = {"topic": "t", "partition": 0, "tstype": "create", "ts": 5, "broker": 1}
    texts = [(key, "b'1'"), (key, value)]
    lines = [json.dumps(row | {"offset": at, "key": k, "payload": v}) for at, (k, v) in enumerate(texts)]
    path = tmp_path / "t.jsonl"
    path.write_text("".join(line + "\n" for line in lines))
    assert contents(path) == [(k.encode(), v.encode(), []) for k, v in texts]


def test_columns_of_what_python_prints_of_bytes_are_noted(tmp_path: Path) -> None:
    """Columns may hold bytes as they are, so these stay; that ``None`` among them is text was not said."""
    rows = [{"offset": at, "key": "k", "value": value} for at, value in enumerate(["b'1'", "None", None])]
    path = tmp_path / "d.parquet"
    parquet.write_table(pa.Table.from_pylist(rows), path)
    with open_one(path) as dump:
        (note,) = [note for note in dump.notes if "as Python prints bytes" in note]
    assert note.endswith("if it is a null, --tombstone literal:None")
    with open_one(path, tombstone="literal:None") as dump:
        assert not any("as Python prints bytes" in note for note in dump.notes)
        assert index_all(dump)[0]["is_tombstone"].to_pylist() == [False, True, True]
    parquet.write_table(pa.Table.from_pylist([rows[0], rows[1] | {"value": "b'x' or b'y' and so on"}]), path)
    with open_one(path) as dump:
        assert not any("as Python prints bytes" in note for note in dump.notes)


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_none_beside_keys_as_python_prints_bytes_is_no_key(kind: str, tmp_path: Path) -> None:
    """``str(key)`` beside a value that was decoded."""
    path = tmp_path / f"t.{kind}"
    if kind == "csv":
        path.write_text("topic,partition,offset,key,value\nt,0,0,b'a',1\nt,0,1,None,2\n")
    else:
        row = {"topic": "t", "partition": 0}
        rows = [{"offset": 0, "key": "b'a'", "value": "1"}, {"offset": 1, "key": "None", "value": "2"}]
        path.write_text("".join(json.dumps(row | each) + "\n" for each in rows))
    assert [(key, value) for key, value, _ in contents(path)] == [(b"a", b"1"), (None, b"2")]


@pytest.mark.parametrize("null", ["NULL", "\\N", "nan"])
def test_a_word_for_null_beside_bytes_as_python_prints_them(null: str, tmp_path: Path) -> None:
    """``to_csv(na_rep="NULL")``: values stayed the text ``b'1'`` beside keys that were read as bytes."""
    path = tmp_path / "t.csv"
    path.write_text(f"topic,partition,offset,key,value\nt,0,0,b'a',b'1'\nt,0,1,b'c',{null}\n")
    with pytest.raises(InputError, match="is not bytes as Python prints them") as error:
        contents(path)
    option, literal = shlex.split(str(error.value.hint))[:2]
    assert (option, literal) == ("--tombstone", f"literal:{null}")
    with open_one(path, tombstone=literal) as dump:
        assert [field.encoding for field in (dump.files[0].dialect.key, dump.files[0].dialect.value)] == (
            ["python", "python"]
        )
        assert index_all(dump)[0]["is_tombstone"].to_pylist() == [False, True]


@pytest.mark.parametrize("name", ["d.jsonl", "d.json", "d.parquet", "d.avro"])
@pytest.mark.parametrize("role", ["key", "value"])
def test_what_a_deserializer_made_null_is_no_null(role: str, name: str, tmp_path: Path) -> None:
    """Its size tells: such a value would be a tombstone, and take the records before it with it."""
    sizes = [-1, 7] if role == "value" else [2, 7]
    rows = [
        {"topic": "t", "partition": 0, "offset": 0, "key": "k1", "value": None if role == "value" else "v"},
        {"topic": "t", "partition": 0, "offset": 1, "key": "k2", "value": "v"},
        {"topic": "t", "partition": 0, "offset": 2, "key": "k1", "value": "v"},
    ]
    rows = [row | {f"serialized_{role}_size": sizes[0]} for row in rows]
    path = tmp_path / name
    write(path, rows)
    assert judged(path) == []
    write(path, [*rows[:2], rows[2] | {role: None, f"serialized_{role}_size": sizes[1]}])
    with pytest.raises(InputError, match=f"serialized_{role}_size: 7: the {role} is null only because"):
        judged(path)


@pytest.mark.parametrize("name", ["d.jsonl", "d.json", "d.parquet", "d.avro"])
@pytest.mark.parametrize("role", ["key", "value"])
def test_empty_text_of_the_size_minus_one_is_null(role: str, name: str, tmp_path: Path) -> None:
    """Else records without a key were one key, and all but one of them gone."""
    texts = {"key": "k", "value": "v", role: ""}
    rows = [
        {"topic": "t", "partition": 0, "offset": offset, **texts, f"serialized_{role}_size": size}
        for offset, size in enumerate([-1, 0, -1])
    ]
    path = tmp_path / name
    write(path, rows)
    assert judged(path) == []
    at = ["key", "value"].index(role)
    assert [record[at] for record in contents(path)] == [None, b"", None]
    indexed = index_all(open_one(path))[0].to_pylist()
    assert [role == "key" and row["key"] is not None for row in indexed] == [False, role == "key", False]
    assert [row["is_tombstone"] for row in indexed] == [role == "value", False, role == "value"]


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    """The rows in the format that the name says."""
    if path.suffix == ".parquet":
        parquet.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".avro":
        types: dict[str, Any] = {"partition": "int", "offset": "long", "topic": "string"}
        types |= {f"serialized_{role}_size": "int" for role in ("key", "value")}
        columns = {name: types.get(name, ["null", "string"]) for name in rows[0]}
        fields = [{"name": name, "type": kind} for name, kind in columns.items()]
        with path.open("wb") as out:
            fastavro.writer(out, {"type": "record", "name": "r", "fields": fields}, rows)
    else:
        path.write_text(
            json.dumps(rows) if path.suffix == ".json" else "".join(json.dumps(row) + "\n" for row in rows)
        )
