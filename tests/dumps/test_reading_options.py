"""What the user says about a dump, and keys that are not plain text."""

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from pyarrow import parquet

from dump_pipeline import index_all, open_one
from kcompact.dumps.layouts import LAYOUTS
from kcompact.dumps.note_checks import check_notes
from kcompact.dumps.records.record import Record
from kcompact.errors import InputError
from kcompact.options.dump_options import ReadingOptions, read_options

FIXTURES = Path(__file__).parent / "fixtures"


def dump(path: Path, *records: Any) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def records(path: Path, **options: Any) -> list[Record]:
    with open_one(path, **options) as opened:
        return [
            record
            for split in opened.splits(1 << 40)
            for _, _, record in LAYOUTS[opened.files[0].layout].records(opened.files[split.file_id], split)
        ]


def envelope(offset: int, key: Any, value: Any = "v", **more: Any) -> dict[str, Any]:
    return {
        "topic": "t",
        "partition": 0,
        "offset": offset,
        "timestamp": 1,
        "key": key,
        "value": value,
        **more,
    }


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "orders.jsonl"


def test_a_number_is_another_key_than_its_digits(path: Path) -> None:
    dump(path, envelope(0, 7), envelope(1, "7"), envelope(2, "seven"), envelope(3, {"a": 1, "b": 2}))
    assert [record.key for record in records(path)] == [b"7", b'"7"', b"seven", b'{"a": 1, "b": 2}']


def test_text_keys_are_their_bytes_where_all_keys_are_text(path: Path) -> None:
    dump(path, envelope(0, "7"), envelope(1, "null"), envelope(2, "\u00e9"))
    assert [record.key for record in records(path)] == [b"7", b"null", b"\xc3\xa9"]


def test_json_keys_are_compared_as_spelt_unless_asked_otherwise(path: Path) -> None:
    path.write_text(
        '{"topic":"t","partition":0,"offset":0,"key":{"a":1,"b":2},"value":"v"}\n'
        '{"topic":"t","partition":0,"offset":1,"key":{"b": 2, "a": 1},"value":"v"}\n'
        '{"topic":"t","partition":0,"offset":2,"key":12345678901234567890123,"value":"v"}\n'
    )
    spelt = [b'{"a":1,"b":2}', b'{"b": 2, "a": 1}', b"12345678901234567890123"]
    assert [record.key for record in records(path)] == spelt
    assert [record.key for record in records(path, canonical_keys=True)] == spelt  # which conversions keep


def test_files_of_one_dump_are_read_alike(tmp_path: Path) -> None:
    dump(tmp_path / "a.jsonl", envelope(0, "7"))
    dump(tmp_path / "b.jsonl", envelope(1, 7))
    with open_one(tmp_path) as opened:
        assert index_all(opened)[0]["key"].to_pylist() == [b'"7"', b"7"]


def test_fields_are_found_where_the_user_says(path: Path) -> None:
    dump(path, {"meta": {"at": 5}, "id": "k", "body": {"text": "v"}, "p": 1, "t": "orders"})
    fields = {"offset": "meta.at", "key": "id", "value": "body.text", "partition": "p", "topic": "t"}
    (record,) = records(path, fields=fields)
    assert record == Record("orders", 1, 5, -1, b"k", b"v")


def test_fields_that_may_both_be_the_key_are_asked_about(path: Path) -> None:
    row = {"Offset": 5, "key": "a", "_key": "b", "message": "v"}
    dump(path, row, {**row, "Offset": 6})
    with pytest.raises(InputError, match="the key may be the field _key, key") as refused:
        records(path)
    assert refused.value.hint == "say which of them it is with --fields key=FIELD"
    assert [record.key for record in records(path, fields={"key": "_key"})] == [b"b", b"b"]
    dump(path, {"id": 1, "time": 5, "Time": 6})
    assert [record.key for record in records(path, key_fields=("id",))] == [b"1"]


