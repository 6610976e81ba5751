"""Topic, partition and offset under other names than the tool's, or only behind the first records."""

import json
import shlex
import subprocess
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dump_pipeline import index_all, open_one, read_by_tasks, records_of
from hint_tools import needs_jq
from kcompact.dumps.dialects.dialect import Dialect
from kcompact.dumps.dialects.paths import columns_beside
from kcompact.dumps.layouts import LAYOUTS
from kcompact.dumps.note_checks import check_notes
from kcompact.errors import InputError

Log = tuple[str, int, int]


def places(path: Path, **options: Any) -> list[Log]:
    """Topic, partition and offset of each record, as the reference reads them, and as the loops do."""
    records = records_of(path, **options)
    with open_one(path, **options) as dump:
        table, notes = index_all(dump)
        check_notes(dump, notes)
    assert table["offset"].to_pylist() == [record.offset for record in records]
    assert len(set(table["log_id"].to_pylist())) == len({(r.topic, r.partition) for r in records})
    return [(record.topic, record.partition, record.offset) for record in records]


def rewritten_by_hint(path: Path, refusal: InputError, before: str) -> Path:
    """The refused dump, run through the program of jq that its hint names after the words ``before``."""
    words = shlex.split(str(refusal.hint).partition(before)[2])
    path.write_bytes(subprocess.run([*words[:3], path], check=True, capture_output=True).stdout)
    return path


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


_KAFKACTL = {"Partition": 0, "Offset": 0, "Headers": {}, "Key": "a", "Value": "1", "Timestamp": 1}
TOOLS: dict[str, dict[str, Any]] = {
    "kafkactl": _KAFKACTL,
    "kafbat": {
        name: _KAFKACTL[name] for name in ("Value", "Offset", "Key", "Partition", "Headers", "Timestamp")
    },
    "console": {"partitionID": 0, "offset": 0, "timestamp": 1, "key": "a", "value": "1"},
    "kafdrop": {"partition": 0, "offset": 0, "message": "1", "key": "a", "headersFormatted": ""},
    "kafka-snapshot": {"Key": "a", "Value": "1", "Meta": {"Partition": 0, "Offset": 0}},
    "kt": {"partition": 0, "offset": 0, "key": "a", "value": "1", "timestamp": "2024-01-01T00:00:00Z"},
}


@pytest.mark.parametrize("topic_field", ["topic", "Topic", "topic_name", "topicName", "kafka_topic"])
@pytest.mark.parametrize("tool", TOOLS)
def test_a_topic_that_was_added_to_a_tool_s_records_is_read(
    tool: str, topic_field: str, tmp_path: Path
) -> None:
    rows = [{topic_field: topic} | TOOLS[tool] for topic in ("t1", "t2")]
    assert places(write(tmp_path / "dump.jsonl", rows)) == [("t1", 0, 0), ("t2", 0, 0)]


def test_a_time_of_another_spelling_is_read(tmp_path: Path) -> None:
    row = {"partition": 0, "offset": 0, "key": "a", "value": "1", "time": "1970-01-01T00:00:01Z"}
    (record,) = records_of(write(tmp_path / "hkt.jsonl", [row]))
    assert record.timestamp_ms == 1000


@pytest.mark.parametrize("spelt", ["partitionId", "partition_id", "Partition", "kafka_partition"])
@pytest.mark.parametrize("layout", ["jsonl", "csv"])
def test_a_partition_of_another_spelling_is_read(spelt: str, layout: str, tmp_path: Path) -> None:
    path = tmp_path / f"dump.{layout}"
    if layout == "jsonl":
        write(path, [{"topic": "t", spelt: p, "offset": 5, "key": "a", "value": "v"} for p in range(2)])
    else:
        path.write_text(f"kafka_topic,{spelt},offset,key,value\nt,0,5,a,v\nt,1,5,a,w\n")
    assert places(path) == [("t", 0, 5), ("t", 1, 5)]


def test_two_fields_that_may_be_the_topic_are_asked_about(tmp_path: Path) -> None:
    rows = [{"topic": "a", "Topic": "b"} | TOOLS["console"]]
    with pytest.raises(InputError, match="the topic may be the field Topic, topic"):
        places(write(tmp_path / "dump.jsonl", rows))
    assert places(tmp_path / "dump.jsonl", fields={"topic": "Topic"}) == [("b", 0, 0)]


ROWS = [
    {"_kafka_topic": "t", "_kafka_partition": 0, "_kafka_offset": 2, "id": "a", "val": 3},
    {"_kafka_topic": "t", "_kafka_partition": 0, "_kafka_offset": 0, "id": "a", "val": 1},
    {"_kafka_topic": "t", "_kafka_partition": 1, "_kafka_offset": 1, "id": "a", "val": 2},
]


CONNECTORS = [
    {"_hoodie_kafka_source_offset": 5, "_hoodie_kafka_source_partition": 1},
    {"_kafka_metadata": {"topic": "dump", "partition": 1, "offset": 5}},
    {"_kafka_metadata_topic": "dump", "_kafka_metadata_partition": 1, "_kafka_metadata_offset": 5},
    {"kafka": {"offset": 5, "partition": 1, "topic": "dump", "key": "x"}},
]


@pytest.mark.parametrize("beside", CONNECTORS)
@pytest.mark.parametrize("layout", ["jsonl", "parquet"])
def test_rows_of_connectors_say_where_they_are_from(
    beside: dict[str, Any], layout: str, tmp_path: Path
) -> None:
    path = tmp_path / f"dump.{layout}"
    if layout == "jsonl":
        write(path, [{"id": 1} | beside])
    else:
        pq.write_table(pa.Table.from_pylist([{"id": 1} | beside]), path)
    assert places(path, key_fields=("id",)) == [("dump", 1, 5)]


@pytest.mark.parametrize("layout", ["jsonl", "parquet"])
def test_rows_with_kafka_s_name_in_their_fields_say_where_they_are_from(layout: str, tmp_path: Path) -> None:
    path = tmp_path / f"dump.{layout}"
    if layout == "jsonl":
        write(path, ROWS)
    else:
        pq.write_table(pa.Table.from_pylist(ROWS), path)
    assert places(path, key_fields=("id",)) == [("t", 0, 2), ("t", 0, 0), ("t", 1, 1)]


