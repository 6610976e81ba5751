"""A log that no round compacts: a note says why."""

from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Run
from dump_files import write_kcat
from records import record

pytestmark = pytest.mark.usefixtures("spark")
Cli = Callable[..., Run]
RECORDS = [record(f"key-{p}", str(at), offset=at, partition=p) for p in (0, 1) for at in range(3)]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (
            ["--cleanup-policy=delete", "--retention-ms=1d"],
            "not compacted, as its cleanup.policy has no compact",
        ),
        (["--segment-bytes=1GiB"], "nothing is cleaned: all dirty records count as the active segment"),
        (
            ["--respect-dirty-ratio", "--min-cleanable-dirty-ratio=1"],
            "not cleaned yet: the dirty ratio 1.0000 is not above min.cleanable.dirty.ratio 1",
        ),
    ],
)
def test_why_nothing_is_compacted_is_one_note(
    options: list[str], reason: str, tmp_path: Path, kcompact: Cli
) -> None:
    dump = write_kcat(tmp_path / "orders.jsonl", RECORDS)

    run = kcompact("compact", dump, *options, "-o", tmp_path / "out.jsonl")

    assert run.exit_code == 0
    assert f"note: orders-0, orders-1: {reason}" in run.stderr
    assert run.stderr.count(reason) == 1


@pytest.mark.parametrize(
    ("options", "note"),
    [
        (["--min-compaction-lag-ms=1h"], "min.compaction.lag.ms holds none back, all count as old enough"),
        (
            ["--cleanup-policy=compact,delete", "--retention-ms=1h"],
            "retention.ms removes none, all count as just written",
        ),
    ],
)
def test_configs_that_ask_for_ages_are_noted_where_no_record_has_a_timestamp(
    options: list[str], note: str, tmp_path: Path, kcompact: Cli
) -> None:
    """Nothing was said: young records went in spite of the lag, and old ones stayed."""
    undated = [record("k", str(at), offset=at, timestamp_ms=-1) for at in range(3)]
    dump = write_kcat(tmp_path / "orders.jsonl", undated)

    run = kcompact("compact", dump, *options, "-o", tmp_path / "out.jsonl")

    assert run.exit_code == 0
    assert f"note: orders-0: no record has a timestamp: {note}\n" in run.stderr
    write_kcat(dump, RECORDS)
    run = kcompact("compact", dump, *options, "-o", tmp_path / "out.jsonl", "--overwrite")
    assert "no record has a timestamp" not in run.stderr


def test_a_log_that_is_compacted_has_no_such_note(tmp_path: Path, kcompact: Cli) -> None:
    dump = write_kcat(tmp_path / "orders.jsonl", RECORDS)
    run = kcompact("compact", dump, "--respect-dirty-ratio", "-o", tmp_path / "out.jsonl")
    assert (run.exit_code, run.stderr) == (0, "")


def test_a_ratio_that_nobody_asks_for_is_noted(tmp_path: Path, kcompact: Cli) -> None:
    dump = write_kcat(tmp_path / "orders.jsonl", RECORDS)
    run = kcompact("compact", dump, "--min-cleanable-dirty-ratio=1", "-o", tmp_path / "out.jsonl")
    assert run.exit_code == 0
    assert run.stderr == "note: --min-cleanable-dirty-ratio has no effect without --respect-dirty-ratio\n"