def test_columns_of_one_name_are_refused_where_they_matter(tmp_path: Path) -> None:
    path = tmp_path / "orders.csv"
    path.write_text("offset,key,value,key,note,note\n5,a,v,b,x,y\n")
    with pytest.raises(InputError, match="2 columns are called key"):
        records(path)
    columns = ("offset", "key", "value", "value", "note", "note")
    with pytest.raises(InputError, match="2 columns are called value"):
        records(path, columns=columns)
    path.write_text("offset,key,value,other,note,note\n5,a,v,b,x,y\n")
    assert [record.key for record in records(path)] == [b"a"]


def test_a_field_of_the_value_can_be_the_key(path: Path) -> None:
    dump(path, {"id": 1, "name": "a"}, {"id": 2, "name": "b"}, {"id": 1, "name": "c"})
    by_key = records(path, key_fields=("id",))
    assert [(record.topic, record.offset, record.key) for record in by_key] == [
        ("orders", 0, b"1"),
        ("orders", 1, b"2"),
        ("orders", 2, b"1"),
    ]
    assert by_key[0].value == b'{"id": 1, "name": "a"}'


def test_value_only_files_of_a_sink_take_their_place_from_names() -> None:
    path = FIXTURES / "confluent-s3"
    with open_one(path, key_fields=("id",)) as opened:
        (file,) = opened.files
        assert (file.topic, file.partition, file.start_offset) == ("orders", 0, 0)
        assert index_all(opened)[0]["key"].to_pylist() == [b"0", b"1", b"2", b"3", b"5", b"6"]


@pytest.mark.parametrize("separator", ["\t", "|", "; "])
def test_the_console_consumer_s_separator_is_found(tmp_path: Path, separator: str) -> None:
    rows = [["CreateTime:5", "Partition:1", f"Offset:{n}", "k", "null" if n else "v"] for n in range(2)]
    path = tmp_path / "out.txt"
    path.write_text("".join(separator.join(row) + "\n" for row in rows))
    options = {"delimiter": separator} if len(separator) > 1 else {}
    decoded = records(path, **options)
    assert [(record.partition, record.offset, record.value) for record in decoded] == [
        (1, 0, b"v"),
        (1, 1, None),
    ]


def test_the_key_field_is_found_in_values_that_are_json_text(path: Path) -> None:
    kcat = {"topic": "t", "partition": 0, "offset": 0, "key": None, "payload": '{"user": {"id": "u1"}}'}
    dump(path, kcat, kcat | {"offset": 1, "payload": "no JSON"}, kcat | {"offset": 2, "payload": "[1]"})
    assert [record.key for record in records(path, key_fields=("user.id",))] == [b"u1", None, None]


@pytest.mark.parametrize(
    ("tombstone", "values"),
    [
        ("null", [None, b"", b"", b"NULL"]),
        ("missing", [None, None, b"", b"NULL"]),
        ("empty", [None, None, None, b"NULL"]),
        ("literal:NULL", [None, b"", b"", None]),
    ],
)
def test_the_user_says_what_a_tombstone_is(path: Path, tombstone: str, values: list[bytes | None]) -> None:
    missing = envelope(1, "k")
    del missing["value"]
    dump(path, envelope(0, "k", None), missing, envelope(2, "k", ""), envelope(3, "k", "NULL"))
    assert [record.value for record in records(path, tombstone=tombstone)] == values


@pytest.mark.parametrize(("missing_key", "key"), [(None, None), ("null", None), ("empty", b"")])
def test_the_user_says_what_a_missing_key_is(path: Path, missing_key: str | None, key: bytes | None) -> None:
    rpk = {"topic": "t", "value": "v", "timestamp": 1, "partition": 0, "offset": 0}
    dump(path, rpk, {"topic": "t", "key": "k", "value": "v", "timestamp": 1, "partition": 0, "offset": 1})
    assert [record.key for record in records(path, missing_key=missing_key)] == [key, b"k"]


def test_markers_say_which_values_are_base64(path: Path) -> None:
    dump(
        path,
        envelope(0, "AP8=", "aGk=", key_encoding="base64", value_encoding="base64"),
        envelope(1, "AP8=", "aGk=", key_encoding="text"),
    )
    decoded = records(path)
    assert [(record.key, record.value) for record in decoded] == [(b"\x00\xff", b"hi"), (b"AP8=", b"aGk=")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dialect": "nonsense"}, "no such dialect"),
        ({"tombstone": "some"}, "--tombstone some"),
        ({"missing_key": "none"}, "--missing-key none"),
    ],
)
def test_what_cannot_be_meant_is_refused(path: Path, options: dict[str, Any], message: str) -> None:
    dump(path, envelope(0, "k"))
    with pytest.raises(InputError, match=message):
        records(path, **options)


