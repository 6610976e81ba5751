"""Change events: deletes are tombstones with ``--cdc``, are never dropped without it, and rows keep apart."""

import json
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from pyarrow import parquet

from conftest import Run
from dump_files import write_avro
from dump_pipeline import copied, index_all, open_one, records_of
from hint_tools import needs_jq
from kcompact.dumps.note_checks import check_notes
from kcompact.dumps.records.record import Record
from kcompact.errors import InputError

FIXTURES = Path(__file__).parent / "fixtures"
BARE = {
    "debezium-2-values.jsonl": ("debezium", "id"),
    "debezium-2-values-schema.jsonl": ("debezium", "id"),
    "debezium-2-unwrap-rewrite.jsonl": ("debezium", "id"),
    "debezium-2-mongodb.jsonl": ("mongo", "_id"),
    "mongodb-connector-1-change-streams.jsonl": ("mongo", "_id"),
    "maxwell-1.jsonl": ("maxwell", "id"),
    "canal-1.jsonl": ("canal", "id"),
}
"""Each tells of rows 1, 2 and 3, of which the second is deleted and the others are changed once."""

SOURCE = {"db": "shed", "table": "tools"}


def event(op: str, before: Any, after: Any, source: Any = None) -> dict[str, Any]:
    return {"before": before, "after": after, "op": op, "source": source or SOURCE}


def write(path: Path, *values: Any) -> Path:
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
    return path


def judged(path: Path, **options: Any) -> tuple[list[dict[str, Any]], list[str]]:
    """Index rows, and what the user is told."""
    with open_one(path, **options) as dump:
        table, notes = index_all(dump)
        remarks = check_notes(dump, notes)
        return table.to_pylist(), [*dump.notes, *remarks]


@pytest.mark.parametrize("name", BARE)
def test_a_delete_is_the_tombstone_of_its_row(name: str) -> None:
    cdc, field = BARE[name]
    rows, _ = judged(FIXTURES / name, cdc=cdc, key_fields=(field,))
    latest = {row["key"]: row["is_tombstone"] for row in rows}
    assert list(latest.values()) == [False, True, False]
    assert len(rows) == 6


@pytest.mark.parametrize("name", BARE)
def test_bare_events_are_recognised_and_the_option_that_reads_them_is_proposed(name: str) -> None:
    cdc, field = BARE[name]
    with pytest.raises(InputError, match="keys of the records were not exported") as caught:
        open_one(FIXTURES / name)
    assert f"--cdc {cdc} --key-field {field}" in str(caught.value.hint)
    assert "title" in str(caught.value.hint)  # the fields of the row are offered


@pytest.mark.parametrize("name", BARE)
def test_the_lines_that_stay_read_the_same_again(name: str, tmp_path: Path) -> None:
    cdc, field = BARE[name]
    options = {"cdc": cdc, "key_fields": (field,)}
    rows, _ = judged(FIXTURES / name, **options)
    latest = {row["key"]: row["offset"] for row in rows}
    kept = [row for row in rows if row["offset"] == latest[row["key"]]]
    with open_one(FIXTURES / name, **options) as dump:
        (tmp_path / name).write_bytes(copied(dump, kept))
    again, _ = judged(tmp_path / name, **options)
    assert [(row["key"], row["is_tombstone"]) for row in again] == [
        (row["key"], row["is_tombstone"]) for row in kept
    ]


def test_another_format_than_the_dump_s_is_refused() -> None:
    with pytest.raises(InputError, match="change events of Canal") as caught:
        open_one(FIXTURES / "canal-1.jsonl", cdc="maxwell", key_fields=("id",))
    assert caught.value.hint == "--cdc canal"


def test_an_option_for_events_that_are_none_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text('{"topic":"t","partition":0,"offset":0,"timestamp":1,"key":"a","value":"{\\"x\\":1}"}\n')
    with open_one(path, cdc="debezium") as dump:
        assert any("none of the first values is a change event of Debezium" in note for note in dump.notes)


def test_events_with_keys_of_their_own_keep_them_and_the_option_is_proposed() -> None:
    path = FIXTURES / "debezium-2-kcat-J.jsonl"
    rows, notes = judged(path)
    assert not any(row["is_tombstone"] for row in rows)
    assert any("--cdc debezium counts it as a tombstone" in note for note in notes)
    rows, notes = judged(path, cdc="debezium")
    assert [row["key"] for row in rows if row["is_tombstone"]] == [b'{"id": 2}']
    assert not any("--cdc" in note for note in notes)


