from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from golden_cases import GoldenCase, golden_cases
from kcompact.broker.log_context import LogContext
from kcompact.broker.log_names import LogName
from kcompact.compact.context.given_batches import with_open_transactions
from kcompact.compact.context.read_committed import with_read_committed
from kcompact.engine.passes.summaries import LogSummary
from kcompact.errors import InputError
from kcompact.rules.lookups import look_up, lookup_for
from kcompact.rules.policy import Policy
from kcompact.rules.transactions import aborted_ranges
from model_context import contexts_of
from packed_batches import ListedBatch, packed
from random_logs import aborting_log, last_stable_offset_of, random_log

AT_ONE = np.array([[0, 1]], np.int64)
offsets = st.sets(st.integers(0, 40), min_size=1)


def summary(present: set[int]) -> list[LogSummary]:
    runs = [(offset, offset + 1) for offset in sorted(present)]
    return [LogSummary(0, 7, "t", 0, runs=np.array(runs, dtype=np.int64).reshape(-1, 2))]


def aborted_of(present: set[int], committed: set[int], stable: int | None) -> tuple[set[int], int | None]:
    contexts, _ = with_read_committed(
        {7: LogContext(last_stable_offset=stable)}, summary(present), summary(committed)
    )
    ranges = contexts[7].aborted
    aborted = {offset for r in ranges for offset in range(r.first_offset, r.last_offset + 1)}
    return aborted, contexts[7].last_stable_offset


STAGES = [
    (case, stage)
    for case in golden_cases()
    for stage in sorted({stage for pair in case.pairs for stage in pair})
    if case.path(stage, "read_committed.jsonl").exists()
]


@pytest.mark.parametrize(("case", "stage"), STAGES, ids=[f"{case.name}-{stage}" for case, stage in STAGES])
def test_the_pair_tells_what_a_brokers_batches_tell(case: GoldenCase, stage: str) -> None:
    present = {record.offset for record in case.records(stage)}
    committed = {record.offset for record in case.records(stage, read_committed=True)}
    stable = case.stage_log(stage, case.logs[0]).last_stable_offset

    aborted, _ = aborted_of(present, committed, stable)

    ranges = aborted_ranges(packed((case.batches(stage) or {})[case.logs[0]]).parts())
    in_batches = {offset for r in ranges for offset in range(r.first_offset, r.last_offset + 1)}
    assert aborted == {offset for offset in in_batches & present if offset < stable}


@given(offsets, st.data())
def test_below_the_last_stable_offset_what_is_lacking_was_aborted(
    present: set[int], data: st.DataObject
) -> None:
    stable = data.draw(st.integers(0, 45))
    committed = {offset for offset in data.draw(st.sets(st.sampled_from(sorted(present)))) if offset < stable}

    aborted, _ = aborted_of(present, committed, stable)

    assert aborted == {offset for offset in present - committed if offset < stable}


@given(offsets, st.data())
def test_without_it_the_tail_counts_as_open(present: set[int], data: st.DataObject) -> None:
    committed = data.draw(st.sets(st.sampled_from(sorted(present)), min_size=1))

    aborted, stable = aborted_of(present, committed, None)

    assert stable == min((offset for offset in present if offset > max(committed)), default=None)
    assert aborted == {offset for offset in present - committed if offset < max(committed)}


def test_a_dump_of_another_topic_or_without_one_of_them_is_refused() -> None:
    orders, users = LogSummary(0, 1, "orders", 0, runs=AT_ONE), LogSummary(0, 2, "users", 0, runs=AT_ONE)
    contexts = {1: LogContext(), 2: LogContext()}
    with pytest.raises(InputError, match="--read-committed is about users-0; the dump holds orders-0"):
        with_read_committed(contexts, [orders], [users])
    with pytest.raises(InputError, match="--read-committed is about users-0; the dump holds orders-0"):
        with_read_committed(contexts, [orders, users], [users])


def test_a_partition_that_is_not_in_it_is_named() -> None:
    logs = [LogSummary(0, i, "orders", i, runs=AT_ONE) for i in (0, 1)]
    contexts = {0: LogContext(), 1: LogContext()}
    _, notes = with_read_committed(contexts, logs, logs[:1])
    holds_none = "orders-1: the read_committed dump holds none of its 1 record: counted as "
    assert notes == [holds_none + "an open transaction, so kept"]
    _, notes = with_read_committed({**contexts, 1: LogContext(last_stable_offset=9)}, logs, logs[:1])
    assert notes == [holds_none + "aborted below offset 9"]


def test_what_lacks_below_the_first_committed_record_is_named() -> None:
    _, notes = with_read_committed({7: LogContext()}, summary({0, 1, 2, 5}), summary({2, 5}))
    (text,) = notes
    assert text.startswith("t-0: 2 records below offset 2, with which the read_committed dump begins")
    _, notes = with_read_committed({7: LogContext()}, summary({0, 1, 2, 5}), summary({0, 2, 5}))
    assert not notes


def told_of(
    context: LogContext, present: set[int], committed: set[int] | None
) -> tuple[set[int], int | None]:
    """The aborted ones of a log's records, and its last stable offset; ``committed`` None: no second dump."""
    contexts, _ = with_open_transactions({7: context}, {7: LogName("t", 0)})
    if committed is not None:
        contexts, _ = with_read_committed(contexts, summary(present), summary(committed))
    columns = {"log_id": [7] * len(present), "offset": sorted(present), "timestamp_ms": [0] * len(present)}
    rows = look_up(pa.RecordBatch.from_pydict(columns), {7: lookup_for(contexts[7], Policy())}).to_pylist()
    return {row["offset"] for row in rows if row["is_aborted"]}, contexts[7].last_stable_offset


@pytest.mark.everyday(8)
@pytest.mark.parametrize("seed", range(150))
def test_a_pair_tells_no_more_of_a_model_than_its_batches(seed: int) -> None:
    log = aborting_log(seed).log if seed % 2 else random_log(seed, transactions=True).log
    stable = last_stable_offset_of(log)
    context = replace(contexts_of(log, with_batches=True), last_stable_offset=None)
    present = {record.offset for batch in log.batches() for record in batch.records}
    aborted, open_from = told_of(context, present, None)
    committed = {offset for offset in present - aborted if offset < stable}

    assert told_of(context, present, committed) == (aborted, open_from)
    given = replace(context, last_stable_offset=stable)
    assert told_of(given, present, committed) == (aborted, stable)


def test_records_that_no_batch_holds_are_told_of_by_the_pair() -> None:
    younger = LogContext(batches=packed([ListedBatch(0, 1, 2, 90)]))
    assert told_of(younger, {0, 1, 2, 4, 6}, {0, 1, 4}) == ({2}, 6)
    assert told_of(younger, {0, 1}, {0}) == (set(), None)


def test_records_that_batches_hold_and_the_pair_lacks_are_named() -> None:
    contexts = {7: LogContext(batches=packed([ListedBatch(0, 3, 4, 90)]))}
    _, notes = with_read_committed(contexts, summary({0, 1, 2, 3}), summary({2, 3}))
    (text,) = notes
    assert text.startswith("t-0: the read_committed dump lacks 2 records of which the batches show no abort")
    _, notes = with_read_committed(contexts, summary({0, 1, 2, 3}), summary(set()))
    assert notes == ["t-0: the read_committed dump holds none of its 4 records: counted as its batches say"]
