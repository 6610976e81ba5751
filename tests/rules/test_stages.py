"""Deciding by record in many tasks, receivers and shares leaves what it leaves in one, whatever is asked."""

import random
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from dump_files import write_kcat
from kcompact.broker.log_context import DumpContext
from kcompact.compact.context.beside import Beside
from kcompact.compact.pipeline import compacted as compacted_by
from kcompact.compact.request import Compacted, Form, Request
from kcompact.compact.totals import piece_bytes
from kcompact.compact.whole_logs import record_index
from kcompact.compact.whole_logs.decided_records import decide_by_record
from kcompact.dumps.dump import open_dump
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.output.workplace import Workplace
from kcompact.dumps.records.record import Record
from kcompact.dumps.writers.converting import Copier
from kcompact.engine.passes import index_pass as indexing
from kcompact.engine.shuffle import send_in_process
from kcompact.errors import InputError
from kcompact.rules.policy import Policy, TopicPolicies
from small_maps import with_map_of

NOW_MS = 10_000_000
RETENTION = frozenset({"compact", "delete"})
BASE = Policy(now_ms=NOW_MS, null_keys="drop")
POLICIES = {
    "plain": BASE,
    "small map": with_map_of(7, replace(BASE, rounds=None)),
    "lag": replace(BASE, min_compaction_lag_ms=NOW_MS - 250),
    "segments": replace(BASE, segment_bytes=3_000),
    "by age": replace(BASE, cleanup_policy=RETENTION, retention_ms=NOW_MS - 100),
    "by size": replace(BASE, cleanup_policy=RETENTION, retention_bytes=8_000),
    "everything goes": replace(BASE, cleanup_policy=RETENTION, retention_ms=1),
    "tombstones go": replace(BASE, drop_tombstones=True),
}


def records(seed: int) -> list[Record]:
    """Three partitions, one of them small, with holes, tombstones and records without a key."""
    rng = random.Random(seed)
    offsets = [0, 5, 9]
    made = []
    for number in range(500):
        partition = rng.choices(range(3), [10, 9, 1])[0]
        offsets[partition] += rng.choice([1, 1, 1, 2, 40])
        key = None if rng.random() < 0.03 else f"key-{rng.randrange(60)}".encode()
        value = None if rng.random() < 0.2 else f"value-{number}".encode()
        made.append(Record("orders", partition, offsets[partition], number, key, value))
    return made


def compacted(path: Path, folder: Path, policy: Policy) -> tuple[Compacted, bytes, list[bytes]]:
    """What is left, and both reports' lines."""
    folder.mkdir()
    with open_dump([str(path)], ReadOptions()) as dump:
        request = Request(
            TopicPolicies(policy),
            Beside(DumpContext()),
            folder,
            Workplace(str(folder)),
            Copier({}),
            Form.RECORDS,
            tells_sizes=True,
        )
        done = compacted_by(dump, decide_by_record(send_in_process, dump, request))
    outcome = done.outcome
    parts = [(folder / part.part).read_bytes()[part.start : part.end] for part in outcome.fragments]
    pieces = (outcome.removed_keys, outcome.gaps)
    return done, b"".join(parts), [b"".join(piece_bytes(folder, lines)) for lines in pieces]


@pytest.fixture
def small_stages(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Many tasks, receivers and shares from now on."""

    def cut() -> None:
        monkeypatch.setattr(indexing, "SMALLEST_SPLIT_BYTES", 9_000)
        monkeypatch.setattr(record_index, "ROWS_PER_RECEIVER", 100)
        monkeypatch.setattr(record_index, "RECORDS_PER_SHARE", 60)

    return cut


@pytest.mark.everyday(3)
@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("order", ["in order", "shuffled", "twice"])
def test_stages_show_nowhere(tmp_path: Path, small_stages: Callable[[], None], name: str, order: str) -> None:
    made = records(1)
    if order == "shuffled":
        made = random.Random(2).sample(made, len(made))
    if order == "twice":
        made += made[100:200]
    path = write_kcat(tmp_path / "dump.jsonl", made)
    whole, *whole_files = compacted(path, tmp_path / "whole", POLICIES[name])
    small_stages()
    several, *several_files = compacted(path, tmp_path / "several", POLICIES[name])

    assert several_files == whole_files
    assert [asdict(log) for log in several.outcome.logs] == [asdict(log) for log in whole.outcome.logs]
    assert several.cleanings == whole.cleanings
    assert several.shared_keys == whole.shared_keys
    assert several.notes == whole.notes
    # A file that is out of order is read whole.
    assert (len(list((tmp_path / "several").glob("gaps-*"))) > 3) == (order == "in order")


def test_an_offset_twice_with_another_value_is_refused_wherever_both_are(
    tmp_path: Path, small_stages: Callable[[], None]
) -> None:
    small_stages()
    made = records(1)
    path = write_kcat(tmp_path / "dump.jsonl", [*made, made[3]._replace(value=b"another")])

    with pytest.raises(InputError, match=f"offset {made[3].offset}: two records with different content"):
        compacted(path, tmp_path / "work", BASE)
