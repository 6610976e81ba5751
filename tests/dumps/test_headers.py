"""Headers as tools write them, whatever their names are and in whatever order their fields stand."""

import base64
import json
import shlex
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from pyarrow import parquet

from dump_pipeline import index_all, open_one, records_of
from kcompact.dumps.records.headers import decode_headers
from kcompact.dumps.records.structured import headers_of
from kcompact.errors import InputError

PLACE = {"topic": "t", "partition": 0, "offset": 0, "timestamp": 1_700_000_000_000}


def as_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


NAMES = ["trace", "key", "Key", "value"]


def test_headers_of_a_lambda_event_may_be_called_as_its_fields_are(tmp_path: Path) -> None:
    headers = [{name: [104, -61, -87]} for name in NAMES]
    row = PLACE | {"timestampType": "CREATE_TIME", "key": as_base64(b"k"), "value": as_base64(b"v")}
    path = tmp_path / "event.json"
    event = {"eventSource": "aws:kafka", "records": {"t-0": [row | {"headers": headers}]}}
    path.write_text(json.dumps(event))
    assert records_of(path)[0].headers == tuple((name, "hé".encode()) for name in NAMES)
    path.write_text(json.dumps(row | {"headers": headers}) + "\n")  # as jq takes the records out of it
    assert records_of(path, dialect="plain-base64")[0].headers == tuple(
        (name, "hé".encode()) for name in NAMES
    )


def test_headers_of_an_exporter_may_be_called_as_fields_are(tmp_path: Path) -> None:
    headers = [{name: as_base64(b"hello").rstrip("=")} for name in NAMES] + [{"key": None}]
    row = PLACE | {"key": as_base64(b"k"), "value": as_base64(b"v"), "headers": headers}
    path = tmp_path / "t.json"
    path.write_text(json.dumps(row) + "\n")
    decoded = records_of(path, dialect="exporter-importer")[0].headers
    assert decoded == (*((name, b"hello") for name in NAMES), ("key", None))


BUFFERS = [{"type": "Buffer", "data": [*data]} for data in (b"v1", b"\xff")]


def eaches(path: Path, name: str) -> Path:
    """A message as KafkaJS has it, under a name of its own beside topic and partition."""
    message = {"offset": "7", "timestamp": "1700000000000", "key": BUFFERS[0], "value": BUFFERS[1]}
    path.parent.mkdir(exist_ok=True)
    row = {"topic": "t", "partition": 1, name: message | {"headers": {"h": BUFFERS, "x": BUFFERS[0]}}}
    path.write_text(json.dumps(row) + "\n")
    return path


def test_a_name_that_kafkajs_has_twice_is_an_array_of_buffers(tmp_path: Path) -> None:
    """As JSON.stringify writes EachMessagePayload: it was called damaged."""
    (record,) = records_of(eaches(tmp_path / "t.jsonl", "message"))
    assert record.headers == (("h", b"v1"), ("h", b"\xff"), ("x", b"v1"))
    assert (record.topic, record.partition, record.offset, record.key) == ("t", 1, 7, b"v1")


def test_headers_of_automq_s_tables_are_found(tmp_path: Path) -> None:
    place = {name: PLACE[name] for name in ("partition", "offset", "timestamp")}
    row = {"_kafka_key": b"k", "_kafka_value": b"v", "_kafka_metadata": place, "_kafka_header": [("h", b"x")]}
    kind = pa.map_(pa.string(), pa.binary())
    columns = {name: pa.array([part], kind if type(part) is list else None) for name, part in row.items()}
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    found = records_of(tmp_path / "t.parquet", fields={name: f"_kafka_metadata.{name}" for name in place})
    assert [(record.key, record.headers) for record in found] == [(b"k", (("h", b"x"),))]