def test_a_business_field_called_offset_is_not_the_record_s(tmp_path: Path) -> None:
    rows = [{"offset": 7 - n, "topic": "news", "id": n} for n in range(2)]
    assert places(write(tmp_path / "dump.jsonl", rows), key_fields=("id",)) == [
        ("dump", 0, 0),
        ("dump", 0, 1),
    ]


def envelope(number: int, **more: Any) -> dict[str, Any]:
    return {"topic": "t", "offset": number, "timestamp": 1, "key": f"k{number}", **more}


@pytest.mark.everyday(1)
@pytest.mark.parametrize("name", ["partition", "Partition", "partitionId", "partition_id", "kafkaPartition"])
def test_a_partition_that_the_first_records_lack_ends_the_run(name: str, tmp_path: Path) -> None:
    rows = [envelope(n, value="v") for n in range(3000)]
    late = [envelope(3000 + n, value="w", **{name: 1}) for n in range(5)]
    with pytest.raises(InputError, match=f":3001: a {name}, which the first records lack") as refused:
        places(write(tmp_path / "dump.jsonl", rows + late))
    assert f".{name} //= 0" in str(refused.value.hint)
    repaired = [{name: 0} | row for row in rows + late]
    assert len({p for _, p, _ in places(write(tmp_path / "dump.jsonl", repaired))}) == 2
    assert len(places(write(tmp_path / "dump.jsonl", rows + [row | {name: None} for row in late]))) == 3005


def test_a_value_of_another_tool_s_name_behind_the_first_records_is_no_tombstone(tmp_path: Path) -> None:
    rows = [envelope(n, partition=0, value="v") for n in range(3000)]
    kcat = [envelope(3000 + n, partition=0, payload="w") for n in range(5)]
    with pytest.raises(InputError, match=":3001: no value as in the first records, and a payload"):
        places(write(tmp_path / "dump.jsonl", rows + kcat))
    for name in ("Message", "content", "kafka_value"):
        late = [envelope(3000 + n, partition=0, **{name: "w"}) for n in range(5)]
        with pytest.raises(InputError, match=f"and a {name}"):
            places(write(tmp_path / "dump.jsonl", rows + late))
    beside = [row | {"value": "x"} for row in kcat]  # some more that is no part of a record
    assert len(places(write(tmp_path / "dump.jsonl", rows + beside))) == 3005


@pytest.mark.everyday(2)
@pytest.mark.parametrize(
    ("name", "member", "message"),
    [
        ("valueDeserializationError", "no schema", "the value is null only because it was not decoded"),
        ("value_error", {"code": 3}, "the value is null only because it was not decoded"),
        ("key_error", "no schema", "the key is null only because it was not decoded"),
        ("error", "Expecting value", "the value is null only because it was not decoded"),
        ("parseError", True, "the value is null only because it was not decoded"),
        ("ValueEncoding", "base64", "a ValueEncoding, which the first records lack"),
        ("keyEncoding", "base64", "a keyEncoding, which the first records lack"),
        ("isTombstone", True, "records may delete their keys although they have a value"),
        ("is_deleted", "true", "records may delete their keys although they have a value"),
        ("op", "DELETE", "records may delete their keys although they have a value"),
    ],
)
def test_the_first_record_that_says_more_of_itself_ends_the_run(
    name: str, member: Any, message: str, tmp_path: Path
) -> None:
    """As writers leave out what is false or null. Where it says nothing, the record is one like others."""
    rows = [envelope(n, partition=0, value="v") for n in range(400)]
    late = envelope(400, partition=0, value="w")
    late |= {} if "error" not in name.lower() else {"key" if "key" in name else "value": None}
    for said in (None, False, *([0, "", "nil"] if "rror" in name else [])):
        assert len(places(write(tmp_path / "dump.jsonl", [*rows, late | {name: said}]))) == 401
    with pytest.raises(InputError, match=f":401: .*{message}") as refused:
        places(write(tmp_path / "dump.jsonl", [*rows, late | {name: member}]))
    if "Encoding" in name:
        assert f".{name} //= null" in str(refused.value.hint)
        encoded = late | {name: member, "key": "a2V5", "value": "dg=="}
        repaired = [{name: None} | row for row in rows]
        with open_one(write(tmp_path / "dump.jsonl", [*repaired, encoded])) as dump:
            keys = index_all(dump)[0]["key"].to_pylist()
        assert keys[-1] == (b"key" if name == "keyEncoding" else b"a2V5")
    if "delete" in message:
        assert len(places(tmp_path / "dump.jsonl", fields={"value": "value"})) == 401
        tombstone = late | {name: member, "value": None}
        assert len(places(write(tmp_path / "dump.jsonl", [*rows, tombstone]))) == 401


@pytest.mark.everyday(2)
@pytest.mark.parametrize(
    ("kind", "flags"),
    [
        ("jsonl", (False, True)),
        ("jsonl", (0, 1)),
        ("jsonl", ("no", "yes")),
        ("csv", ("false", "true")),
        ("csv", ("f", "t")),
        ("csv", ("0", "1")),
    ],
)
def test_a_flag_that_no_first_record_sets_is_heeded_behind_them(
    kind: str, flags: tuple[Any, Any], tmp_path: Path
) -> None:
    """Beside a value, it may delete the key. Beside a null, both say so."""
    rows = [envelope(n, partition=0, value="v", is_tombstone=flags[0]) for n in range(400)]
    path = tmp_path / f"dump.{kind}"
    for value, is_told in (("w", False), ("w", True), ("", False), (None, False)):
        late = envelope(400, partition=0, value=value, is_tombstone=flags[1])
        if kind == "jsonl":
            write(path, [*rows, late])
        else:  # empty is "", null is nothing
            lines = [",".join(row) for row in (late, *(map(str, row.values()) for row in rows))]
            cells = late | {"value": {"": '""', None: ""}.get(value, value)}
            path.write_text("\n".join([*lines, ",".join(map(str, cells.values()))]))
        if value is None or is_told:
            assert len(places(path, fields={"value": "value"} if is_told else {})) == 401
            continue
        with pytest.raises(InputError, match=r":40[12]: records may delete their keys although they have"):
            places(path)


