"""What kafka-dump-log says of a damaged log: an end that it could not read, checksums that do not match."""

from pathlib import Path

import pytest

from dump_log_text import Logged, write_dump_log
from dump_pipeline import judged, records_of
from kcompact.errors import InputError

MISSING = "what they held is not in the dump"
TORN = "Found 97 invalid bytes at the end of 00000000000000000001.log\n"


def joined(folder: Path, second: str) -> Path:
    """Two segments, the first of which ends in a tombstone; its last line is the tool's."""
    path = write_dump_log(folder / "log.txt", {0: [Logged(0, "a=1")], 1: [Logged(1, "b=")]})
    text = path.read_text().replace("valueSize: 0", "valueSize: -1").replace("key: b payload: ", "key: b")
    path.write_text(text + TORN + second)
    return path


@pytest.mark.parametrize("second", ["", "Non-consecutive offsets in /d/1.log\n  -1 is followed by 1\n"])
def test_the_torn_end_of_a_segment_is_told_and_no_part_of_a_record(second: str, tmp_path: Path) -> None:
    path = joined(tmp_path, second)
    assert [(record.key, record.value) for record in records_of(path)] == [(b"a", b"1"), (b"b", None)]
    (note,) = (note for note in judged(path) if "could not read" in note)
    assert note.endswith("1 segment with bytes at its end that kafka-dump-log could not read: " + MISSING)


def test_records_follow_a_torn_segment(tmp_path: Path) -> None:
    following = write_dump_log(tmp_path / "next.txt", {2: [Logged(2, "a=2")]}).read_text()
    assert [record.offset for record in records_of(joined(tmp_path, following))] == [0, 1, 2]


def test_a_payload_that_holds_such_a_line_is_refused_rather_than_cut(tmp_path: Path) -> None:
    path = write_dump_log(tmp_path / "log.txt", {0: [Logged(0, f"a=1\n{TORN}2")]})
    with pytest.raises(InputError, match="not the 65 bytes that the line says"):
        records_of(path)


def test_batches_whose_checksum_does_not_match_are_told(tmp_path: Path) -> None:
    path = write_dump_log(tmp_path / "log.txt", {0: [Logged(0, "a=isvalid: false"), Logged(1, "b=1")]})
    assert not [note for note in judged(path) if "isvalid" in note]
    path.write_text(path.read_text().replace("isvalid: true", "isvalid: false"))
    (note,) = (note for note in judged(path) if "isvalid" in note)
    assert "2 lines with isvalid: false: the checksum of a batch does not match" in note
