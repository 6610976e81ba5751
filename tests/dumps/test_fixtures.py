"""Dumps as tools write them: each tells the same records as ``fixtures/plain.jsonl``, or why it cannot.

The fixtures are written from what the tools' sources and documentation say; a file's name tells the tool,
its version and the option that matters.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from dialect_fixtures import (
    ANSWERED,
    BY_FILE_ORDER,
    CHANGE_EVENTS,
    DELIMITED,
    DUMP_LOGS,
    FIXTURES,
    ONE_RECORD,
    REFUSED,
    TOLD,
)
from dump_pipeline import copied, index_all, open_one
from kcompact.dumps.layouts import LAYOUTS
from kcompact.dumps.note_checks import check_notes, refuse_doubts
from kcompact.dumps.records.record import Record
from kcompact.errors import InputError


def records_of(path: Path, **options: Any) -> dict[tuple[int, int], Record]:
    with open_one(path, **options) as dump:
        return {
            (record.partition, record.offset): record
            for split in dump.splits(1 << 40)
            for _, _, record in LAYOUTS[dump.files[split.file_id].layout].records(
                dump.files[split.file_id], split
            )
        }


def survivors(records: dict[tuple[int, int], Record]) -> set[tuple[int, int]]:
    latest = {(place[0], record.key): place for place, record in sorted(records.items())}
    return set(latest.values())


PLAIN = records_of(FIXTURES / "plain.jsonl")


def test_every_fixture_is_tested() -> None:
    named = {*TOLD, *BY_FILE_ORDER, *REFUSED, *ONE_RECORD, *CHANGE_EVENTS, *DELIMITED, *DUMP_LOGS}
    assert named == {path.name for path in FIXTURES.iterdir()} - {"README.md"}


@pytest.mark.parametrize("name", TOLD)
def test_a_tool_s_dump_tells_the_records_of_its_plain_twin(name: str) -> None:
    facts = TOLD[name]
    records = records_of(FIXTURES / name, **facts.options)
    expected = {place: record for place, record in PLAIN.items() if place[1] not in facts.lacking}
    assert records.keys() == expected.keys()
    for place, record in records.items():
        twin = expected[place]
        assert record.key == twin.key
        if facts.merged and not twin.value:
            assert not record.value
        elif facts.values and not (twin.value or b"").startswith(b"{"):  # JSON may be spelt with other blanks
            assert record.value == twin.value
        assert (record.value is None) == (twin.value is None) or facts.merged
    assert survivors(records) == survivors(expected)


@pytest.mark.parametrize("name", [*TOLD, *sorted(DUMP_LOGS)])
def test_a_file_of_which_nothing_is_left_is_passed_over_in_a_folder(name: str, tmp_path: Path) -> None:
    """Alone it is a dump without records, or refused as one."""
    options = TOLD[name].options if name in TOLD else {}
    with open_one(FIXTURES / name, **options) as dump:
        rows = index_all(dump)[0].to_pylist()
        for file, records in {"1": [], "2": rows}.items():
            (tmp_path / f"{file}-{name}").write_bytes(copied(dump, records))
    with open_one(tmp_path, **options) as dump:
        assert index_all(dump)[0].num_rows == len(rows) > 0


@pytest.mark.parametrize("name", TOLD)
def test_it_is_recognised_and_its_doubts_are_said(name: str) -> None:
    expected = TOLD[name]
    with open_one(FIXTURES / name, **expected.options) as dump:
        assert {(file.dialect.name, file.layout) for file in dump.files} == {
            (expected.dialect, expected.layout)
        }
        _, notes = index_all(dump)
        remarks = check_notes(dump, notes)
        assert any("alike" in remark for remark in remarks) == expected.doubt
        if not expected.doubt:
            refuse_doubts(dump, notes, {"value": "--drop-tombstones", "key": "--null-keys drop"})
            return
        with pytest.raises(InputError, match="--drop-tombstones depends on which it is"):
            refuse_doubts(dump, notes, {"value": "--drop-tombstones"})


@pytest.mark.parametrize("name", TOLD)
def test_its_survivors_are_a_dump_of_the_same_kind(name: str, tmp_path: Path) -> None:
    expected = TOLD[name]
    with open_one(FIXTURES / name, **expected.options) as dump:
        file = dump.files[0]  # of a folder, one output for one input: see the command's tests
        splits = {split.split_id for split in dump.splits(40) if split.file_id == file.file_id}
        rows = [row for row in index_all(dump, 40)[0].to_pylist() if row["split_id"] in splits]
        kept = rows[:1] + rows[2:]
        output = copied(dump, kept, 40)
    written = tmp_path / Path(file.path).name
    written.write_bytes(output)
    with open_one(written, **expected.options) as again:
        assert again.files[0].dialect.name == expected.dialect
        assert index_all(again)[0]["offset"].to_pylist() == [row["offset"] for row in kept]


JSON_LINES = [name for name, facts in TOLD.items() if facts.layout == "json_lines" and "utf16" not in name]


@pytest.mark.parametrize("name", JSON_LINES)
def test_the_order_of_fields_changes_nothing(name: str, tmp_path: Path) -> None:
    source = FIXTURES / name
    for path in [source] if source.is_file() else [p for p in source.iterdir() if not p.name.startswith("_")]:
        try:
            rows = [json.loads(line) for line in path.read_text().splitlines() if line.startswith("{")]
        except UnicodeDecodeError:  # as kcat writes it
            rows = [json.loads(line) for line in path.read_text("latin-1").splitlines()]
        target = tmp_path / name / path.name if source.is_dir() else tmp_path / name
        target.parent.mkdir(exist_ok=True)
        target.write_text("".join(json.dumps(row, sort_keys=True) + "\n" for row in rows))
    expected, actual = (records_of(path / name, **TOLD[name].options) for path in (FIXTURES, tmp_path))
    assert {place: record.key for place, record in actual.items()} == {
        place: record.key for place, record in expected.items()
    }
    assert survivors(actual) == survivors(expected)


def plain_lines(keys: list[str]) -> str:
    rows = [{"offset": number, "key": key, "value": "x"} for number, key in enumerate(keys)]
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_keys_that_all_look_like_base64_are_asked_about(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    keys = ["b3JkZXItMQ", "b3JkZXItMTI", "b3JkZXItMTIz"]
    path.write_text(
        "".join(f'{{"offset": {n}, "key": "{key}", "value": "x"}}\n' for n, key in enumerate(keys))
    )
    with pytest.raises(InputError, match="every key looks like base64, such as 'b3JkZXItMQ' for b'order-1'"):
        open_one(path)
    assert {r.key for r in records_of(path, dialect="plain").values()} == {key.encode() for key in keys}
    path.write_text(path.read_text().replace('"x"', '"eA"'))
    decoded = {r.key for r in records_of(path, dialect="plain-base64").values()}
    assert decoded == {b"order-1", b"order-12", b"order-123"}


def test_base64_under_the_names_that_go_writes_is_asked_about_with_the_option_to_type(tmp_path: Path) -> None:
    """encoding/json of a sarama, franz-go or kafka-go record: fields in capitals, bytes as base64."""
    path = tmp_path / "t.jsonl"
    row = {
        "Topic": "orders",
        "Partition": 1,
        "Offset": 5,
        "Key": "b3JkZXItMTI=",
        "Value": None,
        "Headers": [],
    }
    path.write_text(json.dumps(row) + "\n")
    with pytest.raises(InputError) as caught:
        open_one(path)
    typed = caught.value.hint.split(" reads ")[0].removeprefix("--dialect plain-base64 --fields ")
    fields = dict(part.split("=") for part in typed.split(","))
    (record,) = records_of(path, dialect="plain-base64", fields=fields).values()
    assert (record.topic, record.partition, record.offset) == ("orders", 1, 5)
    assert (record.key, record.value) == (b"order-12", None)


@pytest.mark.parametrize(
    "keys", [["user", "test", "data", "k123"], ["10001000", "20002000"], ["deadbeef" * 4]]
)
def test_words_and_numbers_are_not_taken_for_base64(keys: list[str], tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(
        "".join(f'{{"offset": {n}, "key": "{key}", "value": "x"}}\n' for n, key in enumerate(keys))
    )
    assert {r.key for r in records_of(path).values()} == {key.encode() for key in keys}


def test_the_word_null_in_karapace_s_dump_is_null_and_nothing_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "t.log"
    path.write_text("/V2\n6B\t\n6B\tnull\nnull\t76\n\t76\n")
    pairs = [(record.key, record.value) for record in records_of(path).values()]
    assert pairs == [(b"k", b""), (b"k", None), (None, b"v"), (b"", b"v")]


@pytest.mark.parametrize("name", BY_FILE_ORDER)
def test_without_offsets_the_order_in_the_file_counts(name: str) -> None:
    options = ANSWERED.get(name, {})
    with open_one(FIXTURES / name, **options) as dump:
        assert any("no offsets in the records" in note for note in dump.notes)
        assert len(dump.splits(1)) == 1
    assert sorted(survivors(records_of(FIXTURES / name, **options))) == BY_FILE_ORDER[name]


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_compacted_is_refused_with_its_reason(name: str) -> None:
    with pytest.raises(InputError) as caught, open_one(FIXTURES / name) as dump:
        _, notes = index_all(dump)
        check_notes(dump, notes)
    assert REFUSED[name] in caught.value.message
    assert str(FIXTURES / name) in caught.value.message
    assert caught.value.hint


def test_one_saved_message_is_a_dump() -> None:
    with open_one(FIXTURES / "provectus-kafka-ui-0.7-topic-message") as dump:
        assert dump.files[0].dialect.name == "kafbat"
        assert index_all(dump)[0]["key"].to_pylist() == [b"k1"]


def test_kcl_s_bytes_that_are_no_text_are_neither_missing_nor_null(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    row = '{"topic":"t","partition":0,"offset":%d,"timestamp":1,"leader_epoch":0,%s}\n'
    fields = ['"key_base64":"/w==","value_base64":"/g=="', '"key":"a","value":null', '"key":null,"value":""']
    path.write_text("".join(row % (number, field) for number, field in enumerate(fields)))
    pairs = [(record.key, record.value) for record in records_of(path).values()]
    assert pairs == [(b"\xff", b"\xfe"), (b"a", None), (None, b"")]
    with open_one(path) as dump:
        assert index_all(dump)[0]["is_tombstone"].to_pylist() == [False, True, False]