def test_a_topic_that_the_first_records_lack_gets_no_hint_to_make_it_zero(tmp_path: Path) -> None:
    rows = [envelope(n, partition=0, value="v") for n in range(3000)]
    for row in rows:
        del row["topic"]
    with pytest.raises(InputError, match=":3001: a topic, which the first records lack") as refused:
        places(write(tmp_path / "dump.jsonl", [*rows, envelope(3000, partition=0, value="v")]))
    assert "//=" not in str(refused.value.hint)


def test_rows_whose_first_lack_kafka_s_offset_end_the_run(tmp_path: Path) -> None:
    rows = [{"id": n, "message": "m"} for n in range(3000)]
    late = {"id": 3000, "offset": 5, "_kafka_offset": 7}
    with pytest.raises(InputError, match=":3001: a _kafka_offset, which the first records lack"):
        places(write(tmp_path / "dump.jsonl", [*rows, late]), key_fields=("id",))


@pytest.mark.parametrize("name", ["keyBase64", "key_base64", "rawKey"])
def test_a_field_that_may_be_the_key_s_bytes_is_asked_about(name: str, tmp_path: Path) -> None:
    rows = [
        envelope(n, partition=0, value="x") | {"key": "", name: spelt}
        for n, spelt in enumerate(["AQ==", "Ag=="])
    ]
    with pytest.raises(InputError, match=f"the key may be the field key, {name}"):
        places(write(tmp_path / "dump.jsonl", rows))
    for field, count in ((name, 2), ("key", 1)):
        with open_one(tmp_path / "dump.jsonl", fields={"key": field}, dialect="plain") as dump:
            assert len(set(index_all(dump)[0]["key"].to_pylist())) == count


BESIDE = {"value_base64": ["/wA=", None], "valueB64": ["/wA=", None], "raw_value": ["x", None]}


@pytest.mark.parametrize("form", ["parquet", "avro"])
@pytest.mark.parametrize("name", [*BESIDE, "value_encoding"])
def test_columns_that_may_be_a_value_s_bytes_are_asked_about(name: str, form: str, tmp_path: Path) -> None:
    """As DuckDB makes them of such lines of JSON: a value that is null there was taken for a tombstone."""
    cells = BESIDE.get(name, ["base64", None])
    value = "azE=" if name not in BESIDE else None
    rows = [{"key": "k", "value": value, "offset": at, name: cell} for at, cell in enumerate(cells)]
    path = tmp_path / f"t.{form}"
    if form == "parquet":
        schema = pa.schema(
            [(column, pa.int64() if column == "offset" else pa.string()) for column in rows[0]]
        )
        pq.write_table(pa.Table.from_pylist(rows, schema), path)
    else:
        types: dict[str, Any] = {column: ["null", "string"] for column in rows[0]} | {"offset": "long"}
        fields = [{"name": column, "type": kind} for column, kind in types.items()]
        with path.open("wb") as out:
            fastavro.writer(out, {"type": "record", "name": "r", "fields": fields}, rows)
    with pytest.raises(InputError, match=name):
        open_one(path)
    assert places(path, fields={"value": "value"}) == [("t", 0, 0), ("t", 0, 1)]


@pytest.mark.parametrize("spelt", ["keyEncoding", "key_encoding", "KeyEncoding"])
def test_the_encoding_of_a_key_may_be_spelt_in_another_way(spelt: str, tmp_path: Path) -> None:
    rows = [envelope(0, partition=0, value="v") | {"key": "k1"}, envelope(1, partition=0, value="v")]
    rows[1] |= {"key": "azE=", spelt: "base64"}
    with open_one(write(tmp_path / "dump.jsonl", rows)) as dump:
        assert index_all(dump)[0]["key"].to_pylist() == [b"k1", b"k1"]


OTHER_NAMES = [
    {"key": "kafka_key", "value": "kafka_value", "offset": "kafka_offset"},
    {"key": "Key", "value": "Value", "offset": "Offset", "topic": "Topic", "timestamp": "Timestamp"},
    {"key": "key", "value": "message", "offset": "offset", "partition": "partition"},
    {"key": "key", "value": "payload", "offset": "offset", "partition": "partition", "topic": "topic"},
]


@pytest.mark.parametrize("layout", ["jsonl", "csv"])
@pytest.mark.parametrize("names", OTHER_NAMES)
def test_encodings_beside_keys_and_values_of_other_names_are_heeded(
    names: dict[str, str], layout: str, tmp_path: Path
) -> None:
    """As exporters of one's own have them: base64 was taken for text."""
    parts: dict[str, Any] = {"topic": "t", "partition": 0, "timestamp": 1_700_000_000_000}
    rows = [
        {name: (parts | {"key": key, "value": value, "offset": offset})[role] for role, name in names.items()}
        | {"key_encoding": mark, f"{names['value']}Encoding": mark}
        for offset, (key, value, mark) in enumerate([("k1", "v1", "utf8"), ("azE=", "/wA=", "base64")])
    ]
    path = tmp_path / f"t.{layout}"
    if layout == "jsonl":
        write(path, rows)
    else:
        path.write_text(
            "".join(",".join(map(str, row)) + "\n" for row in (rows[0], *(r.values() for r in rows)))
        )
    with open_one(path) as dump:
        (split,) = dump.splits(1 << 20)
        records = [record for *_, record in LAYOUTS[dump.files[0].layout].records(dump.files[0], split)]
        assert index_all(dump)[0]["key"].to_pylist() == [b"k1", b"k1"]
    assert [(record.key, record.value) for record in records] == [(b"k1", b"v1"), (b"k1", b"\xff\x00")]


