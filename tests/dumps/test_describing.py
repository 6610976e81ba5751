from pathlib import Path

from dump_pipeline import open_one
from kcompact.dumps.describing import describe, dialect_rows, serial_notes

FIXTURES = Path(__file__).parent / "fixtures"


def test_what_was_recognised_is_said_in_a_line() -> None:
    with open_one(FIXTURES / "rpk-24.3.json") as dump:
        assert describe(dump) == ["JSON objects one after another, rpk topic consume (certain)"]


def test_files_that_are_read_alike_are_described_once() -> None:
    with open_one(FIXTURES / "spark-3.5-json") as dump:
        assert len(dump.files) == 3
        assert len(describe(dump)) == 1


def test_a_guess_is_called_one() -> None:
    with open_one(FIXTURES / "plain.jsonl") as dump:
        (recognition,) = describe(dump)
    assert recognition.endswith("(by its field names)")


def test_the_table_tells_how_tombstones_are_spelt() -> None:
    rows = {row.name: row for row in dialect_rows()}
    assert rows["kcat"].tombstone == "null"
    assert rows["kaf"].tombstone == "empty?"
    assert rows["kafdrop"].tombstone == "the word empty?"
    assert rows["kafbat-csv"].tombstone == "nothing?"
    assert rows["rpk"].tombstone == "nothing"
    assert rows["benthos-tombstones"].note.startswith("refused: ")
    assert len(rows) == len(dialect_rows())


def test_files_that_one_task_must_read_are_named() -> None:
    with open_one(FIXTURES / "karapace-3-v2.log") as dump:
        assert serial_notes(dump) == [f"{FIXTURES / 'karapace-3-v2.log'}: cannot be read in parallel"]
    with open_one(FIXTURES / "kcat-1.7-J.jsonl") as dump:
        assert serial_notes(dump) == []