def test_a_misspelt_dialect_is_answered_with_what_is_spelt_alike(path: Path) -> None:
    dump(path, envelope(0, "k"))
    with pytest.raises(InputError, match="no such dialect") as refused:
        open_one(path, dialect="kcta")
    assert str(refused.value.hint).startswith("is it kcat or ")
    assert "maxwell" not in str(refused.value.hint)


@pytest.mark.parametrize("name", ["parquet", "spark-parquet", "avro", "lenses-avro", "avro-of-mine"])
def test_a_dialect_of_columns_is_taken_where_the_file_has_some(name: str, tmp_path: Path) -> None:
    """As the table lists them: they were no such dialects. In ``verify``, a file of JSON may stand beside."""
    form = "avro" if "avro" in name else "parquet"
    path = tmp_path / f"t.{form}"
    row = {"topic": "t", "partition": 0, "offset": 1, "key": b"a", "value": b"v"}
    if form == "parquet":
        parquet.write_table(pa.Table.from_pylist([row]), path)
    else:
        types = {"topic": "string", "partition": "int", "offset": "long", "key": "bytes", "value": "bytes"}
        fields = [{"name": column, "type": kind} for column, kind in types.items()]
        with path.open("wb") as out:
            fastavro.writer(out, {"type": "record", "name": "r", "fields": fields}, [row])
    if name == "avro-of-mine":
        with pytest.raises(InputError, match="is not one of Avro files"):
            records(path, dialect=name)
        return
    assert [record.key for record in records(path, dialect=name)] == [b"a"]
    converted = tmp_path / "t.jsonl"
    converted.write_text('{"topic":"t","partition":0,"offset":1,"timestamp":-1,"key":"a","value":"v"}\n')
    assert [r.key for r in records(converted, dialect=name, may_be_converted=True)] == [b"a"]
    with pytest.raises(InputError, match="no such dialect of JSON, CSV or text"):
        records(converted, dialect=name)


def test_fields_within_numbers_are_those_of_the_dump_that_was_converted(tmp_path: Path) -> None:
    """``verify`` has one set of options for both; keys and values may be objects in other tools' dumps."""
    converted = tmp_path / "t.jsonl"
    line = '{"topic":"t","partition":0,"offset":1,"timestamp":-1,"key":"a","value":%s}\n'
    converted.write_text(line % '"v"')
    assert [r.offset for r in records(converted, fields={"offset": "offset.$numberLong"})] == [1]
    converted.write_text(line % "null" + line.replace("1,", "2,") % '{"after":"v"}')
    fields = {"value": "value.after"}
    assert [r.value for r in records(converted, fields=fields)] == [None, b"v"]


def test_columns_and_a_delimiter_that_divide_nothing_are_noted(path: Path) -> None:
    """As of JSON lines beside a text dump that ``verify`` compares them with."""
    dump(path, envelope(0, "k"))
    with open_one(path, delimiter=",", columns=("offset", "key", "value")) as opened:
        for option in ("--delimiter", "--columns"):
            assert any(f"{option} is not used" in note for note in opened.notes)
        assert index_all(opened)[0]["key"].to_pylist() == [b"k"]
    with open_one(dump(path, envelope(0, "k"))) as opened:
        assert not any("--delimiter" in note for note in opened.notes)


_NO_KEYS = ["undefined", "Optional.empty", "N/A", "-", "(none)", "<none>", "%{[@metadata][kafka][key]}"]


@pytest.mark.parametrize("word", _NO_KEYS)
def test_keys_that_scripts_made_of_nulls_are_noted(word: str, path: Path) -> None:
    """JavaScript's ``${message.key}`` of a record without key: without a note, all but the last would go."""
    dump(path, *(envelope(n, key) for n, key in enumerate([word, "a", word, "null"])))
    with open_one(path) as opened:
        (note,) = [note for note in opened.notes if "which tools write for null" in note]
    with open_one(path, tombstone="literal:null") as opened:
        assert note in opened.notes  # of another word it is not said
    with open_one(path, tombstone=f"literal:{word}") as opened:
        assert not any("which tools write for null" in note for note in opened.notes)
    assert f"several keys of the first records are the text {word}" in note
    assert f"--tombstone {shlex.quote(f'literal:{word}')} " in note
    assert [record.key for record in records(path, tombstone=f"literal:{word}")] == [
        None,
        b"a",
        None,
        b"null",
    ]