@pytest.mark.parametrize(
    "names",
    [("key", "value"), ("Key", "Value"), ("name", "value"), ("key", "value", "keyBuffer", "valueBuffer")],
)
def test_headers_of_name_and_value_are_no_exporter_s(names: tuple[str, ...], tmp_path: Path) -> None:
    """``type`` is canonical base64, too: as the exporter's, it would be two headers, one of them of bytes."""
    row = PLACE | {"key": as_base64(b"key-0"), "value": as_base64(b"value 0")}
    pair = dict(zip(names, ("type", as_base64(b"hello")), strict=False)) | dict.fromkeys(names[2:])
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps(row | {"headers": [pair]}) + "\n")
    with pytest.raises(InputError, match="every key looks like base64") as asked:
        open_one(path)
    assert "--dialect plain-base64 " in str(asked.value.hint)
    assert records_of(path, dialect="plain-base64")[0].headers == (("type", b"hello"),)


def test_headers_of_name_and_value_behind_an_exporter_s_are_refused(tmp_path: Path) -> None:
    row = PLACE | {"key": as_base64(b"key-0"), "value": as_base64(b"value 0")}
    path = tmp_path / "t.jsonl"
    pair = {"key": "type", "value": as_base64(b"hello")}
    headers = [[{"type": as_base64(b"hello")}]] * 200 + [[pair]]
    rows = [row | {"headers": each, "offset": at} for at, each in enumerate(headers)]
    path.write_text("".join(json.dumps(each) + "\n" for each in rows))
    with open_one(path) as dump:
        assert dump.files[0].dialect.name == "exporter-importer"
        (reject,) = index_all(dump, extra=frozenset({"headers_hash"}))[1][0].rejects
    assert "headers cannot be read" in reject.reason
    assert "--dialect plain-base64" in str(reject.hint)
    decoded = records_of(path, dialect="plain-base64")
    assert {record.headers for record in decoded} == {(("type", b"hello"),)}


@pytest.mark.parametrize("numbers", [[256], [-129], ["a"]])
def test_numbers_that_are_no_bytes_are_refused(numbers: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps(PLACE | {"key": "k", "value": "v", "headers": [{"h": numbers}]}) + "\n")
    with open_one(path) as dump:
        (reject,) = index_all(dump, extra=frozenset({"headers_hash"}))[1][0].rejects
    assert "headers cannot be read" in reject.reason


def test_a_header_that_ends_with_a_semicolon_is_base64_of_aiven_s_sinks_alone(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    line = "CreateTime:17\tPartition:0\tOffset:{}\t{}\tk\tv\n"
    path.write_text(line.format(0, "name:text/html;") + line.format(1, "NO_HEADERS"))
    assert records_of(path)[0].headers == (("name", b"text/html;"),)
    cell = f"{as_base64(b'name')}:{as_base64(b'text')};{as_base64(b'none')}:;"
    path.write_text(f"{as_base64(b'k')},{as_base64(b'v')},0,17,{cell}\n")
    columns = ("key", "value", "offset", "timestamp", "headers")
    record = records_of(path, dialect="aiven-csv", columns=columns)[0]
    assert record.headers == (("name", b"text"), ("none", b""))


FIELDS = [("value", b"of it"), ("key", "h")]


def test_fields_of_a_header_may_stand_in_any_order_in_avro(tmp_path: Path) -> None:
    header = {"type": "record", "name": "header", "fields": [{"name": "value", "type": ["null", "bytes"]}]}
    header["fields"] += [{"name": "key", "type": "string"}]  # type: ignore[operator]  # a list
    decoded = _of_avro(tmp_path / "t.avro", {"type": "array", "items": header}, [dict(FIELDS)])
    assert decoded == (("h", b"of it"),)


def test_a_header_may_be_a_map_in_avro(tmp_path: Path) -> None:
    kind = {"type": "array", "items": {"type": "map", "values": "bytes"}}
    assert _of_avro(tmp_path / "t.avro", kind, [{"a": b"1"}, {"key": b"2"}]) == (("a", b"1"), ("key", b"2"))


def test_fields_of_a_header_may_stand_in_any_order_in_parquet(tmp_path: Path) -> None:
    kind = pa.list_(pa.struct([("value", pa.binary()), ("key", pa.string())]))
    columns = {name: [value] for name, value in PLACE.items()} | {"key": [b"k"], "value": [b"v"]}
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table(columns | {"headers": pa.array([[dict(FIELDS)]], kind)}), path)
    assert records_of(path)[0].headers == (("h", b"of it"),)


