"""The last stable offset that batches tell (R5, L6)."""

from dataclasses import replace

import pytest

from golden_cases import GoldenCase, golden_cases
from kcompact.broker.log_context import LogContext
from kcompact.broker.log_names import LogName
from kcompact.compact.context.given_batches import with_open_transactions
from kcompact.errors import InputError
from model_context import contexts_of
from packed_batches import ListedBatch, packed
from random_logs import aborting_log, last_stable_offset_of, random_log

ORDERS = {7: LogName("orders", 0)}
STAGES = [
    (case, stage)
    for case in golden_cases()
    for stage in sorted({stage for pair in case.pairs for stage in pair})
    if case.path(stage, "batches").exists()
]


def stable_of(context: LogContext) -> int | None:
    contexts, notes = with_open_transactions({7: context}, ORDERS)
    stable = contexts[7].last_stable_offset
    assert len(notes) == (stable is not None)
    assert all(f"orders-0: by its batches the transaction at offset {stable} is open" in n for n in notes)
    return stable


def in_transaction(offset: int, producer: int, marker: str | None = None, epoch: int = 0) -> ListedBatch:
    return ListedBatch(
        *(offset, offset, 1, 70),
        producer_id=producer,
        producer_epoch=epoch,
        is_transactional=True,
        is_control=marker is not None,
        marker=marker,
    )


@pytest.mark.everyday(6)
@pytest.mark.parametrize(("case", "stage"), STAGES, ids=[f"{case.name}-{stage}" for case, stage in STAGES])
def test_the_batches_of_a_broker_tell_its_last_stable_offset(case: GoldenCase, stage: str) -> None:
    for log, batches in (case.batches(stage) or {}).items():
        facts = case.stage_log(stage, log)
        stable = stable_of(LogContext(batches=packed(batches))) if batches else None
        assert (facts.log_end_offset if stable is None else stable) == facts.last_stable_offset


@pytest.mark.everyday(20)
@pytest.mark.parametrize("seed", range(150))
def test_the_batches_of_a_model_tell_it(seed: int) -> None:
    log = aborting_log(seed).log if seed % 2 else random_log(seed, transactions=True).log
    context = replace(contexts_of(log, with_batches=True), last_stable_offset=None)
    expected = last_stable_offset_of(log)
    assert stable_of(context) == (expected if expected < log.log_end else None)


def test_a_marker_ends_the_transaction_of_its_producer_alone() -> None:
    idempotent = ListedBatch(0, 0, 1, 70, producer_id=3)
    without_data = in_transaction(1, 4, "COMMIT")  # what it ended was cleaned away
    fenced = [in_transaction(2, 1), in_transaction(3, 2), in_transaction(4, 1, "ABORT", epoch=1)]
    batches = packed([idempotent, without_data, *fenced])
    assert stable_of(LogContext(batches=batches)) == 3
    assert stable_of(LogContext(batches=packed([idempotent, without_data]))) is None


def test_a_given_last_stable_offset_may_lie_below_but_not_above() -> None:
    batches = packed([ListedBatch(0, 0, 1, 70), in_transaction(1, 1), ListedBatch(2, 2, 1, 70)])
    lower = LogContext(batches=batches, last_stable_offset=1)
    assert with_open_transactions({7: lower}, ORDERS) == ({7: lower}, [])
    with pytest.raises(InputError, match="--last-stable-offset orders-0=2: by its batches the transaction"):
        with_open_transactions({7: replace(lower, last_stable_offset=2)}, ORDERS)