def test_a_forced_dialect_that_does_not_fit_is_noticed(path: Path) -> None:
    dump(path, envelope(0, "not base64!"))
    with open_one(path, dialect="plain-base64") as opened:
        _, notes = index_all(opened)
        with pytest.raises(InputError, match=r":1: the key is not base64"):
            check_notes(opened, notes)


@pytest.mark.parametrize("is_text", [False, True])
@pytest.mark.parametrize(
    ("first", "doubt"),
    [
        (1_700_000_000, "are they seconds?"),
        (20240128, "dates such as 20240131"),
        (20240131235957, "are they dates and times"),
        (45322.25, "are they days"),
    ],
)
def test_timestamps_that_are_hardly_what_they_are_read_as_are_noted(
    path: Path, first: float, doubt: str, *, is_text: bool
) -> None:
    times = [first + n for n in range(3)]
    dump(path, *(envelope(n, "k") | {"timestamp": str(t) if is_text else t} for n, t in enumerate(times)))
    with open_one(path) as opened:
        _, notes = index_all(opened)
        (remark,) = check_notes(opened, notes)
    assert doubt in remark


def test_lone_surrogates_and_raw_bytes_are_the_keys_that_they_stand_for(path: Path) -> None:
    line = '{"topic":"t","partition":0,"offset":%d,"key":"%s","payload":"v"}\n'
    path.write_bytes(
        (line % (0, "\\ud800")).encode()
        + (line % (1, "@")).encode().replace(b"@", b"\xed\xa0")
        + (line % (2, "\\udc80")).encode()
        + (line % (3, "@")).encode().replace(b"@", b"\x80")
    )
    assert [record.key for record in records(path)] == [
        b"\xed\xa0\x80",
        b"\xed\xa0",
        b"\x80",  # as Python decodes that byte with surrogateescape
        b"\x80",
    ]


def test_files_without_offsets_and_order_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "partition=0"
    folder.mkdir()
    for name in ("a.jsonl", "b.jsonl"):
        dump(folder / name, {"topic": "t", "key": "k", "value": "v"})
    with pytest.raises(InputError, match="which file is the later"):
        open_one(folder, dialect="plain")


@pytest.mark.parametrize(
    ("mark", "spelt"),
    [
        *[(mark, "azE=") for mark in ("base64", "BASE64", "Base-64", "b64", True)],
        *[("hex", "6b31"), ("HEX", "6B31")],
    ],
)
@pytest.mark.parametrize("suffix", [".jsonl", ".csv"])
def test_a_mark_beside_a_key_says_how_it_is_encoded(suffix: str, mark: Any, spelt: str, path: Path) -> None:
    path = path.with_suffix(suffix)
    _marked(path, spelt, mark)
    record = records(path)[0]
    assert (record.key, record.value) == (b"k1", b"k1")


@pytest.mark.parametrize("mark", ["utf-8", "text", "string", "", False])
def test_other_marks_mean_text(mark: Any, path: Path) -> None:
    assert records(_marked(path, "azE=", mark))[0].key == b"azE="


def test_an_encoding_that_is_not_read_is_refused(path: Path) -> None:
    with open_one(_marked(path, "NMYQ", "base32")) as opened:
        (reject,) = index_all(opened)[1][0].rejects
    assert "an encoding that kcompact does not read: 'base32'" in reject.reason


def _marked(path: Path, spelt: str, mark: Any) -> Path:
    marks = {"key_encoding": mark, "value_encoding": mark}
    record = envelope(0, spelt, spelt, **marks)
    if path.suffix == ".csv":
        path.write_text(",".join(record) + "\n" + ",".join(map(str, record.values())) + "\n")
        return path
    return dump(path, record)