def test_a_null_without_key_goes_with_the_delete_before_it(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t.jsonl",
        event("c", None, {"id": 1}),
        event("c", None, {"id": 2}),
        event("d", {"id": 1}, None),
        None,
        event("u", {"id": 2}, {"id": 2}),
    )
    rows, notes = judged(path, cdc="debezium", key_fields=("id",))
    assert [(row["key"], row["is_tombstone"]) for row in rows] == [
        (b"1", False),
        (b"2", False),
        (b"1", True),
        (b"2", False),
    ]
    assert any("directly after a delete" in note for note in notes)
    delete = records_of(path, cdc="debezium", key_fields=("id",))[2]
    assert (delete.key, delete.value) == (b"1", None)
    with open_one(path, cdc="debezium", key_fields=("id",)) as dump:
        assert len(dump.splits(1)) == 1
        assert copied(dump, rows[2:3]).splitlines()[1] == b"null"


PARTS = ["topic", "partition", "offset", "key", "value"]


def write_parts(path: Path, rows: list[dict[str, Any]], group: int) -> None:
    """Rows of PARTS with so many rows in a block or row group."""
    if path.suffix == ".avro":
        kinds = ["string", "int", "long", ["null", "bytes"], ["null", "bytes"]]
        fields = [{"name": name, "type": kind} for name, kind in zip(PARTS, kinds, strict=True)]
        with path.open("wb") as out:
            schema = {"type": "record", "name": "R", "fields": fields}
            fastavro.writer(out, schema, rows, sync_interval=1 if group == 1 else 16_000)
    else:
        kinds = [pa.string(), pa.int32(), pa.int64(), pa.binary(), pa.binary()]
        schema = pa.schema(list(zip(PARTS, kinds, strict=True)))
        parquet.write_table(pa.Table.from_pylist(rows, schema), path, row_group_size=group)


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("group", [1, 3, 100])
@pytest.mark.parametrize("suffix", ["avro", "parquet"])
def test_so_it_does_where_records_are_no_lines(
    suffix: str, group: int, tmp_path: Path, kcompact: Callable[..., Run]
) -> None:
    one, two, three = ({"id": number} for number in (1, 2, 3))
    deletes = [event("d", row, None) for row in (one, two, three)]
    changes = [event("c", None, row) for row in (one, two, two)]
    values = [*changes[:2], deletes[0], None, deletes[1], changes[2], deletes[2], None]
    rows = [
        {"topic": "t", "partition": 0, "offset": offset, "key": None, "value": data}
        for offset, data in enumerate(value and json.dumps(value).encode() for value in values)
    ]
    path, output, other = tmp_path / f"d.{suffix}", tmp_path / f"o.{suffix}", tmp_path / "o.jsonl"
    write_parts(path, rows, group)
    options = ["--cdc", "debezium", "--key-field", "id", "--no-report"]
    run = kcompact("compact", path, "-o", output, *options)
    assert run.exit_code == 0, run.stderr
    assert "2 null values without a key, directly after a delete" in run.stderr
    if suffix == "avro":
        with output.open("rb") as left:
            kept = list(fastavro.reader(left))
    else:
        kept = parquet.read_table(output).to_pylist()
    assert kept == [rows[offset] for offset in (2, 3, 5, 6, 7)]
    assert kcompact("compact", path, "-o", other, *options).exit_code == 0
    converted = [json.loads(line) for line in other.read_text().splitlines()]
    assert [(row["offset"], row["key"], row["value"] is None) for row in converted] == [
        (2, "1", True),
        (5, "2", False),
        (6, "3", True),
    ]


