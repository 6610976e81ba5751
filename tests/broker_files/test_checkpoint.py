from pathlib import Path

import pytest

from kcompact.broker.checkpoint import format_checkpoint, read_checkpoint
from kcompact.broker.log_names import LogName
from kcompact.errors import InputError

FILES = Path(__file__).parents[1] / "golden" / "checkpoint-files"

# As the broker's own OffsetCheckpointFile reads them: see the README of the golden data.
READ = dict.fromkeys(["ok", "ok-nonl", "crlf", "tabs", "two-blanks", "trail-blank", "plus"], 5) | {
    "twice": 7,
    "negative": -5,
}
EMPTY = {"empty", "only-version", "zero-count"}
REFUSED = {
    *("v1", "version-trail", "bom", "nonint-count", "count-trail", "count-more", "count-fewer"),
    *("zero-count-line", "blank-line", "blank-mid", "lead-blank", "two", "four"),
    *("nonint-part", "nonint-off", "big", "neg-count"),
}


def test_every_golden_file_is_judged() -> None:
    assert {path.stem for path in FILES.glob("*.cp")} == READ.keys() | EMPTY | REFUSED


@pytest.mark.parametrize(("name", "offset"), READ.items())
def test_what_a_broker_reads_is_read_alike(name: str, offset: int) -> None:
    assert read_checkpoint(str(FILES / f"{name}.cp")) == {LogName("t", 0): offset}


@pytest.mark.parametrize("name", sorted(EMPTY))
def test_a_file_without_entries_is_no_error(name: str) -> None:
    assert read_checkpoint(str(FILES / f"{name}.cp")) == {}


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_a_broker_refuses_is_refused_with_its_line(name: str) -> None:
    path = FILES / f"{name}.cp"
    with pytest.raises(InputError) as refusal:
        read_checkpoint(str(path))
    assert refusal.value.message.startswith(f"{path}:")


def test_a_missing_or_binary_file_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_checkpoint(str(tmp_path / "none"))
    (tmp_path / "binary").write_bytes(b"0\n\xff\n")
    with pytest.raises(InputError, match=":2: not UTF-8"):
        read_checkpoint(str(tmp_path / "binary"))


def test_the_file_is_written_as_kafka_writes_it() -> None:
    # Case H01 of the rules' cases.
    entries = {LogName("u", 0): 7, LogName("t", 1): 2, LogName("t", 0): 3}
    assert format_checkpoint(entries) == "0\n3\nt 0 3\nt 1 2\nu 0 7\n"
    assert format_checkpoint({}) == "0\n0\n"


def test_a_broker_s_own_file_survives_reading_and_writing() -> None:
    golden = FILES.parent / "w33-choice" / "cleaner-offset-checkpoint"
    entries = read_checkpoint(str(golden))
    assert entries[LogName("w33-high", 0)] == 116
    assert sorted(format_checkpoint(entries).splitlines()) == sorted(golden.read_text().splitlines())