def _of_avro(path: Path, kind: Any, headers: Any) -> tuple[tuple[str, bytes | None], ...]:
    kinds = {"topic": "string", "partition": "int", "offset": "long", "timestamp": "long"}
    kinds |= {"key": "bytes", "value": "bytes", "headers": kind}
    schema = {
        "type": "record",
        "name": "envelope",
        "fields": [{"name": name, "type": field_type} for name, field_type in kinds.items()],
    }
    with path.open("wb") as out:
        fastavro.writer(out, schema, [PLACE | {"key": b"k", "value": b"v", "headers": headers}])
    return records_of(path)[0].headers


def test_objects_and_numbers_that_orjson_cannot_write_are_header_values(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(
        '{"key":"k","value":"v","offset":0,"headers":{"a":{"x":"\\ud800"},"b":1' + "0" * 30 + "}}\n"
    )
    (record,) = records_of(path)
    assert record.headers == (("a", b'{"x":"\xed\xa0\x80"}'), ("b", b"1" + b"0" * 30))


NUMBERS = ["1", "-0", "1.0", "1e3", "1E+3", "0.10", "12345678901234567890", "1" * 30, "1e400", "NaN"]


@pytest.mark.parametrize("blank", ["", " "])
@pytest.mark.parametrize("shape", ["map", "list", "kcat", "nested", "cell"])
def test_numbers_in_headers_stay_as_they_are_spelt(shape: str, blank: str, tmp_path: Path) -> None:
    names = [f"h{at}" for at in range(len(NUMBERS))]
    pairs = list(zip(names, NUMBERS, strict=True))
    spelt = {
        "map": "{" + ",".join(f'"{name}":{blank}{number}' for name, number in pairs) + "}",
        "list": "[" + ",".join(f'{{"key":"{name}","value":{blank}{number}}}' for name, number in pairs) + "]",
        "kcat": "[" + ",".join(f'"{name}",{blank}{number}' for name, number in pairs) + "]",
        "nested": '{"all":{"in":[' + f",{blank}".join(NUMBERS) + "]}}",
    }
    path = tmp_path / ("t.csv" if shape == "cell" else "t.jsonl")
    if shape == "cell":
        cell = spelt["map"].replace('"', '""')
        path.write_text(f'topic,partition,offset,key,value,headers\nt,0,0,k,v,"{cell}"\n')
    else:
        path.write_text(f'{{"topic":"t","offset":0,"headers":{spelt[shape]},"key":"k","value":"v"}}\n')
    expected = tuple((name, number.encode()) for name, number in pairs)
    nested = (("all", b'{"in":[' + ",".join(NUMBERS).encode() + b"]}"),)
    assert records_of(path)[0].headers == (nested if shape == "nested" else expected)


def test_numbers_in_pairs_stay_as_they_are_spelt(tmp_path: Path) -> None:
    path = tmp_path / "_schemas.log"
    path.write_text('[["a", [1.0, 1e3]], ["b" , {"v": 12345678901234567890123}]]')
    values = [record.value for record in records_of(path)]
    assert values == [b"[1.0, 1e3]", b'{"v": 12345678901234567890123}']


@pytest.mark.parametrize("name", ["trace", "user", "aDE=", "é"])
def test_headers_that_go_marshals_have_names_as_text(name: str, tmp_path: Path) -> None:
    headers = [{"Key": name, "Value": as_base64(b"\xff\x00")}, {"Key": name, "Value": None}]
    headers += [{"Key": "", "Value": ""}]
    path = tmp_path / "t.jsonl"
    for dumped in (
        PLACE | {"key": "k", "value": "v", "headers": headers},
        {"Topic": "t", "Partition": 0, "Offset": 0, "Time": "2023-11-14T22:13:20Z", "Headers": headers}
        | {"Key": as_base64(b"k"), "Value": as_base64(b"v"), "HighWaterMark": 1},
    ):
        path.write_text(json.dumps(dumped) + "\n")
        (record,) = records_of(path)
        assert (record.key, record.value) == (b"k", b"v")
        assert record.headers == ((name, b"\xff\x00"), (name, None), ("", b""))


@pytest.mark.parametrize("tool", ["kaf", "sarama"])
def test_header_names_are_bytes_where_the_tool_has_bytes(tool: str, tmp_path: Path) -> None:
    headers = [{"Key": as_base64("né".encode()), "Value": as_base64(b"1")}]
    place = {"partition": 0, "offset": 0, "timestamp": "2023-11-14T22:13:20Z"}
    dumped: dict[str, Any] = place | {"key": "k", "payload": "v", "headers": headers}
    dumped = dict(sorted(dumped.items()))  # as kaf writes them
    if tool == "sarama":
        capitals = {name.capitalize(): value for name, value in place.items()}
        zero = {"BlockTimestamp": "0001-01-01T00:00:00Z", "Topic": "t"}
        dumped = capitals | zero | {"Key": as_base64(b"k"), "Value": as_base64(b"v"), "Headers": headers}
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps(dumped) + "\n")
    assert records_of(path)[0].headers == (("né", b"1"),)


