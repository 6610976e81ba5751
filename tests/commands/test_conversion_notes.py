"""What a conversion leaves out, or cannot be sure of, it says: on standard error and in the report."""

import csv
import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from pyarrow import parquet

from conftest import Run

pytestmark = pytest.mark.usefixtures("spark")
Cli = Callable[..., Run]
PLACE: dict[str, Any] = {"topic": "t", "partition": 0, "timestamp": 17}
ROWS: list[dict[str, Any]] = [
    PLACE | {"offset": at, "key": f"k{at}", "value": f"v{at}", "event_time": f"at {at}"} for at in range(3)
]


def as_json(path: Path) -> set[str]:
    rows = [*ROWS, PLACE | {"offset": 9, "key": "k9", "value": None, "broker": 1, "schema": None}]
    path.write_text("".join(json.dumps(row | {"meta": {"x": 1}}) + "\n" for row in rows))
    return {"event_time", "broker", "meta"}  # a null says nothing


def as_nested_json(path: Path) -> set[str]:
    rows = [
        {"key": row["key"], "value": row["value"], "metadata": PLACE | {"offset": row["offset"], "leader": 3}}
        for row in ROWS
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return {"metadata.leader"}


def as_headers(path: Path) -> set[str]:
    header = {"key": "h", "value": "/w==", "encoding": "base64"}
    rows = [row | {"headers": [header, header | {"schemaId": 3}]} for row in ROWS]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return {"event_time", "headers[].schemaId"}


def as_unknown_type(path: Path) -> set[str]:
    rows = [
        row | {"timestampType": kind}
        for row, kind in zip(ROWS, ["odd", "CREATE_TIME", "unknown"], strict=True)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return {"event_time", "timestampType 'odd'"}


def as_event(path: Path) -> set[str]:
    row = PLACE | {"offset": 0, "timestampType": "CREATE_TIME", "key": "azA=", "value": "djA="}
    event = {"eventSource": "aws:kafka", "bootstrapServers": "b-1", "records": {"t-0": [row], "t-1": []}}
    path.write_text(json.dumps(event))
    return {"eventSource", "bootstrapServers"}


def as_csv(path: Path) -> set[str]:
    with path.open("w", newline="") as out:
        writer = csv.DictWriter(out, [*ROWS[0], "nothing"])
        writer.writeheader()
        writer.writerows(row | {"key": None if at else row["key"]} for at, row in enumerate(ROWS))
        writer.writerow(ROWS[0] | {"offset": 7})
    return {"event_time"}


def as_avro(path: Path) -> set[str]:
    outer = [{"name": name, "type": "string"} for name in ("topic", "key", "value", "event_time")]
    outer += [{"name": name, "type": "long"} for name in ("partition", "offset", "timestamp")]
    inner = {"type": "record", "name": "meta", "fields": [{"name": "leader", "type": "int"}]}
    schema: Any = {"type": "record", "name": "row", "fields": [*outer, {"name": "meta", "type": inner}]}
    with path.open("wb") as out:
        fastavro.writer(out, schema, [row | {"meta": {"leader": 3}} for row in ROWS])
    return {"event_time", "meta"}


def as_parquet(path: Path) -> set[str]:
    parquet.write_table(pa.Table.from_pylist([row | {"meta": {"leader": 3}} for row in ROWS]), path)
    return {"event_time", "meta"}


DUMPS: dict[str, Callable[[Path], set[str]]] = {
    "lines.jsonl": as_json,
    "nested.jsonl": as_nested_json,
    "headers.jsonl": as_headers,
    "types.jsonl": as_unknown_type,
    "event.json": as_event,
    "rows.csv": as_csv,
    "rows.avro": as_avro,
    "rows.parquet": as_parquet,
}


@pytest.mark.parametrize("target", ["jsonl", "csv", "avro", "parquet"])
@pytest.mark.parametrize("name", DUMPS)
def test_fields_that_a_conversion_leaves_out_are_named(
    name: str, target: str, tmp_path: Path, kcompact: Cli
) -> None:
    left_out = DUMPS[name](tmp_path / name)
    output = tmp_path / f"out.{target}"
    options = ["--null-keys", "keep", "--missing-key", "null"]
    run = kcompact("compact", str(tmp_path / name), "-o", str(output), "--to", target, *options)
    assert run.exit_code == 0, run.stderr
    notes = json.loads((tmp_path / "out.report" / "report.json").read_text())["notes"]
    told = [note.rpartition(": ")[2].split(", ") for note in notes if "not in the output" in note]
    assert list(map(sorted, told)) == [sorted(left_out)]
    assert "not in the output" in run.stderr


@pytest.mark.parametrize("name", DUMPS)
def test_survivors_that_are_copied_keep_all_fields(name: str, tmp_path: Path, kcompact: Cli) -> None:
    DUMPS[name](tmp_path / name)
    options = ["--null-keys", "keep", "--missing-key", "null"]
    run = kcompact("compact", str(tmp_path / name), "-o", f"{tmp_path}/out{Path(name).suffix}", *options)
    assert (run.exit_code, "not in the output" in run.stderr) == (0, False), run.stderr


def test_the_key_that_a_field_of_the_value_replaces_is_named(tmp_path: Path, kcompact: Cli) -> None:
    rows = [PLACE | {"offset": at, "key": f"own {at}", "value": json.dumps({"id": at})} for at in range(3)]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    arguments = [str(tmp_path / "t.jsonl"), "--key-field", "id"]
    run = kcompact("compact", *arguments, "-o", str(tmp_path / "out.avro"))
    assert run.exit_code == 0, run.stderr
    assert "records alone: key\n" in run.stderr


PRINTED = [  # as kcat -f %h prints them, how they are read, and whether they may be others
    ("a=1", [("a", "1")], False),
    ("at=12:30", [("at", "12:30")], False),
    ("", [], False),
    ("a=1,b=2", [("a", "1"), ("b", "2")], True),
    ("list=x,y, z,b=2", [("list", "x,y, z"), ("b", "2")], True),
    ("gone=NULL", [("gone", None)], True),
    ("x:y=1", [("x", "y=1")], True),
    ("alone", [("alone", "")], True),
    ("null", [], False),
    ('["a","1,2"]', [("a", "1,2")], False),
]


@pytest.mark.parametrize(("cell", "headers", "is_doubtful"), PRINTED)
def test_headers_that_may_be_others_than_printed_are_told(
    cell: str, headers: list[tuple[str, str | None]], is_doubtful: bool, tmp_path: Path, kcompact: Cli
) -> None:
    (tmp_path / "t.txt").write_text(f"t\t0\t5\t{cell}\tk\tv\n")
    columns = "--columns", "topic,partition,offset,headers,key,value", "--delimiter", r"\t"
    run = kcompact("compact", str(tmp_path / "t.txt"), *columns, "-o", str(tmp_path / "out.jsonl"))
    assert run.exit_code == 0, run.stderr
    row = json.loads((tmp_path / "out.jsonl").read_text())
    assert [(header["key"], header["value"]) for header in row.get("headers", [])] == headers
    assert ("1 record with headers in which a comma" in run.stderr) == is_doubtful, run.stderr
    alike = kcompact("compact", str(tmp_path / "t.txt"), *columns, "-o", str(tmp_path / "copy.txt"))
    assert (alike.exit_code, "with headers" in alike.stderr) == (0, False)  # their bytes stay


KEY_TYPES: list[tuple[Any, Any, bytes, bool]] = [  # as the file has it, and as it comes out
    ("string", "b", b"b", False),
    (["null", "bytes"], b"b", b"b", False),
    ("long", 3, b"3", False),
    ({"type": "enum", "name": "E", "symbols": ["a", "b"]}, "b", b"\x02", True),
    (["null", "string", "long"], "b", b"\x02\x02b", True),
]


@pytest.mark.parametrize("case", KEY_TYPES, ids=["text", "bytes", "integer", "enum", "union"])
def test_keys_that_leave_avro_in_their_encoding_are_told(
    case: tuple[Any, Any, bytes, bool], tmp_path: Path, kcompact: Cli
) -> None:
    kind, key, converted, is_told = case
    types = {"topic": "string", "partition": "int", "offset": "long", "key": kind, "value": "string"}
    fields = [{"name": name, "type": of_field} for name, of_field in types.items()]
    row = {"topic": "t", "partition": 0, "offset": 0, "key": key, "value": "v"}
    with (tmp_path / "t.avro").open("wb") as out:
        fastavro.writer(out, {"type": "record", "name": "row", "fields": fields}, [row])
    run = kcompact("compact", tmp_path / "t.avro", "-o", tmp_path / "out.parquet")
    assert run.exit_code == 0, run.stderr
    assert parquet.read_table(tmp_path / "out.parquet")["key"].to_pylist() == [converted]
    assert ("the bytes of its Avro encoding" in run.stderr) == is_told, run.stderr


def test_keys_whose_quotes_leave_json_with_them_are_told(tmp_path: Path, kcompact: Cli) -> None:
    path = tmp_path / "t.jsonl"
    rows = [
        PLACE | {"offset": at, "key": key, "value": "v"} for at, key in enumerate([7, "7", "k", {"id": 1}])
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = kcompact("compact", path, "-o", tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(newline="") as lines:
        assert [row["key"] for row in csv.DictReader(lines)] == ["7", '"7"', "k", '{"id": 1}']
    assert "1 record with a key that is a string which reads as JSON ('7')" in run.stderr
    assert "which reads as JSON" not in kcompact("compact", path, "-o", tmp_path / "out.jsonl").stderr


def test_a_header_that_cannot_be_converted_is_refused_by_its_line(tmp_path: Path, kcompact: Cli) -> None:
    unread = ROWS[2] | {"headers": [{"key": "h", "textValue": "v"}]}
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in [*ROWS[:2], unread]))
    run = kcompact("compact", path, "-o", tmp_path / "out.avro")
    assert run.exit_code == 2
    assert f"error: {path}:3: headers cannot be read" in run.stderr
    assert sorted(tmp_path.iterdir()) == [path]


def test_values_that_are_tombstones_most_likely_are_converted_once_a_user_says_so(
    kcompact: Cli, tmp_path: Path
) -> None:
    """Where every text is quoted, ``""`` is a null too; a copy stays as it is, with a note."""
    source, output = tmp_path / "t.csv", tmp_path / "out.jsonl"
    names = ["topic", "partition", "offset", "key", "value"]
    rows = [["t", 0, at, f"k{at}", None] for at in range(2)]
    with source.open("w", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_NONNUMERIC).writerows([names, *rows])

    refused = kcompact("compact", source, "-o", output)
    assert refused.exit_code == 2
    assert "2 records with an empty value" in refused.stderr
    assert not output.exists()
    for answer, value in (("empty", None), ("missing", "")):
        assert f"--tombstone {answer} where it is" in refused.stderr
        assert kcompact("compact", source, "-o", output, "--overwrite", "--tombstone", answer).exit_code == 0
        assert [json.loads(line)["value"] for line in output.read_text().splitlines()] == [value] * 2
    copied = kcompact("compact", source, "-o", tmp_path / "copy.csv")
    assert (copied.exit_code, (tmp_path / "copy.csv").read_bytes()) == (0, source.read_bytes())
    assert "2 records with an empty value" in copied.stderr


@pytest.mark.parametrize("row", [r"0 a\tb v", r"""0 a {"name":"O\'Neil"}""", r"""0 a {"e":"\\"f\\""}"""])
def test_backslashes_in_tables_divided_by_tabs_are_noted(row: str, kcompact: Cli, tmp_path: Path) -> None:
    """JSON has its own, but for those that ClickHouse has doubled, or put before an apostrophe."""
    source = tmp_path / "t.tsv"
    json_row = r"""1 c {"d":"e\\nf"}"""
    source.write_text(f"offset key value\n{row}\n{json_row}\n".replace(" ", "\t"))
    for target, count in (("converted.jsonl", 1), ("copied.tsv", 0)):
        run = kcompact("compact", source, "-o", tmp_path / target)
        assert (run.exit_code, run.stderr.count("1 record with backslashes")) == (0, count)


@pytest.mark.parametrize("word", ["NULL", "\\N"])
def test_values_as_databases_write_nulls_are_converted_once_a_user_says_so(
    word: str, kcompact: Cli, tmp_path: Path
) -> None:
    source, output = tmp_path / "t.csv", tmp_path / "out.jsonl"
    source.write_text(f"offset,key,value\n0,a,v\n1,b,{word}\n")
    refused = kcompact("compact", source, "-o", output)
    assert (refused.exit_code, output.exists()) == (2, False)
    assert f"1 value is the text {word}" in refused.stderr
    for answer, value in ((f"literal:{word}", None), ("none", word)):
        assert f"--tombstone {answer}" in refused.stderr.replace("'", "")
        assert kcompact("compact", source, "-o", output, "--overwrite", "--tombstone", answer).exit_code == 0
        assert [json.loads(line)["value"] for line in output.read_text().splitlines()] == ["v", value]
    assert kcompact("compact", source, "-o", tmp_path / "copy.csv").exit_code == 0


def test_keys_as_databases_write_nulls_are_asked_about(kcompact: Cli, tmp_path: Path) -> None:
    """As text they are one key, of which one record would stay."""
    source = tmp_path / "t.csv"
    source.write_text("offset,key,value\n0,NULL,v\n1,NULL,w\n")
    refused = kcompact("compact", source, "-o", tmp_path / "out.csv")
    assert refused.exit_code == 2
    assert "2 keys are the text NULL" in refused.stderr
    as_text = kcompact("compact", source, "-o", tmp_path / "text.csv", "--tombstone", "none")
    assert (as_text.exit_code, (tmp_path / "text.csv").read_text()) == (0, "offset,key,value\n1,NULL,w\n")
    kept = kcompact(
        "compact", source, "-o", tmp_path / "n.csv", "--tombstone", "literal:NULL", "--null-keys", "keep"
    )
    assert (kept.exit_code, (tmp_path / "n.csv").read_bytes()) == (0, source.read_bytes())


NULLS_BESIDE_OTHERS = [
    # PostgreSQL, ClickHouse and mysql -B write \\N or NULL for null, and nothing at all for an empty text
    ("offset\tkey\tvalue\n0\ta\t\\N\n1\tb\t\n", "literal:\\N", [None, ""]),
    ("offset\tkey\tvalue\n0\ta\tNULL\n1\tb\t\n", "literal:NULL", [None, ""]),
    ("offset\tkey\tvalue\n0\ta\tNULL\n1\tb\t\n", "missing,literal:NULL", [None, None]),
    ("offset\tkey\tvalue\n0\ta\tNULL\n1\tb\t\n", "missing", ["NULL", None]),
    ("offset\tkey\tvalue\n0\ta\tNULL\n1\tb\t\n", "none", ["NULL", ""]),
    # ClickHouse's CSV: the text that is empty stands in quotes, as every text does
    ('offset,key,value\n0,"a",\\N\n1,"b",""\n', "literal:\\N", [None, ""]),
    ('offset,key,value\n0,"a","NULL"\n1,"b",""\n', "empty", ["NULL", None]),
    ('offset,key,value\n0,"a","NULL"\n1,"b",""\n', "none", ["NULL", ""]),
]


@pytest.mark.parametrize(("text", "answer", "values"), NULLS_BESIDE_OTHERS)
def test_each_way_to_read_nulls_beside_empty_cells_is_offered_at_once(
    text: str, answer: str, values: list[str | None], kcompact: Cli, tmp_path: Path
) -> None:
    source, output = tmp_path / ("t.tsv" if "\t" in text else "t.csv"), tmp_path / "out.jsonl"
    source.write_text(text)
    refused = kcompact("compact", source, "-o", output)
    assert (refused.exit_code, output.exists()) == (2, False)
    assert f"--tombstone {shlex.quote(answer)} where" in refused.stderr
    assert kcompact("compact", source, "-o", output, "--tombstone", answer).exit_code == 0
    assert [json.loads(line)["value"] for line in output.read_text().splitlines()] == values


def test_an_answer_is_offered_that_is_right_for_all_files(kcompact: Cli, tmp_path: Path) -> None:
    """One has keys that are most likely nulls, the other nothing at all as values."""
    nulls, empties, output = tmp_path / "orders-0.csv", tmp_path / "orders-1.csv", tmp_path / "out.jsonl"
    nulls.write_text("topic,partition,offset,key,value\nt,0,0,NULL,v\nt,0,1,NULL,w\n")
    empties.write_text("topic,partition,offset,key,value\nt,1,0,a,v\nt,1,1,a,\n")
    line = ("compact", nulls, empties, "-o", output, "--null-keys", "keep")
    refused = kcompact(*line)
    assert refused.exit_code == 2
    assert "2 keys are the text NULL" in refused.stderr
    assert "--tombstone missing,literal:NULL where a cell with nothing in it is null, too" in refused.stderr
    assert kcompact(*line, "--tombstone", "missing,literal:NULL").exit_code == 0
    kept = [(row["key"], row["value"]) for row in map(json.loads, output.read_text().splitlines())]
    assert kept == [(None, "v"), (None, "w"), ("a", None)]


def test_backslash_n_is_asked_about_in_text_whose_word_for_null_is_another(
    kcompact: Cli, tmp_path: Path
) -> None:
    source, output = tmp_path / "t.txt", tmp_path / "out.jsonl"
    source.write_text("0\t\\N\tv\n1\t\\N\tnull\n")
    line = ("compact", source, "-o", output, "--dialect", "text", "--columns", "offset,key,value")
    refused = kcompact(*line, "--delimiter", "\\t")
    assert refused.exit_code == 2
    assert "2 keys are the text \\N" in refused.stderr
    assert "--tombstone literal:null where it is text" in refused.stderr
    assert kcompact(*line, "--delimiter", "\\t", "--tombstone", "literal:null").exit_code == 0
    assert json.loads(output.read_text())["value"] is None


def test_sizes_of_python_s_clients_say_what_is_text(kcompact: Cli, tmp_path: Path) -> None:
    source, output = tmp_path / "t.csv", tmp_path / "out.jsonl"
    names = "topic,partition,offset,timestamp,key,value,serialized_key_size,serialized_value_size"
    source.write_text(f"{names}\nt,0,0,17,NULL,NULL,4,4\nt,0,1,17,b,,1,-1\n")
    assert kcompact("compact", source, "-o", output).exit_code == 0
    kept = [(row["key"], row["value"]) for row in map(json.loads, output.read_text().splitlines())]
    assert kept == [("NULL", "NULL"), ("b", None)]
