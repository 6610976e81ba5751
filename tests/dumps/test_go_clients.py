"""JSON of segmentio/kafka-go: what its reader hands out is less, and more, than the records of a topic."""

import json
from pathlib import Path
from typing import Any

import pytest

from dump_pipeline import index_all, judged, open_one, records_of
from kcompact.dumps.loops.value_columns import means_itself
from kcompact.dumps.note_checks import refuse_doubts
from kcompact.errors import InputError

A_RECORD = ("b3JkZXItMTI=", "eyJhIjogMX0=")
OTHERS = [A_RECORD, ("b3JkZXItMzQ=", "djEyMzQ1Njc4OTA="), ("b3JkZXItNTY=", "djEyMzQ1Njc4")]


def kafka_go(path: Path, *rows: tuple[str | None, str | None]) -> Path:
    """Messages of a partition, as encoding/json writes them."""
    told: dict[str, Any] = {"Topic": "t", "Partition": 0, "HighWaterMark": 9, "Time": "2023-11-14T22:13:20Z"}
    messages = [told | {"Offset": n, "Key": key, "Value": value} for n, (key, value) in enumerate(rows)]
    order = ("Topic", "Partition", "Offset", "HighWaterMark", "Key", "Value", "Headers", "WriterData", "Time")
    lines = [json.dumps({name: message.get(name) for name in order}) + "\n" for message in messages]
    path.write_text("".join(lines))
    return path


@pytest.mark.parametrize(
    ("row", "role", "depends"),
    [((None, "djE="), "key", "--null-keys drop"), (("azE=", None), "value", "--drop-tombstones")],
)
def test_a_null_that_may_be_empty_is_asked_about(
    row: tuple[str | None, str | None], role: str, depends: str, tmp_path: Path
) -> None:
    """It reads a key, a value and a header of no bytes as nil (0.4.51, a reader on a real topic)."""
    path = kafka_go(tmp_path / "t.jsonl", *OTHERS, row)
    with open_one(path) as dump:
        _, notes = index_all(dump)
        assert not means_itself(dump.files[0])  # the compiled loops count no such nulls
        with pytest.raises(
            InputError, match=f"1 record with a null {role}, which segmentio/kafka-go"
        ) as asked:
            refuse_doubts(dump, notes, {role: depends})
    assert ("--missing-key null" if role == "key" else "--tombstone missing where") in str(asked.value.hint)
    answers: list[tuple[dict[str, object], bytes | None]] = [
        ({"missing_key": "null", "tombstone": "null"}, None),
        ({"missing_key": "null", "tombstone": "missing"}, None),
        ({"missing_key": "empty", "tombstone": "none"}, b""),
    ]
    for options, expected in answers:
        assert getattr(records_of(path, **options)[-1], role) == expected
        with open_one(path, **options) as dump:
            refuse_doubts(dump, index_all(dump)[1], {role: depends})


@pytest.mark.parametrize("marker", [("AAAAAA==", "AAAAAAAA"), ("AAAAAQ==", "AAAAAAAB")])  # aborted, committed
def test_a_marker_of_a_transaction_is_no_record(marker: tuple[str, str], tmp_path: Path) -> None:
    """Its reader hands out markers, and what was aborted, with ReadCommitted as well."""
    path = kafka_go(tmp_path / "t.jsonl", *OTHERS, marker)
    with pytest.raises(InputError, match=r"t\.jsonl:4: a marker of a transaction") as refused:
        judged(path)
    assert "kcat -J" in str(refused.value.hint)


def test_a_number_as_a_key_is_no_marker(tmp_path: Path) -> None:
    path = kafka_go(tmp_path / "t.jsonl", *OTHERS, ("AAAAAQ==", "djEyMzQ1Njc4OTA="), ("AAAAAQ==", "djEyMzQ1"))
    assert [record.key for record in records_of(path)[-2:]] == [b"\0\0\0\1"] * 2
