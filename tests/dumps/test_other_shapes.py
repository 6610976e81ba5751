"""Files that hold records in a shape that is not read: the error says what to do, and that would help."""

import datetime as dt
import gzip
import io
import json
import shlex
import tarfile
import zlib
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from pyarrow import parquet

from dump_pipeline import judged, open_one
from kcompact.dumps.layouts import LAYOUTS
from kcompact.errors import InputError

ROWS: list[dict[str, Any]] = [
    {"topic": "t", "partition": 0, "offset": n, "key": f"k{n % 2}", "value": "v"} for n in range(4)
]
COLUMNS = {name: {str(n): row[name] for n, row in enumerate(ROWS)} for name in ROWS[0]}


def refusal(path: Path) -> InputError:
    with pytest.raises(InputError) as caught, open_one(path) as dump:
        for split in dump.splits(1 << 40):
            list(LAYOUTS[dump.files[0].layout].records(dump.files[0], split))
    return caught.value


@pytest.mark.parametrize(
    "table",
    [
        COLUMNS,
        {str(n): row for n, row in enumerate(ROWS)},
        {"columns": list(COLUMNS), "index": [0, 1], "data": [list(row.values()) for row in ROWS]},
        {"schema": {"fields": []}, "data": ROWS},
    ],
    ids=["columns", "index", "split", "table"],
)
def test_a_table_of_pandas_gets_the_way_to_write_records(tmp_path: Path, table: Any) -> None:
    path = tmp_path / "d.json"
    path.write_text(json.dumps(table))
    assert "to_json(..., orient='records', lines=True)" in str(refusal(path).hint)