NESTED = {
    "partition": {"topic": "t", "meta": {"partition": 1}, "offset": 5, "key": "a", "value": "x"},
    "offset": {"topic": "t", "partition": 1, "Message Offset": 5, "key": "a", "value": "x"},
    "topic": {"topicPartition": {"topic": "t"}, "partition": 1, "offset": 5, "key": "a", "value": "x"},
}
DEEP = NESTED["partition"] | {"meta": {"kafka": {"source": {"partition": 1}}}}


@pytest.mark.parametrize(("role", "row"), [*NESTED.items(), ("partition", DEEP)])
def test_what_may_be_a_place_by_an_unknown_name_is_asked_about(
    role: str, row: dict[str, Any], tmp_path: Path
) -> None:
    path = write(tmp_path / "dump.jsonl", [row])
    with pytest.raises(
        InputError, match=f"no field with a known name for the {role}, but it may be"
    ) as refused:
        places(path)
    (field,) = shlex.split(str(refused.value.hint).partition("--fields ")[2].partition(", or")[0])
    assert places(path, fields=dict([field.split("=")])) == [("t", 1, 5)]
    assert f"--fields {role}= if" in str(refused.value.hint)
    without = {"topic": ("dump", 1, 5), "partition": ("t", 0, 5), "offset": ("t", 1, 0)}
    assert places(path, fields={role: ""}) == [without[role]]


@pytest.mark.parametrize("layout", ["csv", "jsonl"])
def test_places_in_json_within_a_text_are_asked_about(layout: str, tmp_path: Path) -> None:
    """As Pathway writes its metadata into CSV, in no order of offsets."""
    path = tmp_path / f"dump.{layout}"
    metadata = [json.dumps({"topic": "t", "partition": 1, "offset": offset}) for offset in (5, 4)]
    if layout == "csv":
        cells = [text.replace('"', '""') for text in metadata]
        path.write_text("_metadata,key,data\n" + "".join(f'"{cell}",a,{{"offset":1}}\n' for cell in cells))
    else:
        write(path, [{"_metadata": text, "key": "a", "data": '{"offset":1}'} for text in metadata])
    members = "_metadata.topic, _metadata.partition, _metadata.offset"
    with pytest.raises(InputError, match=f"JSON within a text has {members}") as refused:
        places(path, fields={"value": "data"})
    assert "--fields topic=,partition=,offset=" in str(refused.value.hint)
    without = dict.fromkeys(("topic", "partition", "offset"), "")
    assert places(path, fields={"value": "data", **without}) == [("dump", 0, 0), ("dump", 0, 1)]
    if layout == "jsonl":  # the value is the record's own
        write(path, [{"key": "a", "value": text} for text in metadata])
        assert places(path) == [("dump", 0, 0), ("dump", 0, 1)]


def test_a_column_without_a_name_is_no_place(tmp_path: Path) -> None:
    """As pandas writes its index beside the fields of kcat, where no record has headers."""
    path = tmp_path / "dump.csv"
    path.write_text(",topic,partition,offset,tstype,ts,broker,key,payload\n0,t,0,5,create,1,1,a,x\n")
    assert places(path) == [("t", 0, 5)]


def test_all_places_by_unknown_names_are_asked_about_at_once(tmp_path: Path) -> None:
    row = {"redpanda": {"partition": 1, "offset": 5, "topic": "t"}, "key": "a", "value": "x"}
    path = write(tmp_path / "dump.jsonl", [row])
    with pytest.raises(
        InputError, match="no field with a known name for the topic or the partition or the offset"
    ) as refused:
        places(path)
    (fields,) = shlex.split(str(refused.value.hint).partition("--fields ")[2].partition(", or")[0])
    assert places(path, fields=dict(field.split("=") for field in fields.split(","))) == [("t", 1, 5)]


def test_a_partition_whose_name_ends_with_a_dot_is_asked_about(tmp_path: Path) -> None:
    """The hint's option reads the column, dot and all."""
    path = tmp_path / "d.csv"
    path.write_text("topic,Partition no.,offset,key,value\nt,0,5,a,v\nt,1,6,a,w\n")
    with pytest.raises(InputError, match="but it may be the field Partition no\\.") as refused:
        places(path)
    _, named, *_ = shlex.split(str(refused.value.hint).partition("so: ")[2].replace(", or", ""))
    assert places(path, fields=dict([named.split("=")])) == [("t", 0, 5), ("t", 1, 6)]


def test_a_comment_sign_before_a_header_line_in_quotes_is_no_name(tmp_path: Path) -> None:
    """Read as a column of no known name, two topics were one."""
    path = tmp_path / "d.csv"
    path.write_text(
        '#"topic","partition","offset","key","value"\n"t1","0","5","a","v"\n"t2","0","6","a","w"\n'
    )
    assert places(path) == [("t1", 0, 5), ("t2", 0, 6)]


@pytest.mark.parametrize("name", ["_tp_shard", "part"])
def test_a_shard_may_be_the_partition(name: str, tmp_path: Path) -> None:
    """As Timeplus calls it, or a script: keys of several ones would supersede each other."""
    path = write(tmp_path / "d.jsonl", [{name: shard, "key": "a", "value": "v"} for shard in (0, 1)])
    with pytest.raises(InputError, match=rf"for the partition, but it may be the field {name}"):
        open_one(path)
    assert places(path, fields={"partition": name}) == [("d", 0, 0), ("d", 1, 1)]


@pytest.mark.parametrize("part", ["key", "value"])
def test_what_lies_within_keys_and_values_is_no_place(part: str, tmp_path: Path) -> None:
    row = {"offset": 5, "key": "a", "value": "x", part: {"topic": "x", "partition": 7}}
    assert places(write(tmp_path / "dump.jsonl", [row])) == [("dump", 0, 5)]


