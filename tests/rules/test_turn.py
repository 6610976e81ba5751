"""Which log a turn of the cleaner takes first decides which ones retention meets uncleaned."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Run
from dump_files import kcat_offsets, write_kcat
from kcompact.rules.ratio import DirtyRatio, tie_notes, turn_of
from records import TIMESTAMP_MS, record

Cli = Callable[..., Run]

NAMES = {1: "a-0", 2: "a-1", 3: "b-0"}


def ratio(cleanable: int) -> DirtyRatio:
    return DirtyRatio(100 - cleanable, cleanable, 0, 0, 0.5)


def test_the_dirtiest_log_comes_first() -> None:
    turn = turn_of({1: ratio(60), 2: ratio(90), 3: ratio(80)}, NAMES)
    assert (turn.first, turn.tied) == ({2}, ())
    assert [turn.is_later(i) for i in NAMES] == [True, False, True]
    assert turn_of({1: ratio(60), 2: ratio(90), 3: ratio(80)}, NAMES, threads=2).first == {2, 3}


def test_of_equally_dirty_ones_the_first_by_name_is_taken_and_all_are_told() -> None:
    turn = turn_of({3: ratio(90), 2: ratio(90), 1: ratio(60)}, NAMES)
    assert (turn.first, turn.tied) == ({2}, (2, 3))
    notes = tie_notes(turn, NAMES, {3})
    assert notes.keys() == {2, 3}
    assert "as dirty as b-0: " in notes[2]
    assert tie_notes(turn, NAMES, {1}) == {}


def test_each_of_many_equally_dirty_logs_names_three_others() -> None:
    names = {i: f"orders-{i}" for i in range(5)}
    turn = turn_of(dict.fromkeys(names, ratio(90)), names)
    notes = tie_notes(turn, names, {4})
    assert notes.keys() == names.keys()
    assert "as dirty as orders-1, orders-2, orders-3, ...: " in notes[0]
    assert "as dirty as orders-0, orders-1, orders-2, ...: " in notes[4]
    four = tie_notes(turn_of({i: ratio(90) for i in range(4)}, names), names, {3})
    assert "as dirty as orders-0, orders-1, orders-3: " in four[2]


def test_a_turn_without_a_cleaning_has_no_later_one() -> None:
    assert not turn_of({}, NAMES).is_later(1)


@pytest.mark.spark
@pytest.mark.parametrize("batches", [False, True], ids=["segments-rolled", "batches-told"])
def test_logs_that_are_cleaned_later_lose_segments_at_their_uncleaned_size(
    batches: bool,
    tmp_path: Path,
    kcompact: Cli,
    spark: object,
) -> None:
    del spark  # the command borrows it
    records = [record(f"k{n % 10}", "v", offset=n, partition=p) for p in (0, 1) for n in range(20)]
    dump = write_kcat(tmp_path / "dump.jsonl", records)
    rolled = ("--segment-bytes", 300)
    if batches:
        (tmp_path / "batches").write_text(table_of_batches())
        rolled = ("--batches", tmp_path / "batches")
    retention = ("--cleanup-policy", "compact,delete", "--retention-ms=-1", "--retention-bytes", 900)
    run = kcompact("compact", dump, "-o", tmp_path / "out.jsonl", *rolled, *retention)
    assert run.exit_code == 0, run.stderr
    assert "orders-1: as dirty as orders-0" in run.stderr
    # Segments of four records. From the first log nothing goes: cleaned, it is small enough.
    kept = sorted(kcat_offsets(tmp_path / "out.jsonl"))
    assert [offset for _, partition, offset in kept if partition == 0] == list(range(6, 20))
    report = json.loads((tmp_path / "out.report" / "report.json").read_text())
    assert [log["removed"]["expired"] for log in report["logs"]] == [0, 4]


def table_of_batches() -> str:
    """A batch per record, four of them to a segment."""
    names = "topic partition segment baseOffset lastOffset count bytes codec timestampType producerId"
    names += " producerEpoch baseSequence transactional control deleteHorizonMs maxTimestamp"
    rows = [
        ["orders", p, n - n % 4, n, n, 1, 71, "none", "create", -1, -1, -1, 0, "-", "-", TIMESTAMP_MS]
        for p in (0, 1)
        for n in range(20)
    ]
    return "".join("\t".join(map(str, row)) + "\n" for row in [names.split(), *rows])
