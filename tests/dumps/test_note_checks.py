import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from dump_pipeline import index_all, judged, open_one, records_of
from kcompact.dumps.note_checks import refuse_doubts
from kcompact.dumps.writers.text_writers import COLUMNS
from kcompact.errors import InputError

LINE = '{"topic":"t","partition":0,"offset":%d,"key":"k","payload":"v"}\n'


def refused(path: Path, text: str | bytes, split_bytes: int = 1 << 40) -> InputError:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError) as caught:
        judged(path, split_bytes)
    return caught.value


@pytest.mark.parametrize("split_bytes", [1 << 40, 20])
def test_a_line_that_is_not_json_is_named(tmp_path: Path, split_bytes: int) -> None:
    error = refused(tmp_path / "x.jsonl", LINE % 0 + LINE % 1 + "oops\n" + LINE % 2, split_bytes)
    assert error.message.startswith(f"{tmp_path}/x.jsonl:3: not JSON")
    assert error.hint


@pytest.mark.parametrize(
    ("last", "message"),
    [
        ('{"topic":"t","partition":0,"off', "cut off"),
        ('{"topic":"t","partition":0,"key":"k","payload":"v"}\n', "no offset in the record"),
        ('{"topic":"t","partition":0,"offset":"x","key":"k","payload":"v"}\n', "'x' is not an offset"),
        ('{"topic":"t","partition":-1,"offset":1,"key":"k","payload":"v"}\n', "partition -1 is out of range"),
        ('{"topic":"t","partition":0,"offset":1,"key":7,"payload":"v"}\n', "the key is no string"),
        ('["k","v"]\n', "a JSON array, not a record"),
        ('{"topic":"t","partition":0,"offset":1,"ts":"soon","key":"k","payload":"v"}\n', "not a timestamp"),
        ('{"topic":"t","partition":0,"offset":1,"key":"k","payload":null,"payload_error":"x"}\n', "decoded"),
        (
            '{"topic":"t","partition":0,"offset":1,"key":null,"payload":"v","key_error":"x"}\n',
            "the key is null",
        ),
        ('{"a":1}{"b":2}\n', "not JSON"),
        ("[" * 100_000 + "\n", "not JSON"),
    ],
)
def test_a_record_that_cannot_be_read_is_named(tmp_path: Path, last: str, message: str) -> None:
    # More records than recognition looks at: it is the index that must notice.
    error = refused(tmp_path / "x.jsonl", "".join(LINE % n for n in range(300)) + last)
    assert error.message.startswith(f"{tmp_path}/x.jsonl:301: ")
    assert message in error.message


@pytest.mark.parametrize(
    ("field", "reason"),
    [
        ("exceeded_fields", {"key": False, "value": True}),  # Confluent's extension of VS Code
        ("valueDeserializationError", "no schema"),
        ("message_decode_error", "no schema"),
        ("valueTooLarge", True),
    ],
)
@pytest.mark.parametrize("is_there", [True, False])
def test_a_value_that_was_not_exported_is_no_tombstone(
    field: str, reason: Any, is_there: bool, tmp_path: Path
) -> None:
    """Its key would be deleted; where the reason is none, it is one."""
    row = {"topic": "t", "partition": 0, "offset": 0, "key": "k", "message": "v", field: None}
    of_none = {"key": False, "value": False} if isinstance(reason, dict) else False
    tombstone = row | {"offset": 1, "message": None, field: of_none}
    too_large = row | {"offset": 2, field: reason} | ({"message": None} if is_there else {})
    if not is_there:
        del too_large["message"]
    lines = [json.dumps(line) + "\n" for line in (row, tombstone, too_large)]
    path = tmp_path / "x.jsonl"
    error = refused(path, "".join(lines))
    assert error.message.startswith(f"{path}:3: {field}")
    assert "the value is null only because it was not decoded or exported" in error.message
    path.write_text("".join(lines[:2]))
    with open_one(path) as dump:
        assert index_all(dump)[0]["is_tombstone"].to_pylist() == [False, True]