def test_columns_with_blanks_and_signs_in_their_names_are_known(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("Topic Name,Partition #,Offset,Key,Value\nt1,0,0,a,x\nt1,1,1,a,y\n")
    assert places(tmp_path / "t.csv") == [("t1", 0, 0), ("t1", 1, 1)]


@pytest.mark.parametrize("layout", ["jsonl", "parquet"])
def test_rows_with_all_of_kafka_s_places_are_asked_about(layout: str, tmp_path: Path) -> None:
    rows = [{"id": 1, "topic": "t", "partition": 1, "offset": 7}]
    path = tmp_path / f"dump.{layout}"
    if layout == "jsonl":
        write(path, rows)
    else:
        pq.write_table(pa.Table.from_pylist(rows), path)
    with pytest.raises(InputError, match="rows with a topic, a partition and an offset"):
        places(path, key_fields=("id",))
    own = {"topic": "topic", "partition": "partition", "offset": "offset"}
    assert places(path, key_fields=("id",), fields=own) == [("t", 1, 7)]
    assert places(path, key_fields=("id",), fields=dict.fromkeys(own, "")) == [("dump", 0, 0)]


def test_so_are_rows_with_all_of_them_in_an_object(tmp_path: Path) -> None:
    """Wikimedia's events have theirs in ``meta``: two topics would be one log, in the order of the file."""
    rows = [
        {"title": "a", "meta": {"topic": topic, "partition": 1, "offset": offset}}
        for topic, offset in [("eqiad.change", 7), ("codfw.change", 3)]
    ]
    path = tmp_path / "dump.jsonl"
    write(path, rows)
    with pytest.raises(InputError, match="rows with a topic, a partition and an offset") as refused:
        places(path, key_fields=("title",))
    assert "--fields topic=meta.topic,partition=meta.partition,offset=meta.offset" in str(refused.value.hint)
    named = {role: f"meta.{role}" for role in ("topic", "partition", "offset")}
    assert places(path, key_fields=("title",), fields=named) == [
        ("eqiad.change", 1, 7),
        ("codfw.change", 1, 3),
    ]
    assert len(places(path, key_fields=("title",), fields=dict.fromkeys(named, ""))) == len(rows)


@pytest.mark.parametrize("columns", ["{}", "$${}", "redpanda", "message_{}", "__metadata${}"])
def test_so_are_rows_with_a_partition_and_an_offset_alone(columns: str, tmp_path: Path) -> None:
    """As in tables of Redpanda's Iceberg topics, of Tableflow, Singer's tap and Pinot.

    Two partitions would be one log.
    """
    inner = [{"partition": partition, "offset": 7} for partition in (0, 1)]
    named = {"partition": columns.format("partition"), "offset": columns.format("offset")}
    if columns == "redpanda":
        rows: list[dict[str, Any]] = [{"id": 1, columns: place} for place in inner]
        named = {role: f"redpanda.{role}" for role in named}
    else:
        rows = [{"id": 1, **{name: place[role] for role, name in named.items()}} for place in inner]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "dump.parquet")
    for path in (write(tmp_path / "dump.jsonl", rows), tmp_path / "dump.parquet"):
        with pytest.raises(InputError, match="are these the places of the records in Kafka") as refused:
            places(path, key_fields=("id",))
        option = shlex.split(str(refused.value.hint).partition("--fields ")[2].partition(", or")[0])
        assert dict(part.split("=") for part in option[0].split(",")) == named
        assert places(path, key_fields=("id",), fields=named) == [("dump", 0, 7), ("dump", 1, 7)]


@pytest.mark.parametrize("options", [{}, {"key_fields": ("message_key",)}])
def test_the_hint_names_the_time_whose_name_begins_as_the_others_do(
    options: dict[str, Any], tmp_path: Path
) -> None:
    """Records of Singer's tap for Kafka: without it, they would have no timestamps."""
    row = {"message": "v", "message_key": "k", "message_partition": 1, "message_offset": 7}
    path = write(tmp_path / "dump.jsonl", [row | {"message_timestamp": 1_700_000_000_000}])
    with pytest.raises(InputError) as refused:
        places(path, **options)
    hint = str(refused.value.hint)
    assert "partition=message_partition,offset=message_offset,timestamp=message_timestamp" in hint


def test_names_of_rows_that_begin_differently_are_the_rows_own(tmp_path: Path) -> None:
    rows = [{"id": n, "disk_partition": 1, "utc_offset": 2} for n in range(2)]
    assert places(write(tmp_path / "dump.jsonl", rows), key_fields=("id",)) == [
        ("dump", 0, 0),
        ("dump", 0, 1),
    ]


def test_the_time_of_dlt_s_rows_is_found(tmp_path: Path) -> None:
    """dlt's Kafka source has the time in an object ``ts``, and joins the names of tables with underscores."""
    names = "_kafka__partition,_kafka__topic,_kafka__key,_kafka__offset,_kafka__ts__type,_kafka__ts__value"
    path = tmp_path / "dump.csv"
    path.write_text(f"{names},_kafka__data\n0,t,a,5,1,2023-11-14 22:13:20.001+00:00,x\n")
    with open_one(path, fields={"value": "_kafka__data"}) as dump:
        assert dump.files[0].dialect.timestamp == "_kafka__ts__value"
    assert places(path, fields={"value": "_kafka__data"}) == [("t", 0, 5)]


def test_milliseconds_win_over_seconds_beside_them(tmp_path: Path) -> None:
    row = {"_topic": "t", "_partition": "0", "_offset": "1", "_key": "a", "value": "1"}
    times = {"_timestamp": "2023-11-14 22:13:20", "_timestamp_ms": "2023-11-14 22:13:20.005"}
    with open_one(write(tmp_path / "clickhouse.jsonl", [row | times])) as dump:
        assert index_all(dump)[0]["timestamp_ms"].to_pylist() == [1_700_000_000_005]


@pytest.mark.parametrize("windows", [("window",), ("windowStart", "windowEnd"), ("window_start",)])
@pytest.mark.parametrize("place", [{}, {"topic": "t", "partition": 0, "offset": 0}])
def test_windows_beside_the_key_are_asked_about(
    windows: tuple[str, ...], place: dict[str, Any], tmp_path: Path
) -> None:
    row = place | {"key": "a", **dict.fromkeys(windows, 1), "value": None}
    path = write(tmp_path / "d.jsonl", [row])
    pq.write_table(pa.Table.from_pylist([row | {"value": "v"}]), tmp_path / "d.parquet")
    (tmp_path / "d.csv").write_text(f"{','.join(row)}\n{','.join(map(str, row.values()))}\n")
    for asked in (path, tmp_path / "d.parquet", tmp_path / "d.csv"):
        with pytest.raises(InputError, match="as the windows of a stream are a part of its keys") as refused:
            open_one(asked)
        assert "--fields key=key " in str(refused.value.hint)
        with open_one(asked, fields={"key": "key"}) as dump:
            assert dump.files[0].dialect.key.place == "key"