def test_text_in_a_struct_of_go_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps(PLACE | {"key": "k", "value": "v", "headers": [{"Key": "h", "Value": "a b"}]}))
    with open_one(path) as dump:
        (reject,) = index_all(dump, extra=frozenset({"headers_hash"}))[1][0].rejects
    assert "headers cannot be read" in reject.reason
    assert "objects of key and value" in str(reject.hint)


def test_a_header_of_name_and_value_is_one(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    headers = [{"name": "h", "value": "v"}, {"value": None, "name": "n"}, {"name": "alone"}]
    headers += [{"key": "control-center", "stringValue": "v"}, {"key": "none", "stringValue": None}]
    headers += [{"name": "typed", "value": "6869", "type": "bytes", "encoding": "hex"}]
    path.write_text(json.dumps(PLACE | {"key": "k", "value": "v", "headers": headers}) + "\n")
    assert records_of(path)[0].headers == (
        *(("h", b"v"), ("n", None), ("name", b"alone")),
        *(("control-center", b"v"), ("none", None), ("typed", b"hi")),
    )


def test_a_header_whose_value_has_an_unknown_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    row = PLACE | {"key": "k", "value": "v", "headers": [{"key": "h", "textValue": "v"}]}
    path.write_text(json.dumps(row) + "\n")
    with open_one(path) as dump:
        (reject,) = index_all(dump, extra=frozenset({"headers_hash"}))[1][0].rejects
    assert "headers cannot be read" in reject.reason
    assert "objects of key and value" in str(reject.hint)
    path.write_text(json.dumps(row | {"headers": [{"key": "h"}]}) + "\n")
    assert records_of(path)[0].headers == (("h", None),)


def test_a_mark_beside_a_header_names_its_encoding(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    headers = [{"key": name, "value": "6869", "encoding": name} for name in ("hex", "text", "base64")]
    path.write_text(json.dumps(PLACE | {"key": "k", "value": "v", "headers": headers}) + "\n")
    assert records_of(path)[0].headers == (("hex", b"hi"), ("text", b"6869"), ("base64", b"\xeb\xce\xbd"))


def test_headers_in_an_encoding_that_kcompact_does_not_read_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    headers = [{"key": "h", "value": "NBUQ====", "encoding": "base32"}]
    path.write_text(json.dumps(PLACE | {"key": "k", "value": "v", "headers": headers}) + "\n")
    with open_one(path) as dump:
        (reject,) = index_all(dump, extra=frozenset({"headers_hash"}))[1][0].rejects
    assert "headers cannot be read" in reject.reason
    assert "as base64, as hex or as text" in str(reject.hint)


@pytest.mark.parametrize("value", ["application/json", "test", "1234", "5ab0c1d2e3f405162738495a6b7c8d9e"])
def test_text_in_a_struct_of_go_that_may_be_base64_is_asked_about(value: str, tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    row = PLACE | {"key": "k", "value": "v"}
    path.write_text(json.dumps(row | {"headers": [{"Key": "h", "Value": value}]}))
    with pytest.raises(InputError, match="text, or base64") as refused:
        records_of(path)
    assert "Value to value for text" in (refused.value.hint or "")
    path.write_text(json.dumps(row | {"headers": [{"key": "h", "value": value}]}))
    assert records_of(path)[0].headers == (("h", value.encode()),)
    path.write_text(json.dumps(row | {"headers": [{"key": "h", "value_base64": value}]}))
    assert records_of(path)[0].headers == (("h", base64.b64decode(value)),)


JAVA = {"topic": "t", "partition": 0, "offset": 0, "timestamp": 1, "timestampType": "CREATE_TIME", "key": "k"}
ALL_BYTES = bytes(range(256))
SIGNED = [byte - 256 if byte > 127 else byte for byte in ALL_BYTES]


def of_jackson(name: str, value: bytes | None) -> dict[str, Any]:
    text = None if value is None else as_base64(value)
    return {"keyBuffer": None, "key": name, "valueBuffer": None, "value": text}


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"headers": [], "isReadOnly": False}, ()),
        ({"headers": [], "isReadOnly": True, "readOnly": True}, ()),
        ({"headers": [{"key": "h", "value": SIGNED}, {"key": "n"}]}, (("h", ALL_BYTES), ("n", None))),
        (
            {"headers": [{"key": "text", "value": [116]}, {"key": "", "value": []}]},
            (("text", b"t"), ("", b"")),
        ),
        (
            {"headers": [of_jackson("h", ALL_BYTES), of_jackson("n", None), of_jackson("e", b"")]},
            (("h", ALL_BYTES), ("n", None), ("e", b"")),
        ),
        ({"headers": [of_jackson("h", b"test")]}, (("h", b"test"),)),
        ("RecordHeaders(headers = [], isReadOnly = false)", ()),
    ],
)
def test_headers_are_read_that_java_s_own_class_holds(headers: Any, expected: Any, tmp_path: Path) -> None:
    """Jackson and Gson write the fields of RecordHeaders: isReadOnly is no header."""
    if isinstance(headers, dict):
        headers = {"isReadOnly": False} | headers
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps(JAVA | {"value": "v", "headers": headers}) + "\n")
    assert records_of(path)[0].headers == expected


