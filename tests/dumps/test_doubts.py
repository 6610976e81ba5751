"""Words and empties that may be nulls: what a hint offers for each reading is what the records then say."""

import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from dump_pipeline import index_all, judged, open_one, records_of
from hint_tools import needs_jq
from kcompact.dumps.note_checks import refuse_doubts
from kcompact.errors import InputError

LABELS = "CreateTime:1700000000000\tPartition:0\tOffset:"
CONSOLE = "".join(
    f"{LABELS}{offset}\t{key}\t{value}\n"
    for offset, (key, value) in enumerate([("a", "v"), ("b", ""), ("c", "null"), ("null", "w"), ("", "x")])
)
KAFDROP = (
    '[{"partition":0,"offset":0,"message":"empty","key":"a","headers":{},"timestamp":"2023-11-14T22:13:20.000Z",'
    '"headersFormatted":""},{"partition":0,"offset":1,"message":"null","key":"b","headers":{},'
    '"timestamp":"2023-11-14T22:13:22.000Z","headersFormatted":""}]'
)
KEYED = {"columns": ("key", "value"), "delimiter": "\t"}


def pairs(path: Path, **options: Any) -> list[tuple[bytes | None, bytes | None]]:
    return [(record.key, record.value) for record in records_of(path, **options)]


def question(path: Path, role: str, **options: Any) -> InputError:
    """The error by which the user is asked about keys or values."""
    with open_one(path, **options) as dump:
        _, notes = index_all(dump)
        with pytest.raises(InputError, match="it depends on which it is") as caught:
            refuse_doubts(dump, notes, {role: "it"})
        return caught.value


def offered(error: InputError) -> dict[str, str]:
    """The options in a hint, each with what it is said to be for."""
    return {
        shlex.split(option)[1]: reading
        for option, reading in re.findall(r"(--[a-z-]+ \S+)(?: where)? ([^,]+)", error.hint or "")
    }


@pytest.fixture
def console(tmp_path: Path) -> Path:
    path = tmp_path / "orders.txt"
    path.write_text(CONSOLE)
    return path


def test_the_console_consumer_writes_nothing_for_an_empty_one_and_a_word_for_null(console: Path) -> None:
    told = pairs(console, missing_key="empty", tombstone="literal:null")
    assert told == [(b"a", b"v"), (b"b", b""), (b"c", None), (None, b"w"), (b"", b"x")]


def test_nothing_is_empty_before_anybody_is_asked(console: Path) -> None:
    assert pairs(console)[1] == (b"b", b"")
    assert pairs(console)[4] == (b"", b"x")


def test_each_answer_about_a_key_that_is_a_word_is_a_reading_of_it(console: Path) -> None:
    error = question(console, "key")
    assert "1 record with the word null as key" in error.message
    answers = offered(error)
    assert answers == {"text": "it is the text 'null'", "empty": "it means no key"}
    keys = {answer: [key for key, _ in pairs(console, missing_key=answer)] for answer in answers}
    assert keys == {"text": [b"a", b"b", b"c", b"null", b""], "empty": [b"a", b"b", b"c", None, b""]}


def test_each_answer_about_a_value_that_is_a_word_is_a_reading_of_it(console: Path) -> None:
    error = question(console, "value")
    assert "1 record with the word null as value" in error.message
    answers = offered(error)
    assert answers == {"literal:null": "it is a tombstone", "none": "it is text"}
    values = {answer: [value for _, value in pairs(console, tombstone=answer)][:3] for answer in answers}
    assert values == {"literal:null": [b"v", b"", None], "none": [b"v", b"", b"null"]}


def test_kafdrop_s_word_is_the_one_in_the_hint(tmp_path: Path) -> None:
    path = tmp_path / "kafdrop.json"
    path.write_text(KAFDROP)
    assert offered(question(path, "value")) == {"literal:empty": "it is a tombstone", "none": "it is text"}
    assert [value for _, value in pairs(path, tombstone="literal:empty")] == [None, b"null"]
    assert [value for _, value in pairs(path, tombstone="none")] == [b"empty", b"null"]