@pytest.mark.parametrize("layout", ["lines", "array"])
def test_values_that_are_not_there_beside_nulls_are_asked_about(layout: str, tmp_path: Path) -> None:
    """As Confluent's extension of VS Code saves what is too large: its key's value would go."""
    row = {"partition_id": 0, "key": "k"}
    rows = [row | {"offset": 0, "value": "v"}, row | {"offset": 1, "value": None}, row | {"offset": 2}]
    path = tmp_path / "x.json"
    text = "".join(json.dumps(line) + "\n" for line in rows) if layout == "lines" else json.dumps(rows)
    error = refused(path, text)
    assert "records whose value is null, and others without it: are both tombstones?" in error.message
    for tombstone, expected in (("missing", [False, True, True]), ("null", [False, True, False])):
        with open_one(path, tombstone=tombstone) as dump:
            assert index_all(dump)[0]["is_tombstone"].to_pylist() == expected
    path.write_text("".join(json.dumps(line) + "\n" for line in (rows[0], rows[2])))
    with open_one(path) as dump:
        assert index_all(dump)[0]["is_tombstone"].to_pylist() == [False, True]


@pytest.mark.parametrize("offset", ["1.0", '"1.0"', "1e3", '"1.7e+18"', '"1e+05"'])
def test_offsets_as_floats_are_refused_with_the_way_out(tmp_path: Path, offset: str) -> None:
    error = refused(
        tmp_path / "x.jsonl", f'{{"topic":"t","partition":0,"offset":{offset},"key":"k","value":"v"}}\n'
    )
    assert "is not an offset" in error.message
    assert "whole numbers" in str(error.hint)