@pytest.mark.parametrize(
    "headers",
    [
        {"headers": [{"keyBuffer": "aA==", "key": None, "value": None}], "isReadOnly": False},
        {"headers": [of_jackson("h", b"v") | {"value": "no base64"}], "isReadOnly": False},
        {"headers": [of_jackson("h", b"v") | {"value": {"a": 1}}], "isReadOnly": False},
        {"headers": [{"value": "aA=="}], "isReadOnly": False},
        [{"keyBuffer": None, "key": "h", "valueBuffer": "aA==", "value": None}],
        {"headers": ["h"], "isReadOnly": False},
        "RecordHeaders(headers = [RecordHeader(key = h, value = [120])], isReadOnly = false)",
    ],
)
def test_headers_of_java_that_nobody_can_read_are_refused(headers: Any, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps(JAVA | {"value": "v", "headers": headers}) + "\n")
    with open_one(path) as dump:
        (reject,) = index_all(dump, extra=frozenset({"headers_hash"}))[1][0].rejects
    assert "headers cannot be read" in reject.reason
    if isinstance(headers, str):
        assert "export as JSON lines (kcat -J)" in str(reject.hint)
        assert records_of(path, fields={"headers": ""})[0].headers == ()


@pytest.mark.parametrize("names", [("headers", "other"), ("headers", "isReadOnly")])
def test_an_object_of_headers_may_have_those_names(names: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps(JAVA | {"value": "v", "headers": dict.fromkeys(names, "x")}) + "\n")
    assert records_of(path)[0].headers == tuple((name, b"x") for name in names)