@pytest.mark.parametrize(
    ("values", "words", "literals"),
    [
        (["v", "NULL"], "the word NULL", ["literal:NULL"]),
        (["v", "null"], "the word null", ["literal:null"]),
        (["NULL", "null"], "the words null or NULL", ["literal:null", "literal:NULL"]),
    ],
)
def test_the_spelling_that_is_there_is_the_one_in_the_hint(
    tmp_path: Path, values: list[str], words: str, literals: list[str]
) -> None:
    path = tmp_path / "t.txt"
    path.write_text("".join(f"k{number}\t{value}\n" for number, value in enumerate(values)))
    error = question(path, "value", **KEYED)
    assert words in error.message
    assert re.findall(r"--tombstone (literal:\w+)", error.hint or "") == literals
    for literal in literals:
        spelt = literal.removeprefix("literal:")
        assert [value for _, value in pairs(path, tombstone=literal, **KEYED)] == [
            None if value == spelt else value.encode() for value in values
        ]


def test_a_word_and_nothing_at_all_are_counted_each_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_text("k1\tv\nk2\t\nk3\tNULL\n")
    error = question(path, "value", **KEYED)
    assert "1 record with the word NULL as value" in error.message
    assert "1 record with no value" in error.message
    answers = offered(error)
    values = {answer: [value for _, value in pairs(path, tombstone=answer, **KEYED)] for answer in answers}
    assert values == {
        "literal:NULL": [b"v", b"", None],
        "none": [b"v", b"", b"NULL"],
        "missing": [b"v", None, b"NULL"],
        "missing,literal:NULL": [b"v", None, None],
    }