@pytest.mark.parametrize(
    "error", ["error", "exception", "decode_error", "Parse_Error", "deserialization-error"]
)
@needs_jq
def test_a_value_that_is_null_beside_an_error_is_no_tombstone(error: str, tmp_path: Path) -> None:
    """As a script writes a record that it could not decode: the value before it would go."""
    rows = [envelope(n, partition=0, value="v", **{error: None}) for n in range(3)]
    for value in ({"value": None}, {}):
        failed = envelope(3, partition=0, **value, **{error: "Expecting value: line 1"})
        path = tmp_path / "dump.json"
        path.write_text(json.dumps([*rows, failed]))
        with pytest.raises(InputError, match="is null only because it was not decoded") as refused:
            places(path)
        command = (
            str(refused.value.hint).partition("of the record: ")[2].replace("FILE", shlex.quote(str(path)))
        )
        without = subprocess.run(["bash", "-c", command.partition(" > ")[0]], capture_output=True, check=True)
        (tmp_path / "new.jsonl").write_bytes(without.stdout)
        assert len(places(tmp_path / "new.jsonl")) == 4
        for nothing in (0, "", False):
            path.write_text(json.dumps([*rows, failed | {error: nothing}]))
            assert len(places(path)) == 4


def test_the_hint_for_places_in_an_object_names_the_time_among_them(tmp_path: Path) -> None:
    meta = {"topic": "t", "partition": 0, "offset": 1, "ts": 1_700_000_000_001}
    path = write(tmp_path / "dump.jsonl", [{"key": "a", "value": "1", "meta": meta}])
    with pytest.raises(InputError, match=r"it may be the field meta\.topic") as refused, open_one(path):
        pass
    option = shlex.split(str(refused.value.hint).partition("--fields ")[2])[0].rstrip(",")
    with open_one(path, fields=dict(pair.split("=") for pair in option.split(","))) as dump:
        assert index_all(dump)[0]["timestamp_ms"].to_pylist() == [1_700_000_000_001]


@needs_jq
@pytest.mark.parametrize("as_array", [False, True])
def test_a_zero_that_is_left_out_is_put_in_by_the_hint(as_array: bool, tmp_path: Path) -> None:
    """As Go's ``omitempty`` leaves out partition 0, and offset 0."""
    rows = [{"topic": "t", "key": "a", "value": "1"}] + [
        envelope(n, partition=n % 2, value="v") for n in (1, 2)
    ]
    del rows[2]["partition"]
    path = tmp_path / "dump.json"
    path.write_text(json.dumps(rows) if as_array else "".join(json.dumps(row) + "\n" for row in rows))
    for role in ("offset", "partition"):
        with pytest.raises(InputError, match=f"no {role} in the record") as refused:
            places(path)
        command = str(refused.value.hint).partition("omitempty does: ")[2].partition(" FILE > NEW")[0]
        mended = subprocess.run([*shlex.split(command), str(path)], capture_output=True, check=True)
        path.write_bytes(mended.stdout)
    assert places(path) == [("t", 0, 0), ("t", 1, 1), ("t", 0, 2)]


def test_a_cell_without_a_value_beside_an_error_is_no_tombstone(tmp_path: Path) -> None:
    path = tmp_path / "dump.csv"
    header = "topic,partition,offset,key,value,error\n"
    path.write_text(f"{header}t,0,0,a,1,\nt,0,1,a,,Expecting value\n")
    with pytest.raises(InputError, match="error: 'Expecting value': the value is null only because"):
        places(path)
    path.write_text(f"{header}t,0,0,a,1,\nt,0,1,a,,\nt,0,2,a,,0\nt,0,3,b,1,late\n")
    assert len(places(path)) == 4
    path.write_text(f"{header}t,0,0,a,1,\nt,0,2,a,,0\nt,0,3,b,,late\n")
    with pytest.raises(InputError, match="error: 'late': the value is null"):
        places(path)
    path.write_text(f"{header.replace('error', 'key_error')}t,0,0,a,1,\nt,0,1,a,,of the key\n")
    assert len(places(path)) == 2
    path.write_text(f"{header.replace('error', 'key_error')}t,0,0,a,1,\nt,0,1,,2,of the key\n")
    with pytest.raises(InputError, match="key_error: 'of the key': the key is null"):
        places(path)


def test_several_fields_that_may_say_why_a_value_is_null_are_heeded(tmp_path: Path) -> None:
    """Only one was looked at: beside the other, a value that was not decoded was taken for a tombstone."""
    path = tmp_path / "dump.csv"
    path.write_text("topic,partition,offset,key,value,value_error,error\nt,0,0,a,1,,\nt,0,1,a,,,boom\n")
    with pytest.raises(InputError, match="error, value_error may each say why a value is not there"):
        places(path)
    rows = [envelope(n, partition=0, value="v", value_error="") for n in range(400)]
    late = envelope(400, partition=0, value=None, value_error="", error="boom")
    with pytest.raises(InputError, match=":401: error: 'boom': the value is null only because"):
        places(write(tmp_path / "dump.jsonl", [*rows, late]))


ROWS_WITH_ERRORS = pa.schema(
    {
        "topic": pa.string(),
        "partition": pa.int32(),
        "offset": pa.int64(),
        "key": pa.binary(),
        "value": pa.binary(),
        "error": pa.string(),
    }
)