def of_node(data: bytes) -> dict[str, Any]:
    return {"type": "Buffer", "data": [*data]}


@pytest.mark.parametrize(
    "headers",
    [
        [[of_node(b"b"), of_node(b"\xff")], [of_node("h\u00e9".encode()), None]],
        [[[98], [-1]], [[104, 195, 169], None]],
        [{"key": of_node(b"b"), "value": of_node(b"\xff")}, {"key": "h\u00e9", "value": None}],
    ],
)
def test_names_of_headers_may_be_bytes(headers: Any, tmp_path: Path) -> None:
    """As @platformatic/kafka gives them, whose names are Buffers, too."""
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps(PLACE | {"key": "k", "value": "v", "headers": headers}) + "\n")
    assert records_of(path)[0].headers == (("b", b"\xff"), ("h\u00e9", None))


@pytest.mark.parametrize(
    "headers",
    [[[{"a": 1}, "v"]], [[None, "v"]], [[7, "v"]], [["a"], ["b"], "c", "d"], [of_node(b"b"), of_node(b"v")]],
)
def test_names_of_headers_that_are_no_text_are_refused(headers: Any, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps(PLACE | {"key": "k", "value": "v", "headers": headers}) + "\n")
    with open_one(path) as dump:
        (reject,) = index_all(dump, extra=frozenset({"headers_hash"}))[1][0].rejects
    assert "headers cannot be read" in reject.reason


@pytest.mark.parametrize(
    "headers",
    [
        [{"key": "h", "value": as_base64(b"x0")}],
        [{"key": "src", "value": as_base64(b"app")}, {"key": "n", "value": None}],
        {"src": as_base64(b"app")},
        [["src", as_base64(b"app")]],
    ],
)
def test_headers_that_look_like_base64_beside_texts_are_noted(headers: Any, tmp_path: Path) -> None:
    """As of Spark's cast, with columns in another order, or of Jackson: the answer works as printed."""
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps(PLACE | {"kafka_key": "user-1", "value": "v", "headers": headers}) + "\n")
    with open_one(path) as dump:
        (note,) = [note for note in dump.files[0].notes if "look like base64" in note]
    words = shlex.split(note.partition("; ")[2].partition(" reads ")[0])
    fields = dict(part.partition("=")[::2] for part in words[3].split(","))
    (record,) = records_of(path, dialect=words[1], fields=fields)
    assert (record.key, record.value) == (b"user-1", b"v")
    assert record.headers[0][1] in (b"x0", b"app")


@pytest.mark.parametrize(
    "headers",
    [
        [{"key": "h", "value": text}]
        for text in ("true", "test", "ab", "0123456789abcdef0123456789abcdef", "a-b", "", "12345678")
    ]
    + [[{"key": "h", "value": as_base64(b"x0")}, {"key": "i", "value": "no base64"}]],
)
def test_headers_of_text_are_not_noted(headers: Any, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps(PLACE | {"key": "user-1", "value": "v", "headers": headers}) + "\n")
    with open_one(path) as dump:
        assert not any("base64" in note for note in dump.files[0].notes)