def test_fields_that_no_record_has_were_not_exported(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    assert "no record has the field value" in refused(path, '{"topic":"t","offset":1,"key":"k"}\n').message
    path.write_text('{"topic":"t","offset":1,"key":"k"}\n')
    judged(path, tombstone="missing")


def test_keys_in_another_field_are_not_said_to_be_lost(tmp_path: Path) -> None:
    """SmallRye's payload and metadata, written as JSON."""
    path = tmp_path / "x.jsonl"
    line = '{"payload":"v","metadata":{"topic":"t","partition":0,"offset":1,"key":"k"}}\n'
    assert "or are in another field" in refused(path, line).message
    (record,) = records_of(path, fields={"key": "metadata.key", "value": "payload"})
    assert (record.key, record.offset) == (b"k", 1)


def test_keys_that_lost_bytes_are_refused_but_not_kcat_s_own(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    lossy = '{"topic":"t","partition":0,"offset":7,"timestamp":1,"key":"a\ufffd","value":"v"}\n'
    error = refused(path, lossy)
    assert "U+FFFD" in error.message
    assert "offset 7" in error.message
    path.write_text('{"topic":"t","partition":0,"offset":7,"key":"a\ufffd","payload":"v"}\n')
    assert judged(path) == []


def test_a_replacement_character_in_node_s_bytes_is_what_the_key_holds(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    key = {"type": "Buffer", "data": list("\ufffd".encode())}
    record = {"topic": "t", "partition": 0, "offset": 7, "timestamp": 1, "key": key, "value": "v"}
    path.write_text(json.dumps(record) + "\n")
    assert judged(path) == []


def test_keys_that_were_rounded_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    kaf = '{"key":%s,"offset":%d,"partition":0,"payload":"v","timestamp":"2024-01-02T03:04:05Z"}\n'
    assert "may have rounded" in refused(path, kaf % ("7", 0) + kaf % ("9007199254740992", 1)).message
    path.write_text(kaf % ("7", 0) + kaf % ('"9007199254740993"', 1))
    assert judged(path) == []


def test_noise_of_kcat_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(
        "% Reading\n" + LINE % 0 + "\n% Reached end of topic t [0] at offset 1\n" + LINE % 1 + "\n"
    )
    assert judged(path) == [f"{path}: 2 lines skipped in which the tool talks about itself (% ...)"]


CSV = "topic,partition,offset,timestamp,key,value\n"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("t,0,0,1,k,v\nt,0,1,1,k,a,b\n", ":3: 7 columns where 6 are expected"),
        ("t,0,0,1,k,v\nt,0,1", ":3: 3 columns where 6 are expected"),
        ('t,0,0,1,k,"v\n', ":2: a quoted field does not end"),
        ('t,0,0,1,k,"v"w\n', ":2: text after a closing quote"),
    ],
)
def test_rows_that_break_the_rules_are_named(tmp_path: Path, rows: str, message: str) -> None:
    assert f"x.csv{message}" in refused(tmp_path / "x.csv", CSV + rows).message


@pytest.mark.parametrize("footer", ["(2 rows)\n", "(1 row)", "(2 rows affected)\r\n"])
def test_the_line_with_which_psql_and_sqlcmd_end_a_table_is_named(tmp_path: Path, footer: str) -> None:
    rows = "topic|partition|offset|key|value\nt|0|0|k|v\nt|0|1|k|w\n"
    assert "psql -P footer=off" in str(refused(tmp_path / "x.csv", rows + footer).hint)


HEADER = "topic,partition,offset,timestamp,key,value\n"


@pytest.mark.parametrize(
    ("rows", "is_doubtful"),
    [
        ('"t",0,0,17,"a","x"\n"t",0,1,17,"b",""\n', True),  # Python's QUOTE_NONNUMERIC writes both so
        ('"t","0","0","17","a",""\n', True),
        ('"t",0,0,17,"a","x"\n"t",0,1,17,"b",""\n"t",0,2,17,"c",\n', False),  # a null is written otherwise
        ('t,0,0,17,a,x\nt,0,1,17,b,""\n', False),  # as pandas quotes: only what is empty
    ],
)
def test_an_empty_value_where_every_text_is_quoted_may_be_a_null(
    rows: str, is_doubtful: bool, tmp_path: Path
) -> None:
    path = tmp_path / "d.csv"
    path.write_text(HEADER + rows)
    assert any("an empty value, which" in remark for remark in judged(path)) == is_doubtful


@pytest.mark.parametrize(
    ("rows", "is_doubtful"),
    [
        ('t,0,0,17,a,"{""x"": 1}"\nt,0,1,17,b,\n', True),  # Python's csv and pandas write None and "" so
        ('t,0,0,17,a,"x,y"\nt,0,1,17,b,\n', True),
        ('t,0,0,17,a,"x\ny"\nt,0,1,17,b,\n', True),
        (f't,0,0,17,a,"{"x" * 25}"\nt,0,1,17,b,\n', True),  # Jackson quotes more than 24 characters
        ('t,0,0,17,a,"x\\y"\nt,0,1,17,b,\n', True),  # PHP quotes these two
        ('t,0,0,17,a,"x\ty"\nt,0,1,17,b,\n', True),
        ('t;0;0;17;a;"x-1"\nt;0;1;17;b;\n', True),  # Jackson, what is not behind a semicolon in ASCII
        ('t;0;0;17;a;"xy"\nt;0;1;17;b;\n', False),
        ('t,0,0,17,a,"x,y"\nt,0,1,17,b,\nt,0,2,17,c,""\n', False),  # DuckDB and Polars
        ('t,0,0,17,"a","x,y"\nt,0,1,17,"b",\n', False),  # opencsv and PyArrow quote every text
        ('t,0,0,17,a,"xy"\nt,0,1,17,b,\n', False),
    ],
)
def test_nothing_where_quotes_stand_only_where_they_must_may_be_an_empty_value(
    rows: str, is_doubtful: bool, tmp_path: Path
) -> None:
    path = tmp_path / "d.csv"
    path.write_text((HEADER.replace(",", ";") if ";" in rows else HEADER) + rows)
    assert any("such as pandas, writes for a tombstone" in remark for remark in judged(path)) == is_doubtful
    with open_one(path) as dump:
        _, notes = index_all(dump)
        asked = (dump, notes, {"value": "it"})
        refuse_doubts(*asked, any_quote_tells=True)  # as verify does
        with pytest.raises(InputError, match="such as pandas") if is_doubtful else nullcontext():
            refuse_doubts(*asked)


@pytest.mark.parametrize(
    "header", ["Topic;Partition;Offset;Timestamp;Key;Value", "__topic;p;__offset;ts;__key;value"]
)
def test_nothing_is_as_doubtful_in_csv_whose_columns_have_other_names(header: str, tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text(f'{header}\nt;0;0;17;a;"x;y"\nt;0;1;17;b;\n')
    assert any("1 record with no value, which a tool" in remark for remark in judged(path))
    with open_one(path) as dump:
        _, notes = index_all(dump)
        with pytest.raises(InputError, match="depends on which it is"):
            refuse_doubts(dump, notes, {"value": "it"})


def test_an_empty_key_in_quotes_tells_nothing_of_values(tmp_path: Path) -> None:
    """Commons CSV quotes an empty text in the first column, and nowhere else."""
    path = tmp_path / "d.csv"
    path.write_text('key,topic,partition,offset,timestamp,value\n"",t,0,0,17,x\nb,t,0,1,17,\n')
    assert any("such as pandas, writes for a tombstone" in remark for remark in judged(path))


def test_kcompact_s_own_csv_is_in_no_doubt(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text(",".join(COLUMNS) + '\n"t",0,0,17,create,"a","",,,\n')
    assert not any("alike" in remark for remark in judged(path))


NULL_TEXTS = [
    ("NULL", "NULL", "literal:NULL"),
    (r"\N", r"\N", r"'literal:\N'"),
    ('"NULL"', "NULL", "literal:NULL"),
]


@pytest.mark.parametrize(("cell", "text", "option"), NULL_TEXTS)
def test_text_that_other_tools_write_for_null_is_told(
    tmp_path: Path, cell: str, text: str, option: str
) -> None:
    path = tmp_path / "x.csv"
    rows = f't,0,0,Null,{cell}\nt,0,1,k,null value\nt,0,2,"k",{cell}\n'
    path.write_text(f"topic,partition,offset,key,value\n{rows}")
    (told,) = judged(path)
    assert told.startswith(f"{path}: 2 values are the text {text}, ")
    assert f"--tombstone {option} reads" in told
    with open_one(path, tombstone=f"literal:{text}") as dump:
        assert index_all(dump)[0]["is_tombstone"].to_pylist() == [True, False, True]
    assert judged(path, tombstone=f"literal:{text}") == []
    assert judged(path, tombstone="missing") == []  # then the user has said that it is text


@pytest.mark.parametrize(("cell", "text", "option"), NULL_TEXTS)
def test_keys_that_are_what_other_tools_write_for_null_are_told(
    tmp_path: Path, cell: str, text: str, option: str
) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f"topic,partition,offset,key,value\nt,0,0,{cell},a\nt,0,1,{cell},b\nt,0,2,k,c\n")
    (told,) = judged(path)
    assert told.startswith(f"{path}: 2 keys are the text {text}, ")
    assert "all of them count as one key" in told
    assert f"--tombstone {option} reads" in told
    with open_one(path, tombstone=f"literal:{text}") as dump:
        assert index_all(dump)[0]["key"].to_pylist() == [None, None, b"k"]
    path.write_text('topic,partition,offset,key,value\nt,0,0,NULL,"{""id"":1}"\n')
    assert judged(path, key_fields=("id",)) == []  # nobody asks for them


def test_text_that_says_what_it_is_is_not_told_of(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(",".join(COLUMNS) + '\n"t",0,0,,,"NULL","NULL",,,\n')
    assert judged(path) == []


def test_what_is_remarked_of_several_files_alike_is_said_once(tmp_path: Path) -> None:
    for partition, last in enumerate(("1,b,2", "1,b,22", "1,b,222\n")):
        (tmp_path / f"orders-{partition}.csv").write_text(f"offset,key,value\n0,a,1\n{last}")
    (note,) = [note for note in judged(tmp_path) if "without an end" in note]
    assert note.startswith(f"{tmp_path}/orders-0.csv: 1 line without an end")
    assert note.endswith(" (likewise in 1 more file)")
