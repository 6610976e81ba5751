"""Records as tools write them that no row of the table knows, or that the wrong one might take."""

import base64
import json
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dump_pipeline import index_all, judged, open_one, records_of
from hint_tools import needs_jq
from kcompact.dumps.dump import Dump
from kcompact.dumps.layouts import LAYOUTS
from kcompact.dumps.records.encodings import ENCODINGS
from kcompact.dumps.records.headers import decode_headers
from kcompact.dumps.text.lines_around import end_of_records, note_on_end
from kcompact.errors import InputError


def lines(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def dialect_of(path: Path, **options: Any) -> str:
    with open_one(path, **options) as dump:
        return dump.files[0].dialect.name


def test_objects_of_python_are_no_keys(tmp_path: Path) -> None:
    """As the file sink of Quix Streams writes keys that are no bytes: none superseded another."""
    texts = [f"<quixstreams.sinks.base.item.SinkItem object at 0x7f2816d0{n}>" for n in (5850, 5990)]
    path = lines(tmp_path / "t.jsonl", *({"_timestamp": 1, "_key": text, "_value": "v"} for text in texts))
    with pytest.raises(InputError, match=r"keys such as <quixstreams.* are addresses of Python objects"):
        open_one(path)


def test_texts_of_a_struct_in_go_are_not_kafkactl_s(tmp_path: Path) -> None:
    """As programs write what segmentio/kafka-go reads: Go makes an empty text of no bytes at all."""
    rows = [
        {
            "Topic": "t",
            "Partition": 0,
            "Offset": n,
            "Key": key,
            "Value": value,
            "Time": "2026-01-01T00:00:00Z",
        }
        for n, (key, value) in enumerate([("a", "1"), ("b", "2"), ("a", ""), ("b", "")])
    ]
    path = lines(tmp_path / "go.jsonl", *rows)
    assert dialect_of(path) != "kafkactl"
    with open_one(path) as dump:
        assert any("--tombstone empty reads it as one" in note for note in dump.notes)
    values = [each.value for each in records_of(path, tombstone="empty")]
    assert values == [b"1", b"2", None, None]


def test_a_python_client_s_record_is_not_kcl_s(tmp_path: Path) -> None:
    kcl = {
        "topic": "t",
        "partition": 0,
        "offset": 0,
        "timestamp": 1,
        "leader_epoch": 0,
        "key": "a",
        "value": "1",
    }
    assert dialect_of(lines(tmp_path / "kcl.jsonl", kcl)) == "kcl"
    python = kcl | {"timestamp_type": 0, "headers": [], "checksum": None, "serialized_key_size": 2}
    assert dialect_of(lines(tmp_path / "python.jsonl", python)) == "plain"
    damaged = lines(
        tmp_path / "damaged.jsonl", python | {"key": "a\ufffd"}, python | {"key": "a\ufffd", "offset": 1}
    )
    with pytest.raises(InputError, match="U\\+FFFD"):
        judged(damaged)


SPARK = {
    "topic": "t",
    "partition": 0,
    "offset": 0,
    "timestamp": "2024-01-02T03:04:05.678Z",
    "timestampType": 0,
}


def test_base64_in_threes_of_bytes_is_asked_about_where_the_fields_are_spark_s(tmp_path: Path) -> None:
    path = lines(tmp_path / "spark.json", {"key": "D0JA", "value": "t1OW"} | SPARK)
    with pytest.raises(InputError, match="whose keys and values are base64") as refused:
        open_one(path)
    for dialect, key in (("spark-json", b"\x0f\x42\x40"), ("spark-json-text", b"D0JA")):
        assert f"--dialect {dialect} " in str(refused.value.hint)
        with open_one(path, dialect=dialect) as dump:
            (split,) = dump.splits(1 << 40)
            ((_, _, record),) = LAYOUTS[dump.files[0].layout].records(dump.files[0], split)
        assert record.key == key
    text = {"key": "D0JA", "value": "{}"} | SPARK
    assert dialect_of(lines(tmp_path / "text.json", text)) == "spark-json-text"


def test_headers_that_turn_out_to_be_text_are_refused_with_the_remedy(
    tmp_path: Path,
) -> None:
    row = {"key": "a", "value": "{}"} | SPARK
    headers = [[{"key": "h", "value": "true"}]] * 200 + [[{"key": "h", "value": "plain text!"}]]
    rows = [row | {"offset": at, "headers": each} for at, each in enumerate(headers)]
    path = lines(tmp_path / "spark.jsonl", *rows)
    with open_one(path) as dump:
        (reject,) = index_all(dump, extra=frozenset({"headers_hash"}))[1][0].rejects
    assert "headers cannot be read" in reject.reason
    assert "--dialect plain reads them" in str(reject.hint)
    with open_one(path, dialect="plain") as dump:
        (split,) = dump.splits(1 << 40)
        read = [record.headers for *_, record in LAYOUTS[dump.files[0].layout].records(dump.files[0], split)]
    assert read == [(("h", b"true"),)] * 200 + [(("h", b"plain text!"),)]


def in_lines(data: bytes) -> str:
    """As Spark's function base64() writes bytes, by Java's MIME encoder."""
    text = base64.b64encode(data).decode()
    return "\r\n".join(text[at : at + 76] for at in range(0, len(text), 76))


@pytest.mark.parametrize("value", [b'{"name": "n1"}' * 9, bytes(range(256)), b"x" * 57 + b"y"])
def test_base64_that_spark_broke_into_lines_is_base64(value: bytes, tmp_path: Path) -> None:
    path = lines(tmp_path / "spark.json", {"key": in_lines(b'{"id": 1}'), "value": in_lines(value)} | SPARK)
    for options in ({}, {"dialect": "plain-base64"}):
        with open_one(path, **options) as dump:
            assert dump.files[0].dialect.name == options.get("dialect", "spark-json")
            (split,) = dump.splits(1 << 40)
            ((_, _, record),) = LAYOUTS[dump.files[0].layout].records(dump.files[0], split)
        assert (record.key, record.value) == (b'{"id": 1}', value)


@pytest.mark.parametrize("length", [60, 76])
@pytest.mark.parametrize("kind", [b"order-%d", b"\xff\x80\x00%d"])
def test_base64_that_ends_with_a_line_end_is_asked_about_and_read(
    kind: bytes, length: int, tmp_path: Path
) -> None:
    """As Ruby's ``Base64.encode64`` and Python's ``encodebytes`` write it: it was taken as text, unsaid."""

    def encoded(data: bytes) -> str:
        text = base64.b64encode(data).decode()
        return "".join(f"{text[at : at + length]}\n" for at in range(0, len(text), length))

    data = [[kind % n, b"order" * 30] for n in range(3)]
    row = {"topic": "t", "partition": 0}
    rows = [row | {"offset": n, "key": encoded(k), "value": encoded(v)} for n, (k, v) in enumerate(data)]
    path = lines(tmp_path / "t.jsonl", *rows)
    with pytest.raises(InputError, match="every key looks like base64"):
        open_one(path)
    assert [[it.key, it.value] for it in records_of(path, dialect="plain-base64")] == data


def test_base64_in_lines_of_bytes_in_threes_is_asked_about(tmp_path: Path) -> None:
    row = {"key": "D0JA", "value": in_lines(bytes(range(150, 210)))} | SPARK
    with pytest.raises(InputError, match="whose keys and values are base64"):
        open_one(lines(tmp_path / "spark.json", row))


def test_text_in_lines_is_no_base64(tmp_path: Path) -> None:
    for text in ("abcd\nabcd", "abcd\r\n" * 3, "a" * 76 + "\n" + "b" * 70 + "\nc", "a" * 76 + "\r" + "b" * 4):
        row = {"key": "user 1", "value": text} | SPARK
        assert dialect_of(lines(tmp_path / "text.json", row)) == "spark-json-text"
        with pytest.raises(ValueError, match=r"base64|padding|ascii"):
            ENCODINGS["base64"](text.encode())


def test_headers_that_spark_wrote_beside_texts_are_base64(tmp_path: Path) -> None:
    """Spark writes binary columns as base64; a cast of key and value leaves headers' values binary."""
    headers = [{"key": "trace", "value": "dHJ1ZQ=="}, {"key": "raw", "value": "/wA="}, {"key": "null"}]
    path = lines(tmp_path / "spark.jsonl", {"key": "a", "value": "{}"} | SPARK | {"headers": headers})
    with open_one(path) as dump:
        (split,) = dump.splits(1 << 40)
        ((_, _, record),) = LAYOUTS[dump.files[0].layout].records(dump.files[0], split)
    assert (record.key, record.value) == (b"a", b"{}")
    assert record.headers == (("trace", b"true"), ("raw", b"\xff\x00"), ("null", None))
    with_text = {"key": "a", "value": "{}"} | SPARK | {"headers": [{"key": "h", "value": "it's"}]}
    assert dialect_of(lines(tmp_path / "java.jsonl", with_text)) == "plain"
    in_numbers = {"key": "a", "value": "{}"} | SPARK | {"timestamp": 1, "headers": headers}
    assert dialect_of(lines(tmp_path / "python.jsonl", in_numbers)) == "plain"


@pytest.mark.parametrize(("key", "name"), [("YWxwaGE=", "spark-json"), ("alpha", "spark-json-text")])
@pytest.mark.parametrize("columns", ["topic", "partition", "topic partition"])
def test_spark_s_rows_are_known_without_the_columns_that_folders_name(
    tmp_path: Path, columns: str, key: str, name: str
) -> None:
    """As ``partitionBy`` lays them out. A download of Control Center has no topic, either."""
    headers = [{"key": "h", "value": "djE="}]
    row = {"key": key, "value": "eyI9Ijo/fQ=="} | SPARK | {"headers": headers}
    folder = tmp_path.joinpath(*(f"{column}={row.pop(column)}" for column in columns.split()))
    folder.mkdir(parents=True)
    lines(folder / "part-00000.json", *(row | {"offset": offset} for offset in range(3)))
    with open_one(tmp_path) as dump:
        assert dump.files[0].dialect.name == name
        (split,) = dump.splits(1 << 40)
        records = [record for *_, record in LAYOUTS["json_lines"].records(dump.files[0], split)]
    assert {(record.topic, record.partition) for record in records} == {("t", 0)}
    assert {record.key for record in records} == {b"alpha"}
    assert {record.headers for record in records} == {(("h", b"v1"),)}


def test_keys_of_spark_s_csv_that_look_like_base64_are_noted(tmp_path: Path) -> None:
    path = tmp_path / "spark.csv"
    header = "key,value,topic,partition,offset,timestamp,timestampType\n"
    rows = [
        f"b3JkZXItM{letter}A=,djE=,t,0,{at},2024-01-02T03:04:05.678Z,0" for at, letter in enumerate("TDz")
    ]
    path.write_text("\n".join([header + rows[0], *rows[1:], ""]))
    with open_one(path) as dump:
        (note,) = (note for note in dump.files[0].dialect.notes if "base64" in note)
    options = "--dialect plain-base64 --fields timestamp_type=timestampType"
    assert f"{options} reads keys" in note
    with open_one(path, dialect="plain-base64", fields={"timestamp_type": "timestampType"}) as dump:
        (split,) = dump.splits(1 << 40)
        record = next(iter(LAYOUTS[dump.files[0].layout].records(dump.files[0], split)))[2]
    assert (record.key, record.value, record.timestamp_type) == (b"order-10", b"v1", "create")


def test_a_map_that_has_a_key_twice_is_refused(tmp_path: Path) -> None:
    pairs = pa.array([[("k", 2)], [("k", 1), ("k", 2)]], pa.map_(pa.string(), pa.int64()))
    columns = {"topic": ["t"] * 2, "partition": [0] * 2, "offset": [0, 1], "key": pairs, "value": ["x", "y"]}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet", row_group_size=1)
    with pytest.raises(InputError, match="row group 1, row 0: a map has the member 'k' twice"):
        judged(tmp_path / "t.parquet")


@pytest.mark.parametrize("nested", [False, True])
def test_a_struct_that_has_a_field_twice_is_refused(nested: bool, tmp_path: Path) -> None:
    twice = pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], names=["k", "k"])
    keys = pa.StructArray.from_arrays([twice], names=["inner"]) if nested else twice
    columns = {"topic": ["t"], "partition": [0], "offset": [0], "key": keys, "value": ["x"]}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    with pytest.raises(InputError, match="row group 0, row 0: a struct has the member 'k' twice"):
        judged(tmp_path / "t.parquet")


