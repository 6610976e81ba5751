"""All golden pairs as one pair of dumps, verified with any part of the facts known about their logs."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from golden_cases import GoldenCase, Log, golden_cases
from golden_model import config_of
from index_frames import index_table, logs_of
from kcompact.broker.log_context import LogContext
from kcompact.cleaner.tracked import INDEXED
from kcompact.dumps.records.record import Record, log_id_of
from kcompact.rules.policy import Policy
from kcompact.verify.classification.bounds import Bounds
from kcompact.verify.classification.verify_context import VerifyContext, bounds_of, with_knowledge
from kcompact.verify.outcome import VerifyOutcome
from kcompact.verify.question import Question
from log_frames import keyed_rows, summaries_of
from packed_batches import packed
from small_maps import with_map_of
from verify_here import judge_pair

PAIRS = [
    (case, i) for case in golden_cases() for i in range(len(case.pairs)) if not case.name.startswith("w08b")
]


def name_of(case: GoldenCase, i: int, topic: str) -> str:
    """The topic of a pair, so that all pairs stand side by side in one dump."""
    return f"{case.name}/{i}/{topic}"


@cache
def records_of(stage_index: int) -> tuple[Record, ...]:
    """The records of all BEFOREs (``stage_index`` 0) or AFTERs (1)."""
    return tuple(
        r._replace(topic=name_of(case, i, r.topic))
        for case, i in PAIRS
        for r in case.records(case.pairs[i][stage_index])
    )


def policy_of(case: GoldenCase, i: int, log: Log) -> Policy:
    config = config_of(case.configs(i, log[0]), offset_map_limit=case.offset_map_limit)
    rounds = [one.now_ms for one in case.rounds(i) if one.log == log]
    now_ms = max(rounds, default=case.facts["stages"][case.pairs[i][1]]["takenAtMs"])
    return with_map_of(config.offset_map_limit, Policy(**config.shared(), now_ms=now_ms))


def contexts_of(case: GoldenCase, i: int, log: Log, checkpoint_stage: int) -> LogContext:
    stage = case.pairs[i][0]
    told, table = case.stage_log(stage, log), case.batches(stage)
    return LogContext(
        segments=told.segments,
        batches=packed(table[log]) if table else None,
        log_end_offset=told.log_end_offset,
        last_stable_offset=told.last_stable_offset,
        checkpoint_offset=case.checkpoint(case.pairs[i][checkpoint_stage]).get(log),
    )


@dataclass(frozen=True)
class Known:
    """The files and options that ``verify`` is given; ``checkpoint_stage``: BEFORE's (0) or AFTER's (1)."""

    checkpoint_stage: int | None = None
    policy: bool = False
    segments: bool = False
    batches: bool = False
    offsets: bool = False

    @property
    def configs(self) -> frozenset[str]:
        """The configs that count as given, as by a file of the topic: one without a lag says that it is 0."""
        given = {"cleanup.policy", "delete.retention.ms", "min.compaction.lag.ms"}
        return frozenset(given if self.policy else ())

    def log_of(self, full: LogContext) -> LogContext:
        return LogContext(
            segments=full.segments if self.segments else None,
            batches=full.batches if self.batches else None,
            log_end_offset=full.log_end_offset if self.offsets else None,
            last_stable_offset=full.last_stable_offset if self.offsets else None,
            checkpoint_offset=None if self.checkpoint_stage is None else full.checkpoint_offset,
        )


def verify(known: Known, after: Sequence[Record] | None = None) -> VerifyOutcome:
    """Verify all pairs at once; ``after``: AFTERs in place of the broker's."""
    before, after = records_of(0), records_of(1) if after is None else after
    logs = logs_of(before, after)
    context, policies = dict.fromkeys(logs, LogContext()), {}
    for case, i in PAIRS:
        for log in case.logs:
            log_id = log_id_of(name_of(case, i, log[0]), log[1])
            context[log_id] = known.log_of(contexts_of(case, i, log, known.checkpoint_stage or 0))
            policy = policy_of(case, i, log)
            policies[log_id] = policy if known.policy else Policy(now_ms=policy.now_ms)
    told = VerifyContext(
        {i: context[i] for i in logs_of(before)},
        {i: policies[i] for i in logs_of(before)},
        None,
        dict.fromkeys(logs, known.configs),
        tells_checkpoints=known.checkpoint_stage is not None,
    )
    table = index_table(before, INDEXED)
    bounds = {i: Bounds(policies[i]) for i in logs_of(before)}
    if told.bounds_rounds:
        bounds |= bounds_of(keyed_rows(table), summaries_of(table), told)
    firsts, runs = first_offsets(after), runs_of(before)
    bounds = {i: with_knowledge(one, i, told, runs.get(i, ()), firsts.get(i)) for i, one in bounds.items()}
    question = Question(logs, ("before",), "after", bounds, max_findings=1000)
    return judge_pair(question, before, after, told.lookups)


def first_offsets(records: Sequence[Record]) -> dict[int, int]:
    return {i: min(offsets) for i, offsets in offsets_by_log(records).items()}


def runs_of(records: Sequence[Record]) -> dict[int, list[np.ndarray]]:
    """The offsets of each log as runs, each offset as a run of its own."""
    return {
        i: [np.array([[offset, offset + 1] for offset in offsets])]
        for i, offsets in offsets_by_log(records).items()
    }


def offsets_by_log(records: Sequence[Record]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for r in records:
        found.setdefault(log_id_of(r.topic, r.partition), []).append(r.offset)
    return found