def test_nothing_where_the_tool_may_have_been_told_to_write_it_for_null_is_said(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_text(f"{LABELS}0\ta\tv\n{LABELS}1\ta\t\n")
    assert any("1 record with nothing as value: read as empty" in remark for remark in judged(path))
    assert [value for _, value in pairs(path, tombstone="missing")] == [b"v", None]
    assert not any("nothing as value" in remark for remark in judged(path, tombstone="none"))


def test_a_json_key_that_is_the_word_stays_text_for_who_says_so(tmp_path: Path) -> None:
    path = tmp_path / "kafdrop.json"
    path.write_text(KAFDROP.replace('"key":"a"', '"key":"empty"'))
    assert [key for key, _ in pairs(path, missing_key="text")] == [b"empty", b"b"]
    assert [key for key, _ in pairs(path, missing_key="empty")] == [None, b"b"]


@pytest.mark.parametrize("word", ["NULL", "null"])
def test_a_word_beside_the_form_that_a_file_has_for_null_takes_nothing_from_it(
    word: str, tmp_path: Path
) -> None:
    """Miller writes ``null`` for a null of JSON, and nothing for an empty text."""
    path = tmp_path / "d.csv"
    path.write_text(f'topic,partition,offset,key,value\nt,0,0,"a","x"\nt,0,1,"a",\nt,0,2,"c",{word}\n')
    (remark,) = (remark for remark in judged(path) if f"is the text {word}" in remark)
    forms = re.findall(r"--tombstone (\S+)", remark)
    assert [value for _, value in pairs(path)] == [b"x", None, word.encode()]
    values = {form: [value for _, value in pairs(path, tombstone=form)] for form in forms}
    assert values == {f"literal:{word}": [b"x", b"", None], f"missing,literal:{word}": [b"x", None, None]}


@pytest.mark.parametrize("role", ["key", "value"])
def test_a_text_of_databases_for_null_is_asked_about_before_an_empty_one_beside_it(
    role: str, tmp_path: Path
) -> None:
    path = tmp_path / "d.csv"
    cells = [r"\N", '""', '"x"']
    rows = [(cell, '"v"') if role == "key" else ('"k"', cell) for cell in cells]
    path.write_text(
        "topic,partition,offset,key,value\n"
        + "".join(f"t,0,{offset},{key},{value}\n" for offset, (key, value) in enumerate(rows))
    )
    with open_one(path) as dump:
        _, notes = index_all(dump)
        with pytest.raises(InputError, match=r"1 \w+ is the text \\N.*, and it depends on") as caught:
            refuse_doubts(dump, notes, {role: "it"})
    assert r"--tombstone 'literal:\N' where it is null" in (caught.value.hint or "")
    with open_one(path, tombstone=r"literal:\N") as dump:
        _, notes = index_all(dump)
        refuse_doubts(dump, notes, {"value": "it"})
    at = 0 if role == "key" else 1
    assert [pair[at] for pair in pairs(path, tombstone=r"literal:\N")] == [None, b"", b"x"]


_WORDS = ["null", "None", "NaN", "NA", "nil", "<nil>", "undefined", "<null>", "(null)", r"\N"]
_WORDS += ["<none>", "(none)", "Optional.empty", "N/A", "-", r"\\N", "%{[@metadata][kafka][key]}"]


@pytest.mark.parametrize("word", _WORDS)
def test_words_of_programs_for_null_are_remarked_on_in_keys_and_values(word: str, tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text(f"topic,partition,offset,key,value\nt,0,0,a,x\nt,0,1,a,{word}\nt,0,2,{word},y\n")
    remarks = [remark for remark in judged(path) if f"is the text {word}" in remark]
    assert len(remarks) == 2
    assert pairs(path) == [(b"a", b"x"), (b"a", word.encode()), (word.encode(), b"y")]
    (form,) = {shlex.split(*re.findall(r"--tombstone (\S+)", remark))[0] for remark in remarks}
    assert pairs(path, tombstone=form) == [(b"a", b"x"), (b"a", None), (None, b"y")]


def test_an_empty_text_of_kafka_dump_s_parquet_is_asked_about(tmp_path: Path) -> None:
    """Its columns are Go's strings, which have no null."""
    path = tmp_path / "orders.parquet"
    rows = [
        {"value": value, "topic": "t", "partition": 0, "offset": str(offset), "key": key, "headers": "null"}
        | {"timestamp": "2023-11-14T22:13:20Z", "timestamptype": "CreateTime"}
        for offset, (key, value) in enumerate([("a", "v"), ("b", ""), ("", "w")])
    ]
    parquet.write_table(pa.Table.from_pylist(rows), path)
    for role in ("key", "value"):
        assert "huantt/kafka-dump writes for" in question(path, role).message
    read = pairs(path, missing_key="null", tombstone="empty")
    assert read == [(b"a", b"v"), (b"b", None), (None, b"w")]
    read = pairs(path, missing_key="empty", tombstone="none")
    assert read == [(b"a", b"v"), (b"b", b""), (b"", b"w")]
    with open_one(path, missing_key="null", tombstone="empty") as dump:
        _, notes = index_all(dump)
        refuse_doubts(dump, notes, {"key": "it", "value": "it"})
    parquet.write_table(pa.Table.from_pylist(rows).drop_columns(["timestamptype"]), path)  # another tool's
    assert pairs(path)[1:] == [(b"b", b""), (b"", b"w")]


def envelopes(path: Path, contents: list[tuple[Any, Any]], **more: Any) -> Path:
    """JSON lines as a script writes them: of two partitions in turn."""
    rows = [
        {"topic": "t", "partition": at % 2, "offset": at, "key": key, "value": value} | more
        for at, (key, value) in enumerate(contents)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_empty_keys_of_json_may_be_none_where_no_record_lacks_one(tmp_path: Path) -> None:
    """Go's ``string(key)`` is one: all records without a key are one key then."""
    path = envelopes(tmp_path / "t.jsonl", [("a", "1")] + [("", "2")] * 4)
    with open_one(path) as dump:
        (note,) = dump.files[0].dialect.notes
        _, notes = index_all(dump)
        refuse_doubts(dump, notes, {"key": "it"})
    assert pairs(path)[-4:] == [(b"", b"2")] * 4
    assert note.endswith("--missing-key null reads it as such")
    for told, key in (("null", None), ("empty", b"")):
        assert pairs(path, missing_key=told)[-4:] == [(key, b"2")] * 4
        assert open_one(path, missing_key=told).files[0].dialect.notes == ()
    assert open_one(path, dialect="kcl").files[0].dialect.notes == ()


@pytest.mark.parametrize("contents", [[("a", "1"), ("", "2")], [(None, "1"), ("", "2")]])
def test_what_the_user_says_of_empty_keys_holds_for_a_single_one(
    contents: list[tuple[Any, Any]], tmp_path: Path
) -> None:
    """It did nothing where fewer than two of the first keys were empty: later ones counted as one key."""
    path = envelopes(tmp_path / "t.jsonl", contents)
    assert pairs(path, missing_key="null")[-1] == (None, b"2")
    assert pairs(path, missing_key="empty")[-1] == (b"", b"2")


def test_empty_base64_may_be_null_where_nothing_is(tmp_path: Path) -> None:
    """Go's ``EncodeToString(nil)`` and Python's ``b64encode(key or b"")`` are empty: no note told of it."""
    path = envelopes(tmp_path / "t.jsonl", [("azE=", "dg==")] + [("", "")] * 2)
    with open_one(path, dialect="plain-base64") as dump:
        told = [note.rpartition("--")[2] for note in dump.files[0].dialect.notes]
    assert told == ["missing-key null reads it as such", "tombstone empty reads it as one"]
    assert pairs(path, dialect="plain-base64") == [(b"k1", b"v"), (b"", b""), (b"", b"")]
    as_told = pairs(path, dialect="plain-base64", missing_key="null", tombstone="empty")
    assert as_told == [(b"k1", b"v"), (None, None), (None, None)]
    assert open_one(path, dialect="spark-json").files[0].dialect.notes == ()


@pytest.mark.parametrize("contents", [[("", "2")], [(None, "1"), *[("", "2")] * 9]])
def test_of_one_empty_key_or_beside_null_nothing_is_said(
    contents: list[tuple[Any, Any]], tmp_path: Path
) -> None:
    path = envelopes(tmp_path / "t.jsonl", [("a", "1"), ("b", "1"), *contents])
    assert open_one(path).files[0].dialect.notes == ()
    assert pairs(path)[-1] == (b"", b"2")


@pytest.mark.parametrize("text", ["", "None", "undefined", "null"])
def test_values_of_json_that_may_be_nulls_are_noted_where_none_is(text: str, tmp_path: Path) -> None:
    contents = [("a", "1"), ("b", text), ("c", text)]
    path = envelopes(tmp_path / "t.jsonl", contents)
    (note,) = open_one(path).files[0].dialect.notes
    option = shlex.split(note.partition("--tombstone ")[2])[0]
    assert [value for _, value in pairs(path, tombstone=option)] == [b"1", None, None]
    assert open_one(path, tombstone=option).files[0].dialect.notes == ()
    for others in ([*contents, ("d", None)], [*contents[:2], ("d", "1")]):
        assert open_one(envelopes(path, others)).files[0].dialect.notes == ()
    assert open_one(envelopes(path, contents), dialect="kcl").files[0].dialect.notes == ()


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
@pytest.mark.parametrize(("told", "is_noted"), [("null", True), ("literal:NULL", True), ("none", False)])
def test_values_that_are_not_there_are_noted_where_the_told_tombstone_is_nowhere(
    told: str, is_noted: bool, kind: str, tmp_path: Path
) -> None:
    path = tmp_path / f"t.{kind}"
    if kind == "csv":
        path.write_text("topic,partition,offset,key,value\nt,0,0,a,1\nt,0,1,a,\n")
    else:
        envelopes(path, [("a", "1")])
        path.write_text(path.read_text() + '{"topic": "t", "partition": 0, "offset": 2, "key": "a"}\n')
    notes = [note for note in judged(path, tombstone=told) if "--tombstone missing takes them" in note]
    assert bool(notes) is is_noted
    assert pairs(path, tombstone="missing")[-1] == (b"a", None)
    if kind == "csv":
        path.write_text("topic,partition,offset,key,value\nt,0,0,a,NULL\nt,0,1,a,\n")
        assert judged(path, tombstone="literal:NULL") == []


@needs_jq
@pytest.mark.parametrize("nothing", [{}, []])
def test_empty_objects_and_arrays_that_may_be_nulls_are_noted_where_none_is(
    nothing: Any, tmp_path: Path
) -> None:
    """R's jsonlite writes ``{}`` for NULL, Rust's serde ``[]`` for None that became a Vec of nothing."""
    texts = ("order-1", "a much longer value")
    key, value = texts if nothing == {} else (list(text.encode()) for text in texts)
    contents = [(key, value), (nothing, value), (nothing, nothing), (key, nothing)]
    path = envelopes(tmp_path / "t.jsonl", contents)
    notes = [note for note in open_one(path).files[0].dialect.notes if "and none is null" in note]
    assert [note.split()[1] for note in notes] == ["keys", "values"]
    for note in notes:
        program = shlex.split(note.partition("jq -c ")[2])[0]
        path.write_bytes(subprocess.check_output(["jq", "-c", program, path]))
    sent, other = map(str.encode, texts)
    assert pairs(path) == [(sent, other), (None, other), (None, None), (sent, None)]
    for others in (contents[:2], [(key, None), *contents[1:2]]):
        notes_now = open_one(envelopes(path, others)).files[0].dialect.notes
        assert not any("and none is null" in note for note in notes_now)


def test_optionals_of_gson_that_may_be_nulls_are_noted(tmp_path: Path) -> None:
    values = [{"value": "v"}, {}, {}]
    path = envelopes(tmp_path / "t.jsonl", [("a", value) for value in values])
    assert any(
        "several values of the first records are {}" in n for n in open_one(path).files[0].dialect.notes
    )
    for others in ([{"value": "v", "id": 1}, {}, {}], [{"value": "v"}, {}, None]):
        notes = open_one(envelopes(path, [("a", value) for value in others])).files[0].dialect.notes
        assert not any("are {}" in note for note in notes)


@pytest.mark.parametrize(
    ("rows", "noted"),
    [
        ('1,"",v\n2,"",v\n3,c,""\n4,d,""\n5,e,v\n', ["key", "value"]),
        ('1,a,""\n2,b,v\n', []),
        ('1,a,""\n2,b,""\n3,c,\n4,d,v\n', []),  # nothing at all is null
        ('1,"",v\n2,"",v\n3,,v\n', []),
    ],
)
def test_cells_of_two_quotes_that_may_be_nulls_are_noted_where_none_is(
    rows: str, noted: list[str], tmp_path: Path
) -> None:
    """csv-stringify's ``quoted_empty`` quotes what is empty and what is null, and nothing else."""
    (path := tmp_path / "t.csv").write_text("offset,key,value\n" + rows)
    notes = [note for note in judged(path) if "is null: if the tool" in note]
    assert [note.partition(", and no ")[2].split()[0] for note in notes] == noted
    if noted:
        assert [value for _, value in pairs(path, tombstone="empty")] == [b"v", b"v", None, None, b"v"]
        assert len([note for note in judged(path, tombstone="empty") if "is null: if" in note]) == 1