def filebeat_line(headers: Any, **others: Any) -> str:
    kafka = {"topic": "t", "partition": 0, "offset": 0, "key": "a", "headers": headers}
    event = {"@timestamp": "2024-01-01T00:00:00.000Z", "kafka": kafka, "message": "1"}
    return json.dumps(event | others) + "\n"


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["h: v"], (("h", b"v"),)),
        (["h: v", "trace: 1: 2"], (("h", b"v"), ("trace", b"1: 2"))),
        (["empty: ", ": v"], (("empty", b""), ("", b"v"))),
        ([], ()),
    ],
)
def test_a_header_of_filebeat_is_one_text_of_name_and_value(
    texts: list[str], expected: tuple[tuple[str, bytes], ...], tmp_path: Path
) -> None:
    """Two of them are not the name and the value of one, as kcat writes."""
    path = tmp_path / "t.jsonl"
    path.write_text(filebeat_line(texts))
    (record,) = records_of(path)
    assert (record.key, record.value, record.timestamp_ms) == (b"a", b"1", 1_704_067_200_000)
    assert record.headers == expected


def test_a_header_of_filebeat_without_a_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(filebeat_line(["h: v", "trace"]))
    with pytest.raises(InputError, match="headers cannot be read"):
        records_of(path)


@pytest.mark.parametrize("text", ["null", "None", "NaN", "NULL", "nil", "\\N"])
def test_text_that_programs_write_for_no_headers_is_none(text: str, tmp_path: Path) -> None:
    csv, lines, columns = (tmp_path / name for name in ("t.csv", "t.jsonl", "t.parquet"))
    csv.write_text(f"topic,partition,offset,key,value,headers\nt,0,0,k,v,{text}\nt,0,1,k,v,{text}=1\n")
    assert [record.headers for record in records_of(csv)] == [(), ((text, b"1"),)]
    row = PLACE | {"key": "k", "value": "v", "headers": text}
    lines.write_text(json.dumps(row) + "\n")
    assert records_of(lines)[0].headers == ()
    parquet.write_table(pa.Table.from_pylist([row]), columns)  # as json.Marshal(nil) ends up in a column
    assert records_of(columns)[0].headers == ()


@pytest.mark.parametrize(
    "raw",
    [
        [{"k": "h", "v": "1"}],
        [{"headerKey": "h", "headerValue": "x"}, {"headerKey": "g", "headerValue": "y"}],
        {"headers": [{"key": "h", "valueBytes": [49]}], "isReadOnly": True},
    ],
)
def test_headers_whose_name_and_value_have_other_names_are_refused(raw: Any) -> None:
    with pytest.raises(ValueError, match="other name"):
        decode_headers(raw, "text")


def test_names_of_headers_in_an_object_stay_what_they_are() -> None:
    assert decode_headers({"key": "1", "v": "2"}, "text") == (("key", b"1"), ("v", b"2"))
    assert decode_headers([{"a": "1"}, {"value": "2"}], "text") == (("a", b"1"), ("value", b"2"))


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ([{"key": b"a", "value": [49, -1]}], (("a", b"1\xff"),)),
        ([{"key": b"a", "value": b"MQ==", "encoding": b"base64"}], (("a", b"1"),)),
        ([{"key": b"a", "value_base64": b"MQ=="}], (("a", b"1"),)),
        ({"a": [b"1", b"\xff"], "b": None}, (("a", b"1"), ("a", b"\xff"), ("b", None))),
        ([(b"a", [b"1", b"2"]), (b"a", b"3")], (("a", b"1"), ("a", b"2"), ("a", b"3"))),
        ([b"a", b"1", b"b", None], (("a", b"1"), ("b", None))),
        ([{"Key": b"a", "Value": b"MTIz"}], (("a", b"MTIz"),)),
        ([{"v": 7, "Name": b"x", "value": b"\xff"}], (("x", b"\xff"),)),
        ([{"k": b"a", "v": b"1"}], (("a", b"1"),)),
    ],
)
def test_headers_of_avro_and_parquet_are_read_as_json_s(typed: Any, expected: Any) -> None:
    """Their values were JSON in what the dump was converted to; of Go's Key and Value, none is base64."""
    assert headers_of(typed) == expected