@pytest.mark.parametrize("kind", ["csv", "parquet", "avro"])
def test_an_error_that_comes_first_behind_the_first_rows_is_heeded(kind: str, tmp_path: Path) -> None:
    """The value before it would go, as if the record that was not decoded were a tombstone."""
    path = tmp_path / f"dump.{kind}"
    nothing: dict[str, Any] = {"topic": "t", "partition": 0, "key": b"k", "error": None}
    rows = [nothing | {"offset": n, "value": b"v"} for n in range(400)]
    for value, error in ((b"w", "late"), (None, None), (None, "no schema")):
        late = nothing | {"offset": 400, "value": value, "error": error}
        write_table(path, [*rows, late])
        if value or not error:
            assert len(places(path)) == 401
            continue
        with pytest.raises(InputError, match="error: 'no schema': the value is null only because") as refused:
            places(path)
        assert "leave that column out" in str(refused.value.hint)


def write_table(path: Path, rows: list[dict[str, Any]]) -> None:
    table = pa.Table.from_pylist(rows, ROWS_WITH_ERRORS)
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".avro":
        kinds = {pa.string(): "string", pa.int32(): "int", pa.int64(): "long", pa.binary(): "bytes"}
        fields = [{"name": each.name, "type": ["null", kinds[each.type]]} for each in ROWS_WITH_ERRORS]
        with path.open("wb") as out:
            fastavro.writer(out, {"type": "record", "name": "row", "fields": fields}, rows)
    else:
        cells = (
            (v.decode() if isinstance(v, bytes) else v for v in row.values()) for row in table.to_pylist()
        )
        lines = [",".join("" if cell is None else str(cell) for cell in row) for row in cells]
        path.write_text("\n".join([",".join(ROWS_WITH_ERRORS.names), *lines]))


def test_kafka_s_timestamp_is_taken_where_that_of_the_export_is_beside_it(tmp_path: Path) -> None:
    row = {"kafka_topic": "t", "kafka_partition": 0, "kafka_offset": 7, "kafka_key": "k", "value": "v"}
    row |= {"timestamp": 1_700_000_000_555, "kafka_timestamp": 1_600_000_000_001}
    with open_one(write(tmp_path / "dump.jsonl", [row])) as dump:
        assert index_all(dump)[0]["timestamp_ms"].to_pylist() == [1_600_000_000_001]


