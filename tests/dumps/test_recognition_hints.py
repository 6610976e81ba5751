"""Hints and notes about fields that no tool is known for: what they say to type works, in a shell as well."""

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from dump_pipeline import judged, open_one, records_of
from kcompact.dumps.output.outputs import OutputChoice, name_outputs
from kcompact.errors import InputError, OutputError


def test_fields_in_an_object_can_be_named_as_the_hint_says(tmp_path: Path) -> None:
    """Every part is in the hint: without the partition, the same key in two partitions would be one."""
    path = tmp_path / "x.jsonl"
    inner = [{"topic": "t", "partition": at, "offset": 7, "key": "a"} for at in range(2)]
    path.write_text("".join(json.dumps({"meta": one, "content": "v"}) + "\n" for one in inner))
    with pytest.raises(InputError, match="no record of key and value") as caught:
        open_one(path)
    assert "topic=FIELD,partition=FIELD,offset=FIELD,timestamp=FIELD,key=FIELD," in str(caught.value.hint)
    places = {part: f"meta.{part}" for part in ("key", "offset", "topic", "partition")}
    with open_one(path, fields=places | {"value": "content"}) as dump:
        assert dump.files[0].dialect.partition == "meta.partition"


@pytest.mark.parametrize(
    ("name", "is_known"), [("_partition_offset", True), ("log_offset_x", False), ("offset $(x)", False)]
)
def test_a_field_that_may_be_the_offset_is_taken_or_named(name: str, is_known: bool, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps({"key": "a", "value": "b", name: 5}) + "\n")
    with open_one(path) as dump:
        (file,) = dump.files
    assert file.dialect.offset == (name if is_known else None)
    asked = [shlex.split(note)[-1] for note in file.notes if "--fields" in note]
    assert asked == ([] if is_known else [f"offset={name}"])


def test_the_fields_of_an_event_are_quoted(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    event = {"before": None, "after": {"$(touch x)id": 1}, "op": "c", "ts_ms": 1, "source": {}}
    path.write_text(json.dumps(event) + "\n")
    with pytest.raises(InputError, match="bare change events") as caught:
        open_one(path)
    words = shlex.split(str(caught.value.hint).partition(", or ")[0])
    assert words[-2:] == ["--key-field", "$(touch x)id"]


def test_names_of_files_are_quoted() -> None:
    files = ["a b.jsonl", "$(touch x).jsonl"]
    with pytest.raises(OutputError, match="no output named") as caught:
        name_outputs(files, files, OutputChoice())
    words = shlex.split(str(caught.value.hint).partition(": ")[2].partition("  (")[0])
    assert words == ["kcompact", "compact", *files, "-o", "compacted/"]


@pytest.mark.parametrize(
    ("text", "words", "remedy"),
    [
        (
            '{"topic":"t","messages":[{"offset":0,"key":"a","value":"1"}]}',
            "no record of key and value",
            "each with the topic and partition that the object",
        ),
        (
            '{"topic":"t","partition":1,"records":[{"offset":0,"key":"a","value":"1"}]}',
            "do not tell their topic and partition, the object around",
            "write them into the records",
        ),
        (
            '{"topic":"t","records":[{"offset":0,"key":"a","value":"1","partition":1}]}',
            "do not tell their topic, the object around",
            "write them into the records",
        ),
        (
            '{"records":{"0":[{"offset":0,"key":"a","value":"1"}],"1":[{"offset":1,"key":"a","value":"2"}]}}',
            "do not tell their topic and partition",
            "write them into the records",
        ),
        (
            '{"resourceSpans":[{"scopeSpans":[{"attributes":[{"key":"a","value":"1"}]}]}]}',
            "no record of key and value",
            "--key-field",
        ),
        (
            '{"a":' * 900 + '{"records":[{"offset":0,"key":"a","value":"1"}]}' + "}" * 900 + "\n",
            "no record of key and value",
            "--key-field",
        ),
        ("#1 topic: t offset: 0 key: a\n#2 topic: t offset: 1 key: b\n", "sentences of a program", "kcat -J"),
        ('// by foo\n{"offset":0,"key":"a","value":"1"}\n', "a comment before it", "tail -n +2"),
        ("# by foo\noffset,key,value\n0,a,1\n", "a comment before it", "tail -n +2"),
        ('#TYPE System.Object\n"k1"\n', "a comment before it", "tail -n +2"),
        (
            "--\n-- PostgreSQL database dump\n--\nCOPY o (key) FROM stdin;\na\n",
            "statements of SQL",
            "psql --csv",
        ),
        ("INSERT INTO orders (k) VALUES ('a');\n" * 2, "statements of SQL", "psql --csv"),
        ("PK\x03\x04xl/workbook.xml", "a ZIP archive", "of a spreadsheet, take the file that it was made of"),
        ("#v\nk1#w\n", "no delimiter", "--columns"),
        ("offset,key,value 0,a,1 1,b,2 ", "line ends are gone", "a line of its own"),
        ("[2024-01-02 03:04:05,678] WARN [Consumer a] x\nk\tv\n", "a tool's log", "2> LOG"),
        (
            '{"offset":0,"key":"a","payload":"1"}\n{"offset":1,"key":"b","value":"1"}\n',
            "of two tools",
            "a separate file",
        ),
        (
            '{"kafka_key":"a","kafka_tombstone_message":true,"content":""}\n',
            "a tombstone has empty content",
            "jq -c",
        ),
    ],
)
def test_what_users_have_around_their_records_is_named_with_a_remedy(
    text: str, words: str, remedy: str, tmp_path: Path
) -> None:
    path = tmp_path / "orders.jsonl"
    path.write_text(text)
    with pytest.raises(InputError, match=words) as refused, open_one(path):
        pass
    assert remedy in str(refused.value.hint)


@pytest.mark.parametrize("name", ["headers", "tags"])
def test_a_list_beside_key_and_value_is_no_list_of_records(name: str, tmp_path: Path) -> None:
    path = tmp_path / "orders.jsonl"
    row = {"kafka_key": "a", "content": "x", "kafka_offset": 0, name: [{"key": "h", "value": "v"}]}
    path.write_text(json.dumps(row) + "\n")
    with open_one(path) as dump:
        assert (dump.files[0].dialect.key.place, dump.files[0].dialect.value.place) == (
            "kafka_key",
            "content",
        )


ROWS = [{"topic": "t", "partition": 0, "offset": at, "key": "a,", "value": "v, "} for at in range(3)]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS)