@pytest.mark.parametrize("columns", ["key\tvalue", "offset\tkey\tvalue"])
def test_a_header_line_in_the_midst_is_named(columns: str, tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    cells = {"offset": "1", "key": "a", "value": "v"}
    row = "\t".join(cells[name] for name in columns.split("\t"))
    path.write_text(f"{columns}\n{row}\n{columns}\n{row}\n")
    with pytest.raises(InputError, match=":3: the header line once more"):
        judged(path)


def test_gaps_that_kafka_dump_log_lists_behind_its_output_are_passed_over() -> None:
    records = (
        b"| offset: 3 CreateTime: 5 keySize: 1 valueSize: 1 sequence: -1 headerKeys: [] key: k payload: v\n"
    )
    tail = b"Non-consecutive offsets in /d/t-0/00000000000000000000.log\n"
    tail += b"  -1 is followed by 3\n  5 is followed by 7\n"
    assert end_of_records(records + tail, len(records + tail)) == (len(records), 3)
    assert end_of_records(records + b"  5 is followed by 7\n", 999) == (999, 0)


TIMEOUT = b"org.apache.kafka.common.errors.TimeoutException\n"
ENDED = b"[2024-01-01 00:00:00,000] ERROR Error processing message, terminating consumer process:  (x.Y)\n"


@pytest.mark.parametrize(
    ("tail", "count", "is_quoted"),
    [
        (b"k\tv\n% Reached end of topic t [0] at offset 5\n", 1, False),
        (b"k\tERROR\nProcessed a total of 5 messages\n", 1, False),
        (b"k\tv\n% ERROR: Local: Broker transport failure\n", 1, True),
        (b"k\tv\n" + ENDED + b"Processed a total of 5 messages\n", 2, True),
        (b"k\tv\n" + ENDED + TIMEOUT + b"Processed a total of 5 messages\n", 3, False),
    ],
)
def test_an_error_in_which_a_tool_ended_is_quoted(tail: bytes, count: int, is_quoted: bool) -> None:
    note = note_on_end(tail, count)
    assert ("is missing here" in note, "ERROR" in note) == (is_quoted, is_quoted)


def test_headers_of_vector_are_a_list_of_values_for_each_name() -> None:
    assert decode_headers({"h": ["x", "y"], "n": [None]}) == (("h", b"x"), ("h", b"y"), ("n", None))
    assert decode_headers({"h": [104, 105]}) == (("h", b"hi"),)


def test_the_numbers_of_dotnet_s_client_are_read_beside_fields_of_one_s_own(tmp_path: Path) -> None:
    row = {"Topic": "t", "Partition": {"Value": 3}, "Offset": {"Value": 7, "IsSpecial": False}, "Key": "k"}
    row |= {"Value": "v", "Timestamp": {"Type": 1, "UnixTimestampMs": 1_700_000_000_123, "UtcDateTime": "-"}}
    with open_one(lines(tmp_path / "d.jsonl", row)) as dump:
        (split,) = dump.splits(1 << 20)
        ((_, _, record),) = LAYOUTS["json_lines"].records(dump.files[0], split)
    assert (record.topic, record.partition, record.offset) == ("t", 3, 7)
    assert (record.timestamp_ms, record.key, record.value) == (1_700_000_000_123, b"k", b"v")


def test_records_of_the_rest_proxy_may_be_base64_as_by_default(tmp_path: Path) -> None:
    rows = [
        {"topic": "t", "key": key, "value": value, "partition": 0, "offset": offset}
        for offset, (key, value) in enumerate([("dXNlci0x", "Y29uZmx1ZW50"), ("dXNlci0yMg==", "bG9ncw==")])
    ]
    with pytest.raises(InputError, match="every key looks like base64"):
        open_one(lines(tmp_path / "base64.jsonl", *rows))
    text = [row | {"key": f"user-{row['offset']}"} for row in rows]
    assert dialect_of(lines(tmp_path / "text.jsonl", *text)) == "rest-proxy"


GO = {"Topic": "t", "Partition": 0, "Offset": 0, "Time": "2024-01-01T00:00:00Z"}
PYTHON = {"topic": "t", "partition": 0, "offset": 0, "timestamp": 1_700_000_000_000, "timestamp_type": 0}


@pytest.mark.parametrize(
    ("row", "dialect"),
    [
        (PYTHON | {"key": "user1234", "value": "data"}, "plain"),
        (PYTHON | {"key": "1001", "value": {"a": 1}}, "plain"),
        (PYTHON | {"key": "1001", "message": {"a": 1}}, "fields"),
        (PYTHON | {"key": "abcd", "message": "x"}, "fields"),
        (PYTHON | {"headers": [], "key": "user1234", "value": "data"}, "plain"),
        (GO | {"Key": "user1234", "Value": "data", "Headers": None}, "fields"),
    ],
)
def test_text_that_could_be_base64_or_hex_is_not_decoded_for_names_that_scripts_write(
    row: dict[str, Any], dialect: str, tmp_path: Path
) -> None:
    assert dialect_of(lines(tmp_path / "d.jsonl", row)) == dialect


@pytest.mark.parametrize("options", [{"dialect": "plain"}, {"dialect": "kafdrop"}, {}])
def test_what_the_user_says_counts_though_a_record_begins_as_kcompact_s_do(
    options: dict[str, str], tmp_path: Path
) -> None:
    row = {"topic": "t", "partition": 0, "offset": 0, "timestamp": 1, "key": "10AB", "message": "x"}
    named = {"fields": {"key": "key", "value": "message"}}
    path = lines(tmp_path / "d.jsonl", row)
    assert dialect_of(path) == "trubka"
    assert dialect_of(path, **named, **options) == options.get("dialect", "trubka")


def test_values_that_could_be_base64_are_not_decoded_as_the_keys_are(tmp_path: Path) -> None:
    row = {"headers": {}, "key": "dXNlcg==", "offset": 0, "partition": 0, "timestamp": 1, "topic": "t"}
    assert dialect_of(lines(tmp_path / "a.jsonl", row | {"value": "eDE9"})) == "exporter-importer"
    with pytest.raises(InputError, match="every key looks like base64"):
        open_one(lines(tmp_path / "b.jsonl", row | {"value": "OPEN"}))


def test_the_answer_that_fields_are_no_base64_works_as_printed(tmp_path: Path) -> None:
    row = {"Topic": "t", "Partition": 0, "Offset": 0, "Key": "user1234", "Value": "OPEN", "Headers": None}
    path = lines(tmp_path / "d.jsonl", row | {"Time": "2024-01-01T00:00:00Z"})
    with pytest.raises(
        InputError, match="fields and their order are as written by segmentio/kafka-go"
    ) as refused:
        open_one(path)
    typed = str(refused.value.hint).partition("--dialect plain --fields ")[2].removesuffix(" as they are")
    with open_one(path, dialect="plain", fields=dict(part.split("=") for part in typed.split(","))) as dump:
        (split,) = dump.splits(1 << 20)
        ((_, _, record),) = LAYOUTS["json_lines"].records(dump.files[0], split)
    assert (record.key, record.value) == (b"user1234", b"OPEN")


def test_text_that_could_be_base64_is_asked_about_in_guardian_s_order(tmp_path: Path) -> None:
    row = {"topic": "t", "partition": 0, "offset": 0, "key": "user1234", "value": "data"}
    row |= {"timestamp": 1_700_000_000_000, "timestamp_type": 0}
    path = lines(tmp_path / "d.jsonl", row)
    with pytest.raises(InputError, match="are as written by Guardian for Apache Kafka") as refused:
        open_one(path)
    assert "--dialect plain " in str(refused.value.hint)
    assert dialect_of(path, dialect="plain") == "plain"


def test_keys_in_threes_beside_values_in_base64_are_asked_about_in_the_exporter_s_order(
    tmp_path: Path,
) -> None:
    """Avro's small numbers, behind the frame of a schema registry, are six bytes, and no text."""
    row = {"headers": [], "key": "AAAAAAEC", "offset": 0, "partition": 0, "timestamp": 1, "topic": "t"}
    path = lines(tmp_path / "d.jsonl", row | {"value": "djE"})
    with pytest.raises(InputError, match="are as written by kafka_exporter_importer") as refused:
        open_one(path)
    assert "--dialect exporter-importer reads them as base64" in str(refused.value.hint)
    assert dialect_of(path, dialect="plain") == "plain"
    assert dialect_of(lines(tmp_path / "e.jsonl", row | {"value": "free text"})) == "plain"


@pytest.mark.parametrize("name", ["d.jsonl", "d.csv"])
def test_none_beside_python_s_bytes_is_null(name: str, tmp_path: Path) -> None:
    rows = [("b'a'", "b'1'"), ("b'a'", "None"), ("None", "b'x'")]
    path = tmp_path / name
    if name == "d.csv":
        path.write_text("offset,key,value\n" + "".join(f"{n},{k},{v}\n" for n, (k, v) in enumerate(rows)))
    else:
        lines(path, *({"offset": n, "key": k, "value": v} for n, (k, v) in enumerate(rows)))
    with open_one(path) as dump:
        (split,) = dump.splits(1 << 40)
        records = [record for *_, record in LAYOUTS[dump.files[0].layout].records(dump.files[0], split)]
    assert [(record.key, record.value) for record in records] == [(b"a", b"1"), (b"a", None), (None, b"x")]


def test_clickhouse_s_null_is_one_where_every_column_is_text(tmp_path: Path) -> None:
    """JSONStringsEachRow has NULL in small capitals."""
    row = {"_topic": "t", "_partition": "0", "_key": "a", "_timestamp_ms": "2024-01-02 03:04:05.678"}
    null = "".join(map(chr, (0x1D3A, 0x1D41, 0x1D38, 0x1D38)))
    rows = (row | {"_offset": str(at), "value": value} for at, value in enumerate(["v", null]))
    path = lines(tmp_path / "t.jsonl", *rows)
    with open_one(path) as dump:
        (split,) = dump.splits(1 << 40)
        records = [record for _, _, record in LAYOUTS[dump.files[0].layout].records(dump.files[0], split)]
    assert [record.value for record in records] == [b"v", None]
    assert records[0].timestamp_ms == 1_704_164_645_678


def test_words_for_null_are_noted_beside_offsets_that_are_texts(tmp_path: Path) -> None:
    """``String(message.key)`` in a script for KafkaJS, whose offsets are texts as ClickHouse's are."""
    rows = [{"partition": 0, "offset": str(at), "key": "null", "value": "undefined"} for at in range(3)]
    with open_one(lines(tmp_path / "t.jsonl", *rows)) as dump:
        of_keys, of_values = dump.files[0].dialect.notes
    assert "several keys of the first records are the text null" in of_keys
    assert "several values of the first records are the text undefined" in of_values
    assert "--tombstone literal:undefined" in of_values


def test_keys_of_csv_that_look_like_base64_are_noted(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f"t,0,{at},b3JkZXItM{letter}A=,djE=" for at, letter in enumerate("TDz")]
    path.write_text("\n".join(["topic,partition,offset,key,value", *rows, ""]))
    with open_one(path) as dump:
        (note,) = dump.files[0].dialect.notes
    assert "every key looks like base64, such as 'b3JkZXItMTA=' for b'order-10'" in note
    remedy = "plain-base64"
    assert f"--dialect {remedy} reads keys" in note
    with open_one(path, dialect=remedy) as dump:
        (split,) = dump.splits(1 << 40)
        record = next(iter(LAYOUTS[dump.files[0].layout].records(dump.files[0], split)))[2]
    assert (record.key, record.value) == (b"order-10", b"v1")


def test_a_note_on_many_files_is_given_once_with_the_example_of_one_of_them(tmp_path: Path) -> None:
    """As Spark writes ``base64(key)``: each file begins with another key."""
    for at, key in enumerate(["b3JkZXItMTA=", "b3JkZXItMjA=", "b3JkZXItMzA="]):
        rows = [f"t,0,{4 * at + each},{key},djE=" for each in range(4)]
        (tmp_path / f"{at}.csv").write_text("\n".join(["topic,partition,offset,key,value", *rows, ""]))
    with open_one(tmp_path) as dump:
        (note,) = dump.notes
    assert note.startswith("3 files (")
    assert "such as 'b3JkZXItMTA=' for b'order-10', and" in note


CONSUMED = {"timestamp": 1795711312568, "name": "record_data", "key": "k", "value": "v", "topic": "t"}
CONSUMED |= {"partition": 0, "offset": 0}


def test_the_clock_of_the_verifiable_consumer_is_no_record_s_timestamp(tmp_path: Path) -> None:
    """Kafka's VerifiableConsumer with --verbose: RecordData has the time at which it is printed."""
    path = lines(tmp_path / "t.jsonl", CONSUMED, CONSUMED | {"offset": 1, "key": None, "value": None})
    with open_one(path) as dump:
        assert any("--fields timestamp=timestamp takes them" in note for note in dump.notes)
        assert times_of(dump) == [-1, -1]
    with open_one(path, fields={"timestamp": "timestamp"}) as dump:
        assert dump.notes == []
        assert times_of(dump) == [1795711312568] * 2
    with open_one(lines(tmp_path / "u.jsonl", CONSUMED | {"name": "Ann"})) as dump:
        assert (times_of(dump), dump.notes) == ([1795711312568], [])


def times_of(dump: Dump) -> list[int]:
    (split,) = dump.splits(1 << 40)
    layout = LAYOUTS[dump.files[0].layout]
    return [record.timestamp_ms for _, _, record in layout.records(dump.files[0], split)]


def test_what_the_verifiable_consumer_says_of_itself_is_taken_out_as_the_hint_says(tmp_path: Path) -> None:
    started = {"timestamp": 1795711312000, "name": "startup_complete"}
    path = lines(tmp_path / "t.jsonl", started, CONSUMED)
    with pytest.raises(InputError, match="between its records") as refused:
        open_one(path)
    assert str(refused.value.hint) == "take the records out: grep record_data FILE > NEW"
    records = "".join(line for line in path.open() if "record_data" in line)
    path.write_text(records)
    with open_one(path) as dump:
        assert times_of(dump) == [-1]


def test_what_the_verifiable_producer_says_of_itself_is_taken_out_as_the_hint_says(tmp_path: Path) -> None:
    """Kafka's VerifiableProducer: SuccessfulSend has the place, and the time at which it is printed."""
    started = {"timestamp": 1795711312000, "name": "startup_complete"}
    failed = {"timestamp": 1, "name": "producer_send_error", "topic": "t", "key": "b", "value": "1"}
    sent = CONSUMED | {"name": "producer_send_success"}
    path = lines(tmp_path / "t.jsonl", started, sent, failed)
    with pytest.raises(InputError, match="kafka-verifiable-producer reports what it does") as refused:
        open_one(path)
    assert "grep producer_send_success FILE > NEW" in str(refused.value.hint)
    path.write_text("".join(line for line in path.open() if "producer_send_success" in line))
    with open_one(path) as dump:
        assert any("kafka-verifiable-producer writes those of its own clock" in note for note in dump.notes)
        assert times_of(dump) == [-1]


def test_keys_may_be_xml(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text("<a><b/></a>\tx\n<a><c/></a>\ty\n")
    assert [record.key for record in records_of(path)] == [b"<a><b/></a>", b"<a><c/></a>"]


@pytest.mark.parametrize(
    "key",
    [
        *("1.23457E+15", "1E+15", "1.23457E+015", '"1,23457E+15"'),
        *("1.2345678901234568e+18", "1e+16", "9007199254740992.0"),  # of pandas
        *("###", "#NAME?", "Err:509"),  # a wide number; -abc, =abc
    ],
)
def test_keys_that_a_spreadsheet_rounded_are_refused(tmp_path: Path, key: str) -> None:
    """The option that the hint names takes them as they are."""
    path = tmp_path / "orders.csv"
    path.write_text(f"topic,partition,offset,key,value\norders,0,1,abc,x\norders,0,2,{key},y\n")
    shown = re.escape(key.strip('"'))
    with pytest.raises(InputError, match=f"keys such as '{shown}' were most likely rounded") as refused:
        open_one(path)
    named = re.search(r"--dialect ([\w-]+) takes", refused.value.hint or "")
    assert named is not None
    with open_one(path, dialect=named[1]) as dump:
        assert dump.files[0].dialect.key.place == "key"


def test_such_keys_in_csv_of_our_own_are_noted(tmp_path: Path) -> None:
    """There they may come from a dump in JSON, in which they were keys."""
    path = tmp_path / "orders.csv"
    path.write_text('topic,partition,offset,key,value,key_encoding\norders,0,1,"1.5E+10",x,\n')
    with open_one(path) as dump:
        assert any("'1.5E+10' were most likely rounded" in note for note in dump.files[0].dialect.notes)


@pytest.mark.parametrize("key", ["1.233986298e+18", "9007199254740992.0"])
def test_keys_that_pandas_rounded_in_json_are_refused(tmp_path: Path, key: str) -> None:
    path = tmp_path / "orders.jsonl"
    row = '{{"topic":"t","partition":0,"offset":{},"key":{},"value":"v"}}\n'
    path.write_text(row.format(1, "14248.0") + row.format(2, key))
    with pytest.raises(InputError, match="were most likely rounded") as refused, open_one(path):
        pass
    named = re.search(r"--dialect ([\w-]+) takes", refused.value.hint or "")
    assert named is not None
    for options in ({"dialect": named[1]}, {}):
        if not options:  # whole numbers of any size are as they were
            path.write_text(row.format(1, "9007199254740993") + row.format(2, "123456789012345678901234"))
        with open_one(path, **options) as dump:
            assert dump.files[0].dialect.key.place == "key"


@needs_jq
def test_base64_of_values_beside_keys_of_text_is_noted_and_decoded_by_what_the_note_says(
    tmp_path: Path,
) -> None:
    """As Pub/Sub delivers messages of Kafka's connector."""
    values: list[str | None] = ["eyJpZCI6IDF9", "eyJpZCI6IDEyfQ==", None, ""]
    rows = [
        {"attributes": {"key": f"user-{at}", "kafka.offset": str(at), "kafka.partition": "0"}, "data": value}
        for at, value in enumerate(values)
    ]
    fields = {"key": "attributes.key", "value": "data"}
    fields |= {place: rf"attributes.kafka\.{place}" for place in ("offset", "partition")}
    path = lines(tmp_path / "d.jsonl", *rows)
    with open_one(path, fields=fields) as dump:
        (note,) = (note for note in dump.notes if "values look like base64" in note)
    command = note.partition("mark them: ")[2].replace("FILE", shlex.quote(str(path))).partition(" > ")[0]
    marked = tmp_path / "marked.jsonl"
    marked.write_bytes(subprocess.run(["bash", "-c", command], check=True, capture_output=True).stdout)
    with open_one(marked, fields=fields) as dump:
        assert not any("look like base64" in note for note in dump.notes)
        (split,) = dump.splits(1 << 20)
        read = [record.value for *_, record in LAYOUTS["json_lines"].records(dump.files[0], split)]
    assert read == [b'{"id": 1}', b'{"id": 12}', None, b""]
    for row in rows:
        row["data"] = row["data"] and "abcd"
    with open_one(lines(path, *rows), fields=fields) as dump:
        assert not any("look like base64" in note for note in dump.notes)


@needs_jq
@pytest.mark.parametrize("suffix", ["json", "jsonl"])
def test_base64_that_a_sink_of_aiven_writes_of_bytes_is_noted_and_decoded_by_what_the_note_says(
    suffix: str, tmp_path: Path
) -> None:
    """With the ByteArrayConverter for values and the StringConverter for keys."""
    values: list[str | None] = ["eyJpZCI6IDF9", "eyJpZCI6IDEyfQ==", None, ""]
    rows = [
        {
            "key": f"user-{at}",
            "value": value,
            "offset": at,
            "timestamp": "2023-11-14T22:13:20Z",
            "headers": [],
        }
        for at, value in enumerate(values)
    ]
    path = lines(tmp_path / "orders-0-0.jsonl", *rows)
    if suffix == "json":
        path.write_text(json.dumps(rows))
    with open_one(path) as dump:
        (note,) = (note for note in dump.notes if "values look like base64" in note)
    command = note.partition("mark them: ")[2].replace("FILE", shlex.quote(str(path))).partition(" > ")[0]
    marked = tmp_path / "marked" / "orders-0-0.jsonl"
    marked.parent.mkdir()
    marked.write_bytes(subprocess.run(["bash", "-c", command], check=True, capture_output=True).stdout)
    with open_one(marked) as dump:
        assert not any("look like base64" in note for note in dump.notes)
    assert [record.value for record in records_of(marked)] == [b'{"id": 1}', b'{"id": 12}', None, b""]


@pytest.mark.parametrize("form", ["parquet", "csv", "txt"])
def test_keys_that_look_like_base64_beside_values_of_text_are_noted(form: str, tmp_path: Path) -> None:
    """As Aiven's sinks write CSV with values as they are."""
    path = tmp_path / f"orders-0.{form}"
    rows = [{"key": key, "value": "some text"} for key in ("dXNlci0x", "dXNlci0yMg==")]
    if form == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        header = "key,value\n" if form == "csv" else ""
        end = ",7\n" if form == "txt" else "\n"
        path.write_text(header + "".join(f"{row['key']},{row['value']}{end}" for row in rows))
    options = {"columns": ("key", "value", "offset"), "delimiter": ","} if form == "txt" else {}
    with open_one(path, **options) as dump:
        (note,) = (note for note in dump.notes if "every key looks like base64" in note)
    assert "taken as text" in note
    assert "decode" in note
    assert "values" not in note


@pytest.mark.parametrize("form", ["parquet", "avro"])
@pytest.mark.parametrize("kind", ["string", "bytes", "words"])
def test_base64_in_columns_of_text_is_noted(kind: str, form: str, tmp_path: Path) -> None:
    """Of bytes it is what the key holds."""
    path = tmp_path / f"orders.{form}"
    texts = ["user0001", "user0002"] if kind == "words" else ["dXNlci0x", "dXNlci0yMg=="]
    cells = [text.encode() if kind == "bytes" else text for text in texts]
    rows = [{"partition": 0, "offset": at, "key": cell, "value": cell} for at, cell in enumerate(cells)]
    if form == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        text_or_bytes = "bytes" if kind == "bytes" else "string"
        types = {"partition": "int", "offset": "long", "key": text_or_bytes, "value": ["null", text_or_bytes]}
        fields = [{"name": name, "type": type_} for name, type_ in types.items()]
        with path.open("wb") as out:
            fastavro.writer(out, {"type": "record", "name": "r", "fields": fields}, rows)
    with open_one(path) as dump:
        assert any("every key looks like base64" in note for note in dump.notes) == (kind == "string")


@pytest.mark.parametrize("form", ["parquet", "avro"])
def test_keys_that_pandas_rounded_in_columns_are_refused(form: str, tmp_path: Path) -> None:
    """As it turns a column of whole numbers to doubles where one is missing: keys superseded each other."""
    path = tmp_path / f"orders.{form}"
    for key in (14248.0, 9007199254740992.0):
        rows = [{"partition": 0, "offset": 1, "key": key, "value": "v"}]
        if form == "parquet":
            pq.write_table(pa.Table.from_pylist(rows), path)
        else:
            types = {"partition": "int", "offset": "long", "key": ["null", "double"], "value": "string"}
            fields = [{"name": name, "type": kind} for name, kind in types.items()]
            with path.open("wb") as out:
                fastavro.writer(out, {"type": "record", "name": "r", "fields": fields}, rows)
        if key < 2**53:
            judged(path)
    with pytest.raises(InputError, match="whole numbers as large look alike") as refused:
        judged(path)
    named = re.search(r"--dialect ([\w-]+) reads", refused.value.hint or "")
    assert named is not None
    judged(path, dialect=named[1])


@pytest.mark.parametrize("key", ["12E+1", "E+15", "1.5E15", "1e+3", "1.5e+14", "123456789012345.0"])
def test_other_keys_with_an_e_are_keys(tmp_path: Path, key: str) -> None:
    path = tmp_path / "orders.csv"
    path.write_text(f"topic,partition,offset,key,value\norders,0,1,abc,x\norders,0,2,{key},y\n")
    with open_one(path) as dump:
        assert not any("rounded" in note for note in dump.files[0].dialect.notes)


KAF = {"key": "a", "offset": 0, "partition": 0, "payload": None}


@pytest.mark.parametrize(
    ("record", "name", "value"),
    [
        (KAF | {"timestamp": "2024-01-02T03:04:05Z"}, "kaf", b"null"),
        (KAF | {"timestamp": 1704164645000}, "fields", None),
        ({"partition": 0, "timestamp": "2024-01-02T03:04:05Z"} | KAF, "fields", None),
        ({"err": 0, "topic_name": "t", "timestamp": 1, "len": 0, "headers": None} | KAF, "fields", None),
    ],
    ids=["kaf", "numbers", "another order", "PHP's client"],
)
def test_the_null_of_a_script_is_a_tombstone_and_no_word_of_kaf_s(
    record: dict[str, Any], name: str, value: bytes | None, tmp_path: Path
) -> None:
    with open_one(lines(tmp_path / "d.jsonl", record)) as dump:
        (split,) = dump.splits(1 << 40)
        ((_, _, read),) = LAYOUTS[dump.files[0].layout].records(dump.files[0], split)
        table, _ = index_all(dump)
    assert (dump.files[0].dialect.name, read.value) == (name, value)
    assert table["is_tombstone"].to_pylist() == [value is None]


@pytest.mark.parametrize("deleted", [None, ""])
def test_an_empty_payload_beside_null_ones_is_no_tombstone(deleted: str | None, tmp_path: Path) -> None:
    """kaf's json-each-row has the same names, and an empty text for both."""
    record = {"topic": "t", "partition": 0, "timestamp": "2024-01-02T03:04:05Z"}
    rows = [
        record | {"offset": at, "key": f"k{at}", "payload": payload}
        for at, payload in enumerate(["", deleted])
    ]
    with open_one(lines(tmp_path / "d.jsonl", *rows)) as dump:
        table, _ = index_all(dump)
    is_kaf = deleted is not None
    assert dump.files[0].dialect.name == ("kaf-each-row" if is_kaf else "fields")
    assert table["is_tombstone"].to_pylist() == [is_kaf, True]


@pytest.mark.parametrize(
    "names",
    [
        "key ts value partition offset",  # esque has no times
        "topic time key value partition offset",  # nor has the REST proxy
        "Offset Key Partition Timestamp Payload",  # kafbat has a Value
        "topic content key timestamp partition offset",  # rpk a value
    ],
)
def test_a_script_s_fields_that_a_tool_lacks_are_read(names: str, tmp_path: Path) -> None:
    parts = {"topic": "t", "partition": 0, "offset": 7, "key": "k"} | dict.fromkeys(("ts", "time"), 17)
    parts |= {"timestamp": 17} | dict.fromkeys(("value", "payload", "content"), "v")
    with open_one(lines(tmp_path / "d.jsonl", {name: parts[name.lower()] for name in names.split()})) as dump:
        (split,) = dump.splits(1 << 40)
        ((_, _, read),) = LAYOUTS[dump.files[0].layout].records(dump.files[0], split)
    assert (read.offset, read.key, read.value, read.timestamp_ms) == (7, b"k", b"v", 17)


def test_logstash_s_records_are_not_filebeat_s(tmp_path: Path) -> None:
    kafka = {"topic": "t", "partition": 0, "offset": 0, "key": "a"}
    record = {"@timestamp": "2024-01-02T03:04:05Z", "message": "v", "kafka": kafka}
    assert dialect_of(lines(tmp_path / "filebeat.jsonl", record)) == "filebeat"
    with pytest.raises(InputError, match="no record of key and value"):
        open_one(lines(tmp_path / "d.jsonl", record | {"kafka": kafka | {"timestamp": 1704164645000}}))


def test_csv_whose_columns_are_json_is_told_how_to_be_exported(tmp_path: Path) -> None:
    metadata = {"CreateTime": 1704164645000, "key": "a", "offset": 0, "partition": 0, "topic": "t"}
    record = {"RECORD_METADATA": metadata, "RECORD_CONTENT": None}
    path = tmp_path / "d.csv"
    cells = json.dumps(metadata).replace('"', '""')
    path.write_text(f'"RECORD_METADATA","RECORD_CONTENT"\n"{cells}","{{""x"":0}}"\n"{cells}",\n')
    with pytest.raises(InputError, match="CSV whose columns hold JSON") as refused:
        open_one(path)
    assert "--fields key=RECORD_METADATA.FIELD,value=FIELD," in str(refused.value.hint)
    with pytest.raises(InputError, match="no record of key and value"):
        open_one(lines(tmp_path / "d.jsonl", record))


def as_duckdb(data: bytes) -> str:
    """As DuckDB's Blob::ToString prints bytes."""
    return "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b"\"'\\" else f"\\x{byte:02X}" for byte in data
    )


@pytest.mark.parametrize(
    ("spelt", "said"),
    [
        (as_duckdb, "keys and values look like bytes as DuckDB prints them"),
        (lambda data: rf"\x{data.hex()}", "keys and values look like bytes as PostgreSQL prints them"),
    ],
    ids=["duckdb", "postgresql"],
)
def test_bytes_as_databases_print_them_are_noted(
    spelt: Callable[[bytes], str], said: str, tmp_path: Path
) -> None:
    """What they were converted to had the spelling, without a word."""
    rows = [
        {"partition": 0, "offset": at, "key": spelt(key), "value": value and spelt(value)}
        for at, (key, value) in enumerate(
            [(b"\x00\x07", b'{"a": 1}'), (b"k\xff", b"it's"), (b"\x00\x07", None)]
        )
    ]
    (note,) = open_one(lines(tmp_path / "d.jsonl", *rows)).files[0].dialect.notes
    assert said in note
    rows[0]["value"] = "C:\\x"
    (note,) = open_one(lines(tmp_path / "e.jsonl", *rows)).files[0].dialect.notes
    assert note.startswith("keys look like")


def test_text_without_a_spelt_byte_is_not_noted(tmp_path: Path) -> None:
    row = {"partition": 0, "offset": 1, "key": "k1", "value": "plain text"}
    assert open_one(lines(tmp_path / "d.jsonl", row)).files[0].dialect.notes == ()


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("[B@3cd661db", "addresses of Java"),  # String.valueOf(bytes)
        ("[Ljava.lang.String;@3cd661db", "addresses of Java"),
        ("com.acme.Order$Key@1b6d3586", "addresses of Java"),
        ("java.nio.HeapByteBuffer[pos=0 lim=2 cap=2]", "names of Java"),
        ("<built-in method key of cimpl.Message object at 0x7f12abc0>", "addresses of Python"),
        ("<bound method Message.key of <cimpl.Message object at 0x7f12abc0>>", "addresses of Python"),
        ("#<Kafka::Key:0x000055d0c1a2>", "addresses of Ruby"),
        ("System.Byte[]", "names of .NET"),
        ("[object Object]", "names of JavaScript"),
        ("<Buffer 6b 31>", "Node's prints of Buffer"),
        ("<Buffer 6b 31 ... 12 more bytes>", "Node's prints of Buffer"),  # by util.inspect, after 50
    ],
)
def test_what_programs_print_of_objects_is_no_key(key: str, kind: str, tmp_path: Path) -> None:
    """Beside the words for null that the same programs print, and in CSV, too."""
    texts = [key, "null", key, "None"]
    path = lines(tmp_path / "t.jsonl", *({"offset": n, "key": k, "value": "v"} for n, k in enumerate(texts)))
    (csv := tmp_path / "t.csv").write_text("offset,key,value\n" + "".join(f"{n},{key},v\n" for n in range(2)))
    for file in (path, csv):
        with pytest.raises(InputError, match=f"keys such as {re.escape(key)} are {re.escape(kind)} objects"):
            open_one(file)