@pytest.mark.parametrize("mark", ["key_encoding", "keyEncoding", "Key-Encoding"])
def test_a_mark_of_base64_is_one_however_it_is_spelt(mark: str, tmp_path: Path) -> None:
    """Of the others, the user was asked whether keys are base64, and no answer took them as text."""
    path = tmp_path / "d.jsonl"
    rows = [
        {"partition": 0, "offset": at, "key": key, "value": "text!", mark: "base64"}
        for at, key in enumerate(["dXNlci0x", "dXNlci0yMg=="])
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with open_one(path) as dump:
        table, _ = index_all(dump)
    assert table["key"].to_pylist() == [b"user-1", b"user-22"]


def test_one_answer_takes_keys_and_values_beside_marks_in_parquet_as_they_are(tmp_path: Path) -> None:
    """As DuckDB and polars write the CSV or the lines that kcompact wrote."""
    path = tmp_path / "d.parquet"
    columns = {"topic": ["t"], "partition": [0], "offset": [7], "key": ["a"], "value": ["b"]}
    marks: dict[str, list[str | None]] = {"key_encoding": [None], "value_encoding": [None]}
    pq.write_table(pa.table(columns | marks), path)
    with pytest.raises(InputError) as asked:
        open_one(path)
    assert "--fields key=key,value=value reads them" in str(asked.value.hint)
    (record,) = records_of(path, fields={"key": "key", "value": "value"})
    assert (record.key, record.value) == (b"a", b"b")


class _Compared(str):
    __slots__ = ()
    comparisons = 0

    def startswith(self, *arguments: Any) -> bool:
        _Compared.comparisons += 1
        return super().startswith(*arguments)


def test_columns_beside_records_are_not_compared_with_one_another() -> None:
    names = [
        "key",
        "key.id",
        "value",
        "meta",
        "meta.offset",
        "meta.note",
        "meta.note.of",
        "more",
        "more.x",
        "moreover",
    ]
    dialect = Dialect("rows", "no tool", offset="meta.offset")
    assert columns_beside(names, dialect) == ["meta.note", "more", "moreover"]

    many = [_Compared(f"column_{number}") for number in range(500)]
    assert columns_beside(many, dialect) == many
    assert _Compared.comparisons <= 20 * len(many)


@pytest.mark.parametrize("name", ["Timestamp (ms)", "Timestamp [ms]", "timestamp(ms)"])
def test_a_unit_in_brackets_belongs_to_the_name_of_a_timestamp(name: str, tmp_path: Path) -> None:
    """The column was passed over, and every record was without a timestamp."""
    path = tmp_path / "d.csv"
    path.write_text(f"topic,partition,offset,{name},key,value\nt,0,7,1700000000000,k,v\n")
    with open_one(path) as dump:
        assert index_all(dump)[0]["timestamp_ms"].to_pylist() == [1_700_000_000_000]


def newest_first(form: str, folder: Path) -> tuple[Path, dict[str, Any]]:
    """Five records of two partitions, without offsets, and options to read them."""
    logs = [(0, 900), (1, 950), (0, 800), (1, 700), (0, 600)]
    rows = [{"partition": log, "timestamp": 10**12 + ms, "key": "k", "value": str(ms)} for log, ms in logs]
    names = tuple(rows[0])
    path = write(folder / "t.dump", rows)
    lines = [",".join(map(str, row.values())) for row in rows]
    if form == "array":
        path.write_text(json.dumps(rows))
    elif form == "csv":
        path.write_text("\n".join([",".join(names), *lines, ""]))
    elif form == "text":
        path.write_text("\n".join([*lines, ""]))
    elif form == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif form == "avro":
        types = dict(zip(names, ("int", "long", "string", "string"), strict=True))
        fields = [{"name": name, "type": kind} for name, kind in types.items()]
        with path.open("wb") as file:
            fastavro.writer(file, {"type": "record", "name": "r", "fields": fields}, rows)
    return path, {"columns": names} if form == "text" else {}


def turned(path: Path, folder: Path, **options: Any) -> int:
    """How many records tasks read of a dump, if their order may be that of a log."""
    folder.mkdir(exist_ok=True)
    with open_one(path, **options) as dump:
        table, notes = read_by_tasks(dump, folder)
        check_notes(dump, notes)
    return len(table)


@pytest.mark.parametrize("form", ["lines", "array", "csv", "text", "parquet", "avro"])
def test_newest_first_without_offsets_is_no_order_of_a_log(form: str, tmp_path: Path) -> None:
    """The oldest value of each key stayed."""
    path, options = newest_first(form, tmp_path)
    with pytest.raises(InputError, match="the newest come first: 3 are earlier than the one before them"):
        turned(path, tmp_path / "run", **options)
    assert turned(path, tmp_path / "run", fields={"timestamp": ""}, **options) == 5


@needs_jq
@pytest.mark.parametrize("form", ["lines", "array"])
def test_newest_first_is_turned_round_by_the_hint(form: str, tmp_path: Path) -> None:
    path, _ = newest_first(form, tmp_path)
    with pytest.raises(InputError) as refused:
        turned(path, tmp_path / "run")
    records = records_of(rewritten_by_hint(path, refused.value, "in JSON, "))
    assert [record.value for record in records] == [b"600", b"700", b"800", b"950", b"900"]


def test_newest_first_may_be_so_by_and_large(tmp_path: Path) -> None:
    """Producers' clocks are not quite alike."""
    times = [*range(90, 50, -1), 60, *range(50, 10, -1)]
    path = write(tmp_path / "t.jsonl", [{"timestamp": time, "key": "k", "value": "v"} for time in times])
    with pytest.raises(InputError, match="than the one before them in their log, 1 later"):
        turned(path, tmp_path / "run")


@pytest.mark.parametrize(
    "times",
    [[3, 2, 2, 1], [9, 8, 7, 6, 7], ["2024-01-04", "2024-01-03", "2024-01-02", "2024-01-03"], [5, 5, 5, 5]],
)
def test_times_of_a_log_may_go_back(times: list[Any], tmp_path: Path) -> None:
    rows = [{"timestamp": time, "key": "k", "value": "v"} for time in times]
    assert turned(write(tmp_path / "t.jsonl", rows), tmp_path / "run") == len(times)
    with_offsets = [envelope(number, timestamp=9 - number, value="v") for number in range(5)]
    assert turned(write(tmp_path / "offsets.jsonl", with_offsets), tmp_path / "run") == 5


@pytest.mark.parametrize("form", ["json", "csv"])
@pytest.mark.parametrize("sign", [".", "/"])
def test_values_in_columns_of_their_members_are_no_tombstones(sign: str, form: str, tmp_path: Path) -> None:
    """As pandas' ``json_normalize`` and csvkit write them: the column of the nulls is all that is empty."""
    rows = [{"offset": 0, "key": "a", f"value{sign}id": 1, "value": None}, {"offset": 1, "key": "a"}]
    path = write(tmp_path / "t.jsonl", [dict.fromkeys(rows[0]) | row for row in rows])
    if form == "csv":
        path = tmp_path / "t.csv"
        path.write_text(f"offset,key,value{sign}id,value\n0,a,1,\n1,a,,\n")
    with pytest.raises(InputError, match=rf"every value .* members of it are .*: value\{sign}id") as refused:
        open_one(path)
    assert "it was empty or null: --fields value=value" in str(refused.value.hint)
    assert len(places(path, fields={"value": "value"})) == 2
    whole = [{"offset": n, "key": "a", f"value{sign}id": 1, "value": value} for n, value in enumerate("ab")]
    assert len(places(write(tmp_path / "whole.jsonl", whole))) == 2


@pytest.mark.parametrize(
    ("role", "states", "is_refused"),
    [
        ("key", ['{"present": true, "empty": false}', '{"present": false, "empty": true}'], True),
        ("key", ['{"present": true}', '{"present": true}'], True),  # of Java 8
        (
            "value",
            ['{"empty": false, "defined": true}', '{"empty": true, "defined": false}'],
            True,
        ),  # Scala's
        ("value", ['{"present": true}', '{"present": false}'], False),
        ("key", ['{"present": true, "id": 1}', '{"present": true, "id": 2}'], False),
    ],
)
def test_what_jackson_writes_of_an_optional_is_no_key_or_value(
    role: str, states: list[str], is_refused: bool, tmp_path: Path
) -> None:
    """All records but the last went, as those of one key."""
    path = tmp_path / "java.jsonl"
    row = {"topic": "t", "partition": 0, "key": "a", "value": "1"}
    write(path, [row | {"offset": n, role: json.loads(state)} for n, state in enumerate(states)])
    with pytest.raises(InputError, match=f"say whether there is a {role}") if is_refused else nullcontext():
        open_one(path)


def test_a_partition_beside_nested_keys_and_values_is_asked_about(tmp_path: Path) -> None:
    """As in messages of Singer's tap: records of all partitions were one log, once the user named the key."""
    record = {"message_offset": 1, "message_partition": 3, "message": "v", "message_key": "a"}
    path = write(tmp_path / "d.jsonl", [{"type": "RECORD", "stream": "orders", "record": record}])
    parts = {"key": "record.message_key", "value": "record.message", "offset": "record.message_offset"}
    with pytest.raises(InputError, match="the partition, but it may be the field") as refusal:
        open_one(path, fields=parts)
    assert "--fields partition=record.message_partition," in (refusal.value.hint or "")
    (read,) = records_of(path, fields=parts | {"partition": "record.message_partition"})
    assert (read.partition, read.offset, read.key, read.value) == (3, 1, b"a", b"v")


def test_a_field_that_is_not_there_is_no_choice(tmp_path: Path) -> None:
    """Karafka's messages have no key but a raw one, beside an object that Lenses' sinks write, too."""
    row = {"raw_payload": "v", "raw_key": "a", "metadata": {"topic": "t", "partition": 1, "offset": 0}}
    with pytest.raises(InputError, match="the key may be the field raw_key") as refusal:
        open_one(write(tmp_path / "d.jsonl", [row]))
    assert refusal.value.hint == "say so with --fields key=raw_key"