@pytest.mark.parametrize(
    ("text", "message", "mended"),
    [
        (LINES.replace("}\n", "},\n"), "not JSON: ','", LINES),
        (LINES.replace("}\n", "}, \r\n", 2), "not JSON: ','", LINES),
    ],
)
def test_what_somebody_s_script_wrote_around_records_is_taken_away_as_the_hint_says(
    text: str, message: str, mended: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(text.encode())
    with pytest.raises(InputError, match=message) as refused:
        judged(path)
    command = "sed " + shlex.quote(shlex.split(str(refused.value.hint).partition("sed ")[2])[0])
    done = subprocess.run(
        ["bash", "-c", f"{command} {shlex.quote(str(path))}"], capture_output=True, check=True
    )
    assert done.stdout.decode() == mended
    path.write_bytes(done.stdout)
    judged(path)


def test_a_hint_without_a_command_is_the_same_in_utf_16(tmp_path: Path) -> None:
    """As Snowflake's web page saves a query of its Kafka connector's table."""
    path, hints = tmp_path / "orders.csv", []
    for encoding in ("utf-8", "utf-16"):
        path.write_text('RECORD_METADATA,RECORD_CONTENT\n"{""key"":""a""}","{}"\n', encoding=encoding)
        with pytest.raises(InputError, match="whose columns hold JSON") as refused, open_one(path):
            pass
        hints.append(refused.value.hint)
    assert hints[0] == hints[1]
    assert "FILE_FORMAT" in str(hints[0])


@pytest.mark.parametrize("first", ["#TYPE System.Management.Automation.PSCustomObject", "sep=,"])
def test_the_commands_of_a_hint_work_in_utf_16(first: str, tmp_path: Path) -> None:
    """As Windows PowerShell writes ``ConvertTo-Csv > orders.csv``: ``tail`` alone would shift all bytes."""
    path = tmp_path / "orders.csv"
    path.write_bytes(f"{first}\r\noffset,key,value\r\n0,a,\u0141\u00f3d\u017a\r\n".encode("utf-16"))
    with pytest.raises(InputError, match="before it") as refused, open_one(path):
        pass
    commands = re.findall(r": ([a-z]+ [^;:]+ > \w+)", str(refused.value.hint))
    assert len(commands) == 2
    for command in commands:
        shell = ["bash", "-c", command.replace(" FILE", f" {shlex.quote(str(path))}")]
        subprocess.run(shell, check=True, cwd=tmp_path)
    assert [record.value for record in records_of(tmp_path / "NEW")] == ["\u0141\u00f3d\u017a".encode()]