def test_values_are_addresses_beside_words_for_null(tmp_path: Path) -> None:
    values = ["[B@3cd661db", "null", "[B@1b6d3586"]
    rows = [{"offset": n, "key": "k", "value": value} for n, value in enumerate(values)]
    with pytest.raises(InputError, match=r"values such as \[B@3cd661db are addresses of Java objects"):
        open_one(lines(tmp_path / "t.jsonl", *rows))
    open_one(lines(tmp_path / "sent.jsonl", {"offset": 0, "key": "k", "value": "[object Object]"}))


def test_what_php_cannot_write_as_json_is_no_tombstone(tmp_path: Path) -> None:
    """A message of php-rdkafka by ``JSON_PARTIAL_OUTPUT_ON_ERROR``: null, where it was no UTF-8."""
    row = {"topic_name": "t", "partition": 0, "key": "a", "err": 0}
    sent = [
        row | {"offset": n, "payload": text, "len": len(text or "")} for n, text in enumerate(["v", None, ""])
    ]
    assert [it.value for it in records_of(lines(tmp_path / "sent.jsonl", *sent))] == [b"v", None, b""]
    path = lines(tmp_path / "lost.jsonl", *sent, row | {"offset": 3, "payload": None, "len": 2})
    with open_one(path) as dump:
        (reject,) = index_all(dump)[1][0].rejects
    assert "the value is null only because it was not decoded or exported" in reject.reason


def test_pathway_s_own_time_is_not_kafka_s(tmp_path: Path) -> None:
    """With the metadata of its Kafka input, in an order of its own."""
    place = {"topic": "t", "partition": 1}
    rows = [
        {"_metadata": {"timestamp_millis": 17 + at} | place | {"offset": at, "headers": []}, "key": "a"}
        | {"data": data, "diff": 1, "time": 1_796_006_467_848}
        for at, data in ((1, None), (0, "v"))
    ]
    path = lines(tmp_path / "t.jsonl", *rows)
    records = records_of(path, fields={"value": "data"})
    assert [(it.partition, it.offset, it.timestamp_ms, it.value) for it in records] == [
        (1, 1, 18, None),
        (1, 0, 17, b"v"),
    ]
