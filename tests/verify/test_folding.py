"""What is told from one row a key, and rows of the keys that it takes, is what rows of all records tell."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from index_frames import logs_of
from kcompact.dumps.records.layout import NeedsExtra
from kcompact.dumps.records.record import INDEX_SCHEMA, Record, log_id_of
from kcompact.engine.passes import grouping
from kcompact.engine.shuffle import send_in_process
from kcompact.rules.policy import Policy
from kcompact.verify.classification.bounds import Bounds
from kcompact.verify.outcome import VerifyOutcome
from kcompact.verify.pipeline import verify_compaction
from kcompact.verify.question import Question
from kcompact.verify.rows import folding, keyed_rows, wanted
from kcompact.verify.rows.disorder import Disorder
from kcompact.verify.rows.dump_rows import DumpRows, read_rows
from kcompact.verify.rows.keyed_rows import AFTER, BEFORE
from kcompact.verify.rows.pairs import Pairs
from kcompact.verify.rows.unaffected_keys import rules_of
from random_pairs import NOW_MS, Pair
from records import record
from told_pairs import all_pairs, same
from verify_here import knowing_after, pairs_of, question_of, rows_of

RECEIVERS = 3


@dataclass(frozen=True)
class PlanInMemory:
    """In place of an ``IndexPlan``: the index rows of each task."""

    tasks: list[pa.Table]
    extra: frozenset[str] = keyed_rows.COLUMNS


class RowsInMemory:
    """In place of ``TaskReader``: a task's index rows, which no file holds."""

    read: ClassVar[list[pa.Table]] = []

    def __init__(self, plan: PlanInMemory, task: int) -> None:
        self._rows, self.summaries = plan.tasks[task], dict[int, object]()
        self.read.append(self._rows)

    def rows(self, needs_extra: NeedsExtra | None = None) -> Iterator[pa.RecordBatch]:
        for batch in self._rows.to_batches(max_chunksize=3):
            if needs_extra is None:
                yield batch
                continue
            is_left_out = pa.array(~needs_extra(batch.select(INDEX_SCHEMA.names)))
            columns = [
                pc.if_else(is_left_out, pa.scalar(None, column.type), column)
                if name in keyed_rows.COLUMNS
                else column
                for name, column in zip(batch.schema.names, batch.columns, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=batch.schema)


pytestmark = pytest.mark.usefixtures("loops_or_tables")


@pytest.fixture(autouse=True)
def small_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many passes."""
    monkeypatch.setattr(grouping, "MOST_ROWS", 7)
    monkeypatch.setattr(grouping, "MOST_KEYS", 7)
    monkeypatch.setattr(wanted, "FEW_KEYS", 5)
    monkeypatch.setattr(folding, "TaskReader", RowsInMemory)
    monkeypatch.setattr(keyed_rows, "TaskReader", RowsInMemory)
    monkeypatch.setattr(wanted, "TaskReader", RowsInMemory)


def plan_of(records: Sequence[Record], tasks: int, columns: list[str]) -> PlanInMemory:
    """Records cut into tasks at random."""
    rng = random.Random(len(records))
    cuts = sorted(rng.randrange(len(records) + 1) for _ in range(tasks - 1))
    bounds = zip([0, *cuts], [*cuts, len(records)], strict=True)
    return PlanInMemory([rows_of(records[start:end]).select(columns) for start, end in bounds])


def read(before: Sequence[Record], after: Sequence[Record], *, folds: bool = True) -> DumpRows:
    columns = [name for name in keyed_rows.ROWS_SCHEMA.names if name not in keyed_rows.ORDER.names]
    plans = {BEFORE: plan_of(before, 5, columns), AFTER: plan_of(after, 2, columns)}
    return read_rows(send_in_process, plans, RECEIVERS, folds=folds)  # type: ignore[arg-type]


def judged(rows: DumpRows, question: Question, records: Sequence[Record]) -> tuple[VerifyOutcome, Pairs]:
    rules = rules_of(question, {})
    pairs, unaffected = rows.unaffected(rules, keyless=any(r.key is None for r in records))
    return verify_compaction(pairs, question, rules, Disorder(), unaffected), pairs


def in_full(question: Question, before: Sequence[Record], after: Sequence[Record]) -> VerifyOutcome:
    pairs = pairs_of(rows_of(before), rows_of(after), RECEIVERS)
    return verify_compaction(pairs, question, rules_of(question, {}), Disorder())


def rows_in(pairs: Pairs) -> int:
    return sum(pairs.ask(lambda share: share[0].num_rows + share[1].num_rows))


def some_pairs(number: int) -> Iterator[tuple[Pair, Bounds]]:
    """Every eighth of all pairs, so that many keys of a run are settled and many are not."""
    for place, pair in enumerate(all_pairs()):
        if place % 8 == number:
            yield pair


@pytest.mark.everyday(1)
@pytest.mark.parametrize("number", range(8))
def test_pairs_are_judged_alike(number: int) -> None:
    before, after, bounds = [], [], dict[int, Bounds]()
    for pair, of_pair in some_pairs(number):
        before += pair[0]
        after += pair[1]
        bounds |= dict.fromkeys(logs_of(*pair), of_pair)
    question = Question(logs_of(before, after), ("b",), "a", bounds, max_findings=10_000)
    outcome, _ = judged(read(before, after), question, [*before, *after])

    same(outcome, in_full(question, before, after))
    assert len(outcome.findings) > 10


@pytest.mark.slow
def test_each_pair_alone_is_judged_alike() -> None:
    less = 0
    for (before, after), bounds in all_pairs():
        question = knowing_after(question_of(before, after, bounds), after)
        outcome, pairs = judged(read(before, after), question, [*before, *after])
        same(outcome, in_full(question, before, after))
        less += rows_in(pairs) < len(before) + len(after)
    assert less > 100


def test_a_right_pair_is_read_once() -> None:
    before = [
        record(key, None if offset % 5 == 0 else str(offset), offset=offset)
        for offset, key in enumerate("aabacdbaabcdabd" * 9)
    ]
    latest = {r.key: r for r in before}
    after = [r for r in before if latest[r.key] is r]
    question = question_of(before, after, Bounds(Policy(now_ms=NOW_MS)))
    rows = read(before, after)
    outcome, pairs = judged(rows, question, before)

    assert rows.is_folded
    assert rows_in(pairs) == 0
    assert outcome.holds
    same(outcome, in_full(question, before, after))
    (log,) = outcome.logs
    assert (log.records_before, log.records_after) == (len(before), len(after))


def test_only_the_keys_that_need_it_are_read_again() -> None:
    before = [record(f"key-{offset % 10}", str(offset), offset=offset) for offset in range(100)]
    after = [r for r in before[90:] if r.key != b"key-3"]
    question = question_of(before, after, Bounds(Policy(now_ms=NOW_MS)))
    outcome, pairs = judged(read(before, after), question, before)

    assert rows_in(pairs) == 10
    (finding,) = outcome.findings
    assert (finding.check, finding.key, finding.offset) == ("missing-key", b"key-3", 93)


def test_only_the_tasks_that_have_such_a_key_are_read_again() -> None:
    before = [record(f"key-{offset // 3}", str(offset), offset=offset) for offset in range(90)]
    after = [r for r in before[2::3] if r.key != b"key-11"]
    question = question_of(before, after, Bounds(Policy(now_ms=NOW_MS)))
    rows = read(before, after)
    RowsInMemory.read.clear()
    outcome, pairs = judged(rows, question, before)

    with_key = [b"key-11" in task["key"].to_pylist() for task in RowsInMemory.read]
    assert with_key in ([True], [True, True])
    assert rows_in(pairs) == 3
    same(outcome, in_full(question, before, after))


def test_a_key_at_another_keys_place_is_read_again() -> None:
    before = [record("ab"[offset % 2], str(offset), offset=offset) for offset in range(10)]
    after = [before[6]._replace(key=b"b", offset=6), before[8], before[9]]
    question = question_of(before, after, Bounds(Policy(now_ms=NOW_MS)))
    outcome, pairs = judged(read(before, after), question, before)

    assert rows_in(pairs) == len(before) + len(after)
    same(outcome, in_full(question, before, after))
    assert not outcome.holds


def test_where_too_many_keys_are_wanted_all_rows_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wanted, "MOST_KEYS", 2)
    before = [record(f"key-{offset % 10}", str(offset), offset=offset) for offset in range(100)]
    after = before[94:]
    question = question_of(before, after, Bounds(Policy(now_ms=NOW_MS)))
    outcome, pairs = judged(read(before, after), question, before)

    assert rows_in(pairs) == len(before) + len(after)
    same(outcome, in_full(question, before, after))


def test_control_records_are_judged_one_by_one() -> None:
    before = [record("ab"[offset % 2], str(offset), offset=offset) for offset in range(10)]
    before[4] = before[4]._replace(is_control=True)
    after = before[8:]
    question = question_of(before, after, Bounds(Policy(now_ms=NOW_MS)))
    outcome, pairs = judged(read(before, after), question, before)

    assert rows_in(pairs) == len(before) // 2 + 1
    same(outcome, in_full(question, before, after))


def test_a_renamed_topic_is_judged_under_its_name() -> None:
    before = [record("ab"[offset % 2], str(offset), offset=offset) for offset in range(10)]
    after = [r._replace(topic="other") for r in before[8:]]
    question = question_of(before, before, Bounds(Policy(now_ms=NOW_MS)))
    ids = log_id_of("other", 0), log_id_of(before[0].topic, 0)
    rows = read(before, after).renaming({ids[0]: ids[1]})
    outcome, pairs = judged(rows, question, before)

    assert rows_in(pairs) == 0
    assert outcome.holds


def test_rows_of_all_records_can_still_be_had() -> None:
    before = [record("ab"[offset % 2], str(offset), offset=offset) for offset in range(10)]
    rows = read(before, before[8:])
    assert rows.is_folded
    assert rows_in(rows.pairs()) == 12