def test_what_kafkactl_makes_of_bytes_is_told(path: Path) -> None:
    place = {"Partition": 0, "Offset": 0, "Key": "/w==", "Value": "gA==", "Timestamp": "2023-11-14T22:13:20Z"}
    with open_one(dump(path, place)) as opened:
        assert any("such keys and values stay base64" in note for note in opened.notes)


NAMING = ("fields", "key_fields", "columns", "delimiter")
DOTTED = {"kafka.key": "k", "kafka.value": "v", "pos": {"at.offset": 7}}
NAMED = {"key": r"kafka\.key", "value": r"kafka\.value"}


@pytest.mark.parametrize("offset", [r"pos.at\.offset"])
@pytest.mark.parametrize("fields", [NAMED, {"key": "kafka.key", "value": "kafka.value"}])
def test_members_whose_names_have_dots(tmp_path: Path, fields: dict[str, str], offset: str) -> None:
    (tmp_path / "t-3.jsonl").write_text(json.dumps(DOTTED) + "\n")
    (record,) = records(tmp_path / "t-3.jsonl", fields=fields | {"offset": offset})
    assert (record.offset, record.key, record.value) == (7, b"k", b"v")


def test_a_dot_leads_into_an_object_where_there_is_one(tmp_path: Path) -> None:
    row = {"kafka.key": "outer", "kafka": {"key": "inner"}, "value": "v", "offset": 1}
    (tmp_path / "t-3.jsonl").write_text(json.dumps(row) + "\n")
    names = "kafka.key", r"kafka\.key"
    keys = [records(tmp_path / "t-3.jsonl", fields={"key": name})[0].key for name in names]
    assert keys == [b"inner", b"outer"]
    value = json.dumps({"x": row})
    (tmp_path / "u-3.jsonl").write_text(json.dumps({"value": value, "offset": 1}) + "\n")
    keys = [records(tmp_path / "u-3.jsonl", key_fields=(f"x.{name}",))[0].key for name in names]
    assert keys == [b"inner", b"outer"]


@pytest.mark.parametrize("name", ["kafka.key", r"kafka\.key"])
@pytest.mark.parametrize("layout", ["csv", "parquet"])
def test_columns_whose_names_have_dots(tmp_path: Path, layout: str, name: str) -> None:
    path = tmp_path / f"t-3.{layout}"
    if layout == "csv":
        path.write_text("kafka.key,value,offset\nk,v,7\n")
    else:
        parquet.write_table(pa.table({"kafka.key": [b"k"], "value": [b"v"], "offset": [7]}), path)
    (record,) = records(path, fields={"key": name})
    assert (record.offset, record.key, record.value) == (7, b"k", b"v")


@pytest.mark.parametrize("layout", ["jsonl", "csv", "parquet", "text", "value"])
def test_fields_whose_names_have_commas(tmp_path: Path, layout: str) -> None:
    r"""The command line separates names by commas, and takes ``\,`` for one of a name."""
    path, given = tmp_path / f"t-3.{layout}", ReadingOptions(fields=r"key=my\, key,value=a.b\,c")
    row = {"my, key": "k", "a.b,c": "v", "offset": 7}
    match layout:
        case "jsonl":
            path.write_text(json.dumps({"my, key": "k", "a": {"b,c": "v"}, "offset": 7}) + "\n")
        case "csv":
            path.write_text('"my, key","a.b,c",offset\nk,v,7\n')
        case "parquet":
            parquet.write_table(pa.table({name: [value] for name, value in row.items()}), path)
        case "text":
            path.write_text("k\tv\t7\n")
            given = replace(given, columns=r"my\, key,a.b\,c,offset", delimiter=r"\t")
        case "value":
            value = json.dumps({"x": {"my, key": "k"}})
            path.write_text(json.dumps({"a": {"b,c": value}, "offset": 7}) + "\n")
            given = ReadingOptions(fields=r"value=a.b\,c", key_field=r"x.my\, key")
    options = read_options(given)
    (record,) = records(path, **{name: getattr(options, name) for name in NAMING})
    assert (record.offset, record.key) == (7, b"k")
    assert record.value == (value.encode() if layout == "value" else b"v")


