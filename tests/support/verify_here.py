"""Verifies records in this process: with the same classification, but without Spark."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from index_frames import index_table, logs_of
from kcompact.dumps.records.record import Record, log_id_of
from kcompact.engine.blocks import row_blocks
from kcompact.engine.shuffle import Sent, send_in_process
from kcompact.rules.lookups import Lookup
from kcompact.verify.classification.bounds import Bounds
from kcompact.verify.compacted import verify_compacted
from kcompact.verify.outcome import VerifyOutcome
from kcompact.verify.pipeline import verify_compaction
from kcompact.verify.question import Question
from kcompact.verify.rows.disorder import Disorder
from kcompact.verify.rows.keyed_rows import AFTER, BEFORE, COLUMNS, OrderInSplits, by_key
from kcompact.verify.rows.pairs import Pairs, ShareReader
from kcompact.verify.rows.unaffected_keys import Rules, rules_alone, rules_of


def rows_of(records: Sequence[Record]) -> pa.Table:
    """Index rows of one split of one file, as verification reads them."""
    order = OrderInSplits()
    batches = index_table(records, COLUMNS).to_batches() or [
        pa.RecordBatch.from_pylist([], index_table(records, COLUMNS).schema)
    ]
    return pa.Table.from_batches([order.add(batch) for batch in batches])


def pairs_of(before: pa.Table | None, after: pa.Table, receivers: int = 1) -> Pairs:
    """The rows of two dumps (``before`` None: of AFTER alone), sent by key in this process."""

    def work(_: int) -> Sent:
        for kind, rows in ((BEFORE, before), (AFTER, after)):
            if rows is not None:
                yield from row_blocks(kind, rows, by_key(rows, receivers))

    return Pairs(send_in_process(1, receivers, work), receivers, ShareReader(is_alone=before is None))


def in_order(before: pa.Table | None, after: pa.Table, question: Question) -> tuple[Pairs, Disorder]:
    """The pair with its records in order, and the disorder that was found."""
    return pairs_of(before, after).in_order(question, ({}, {}))


def judge_pair(
    question: Question,
    before: Sequence[Record],
    after: Sequence[Record],
    lookups: Mapping[int, Lookup] | None = None,
    *,
    settles: bool = True,
) -> VerifyOutcome:
    """Verify that AFTER is a compaction of BEFORE. ``settles`` false: no key is set aside as unaffected."""
    question = knowing_after(question, after)
    rules = rules_of(question, lookups or {})
    pairs, disorder = in_order(rows_of(before), rows_of(after), question)
    return verify_compaction(pairs, question, rules if settles else affected(rules), disorder)


def judge_alone(
    question: Question,
    records: Sequence[Record],
    lookups: Mapping[int, Lookup] | None = None,
    *,
    settles: bool = True,
) -> VerifyOutcome:
    """Verify that a dump is fully compacted."""
    rules, rows = rules_alone(question, lookups or {}), rows_of(records)
    pairs, disorder = in_order(None, rows, question)
    return verify_compacted(pairs, question, rules if settles else affected(rules), disorder)


def knowing_after(question: Question, after: Sequence[Record]) -> Question:
    """The question, with the first offset of each log in AFTER."""
    firsts: dict[int, int] = {}
    for r in after:
        log_id = log_id_of(r.topic, r.partition)
        firsts[log_id] = min(r.offset, firsts.get(log_id, r.offset))
    bounds = {
        log_id: replace(one, knowledge=replace(one.knowledge, after_first_offset=firsts.get(log_id)))
        for log_id, one in question.bounds.items()
    }
    return replace(question, bounds=bounds)


def affected(rules: Rules) -> Rules:
    """Rules by which every key is affected."""
    return Rules({}, rules.lookups, rules.compared)


def question_of(
    before: Sequence[Record], after: Sequence[Record], bounds: Bounds, max_findings: int = 10_000
) -> Question:
    """A question with the same bounds for all logs."""
    logs = logs_of(before, after)
    return Question(logs, ("before",), "after", dict.fromkeys(logs, bounds), max_findings=max_findings)