def test_a_null_without_key_elsewhere_is_a_record_without_key(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", event("c", None, {"id": 1}), None)
    rows, _ = judged(path, cdc="debezium", key_fields=("id",))
    assert [row["key"] for row in rows] == [b"1", None]


def test_without_the_option_a_delete_keeps_its_key_and_stays_a_record(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t.jsonl",
        event("c", None, {"id": 1}),
        event("d", {"id": 1}, None),
        event("c", None, {"id": 2}),
    )
    rows, notes = judged(path, key_fields=("after.id",))
    assert [(row["key"], row["is_tombstone"]) for row in rows] == [
        (b"1", False),
        (b"1", False),
        (b"2", False),
    ]
    assert any("taken from before" in note for note in notes)


def test_a_key_of_several_fields_keeps_their_order(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t.jsonl",
        event("c", None, {"shelf": "a", "slot": 1, "n": 1}),
        event("c", None, {"shelf": "a", "slot": 2, "n": 1}),
        event("d", {"slot": 1, "shelf": "a"}, None),
    )
    rows, _ = judged(path, cdc="debezium", key_fields=("shelf", "slot"))
    assert [row["key"] for row in rows] == [b'["a",1]', b'["a",2]', b'["a",1]']
    rows, _ = judged(path, cdc="debezium", key_fields=("slot", "shelf"))
    assert [row["key"] for row in rows] == [b'[1,"a"]', b'[2,"a"]', b'[1,"a"]']


def test_text_in_a_key_of_several_fields_counts_as_what_its_escapes_say(tmp_path: Path) -> None:
    path, spellings = tmp_path / "t.jsonl", ('"\\u00e9/a"', '"é/a"', '"é\\/a"')
    values = [f'{{"id":{text},"n":1.0}}' for text in spellings]
    lines = [json.dumps({"offset": n, "value": value}) for n, value in enumerate(values)]
    path.write_text("\n".join(lines) + "\n")
    rows, _ = judged(path, key_fields=("id", "n"))
    assert [row["key"] for row in rows] == ['["é/a",1.0]'.encode()] * 3


def test_keys_in_lines_of_their_own_are_no_rows_of_another_table(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    value = event("c", None, {"id": 1}, {"db": "shed", "table": "tools"})
    path.write_text(json.dumps({"schema": {}, "payload": {"id": 1}}) + f"\n{json.dumps(value)}\n")
    with pytest.raises(InputError, match="values that name no table beside those of source"):
        judged(path, cdc="debezium", key_fields=("id",))


@pytest.mark.parametrize(
    ("field", "option"),
    [("id", "--key-field source.table,id"), ("id, old", r"--key-field 'source.table,id\, old'")],
)
def test_rows_of_two_tables_are_not_taken_for_one_another(field: str, option: str, tmp_path: Path) -> None:
    path = write(
        tmp_path / "t.jsonl",
        event("c", None, {field: 1}, {"db": "shed", "table": "tools"}),
        event("d", {field: 1}, None, {"db": "shed", "table": "pots"}),
    )
    with pytest.raises(InputError, match="rows of several tables") as caught:
        judged(path, cdc="debezium", key_fields=(field,))
    assert caught.value.hint.endswith(option)
    rows, _ = judged(path, cdc="debezium", key_fields=("source.table", field))
    assert [row["key"] for row in rows] == [b'["tools",1]', b'["pots",1]']


@pytest.mark.parametrize(
    ("cdc", "value", "reason"),
    [
        ("debezium", event("d", None, None), "a delete without id"),
        ("debezium", event("t", None, None), "empties a whole table"),
        ("debezium", event("DELETE", {"id": 1}, None), "op 'DELETE' is none of Debezium's"),
        ("mongo", {"op": "D", "after": None, "patch": "{}", "source": {}}, "op 'D' is none of Debezium's"),
        ("mongo", {"op": "u", "after": None, "patch": "{}", "source": {}}, "only what changed"),
        ("mongo", {"operationType": "update", "documentKey": {"_id": 1}, "ns": {}}, "only what changed"),
        ("mongo", {"operationType": "drop", "documentKey": None, "ns": {}}, "empties a whole table"),
        ("mongo", {"op": "c", "after": "{id", "patch": None, "source": {}}, "not JSON: b'{id'"),
        ("canal", {"type": "DELETE", "isDdl": False, "data": [{"id": "1"}, {"id": "2"}]}, "about 2 rows"),
        ("canal", {"type": "TRUNCATE", "isDdl": True, "data": None}, "empties a whole table"),
        ("maxwell", {"type": "table-drop", "database": "d", "table": "t"}, "empties a whole table"),
    ],
)
def test_an_event_that_no_key_can_express_is_refused(
    tmp_path: Path, cdc: str, value: dict[str, Any], reason: str
) -> None:
    with pytest.raises(InputError, match=reason) as caught:
        judged(write(tmp_path / "t.jsonl", value), cdc=cdc, key_fields=("id",))
    assert caught.value.hint


TWO_ROWS = {
    "data": [{"id": "1", "n": "b"}, {"id": "2", "n": "d"}],
    "old": [{"n": "a"}, {"n": "c"}],
    "database": "d",
    "table": "t",
    "type": "UPDATE",
    "isDdl": False,
    "pkNames": ["id"],
}
ALTERED = {**TWO_ROWS, "data": None, "old": None, "type": "ALTER", "isDdl": True}
EACH_ROW = [{**TWO_ROWS, **{name: TWO_ROWS[name][i : i + 1] for name in ("data", "old")}} for i in (0, 1)]


@needs_jq
def test_the_hint_for_a_bare_message_about_two_rows_splits_it(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", TWO_ROWS, ALTERED)
    with pytest.raises(InputError, match="about 2 rows") as caught:
        judged(path, cdc="canal", key_fields=("id",))
    command = str(caught.value.hint).partition(": ")[2]
    assert command.startswith("jq -c '")
    arguments = shlex.split(command.partition(" FILE > NEW")[0])
    split = subprocess.run([*arguments, path], check=True, capture_output=True).stdout
    assert [json.loads(line) for line in split.splitlines()] == [*EACH_ROW, ALTERED]


def test_a_message_about_two_rows_in_an_envelope_is_split_as_the_hint_says(tmp_path: Path) -> None:
    def line(offset: int, message: Any) -> dict[str, Any]:
        place = {"topic": "t", "partition": 0, "offset": offset, "tstype": "create", "ts": 1}
        return {**place, "key": None, "payload": json.dumps(message)}

    with pytest.raises(InputError, match="about 2 rows") as caught:
        judged(write(tmp_path / "t.jsonl", line(5, TWO_ROWS)), cdc="canal", key_fields=("id",))
    assert "jq" not in str(caught.value.hint)  # what the rows are taken from is text there
    assert "number all of them anew" in str(caught.value.hint)
    split = write(tmp_path / "s.jsonl", *(line(n, message) for n, message in enumerate(EACH_ROW)))
    rows, _ = judged(split, cdc="canal", key_fields=("id",))
    assert [row["key"] for row in rows] == [b'"1"', b'"2"']


CANAL = '{"data":[ROW ],"database":"d","table":"t","type":"INSERT","isDdl":false}'
MAXWELL = '{"data":ROW,"database":"d","table":"t","type":"insert"}'
LARGE = ["9007199254740993.0001", "9007199254740993.0002", "1" + "0" * 30, "1" * 31]


@pytest.mark.parametrize(("cdc", "text"), [("canal", CANAL), ("maxwell", MAXWELL)])
@pytest.mark.parametrize("other", ['"a"', '"\\ud800"'])
def test_every_digit_of_a_key_counts_whatever_stands_beside_it(
    tmp_path: Path, cdc: str, text: str, other: str
) -> None:
    values = [text.replace("ROW", f'{{"id":{number},"x":{other}}}') for number in LARGE]
    path = tmp_path / "t.jsonl"
    path.write_text(
        "".join(f'{{"key":null,"offset":{i},"value":{value}}}\n' for i, value in enumerate(values))
    )
    rows, _ = judged(path, cdc=cdc, key_fields=("id",))
    assert [row["key"].decode() for row in rows] == LARGE


def test_large_columns_that_were_left_out_are_named(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", event("u", None, {"id": 1, "text": "__debezium_unavailable_value"}))
    _, notes = judged(path, cdc="debezium", key_fields=("id",))
    assert any("without large columns" in note for note in notes)


def test_a_field_that_no_value_has_is_refused_with_the_option_that_finds_it(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", event("c", None, {"id": 1}))
    with pytest.raises(InputError, match="no value has the field id") as caught:
        judged(path, key_fields=("id",))
    assert "--cdc debezium" in str(caught.value.hint)
    with pytest.raises(InputError, match="no value has the field no"):
        judged(path, cdc="debezium", key_fields=("no",))


def test_events_in_a_column_of_text_are_read_alike(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    lines = [event("c", None, {"id": 1}), event("d", {"id": 1}, None)]
    path.write_text("".join(f"****\t{json.dumps(line)}\n" for line in lines))
    rows, _ = judged(path, columns=("key", "value"), delimiter="\t", cdc="debezium", key_fields=("id",))
    assert [(row["key"], row["is_tombstone"]) for row in rows] == [(b"1", False), (b"1", True)]


def test_a_null_with_a_json_key_of_its_own_is_the_tombstone_of_that_row(tmp_path: Path) -> None:
    lines = [
        {"key": '{"id":1}', "value": json.dumps(event("c", None, {"id": 1})), "offset": 0},
        {"key": '{"id":1}', "value": None, "offset": 1},
        {"key": '{"schema":{},"payload":{"id":2}}', "value": None, "offset": 2},
    ]
    rows, _ = judged(write(tmp_path / "t.jsonl", *lines), cdc="debezium", key_fields=("id",))
    assert [(row["key"], row["is_tombstone"]) for row in rows] == [(b"1", False), (b"1", True), (b"2", True)]


def test_the_null_that_connect_spells_with_a_schema_is_one(tmp_path: Path) -> None:
    lines = [event("c", None, {"id": 1}), event("d", {"id": 1}, None), {"schema": None, "payload": None}]
    rows, _ = judged(write(tmp_path / "t.jsonl", *lines), cdc="debezium", key_fields=("id",))
    assert [row["is_tombstone"] for row in rows] == [False, True]


ROW = {
    "type": "record",
    "name": "Value",
    "fields": [{"name": "id", "type": "long"}, {"name": "name", "type": "string"}],
}
ENVELOPE = {
    "type": "record",
    "name": "Envelope",
    "fields": [
        {"name": "before", "type": ["null", ROW]},
        {"name": "after", "type": ["null", "Value"]},
        {"name": "op", "type": "string"},
        {
            "name": "source",
            "type": {"type": "record", "name": "Source", "fields": [{"name": "table", "type": "string"}]},
        },
    ],
}


def write_avro_events(path: Path, *, codec: str = "deflate") -> Path:
    rows = [
        {"before": None, "after": {"id": n % 2, "name": "x"}, "op": "c", "source": {"table": "t"}}
        for n in range(4)
    ]
    rows.append({"before": {"id": 1, "name": "x"}, "after": None, "op": "d", "source": {"table": "t"}})
    with path.open("wb") as out:
        fastavro.writer(out, ENVELOPE, rows, codec=codec)
    return path


def test_rows_in_avro_s_own_json_are_proposed_by_their_columns(tmp_path: Path) -> None:
    """As kcat -s value=avro prints them: the row as a whole would be another key after each change."""
    path = tmp_path / "t.jsonl"
    rows = [{"id": 1, "name": {"string": "a"}}, {"id": 1, "name": {"string": "b"}}]
    events = [{"before": None, "after": {"Value": row}, "op": "c", "source": {"table": "t"}} for row in rows]
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    with pytest.raises(InputError, match="bare change events of Debezium") as caught:
        open_one(path)
    assert "--key-field Value.id," in str(caught.value.hint)
    rows_read, _ = judged(path, cdc="debezium", key_fields=("Value.id",))
    assert [row["key"] for row in rows_read] == [b"1", b"1"]


@pytest.mark.parametrize(
    ("value", "cdc", "key_field"),
    [
        ({"id": 2, "title": {"string": "rake"}, "__deleted": {"string": "true"}}, "debezium", "id"),
        ({"id": 2, "title": {"string": "rake"}, "__deleted": {"boolean": True}}, "debezium", "id"),
        ({"id": 2, "title": {"string": "rake"}, "__op": {"string": "d"}}, "debezium", "id"),
        ({"before": {"Value": {"id": 2}}, "after": None, "op": {"string": "d"}}, "debezium", "Value.id"),
        (
            {
                "before": {"string": '{"_id": 2}'},
                "after": None,
                "op": "d",
                "source": {"connector": "mongodb"},
            },
            "mongo",
            "_id",
        ),
    ],
)
def test_deletes_in_avro_s_own_json_are_deletes(
    value: dict[str, Any], cdc: str, key_field: str, tmp_path: Path
) -> None:
    """As kafka-avro-console-consumer prints what may be null: in an object that names the type."""
    path = write(tmp_path / "t.jsonl", value)
    rows, _ = judged(path, cdc=cdc, key_fields=(key_field,))
    assert [(row["key"], row["is_tombstone"]) for row in rows] == [(b"2", True)]


def test_change_events_in_avro_are_proposed_and_their_deletes_are_tombstones(tmp_path: Path) -> None:
    path = write_avro_events(tmp_path / "t.avro")
    with pytest.raises(InputError, match="bare change events of Debezium") as caught:
        open_one(path)
    assert "--cdc debezium --key-field id" in str(caught.value.hint)
    rows, _ = judged(path, cdc="debezium", key_fields=("id",))
    deletes = [(row["key"], row["is_tombstone"]) for row in rows]
    assert deletes == [(b"0", False), (b"1", False), (b"0", False), (b"1", False), (b"1", True)]


def test_several_fields_of_an_avro_record_are_a_key(tmp_path: Path) -> None:
    path = tmp_path / "t.avro"
    with path.open("wb") as out:
        fastavro.writer(out, ROW, [{"id": 1, "name": "1"}, {"id": 2, "name": "b"}])
    rows, _ = judged(path, key_fields=("name", "id"))
    assert [row["key"] for row in rows] == [b'["1",1]', b'["b",2]']


def test_json_in_the_bytes_of_an_avro_value_has_fields_like_any_other(tmp_path: Path) -> None:
    records = [Record("t", 0, 0, 0, b"k", b'{"id":7,"v":1}'), Record("t", 0, 1, 0, b"k", b'{"id":8,"v":1}')]
    rows, _ = judged(write_avro(tmp_path / "t.avro", records), key_fields=("id",))
    assert [row["key"] for row in rows] == [b"7", b"8"]


def test_events_in_files_with_a_schema_are_spoken_of(tmp_path: Path) -> None:
    delete = b'{"op":"d","before":{"id":1},"after":null,"source":{}}'
    write_avro(tmp_path / "t.avro", [Record("t", 0, 0, 0, b"k", delete)])
    columns = {"topic": ["t"], "partition": [0], "offset": [0], "key": [b"k"], "value": [delete]}
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    for path in tmp_path.iterdir():
        with open_one(path) as dump:
            (note,) = dump.notes
        assert note.endswith("--cdc debezium counts it as a tombstone")


def test_a_truncate_which_has_no_row_at_all_is_refused(tmp_path: Path) -> None:
    lines = [event("c", None, {"id": 1}), {"source": SOURCE, "op": "t", "ts_ms": 5}]
    path = write(tmp_path / "t.jsonl", *lines)
    with pytest.raises(InputError, match=r"t\.jsonl:2: an event that empties a whole table"):
        judged(path, cdc="debezium", key_fields=("id",))


INSERTED = {"database": "shed", "table": "tools", "type": "insert", "data": {"id": 1, "n": "saw"}}
MOVED = INSERTED | {"type": "update", "data": {"id": 2, "n": "saw"}, "old": {"id": 1}}
RENAMED = INSERTED | {"type": "update", "data": {"id": 2, "n": "axe"}, "old": {"n": "saw"}}
CANAL = {"isDdl": False, "pkNames": ["id"]}


@pytest.mark.parametrize("cdc", ["maxwell", "canal"])
def test_an_update_that_gives_a_row_another_key_is_named(cdc: str, tmp_path: Path) -> None:
    events: list[dict[str, Any]] = [INSERTED, MOVED, RENAMED]
    if cdc == "canal":
        lists = ("data", "old")
        events = [CANAL | {k: [v] if k in lists else v for k, v in event.items()} for event in events]
    path = write(tmp_path / "t.jsonl", *events)
    rows, remarks = judged(path, cdc=cdc, key_fields=("id",))
    assert [row["key"] for row in rows] == [b"1", b"2", b"2"]
    assert sum("1 update that gave a row another key" in remark for remark in remarks) == 1
    rows, remarks = judged(write(path, *events[::2]), cdc=cdc, key_fields=("id",))
    assert not any("another key" in remark for remark in remarks)


@pytest.mark.parametrize(
    ("before", "is_moved"),
    [({"id": 1, "shelf": "a"}, True), ({"id": 1, "shelf": "b"}, False), ({"id": 1, "shelf": None}, False)],
)
def test_an_update_of_debezium_may_change_a_key_field_that_is_no_key_there(
    before: dict[str, Any], is_moved: bool, tmp_path: Path
) -> None:
    """As null before, where the replica identity is an index, does not tell what it was."""
    path = write(tmp_path / "t.jsonl", event("u", before, {"id": 1, "shelf": "b"}))
    rows, remarks = judged(path, cdc="debezium", key_fields=("shelf",))
    assert [row["key"] for row in rows] == [b"b"]
    assert sum("1 update that gave a row another key" in remark for remark in remarks) == is_moved


@pytest.mark.parametrize("is_flat", [False, True])
def test_what_a_pipeline_adds_beside_the_payload_is_no_row(is_flat: bool, tmp_path: Path) -> None:
    """As Azure's Event Hubs and Logstash do: its PartitionId is no key of rows, and a delete is still one."""
    if is_flat:
        payloads = [{"id": 1, "__deleted": "false"}, {"id": 2, "__deleted": "false"}]
        payloads.append({"id": 1, "__deleted": "true"})
    else:
        payloads = [event("c", None, {"id": 1}), event("c", None, {"id": 2}), event("d", {"id": 1}, None)]
    added = {"PartitionId": 0, "@version": "1"}
    path = write(tmp_path / "t.jsonl", *({"schema": {}, "payload": payload, **added} for payload in payloads))
    with pytest.raises(InputError) as caught:
        open_one(path)
    assert "--cdc debezium --key-field id," in str(caught.value.hint)
    rows, _ = judged(path, cdc="debezium", key_fields=("id",))
    assert [(row["key"], row["is_tombstone"]) for row in rows] == [(b"1", False), (b"2", False), (b"1", True)]


@pytest.mark.parametrize(
    ("columns", "proposed"),
    [
        (("sku", "title", "valid"), "sku"),
        (("sku", "paid", "monkey"), "sku"),
        (("isValid", "sku_id"), "sku_id"),
        (("PAID", "orderId"), "orderId"),
        (("IS_VOID", "SKU_KEY"), "SKU_KEY"),
        (("title", "uuid"), "uuid"),
        (("title", "Value.id"), "Value.id"),
    ],
)
def test_words_that_end_as_id_does_are_no_keys(
    columns: tuple[str, ...], proposed: str, tmp_path: Path
) -> None:
    """Whoever did as the hint says had two keys left, of rows that are paid and rows that are not."""
    path = write(tmp_path / "t.jsonl", event("c", None, dict.fromkeys(columns, 1)))
    with pytest.raises(InputError) as caught:
        open_one(path)
    assert f" --key-field {proposed}, or " in str(caught.value.hint)


@pytest.mark.parametrize(("in_schema", "in_envelope"), [(True, True), (True, False), (False, True)])
def test_events_in_a_text_of_json_are_looked_through(
    in_schema: bool, in_envelope: bool, tmp_path: Path
) -> None:
    """As MongoDB's connector writes them with JsonConverter; it keys each by a token of its own."""
    events = [
        {"operationType": kind, "ns": {"db": "shed", "coll": "tools"}, "documentKey": {"_id": number}}
        for number, kind in [(1, "insert"), (2, "insert"), (1, "delete")]
    ]
    texts = [json.dumps(event) for event in events]
    values = [{"schema": {"type": "string"}, "payload": text} if in_schema else text for text in texts]
    records = [
        {"topic": "t", "partition": 0, "offset": offset, "key": f"token-{offset}", "value": json.dumps(value)}
        for offset, value in enumerate(values)
    ]
    path = write(tmp_path / "t.jsonl", *(records if in_envelope else values))
    if in_envelope:
        _, remarks = judged(path)
        assert any("--cdc mongo counts it as a tombstone" in remark for remark in remarks)
    rows, _ = judged(path, cdc="mongo", key_fields=("_id",))
    assert [(row["key"], row["is_tombstone"]) for row in rows] == [(b"1", False), (b"2", False), (b"1", True)]


def of_two_columns(cdc: str, **row: Any) -> dict[str, Any]:
    """An insert into a table whose primary key is shelf and slot; into none, with no row, where a DDL is."""
    if cdc == "maxwell":
        return {"type": "insert", "ts": 1, **SOURCE_OF_ROWS, "data": row, "primary_key_columns": KEY}
    rows, names = ([row], KEY) if row else (None, None)
    return {"type": "INSERT", **SOURCE_OF_ROWS, "data": rows, "pkNames": names, "isDdl": not row}


KEY = ["shelf", "slot"]
SOURCE_OF_ROWS = {"database": "shed", "table": "tools"}


@pytest.mark.parametrize("cdc", ["canal", "maxwell"])
def test_the_primary_key_that_events_tell_is_proposed(cdc: str, tmp_path: Path) -> None:
    """A column of it alone would let rows supersede one another, which is said where it was chosen."""
    rows = [{"slot_id": 7, "shelf": 1, "slot": slot} for slot in (1, 2, 1)]
    first = [of_two_columns(cdc)] if cdc == "canal" else []
    path = write(tmp_path / "t.jsonl", *first, *(of_two_columns(cdc, **row) for row in rows))
    with pytest.raises(InputError) as caught:
        open_one(path)
    assert f"--cdc {cdc} --key-field shelf,slot," in str(caught.value.hint)
    assert "(the fields of the first one: slot_id, shelf, slot)" in str(caught.value.hint)
    by_both, remarks = judged(path, cdc=cdc, key_fields=("shelf", "slot"))
    assert [row["key"] for row in by_both][-3:] == [b"[1,1]", b"[1,2]", b"[1,1]"]
    assert not any("primary key" in remark for remark in remarks)
    _, remarks = judged(path, cdc=cdc, key_fields=("shelf",))
    assert any("3 change events whose primary key has fields that" in remark for remark in remarks)


@pytest.mark.parametrize(("cdc", "data"), [("canal", [{"id": 1}]), ("maxwell", {"id": 1})])
def test_events_that_flink_writes_hold_a_row_and_a_type(cdc: str, data: Any, tmp_path: Path) -> None:
    """Its formats canal-json and maxwell-json have no other member."""
    records = [
        {"topic": "t", "partition": 0, "offset": at, "key": "1", "value": {"data": data, "type": kind}}
        for at, kind in enumerate(["INSERT", "DELETE"] if cdc == "canal" else ["insert", "delete"])
    ]
    path = write(tmp_path / "t.jsonl", *records)
    _, remarks = judged(path)
    assert any(f"--cdc {cdc} counts it as a tombstone" in remark for remark in remarks)
    rows, remarks = judged(path, cdc=cdc)
    assert [row["is_tombstone"] for row in rows] == [False, True]
    assert not any("none of the first values" in remark for remark in remarks)


MARKS = [
    ("op", ["+I", "-U", "+U", "-D"]),  # Flink
    ("op", ["Insert", "UpdateDelete", "UpdateInsert", "Delete"]),  # RisingWave
    ("_change_type", ["insert", "update_preimage", "update_postimage", "delete"]),  # Delta, Iceberg
    ("mz_diff", [1, -1, 1, -1]),  # Materialize
    ("diff", [1, -1, 1, -1]),  # Pathway
    ("op_type", ["I", "U", "U", "D"]),
]


@pytest.mark.parametrize(("name", "marks"), MARKS, ids=lambda at: at if isinstance(at, str) else None)
@pytest.mark.parametrize("seen", [1, 4], ids=["no delete at first", "deletes"])
@pytest.mark.parametrize("outer", [None, "meta"])
def test_marks_of_deletes_beside_values_are_asked_about(
    name: str, marks: list[Any], seen: int, outer: str | None, tmp_path: Path
) -> None:
    """Read as records like others, the rows that they delete would stay."""
    rows = [
        {"offset": at, "key": "a", "value": "v"} | ({outer: {name: mark}} if outer else {name: mark})
        for at, mark in enumerate(marks[:seen])
    ]
    path = write(tmp_path / "d.jsonl", *rows)
    paths = [path]
    if outer is None:
        header, *lines = [",".join(map(str, cells)) for cells in (rows[0], *(row.values() for row in rows))]
        (tmp_path / "d.csv").write_text("\n".join([header, *lines, ""]))
        parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "d.parquet")
        paths += [tmp_path / "d.csv", tmp_path / "d.parquet"]
    for asked in paths:
        with pytest.raises(
            InputError, match="records may delete their keys although they have a value"
        ) as caught:
            open_one(asked)
        assert str(caught.value.hint).endswith(" --fields value=value")
        with open_one(asked, fields={"value": "value"}) as dump:
            assert dump.files[0].dialect.value.place == "value"


@pytest.mark.parametrize(
    "rows",
    [
        [("insert", "v"), ("delete", None)],  # tombstones
        [("query", "v"), ("delete", "v")],  # other words
        [(False, "v"), (True, None)],
        [(3, "v")],
        [(None, "v")],
    ],
)
def test_marks_of_tombstones_and_of_other_things_are_none(
    rows: list[tuple[Any, Any]], tmp_path: Path
) -> None:
    records = [{"offset": at, "key": "a", "op": op, "value": v} for at, (op, v) in enumerate(rows)]
    with open_one(write(tmp_path / "d.jsonl", *records)) as dump:
        assert dump.files[0].dialect.key.place == "key"


@pytest.mark.parametrize(
    "name",
    [
        "tombstone",
        "isDeleted",
        "kafka_tombstone_message",
        "is_null",
        "valueIsNull",
        "null_value",
        "isPayloadNull",
    ],
)
def test_a_flag_that_tells_a_delete_whose_value_is_empty_is_asked_about(name: str, tmp_path: Path) -> None:
    """As NiFi and Redpanda Connect write tombstones: an empty content, and a flag."""
    row = {"offset": 0, "key": "a", "value": "v", name: False}
    with open_one(write(tmp_path / "d.jsonl", row, row | {"offset": 1, "value": None, name: True})):
        pass
    path = write(tmp_path / "d.jsonl", row, row | {"offset": 1, "value": "", name: True})
    with pytest.raises(InputError, match=f"although they have a value, as the field {name} says"):
        open_one(path)
    with open_one(path, fields={"value": "value"}):
        pass
    with open_one(path, tombstone="empty") as dump:
        assert [row["is_tombstone"] for row in index_all(dump)[0].to_pylist()] == [False, True]


@pytest.mark.everyday(1)
@pytest.mark.parametrize("kind", ["avro", "parquet"])
@pytest.mark.parametrize(("name", "yes"), [("is_deleted", True), ("__deleted", "true")])
def test_flags_in_columns_tell_deletes_by_what_stands_there(
    kind: str, name: str, yes: Any, tmp_path: Path
) -> None:
    """The name alone says nothing: deletes may have null for their value beside it."""
    no = "false" if yes == "true" else False
    rows: list[dict[str, Any]] = [{"offset": 0, "key": "a", "value": "v", name: no}]
    path = tmp_path / f"d.{kind}"

    def write_rows() -> None:
        if kind == "parquet":
            parquet.write_table(pa.Table.from_pylist(rows), path)
            return
        kinds = {"offset": "long", "key": "string", "value": ["null", "string"]}
        fields = [*kinds.items(), (name, "string" if yes == "true" else "boolean")]
        schema = {"type": "record", "name": "R", "fields": [{"name": n, "type": t} for n, t in fields]}
        with path.open("wb") as out:
            fastavro.writer(out, schema, rows)

    for delete, is_asked in ((None, False), ("", True), ("v", True)):
        rows[1:] = [{"offset": 1, "key": "a", "value": delete, name: yes}]
        write_rows()
        if is_asked:
            with pytest.raises(InputError, match=f"although they have a value, as the field {name} says"):
                open_one(path)
            continue
        with open_one(path) as dump:
            assert [row["is_tombstone"] for row in index_all(dump)[0].to_pylist()] == [False, True]
    with open_one(path, fields={"value": "value"}) as dump:
        assert dump.files[0].dialect.value.place == "value"
    rows[:] = [{"offset": n, "key": "a", "value": "v", name: no} for n in range(17_000)]
    rows[-1] |= {"value": None, name: yes}
    write_rows()
    assert judged(path)[0][-1]["is_tombstone"]
    rows[-1]["value"] = "v"
    write_rows()
    with pytest.raises(InputError, match=f"although they have a value, as the field {name} says"):
        judged(path)
