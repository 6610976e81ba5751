"""Rounds that begin within a segment, behind an abort marker: what a broker (4.4.0) left.

Topic w113005 of ``broker_files/overlooked-data``: a map of 17 keys got full in the middle of a segment. The
next rounds took committed data for aborted while they filled their maps, so duplicates stayed.
Topic w20374 of ``broker_files/overlooked-below-log-start``: a round began in the middle of a segment, as
records below had been deleted; of transactions that were aborted there it was not told.
Topic x104 of ``broker_files/overlooked-without-horizons``: ``delete.retention.ms`` is so long that no marker
gets a horizon. The first of two rounds rewrote a segment that held no data of aborted transactions any more,
so the second one, which began within it, was told of none.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Run
from dump_files import kcat_offsets

pytestmark = pytest.mark.usefixtures("spark")
Cli = Callable[..., Run]

PAIR = Path(__file__).parents[1] / "broker_files" / "overlooked-data"
TOLD = [
    f"--segments={PAIR / 'before.segments'}",
    f"--batches={PAIR / 'before.batches'}",
    "--now=1795632564821",
    "--log-end-offset=w113005-0=134",
    "--last-stable-offset=w113005-0=134",
]
CONFIGS = f"--topic-config=w113005={PAIR / 'topic.properties'}"


def test_rounds_overlook_the_data_that_the_broker_overlooked(kcompact: Cli, tmp_path: Path) -> None:
    output = tmp_path / "compacted.jsonl"

    more = [*TOLD, "--rounds=until-clean", "--null-keys=drop"]
    run = kcompact("compact", PAIR / "before.jsonl", "-o", output, CONFIGS, *more)

    assert run.exit_code == 0, run.stderr
    assert output.read_bytes() == (PAIR / "after.jsonl").read_bytes()


def test_a_round_is_not_told_of_what_was_aborted_below_the_log_start(kcompact: Cli, tmp_path: Path) -> None:
    pair, output = PAIR.with_name("overlooked-below-log-start"), tmp_path / "compacted.jsonl"
    told = [f"--{name}={pair / f'before.{name}'}" for name in ("segments", "batches")]
    told += [f"--topic-config=w20374={pair / 'topic.properties'}", "--now=1795836468958"]
    told += [f"--checkpoint={pair / 'cleaner-offset-checkpoint'}", "--log-start-offset=w20374-0=85"]

    policy = ("--respect-dirty-ratio", "--null-keys=drop")
    run = kcompact("compact", pair / "before.jsonl", "-o", output, *told, *policy)

    assert run.exit_code == 0, run.stderr
    assert sorted(kcat_offsets(output)) == sorted(kcat_offsets(pair / "after.jsonl"))
    assert kcompact("verify", pair / "before.jsonl", output, *told).exit_code == 0


def test_a_rewritten_segment_lists_no_transaction_without_data(kcompact: Cli, tmp_path: Path) -> None:
    pair, output = PAIR.with_name("overlooked-without-horizons"), tmp_path / "compacted.jsonl"
    told = [f"--{name}={pair / f'before.{name}'}" for name in ("segments", "batches")]
    told += [f"--topic-config=x104={pair / 'topic.properties'}", "--now=1796054015484"]
    told += [f"--checkpoint={pair / 'cleaner-offset-checkpoint'}"]

    run = kcompact("compact", pair / "before.jsonl", "-o", output, *told, "--rounds=until-clean")

    assert run.exit_code == 0, run.stderr
    assert output.read_bytes() == (pair / "after.jsonl").read_bytes()


def test_duplicates_behind_an_abort_marker_are_no_finding_where_maps_were_small(kcompact: Cli) -> None:
    run = kcompact("verify", PAIR / "before.jsonl", PAIR / "after.jsonl", CONFIGS, *TOLD)

    assert run.exit_code == 0, run.stdout


def test_a_finding_names_what_it_takes_for_granted_of_the_map(kcompact: Cli) -> None:
    run = kcompact("verify", PAIR / "before.jsonl", PAIR / "after.jsonl", *TOLD)

    assert run.exit_code == 1, run.stdout
    assert "duplicate-left" in run.stdout
    assert "assumed: no offset map was full (1 log): --log-cleaner-dedupe-buffer-size says" in run.stdout


def test_an_unexplained_duplicate_is_still_a_finding(kcompact: Cli, tmp_path: Path) -> None:
    before, after = (
        (PAIR / f"{name}.jsonl").read_bytes().splitlines(keepends=True) for name in ("before", "after")
    )
    kept = kcat_offsets(PAIR / "after.jsonl")
    superseded = next(line for line in before[1:] if line not in after)
    changed = tmp_path / "after.jsonl"
    changed.write_bytes(b"".join(sorted([*after, superseded], key=before.index)))
    assert len(kcat_offsets(changed)) == len(kept) + 1

    run = kcompact("verify", PAIR / "before.jsonl", changed, CONFIGS, *TOLD)

    assert run.exit_code == 1, run.stdout
    assert "no: 1 duplicate-left" in run.stdout