def test_a_hint_spells_names_with_dots_as_paths(tmp_path: Path) -> None:
    (tmp_path / "t-3.jsonl").write_text(json.dumps({"a": {"my.key": 1, "key": "k"}, "b.c": 1}) + "\n")
    with pytest.raises(InputError) as caught:
        records(tmp_path / "t-3.jsonl")
    assert r"a.my\.key" in caught.value.message
    assert r"b\.c" in caught.value.message


def test_columns_that_the_user_names_are_found_in_a_header_line(tmp_path: Path) -> None:
    path = tmp_path / "staff-2.csv"
    path.write_text('"name","title","salary"\n"ann","chief","1.5"\n"bob",,"2"\n"ann","","3"\n')
    with pytest.raises(InputError, match="names no key and no offset") as caught:
        records(path)
    assert "--fields key=COLUMN,value=COLUMN" in str(caught.value.hint)
    found = records(path, fields={"key": "name", "value": "title"})
    assert [(r.partition, r.offset, r.key, r.value) for r in found] == [
        (2, 0, b"ann", b"chief"),
        (2, 1, b"bob", None),
        (2, 2, b"ann", b""),
    ]
    with pytest.raises(InputError, match="no record of key and value"):
        records(path, fields={"key": "name"})


@pytest.mark.parametrize("role", ["topic", "partition", "offset"])
@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
def test_a_place_that_no_record_has_is_refused(tmp_path: Path, suffix: str, role: str) -> None:
    row = {"topic": "t", "partition": 1, "offset": 5, "key": "k", "value": "v", "timestamp": 17}
    path = tmp_path / f"t-3.{suffix}"
    lines = ",".join(row), ",".join(map(str, row.values()))
    path.write_text("\n".join(lines) + "\n" if suffix == "csv" else json.dumps(row) + "\n")
    with pytest.raises(InputError, match=f"--fields {role}=ofset: no such field"):
        records(path, fields={role: "ofset"})


@pytest.mark.parametrize("name", ["m.ts", r"m\.ts"])
def test_dots_in_the_names_of_columns_that_the_user_names(tmp_path: Path, name: str) -> None:
    path = tmp_path / "f.tsv"
    path.write_text("a\t0\t7\t1700000000001\tk\tv\th:1\n")
    columns = ("topic", "my.partition", "the.offset", "m.ts", "k.k", "v.v", "h.h")
    fields = {"partition": r"my\.partition", "offset": r"the\.offset", "timestamp": name}
    fields |= {"key": r"k\.k", "value": r"v\.v", "headers": r"h\.h"}
    with open_one(path, columns=columns, fields=fields, delimiter="\t") as opened:
        dialect = opened.files[0].dialect
    assert (dialect.partition, dialect.key.place, dialect.value.place, dialect.headers) == (
        columns[1],
        *columns[4:],
    )
    del fields["headers"]
    (record,) = records(path, columns=columns, fields=fields, delimiter="\t")
    assert (record.topic, record.partition, record.offset) == ("a", 0, 7)
    assert (record.timestamp_ms, record.key, record.value) == (1700000000001, b"k", b"v")


@pytest.mark.parametrize("role", ["topic", "partition", "offset", "timestamp", "key", "value", "headers"])
def test_a_field_that_is_none_of_the_columns_is_refused(tmp_path: Path, role: str) -> None:
    path = tmp_path / "f.tsv"
    path.write_text("a\tk\tv\n")
    with pytest.raises(InputError, match=f"--fields {role}=m: no such column .columns: topic, key, value"):
        records(path, columns=("topic", "key", "value"), fields={role: "m"}, delimiter="\t")


@pytest.mark.parametrize("name", ["csv", "text", "console-consumer", "dump-log", "aiven-csv"])
@pytest.mark.parametrize("form", ["{}\n{}\n", "[{}, {}]"])
def test_a_dialect_of_csv_or_text_is_none_of_json(tmp_path: Path, name: str, form: str) -> None:
    record = json.dumps({"topic": "t", "partition": 0, "offset": 1, "key": "a", "payload": "v"})
    (tmp_path / "x.json").write_text(form.format(record, record))
    with pytest.raises(InputError, match=f"--dialect {name} is one of CSV or text, and this is JSON"):
        open_one(tmp_path / "x.json", dialect=name)