def test_what_is_compressed_twice_is_called_so(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl.gz"
    for mtime in (0, 1_700_000_000):  # 0, as gzip -n has it, is four bytes of zero
        inner = gzip.compress(b"".join(json.dumps(row).encode() for row in ROWS), mtime=mtime)
        path.write_bytes(gzip.compress(inner))
        assert "compressed twice (gzip inside)" in refusal(path).message


def test_an_archive_of_tar_is_called_so(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text(json.dumps(ROWS[0]))
    with tarfile.open(tmp_path / "d.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "d.jsonl", "d.jsonl")
    assert "a tar archive" in refusal(tmp_path / "d.tar.gz").message


@pytest.mark.parametrize(
    "start", [b"\x82SNAPPY\0\0\0\0\1\0\0\0\1", b"\xff\6\0\0sNaPpY"], ids=["Java", "framed"]
)
def test_a_stream_of_snappy_is_called_so(tmp_path: Path, start: bytes) -> None:
    """As Aiven's sinks write ``file.compression.type=snappy``; it was binary, or a backup to be restored."""
    (tmp_path / "t-0-0.snappy").write_bytes(start + bytes(range(256)))
    refused = refusal(tmp_path / "t-0-0.snappy")
    assert "a Snappy stream" in refused.message
    assert "file.compression.type" in str(refused.hint)


TIMES = [
    pa.array([dt.date(2023, 11, 14)]),
    pa.array([dt.time(1, 2, 3)]),
    pa.array([dt.timedelta(days=1)]),
]


@pytest.mark.parametrize("times", TIMES, ids=lambda times: str(times.type))
def test_days_and_times_of_a_day_are_no_timestamps(tmp_path: Path, times: pa.Array) -> None:
    columns = {name: [ROWS[0][name]] for name in ROWS[0]} | {"timestamp": times}
    parquet.write_table(pa.table(columns), tmp_path / "d.parquet")
    assert "no point in time" in refusal(tmp_path / "d.parquet").message


@pytest.mark.parametrize(
    ("logical", "kind"), [("date", "int"), ("time-millis", "int"), ("time-micros", "long")]
)
def test_nor_are_they_in_avro(tmp_path: Path, logical: str, kind: str) -> None:
    types = {"topic": "string", "partition": "int", "offset": "long", "key": "string", "value": "string"}
    fields: list[dict[str, Any]] = [{"name": name, "type": type_} for name, type_ in types.items()]
    fields.append({"name": "timestamp", "type": ["null", {"type": kind, "logicalType": logical}]})
    out = io.BytesIO()
    fastavro.writer(out, {"type": "record", "name": "r", "fields": fields}, [ROWS[0]])
    (tmp_path / "d.avro").write_bytes(out.getvalue())
    assert f"of type {logical}, no point in time" in refusal(tmp_path / "d.avro").message


def as_avro_json(path: Path, kinds: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    """As avro-tools tojson writes it, by another implementation of the specification."""
    schema = {"type": "record", "name": "r", "fields": [{"name": n, "type": t} for n, t in kinds.items()]}
    with path.open("w") as out:
        fastavro.json_writer(out, fastavro.parse_schema(schema), rows)


PLAIN_NUMBERS = {"topic": "string", "partition": "int", "offset": "long"}
NO_NUMBERS = {"topic": ["null", "string"], "partition": ["int", "null"], "offset": ["long", "null"]}
NULLABLE = {"key": ["null", "bytes"], "value": ["null", "bytes"]}


@pytest.mark.parametrize(
    "kinds",
    [
        PLAIN_NUMBERS | NULLABLE,
        PLAIN_NUMBERS | {"key": ["null", "string"], "value": ["null", {"type": "map", "values": "bytes"}]},
        PLAIN_NUMBERS | NULLABLE | {"key": "string"},
        NO_NUMBERS | {"key": "string", "value": "string"},
    ],
)
def test_json_of_avro_itself_is_no_json_of_records(kinds: dict[str, Any], tmp_path: Path) -> None:
    """``{"bytes": "k"}`` is no key: it would be one of JSON, and bytes that are no ASCII other bytes."""
    texts = {name: "bytes" in str(kind) and "map" not in str(kind) for name, kind in kinds.items()}
    rows = [{name: row[name].encode() if texts.get(name) else row[name] for name in kinds} for row in ROWS]
    if "map" in str(kinds["value"]):
        rows = [row | {"value": {"a": b"1"}} for row in rows]
    if kinds["value"] != "string":
        rows += [rows[0] | {"value": None, "offset": 9}]
    as_avro_json(tmp_path / "d.jsonl", kinds, rows)
    refused = refusal(tmp_path / "d.jsonl")
    assert "Avro's own JSON" in str(refused)
    assert "give the .avro file itself" in str(refused.hint)
    kept = "reads keys and values as JSON" in str(refused.hint)
    assert kept == (kinds["offset"] == "long")


@pytest.mark.parametrize(
    "rows",
    [
        [{"key": "a", "value": {"string": "x"}}],
        [{"key": {"string": "x"}, "value": "v"}],
        [{"key": {"int": 1}, "value": {"long": "v"}}],
        [{"key": {"id": 1}, "value": {"bytes": "v"}}, {"key": {"id": 2}, "value": {"bytes": "v", "n": 1}}],
        [{"key": {"string": "a"}, "value": {"string": "a"}}, {"key": {"string": "a"}, "value": {}}],
    ],
)
def test_objects_that_avro_might_write_are_values_all_the_same(
    rows: list[dict[str, Any]], tmp_path: Path
) -> None:
    place = {"topic": "t", "partition": 0}
    lines = [json.dumps(place | {"offset": at} | row) for at, row in enumerate(rows)]
    (tmp_path / "d.jsonl").write_text("\n".join(lines) + "\n")
    with open_one(tmp_path / "d.jsonl") as dump:
        (split,) = dump.splits(1 << 40)
        read = [record.value for *_, record in LAYOUTS["json_lines"].records(dump.files[0], split)]
    values = [row["value"] for row in rows]
    assert read == [v.encode() if isinstance(v, str) else json.dumps(v).encode() for v in values]


def test_the_answer_that_objects_are_no_avro_works_as_printed(tmp_path: Path) -> None:
    row = {"topic": "t", "partition": 0, "offset": 0, "kafka_key": {"string": "a"}, "value": {"int": 1}}
    path = tmp_path / "d.jsonl"
    path.write_text(json.dumps(row) + "\n")
    words = shlex.split(str(refusal(path).hint).partition("; ")[2].partition(" takes ")[0])
    assert words[:3] == ["--dialect", "plain", "--fields"]
    fields = dict(part.partition("=")[::2] for part in words[3].split(","))
    with open_one(path, dialect="plain", fields=fields) as dump:
        (split,) = dump.splits(1 << 40)
        ((_, _, record),) = LAYOUTS["json_lines"].records(dump.files[0], split)
    assert (record.key, record.value) == (b'{"string": "a"}', b'{"int": 1}')


@pytest.mark.parametrize(
    "text",
    [
        "[orders]: user-1, v1\n[orders]: user-2, v2\n",
        '[KSTREAM-SOURCE-0000000000]: user-1, {"a": 1}\n',
        "[B@3cd661db:[B@3cd661de\n[B@3cd661dc:null\n",
        "user-1\t[B@3cd661db\nuser-2\tnull\n",
        "Struct{id=1,name=a}\nStruct{id=2,name=b}\n",
        'event: message\ndata: {"a": 1}\n\nevent: message\ndata: {"a": 2}\n\n',
        'data: {"a": 1}\r\ndata: {"a": 2}\r\n',
        "+---+-----+\n|key|value|\n+---+-----+\n|  a|    b|\n+---+-----+\n",
        "-RECORD 0----\n key   | a \n value | b \n-RECORD 1----\n",
        "┌─key─┬─value─┐\n│ a   │ b     │\n└─────┴───────┘\n",
        "| offset | key | value |\n|---|:---|---:|\n| 0 | a | x |\n| 1 | a | y |\n",
        '[[records]]\noffset = 0\nkey = "a"\nvalue = "1"\n',
        "<records>\n  <record><key>a</key></record>\n</records>\n",
        '{:topic "o", :key "a", :value nil}\n',
        "{\n  topic: 'o',\n  key: 'a',\n  value: null\n}\n",
        '{"queryId":"q","columnNames":["ID"],"columnTypes":["STRING"]}\n["a"]\n',
        'kafka.0: [1700000000.000000003, {"offset":3,"key":"a","payload":null}]\n',
        "#1##2025-11-24T16:00:00+01:00#####v\n" * 3,
        "ConsumerRecord(topic='t', partition=0, offset=1, key=b'a', value=b'1')\n",
    ],
)
def test_what_programs_show_of_records_is_refused(text: str, tmp_path: Path) -> None:
    """Labels of lines such as ``data`` are no keys: all records would have the same."""
    path = tmp_path / "d.txt"
    path.write_text(text)
    error = refusal(path)
    assert error.hint


@pytest.mark.parametrize("role", ["offset", "partition", "timestamp"])
def test_the_member_that_holds_a_number_can_be_named(role: str, tmp_path: Path) -> None:
    numbers = {"partition": 5, "offset": 5, "timestamp": 5}
    row = {"topic": "t", **numbers, "key": "k", "value": "v", role: {"$numberLong": "5"}}
    path = tmp_path / "d.jsonl"
    path.write_text(json.dumps(row) + "\n")
    assert "name the member" in str(refusal(path).hint)
    with open_one(path, fields={role: f"{role}.$numberLong"}) as dump:
        (split,) = dump.splits(1 << 40)
        ((_, _, record),) = LAYOUTS["json_lines"].records(dump.files[0], split)
    assert (record.partition, record.offset, record.timestamp_ms) == (5, 5, 5)


@pytest.mark.parametrize("value", ["[B@3cd661db is an address", "Struct{id=1}", "[orders]: a, b"])
def test_text_of_that_kind_may_be_a_value(value: str, tmp_path: Path) -> None:
    path = tmp_path / "d.txt"
    path.write_text(f"user-1\t{value}\nuser-2\t[B@3cd661db\n")
    with open_one(path) as dump:
        (split,) = dump.splits(1 << 40)
        read = [record.value for *_, record in LAYOUTS[dump.files[0].layout].records(dump.files[0], split)]
    assert read == [value.encode(), b"[B@3cd661db"]


def test_keys_with_their_windows_are_no_json(tmp_path: Path) -> None:
    path = tmp_path / "d.txt"
    path.write_text("[Die Hard@1558800000/1562400000]\t8\n[1@1558800000/1562400000]\t5\n")
    with open_one(path) as dump:
        (split,) = dump.splits(1 << 40)
        records = [record for _, _, record in LAYOUTS[dump.files[0].layout].records(dump.files[0], split)]
    assert [record.key for record in records] == [
        b"[Die Hard@1558800000/1562400000]",
        b"[1@1558800000/1562400000]",
    ]


LIST_OF_YAML = "- key: a\n  offset: 1\n  value: x\n- key: a\n  offset: 2\n  value: y\n"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (LIST_OF_YAML, "YAML"),
        (f"---\n{LIST_OF_YAML}", "YAML"),
        ("---\nkey: a\nvalue: x\n---\nkey: a\nvalue: y\n", "YAML"),
        ("Headers:\nKey: a\nOffset: 1\nValue:\n{}\n", "YAML or labelled text"),
        ("records:\n  - topic: t\n    offset: 1\n    key: a\n    value: x\n", "YAML"),
        (
            "TestRecord[key=a, value=b, headers=RecordHeaders(headers = [])]\n" * 2,
            "such as 'TestRecord[key=a",
        ),
        (
            "SinkRecord{kafkaOffset=1} ConnectRecord{topic='t', key=a}\n" * 2,
            "objects as a program prints them",
        ),
        (f"[main] INFO o.a.k.Consumer - subscribed\n{json.dumps(ROWS[0])}\n", "a tool's log"),
        (f"2026-01-01 10:00:00,123 - consumer - INFO - x\n{json.dumps(ROWS[0])}\n", "a tool's log"),
        (f"2026-01-01 10:00:00,123 [main] WARN x - y\n{json.dumps(ROWS[0])}\n", "a tool's log"),
    ],
)
def test_what_other_languages_and_programs_print_is_called_so(text: str, kind: str, tmp_path: Path) -> None:
    """No hint proposes columns of YAML: each key would be the word ``key``, and all but one record go."""
    path = tmp_path / "d.txt"
    path.write_text(text)
    error = refusal(path)
    assert "looks like" in error.message
    assert kind in error.message
    assert "--columns" not in str(error.hint)


def test_a_comma_with_no_record_behind_it_is_named(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    path.write_text(f"[{json.dumps(ROWS[0])},]\n")
    with pytest.raises(InputError, match="a comma with no record behind it"):
        judged(path)


@pytest.mark.parametrize("sizes", [(2, 2), (1, 1), (2, 3)])
def test_records_in_lists_within_a_list_are_no_pairs(sizes: tuple[int, ...], tmp_path: Path) -> None:
    """As jq -s 'group_by(.key)' leaves them: a group's first record was a key, the second its value."""
    rows = [{"partition": 0, "offset": at, "key": "a", "value": str(at)} for at in range(sum(sizes))]
    path = tmp_path / "d.json"
    path.write_text(json.dumps([rows[: sizes[0]], rows[sizes[0] :]]))
    assert "the records lie in lists within a list" in refusal(path).message


@pytest.mark.parametrize(
    "rows",
    [
        [["a", "v", 0, 0], ["a", None, 0, 1]],
        [["t", 0, "k", [], 1]] * 3,
        [[0, 1, "k", '{"a": 1}']] * 3,
    ],
)
@pytest.mark.parametrize("is_array", [True, False])
def test_records_whose_members_have_no_names_are_refused(
    rows: list[list[Any]], is_array: bool, tmp_path: Path
) -> None:
    """As ClickHouse writes JSONCompactEachRow."""
    path = tmp_path / "d.json"
    path.write_text(json.dumps(rows) if is_array else "".join(f"{json.dumps(row)}\n" for row in rows))
    assert "orient='records'" in str(refusal(path).hint)


def test_an_array_among_pairs_that_is_none_is_refused(tmp_path: Path) -> None:
    """What follows the first two was left out, with a note of a conversion alone."""
    path = tmp_path / "d.json"
    path.write_text(json.dumps([["a", "v"], ["b", "v", "w"]]))
    assert "d.json:1: an array that is no pair of a key and its value" in refusal(path).message


@pytest.mark.parametrize(
    ("suffix", "packed"), [("deflate", zlib.compress(b'{"key":"a"}')), ("snappy", b"\0\0\1\7\0\0\0\xc1")]
)
def test_what_spark_packs_with_hadoop_s_codecs_is_named(tmp_path: Path, suffix: str, packed: bytes) -> None:
    path = tmp_path / f"part-00000.json.{suffix}"
    path.write_bytes(packed)
    assert "compressed by a codec of Hadoop" in refusal(path).message
    path.write_bytes(b'{"topic":"t","partition":0,"offset":0,"key":"a","value":"1"}\n')
    with open_one(path) as dump:
        assert dump.files[0].dialect.name == "plain"
