"""The records that need classification: a pair of dumps without the keys that a cleaning explains."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import pyarrow as pa

from kcompact.arrays import Flags, Longs
from kcompact.verify.classification.classified_rows import ClassifiedRows
from kcompact.verify.classification.evidence import added_up
from kcompact.verify.classification.known_log import KnownLog, PairFacts, facts_of
from kcompact.verify.classification.suspects import Suspects
from kcompact.verify.findings import Findings, find, together
from kcompact.verify.outcome import VerifiedLog
from kcompact.verify.question import Question
from kcompact.verify.rows.doubted_differences import doubts_about
from kcompact.verify.rows.key_rows import KeyRows, key_rows
from kcompact.verify.rows.pairs import Pairs, Share, Sifting
from kcompact.verify.rows.unaffected_keys import (
    Rules,
    Unaffected,
    UnaffectedLog,
    find_unaffected,
    taken_flags,
)

T = TypeVar("T")


@dataclass(frozen=True)
class AffectedPairs:
    """The records of the keys that need classification, and figures of the other keys by log id.

    ``rows_of`` turns a share into its records side by side, and flags those of BEFORE at whose place (log and
    offset) AFTER holds a record of another key. ``taken_rows`` are the index rows of the flagged records.
    """

    question: Question
    pairs: Pairs
    unaffected: Mapping[int, UnaffectedLog]
    rows_of: Callable[[Share], tuple[KeyRows, Flags]]
    taken_rows: pa.Table

    def facts(self) -> dict[int, PairFacts]:
        """Figures of whole logs, by log id."""
        rows_of, bounds = self.rows_of, self.question.bounds
        parts = self.pairs.ask(lambda share: facts_of(*rows_of(share), bounds))
        unaffected = {log_id: log.facts for log_id, log in self.unaffected.items()}
        return added_up([*parts, unaffected])

    def ask(self, known_logs: Mapping[int, KnownLog], look: Callable[[ClassifiedRows], T]) -> list[T]:
        """The results of ``look`` on the classified records of each share."""
        rows_of = self.rows_of
        return self.pairs.ask(lambda share: look(ClassifiedRows(*rows_of(share), known_logs)))

    def findings(self, known_logs: Mapping[int, KnownLog], of_order: Findings) -> Findings:
        """All findings; ``of_order`` are those that concern the order of records."""
        taken_rows, question = self.taken_rows, self.question
        parts = self.ask(known_logs, lambda classified: find(Suspects(classified, taken_rows, question)))
        return together([of_order, *parts], question)


def find_affected_pairs(
    pairs: Pairs, question: Question, rules: Rules, unaffected_logs: Mapping[int, UnaffectedLog]
) -> AffectedPairs:
    """Set the unaffected keys aside. ``unaffected_logs``: figures of those whose rows ``pairs`` lacks."""
    shares, affected_pairs = _sift(pairs, rules, None)
    arrivals = np.concatenate([unaffected.arrivals for unaffected, _ in shares])
    if len(arrivals):
        # Keys of BEFORE at whose place AFTER has another key are affected, too. These places are only known
        # now, so all shares are sifted once more.
        shares, affected_pairs = _sift(pairs, rules, arrivals)

    def rows_of(share: Share) -> tuple[KeyRows, Flags]:
        rows = key_rows(*share, question.compared, rules.lookups).comparing(question.lacking)
        doubts = doubts_about(rows, question.doubted, question.null_hashes)
        return replace(rows, doubts=doubts), taken_flags(rows, arrivals)

    return AffectedPairs(
        question,
        affected_pairs,
        added_up([unaffected_logs, *(unaffected.logs for unaffected, _ in shares)]),
        rows_of,
        pa.concat_tables([rows for _, rows in shares]),
    )


def _sift(
    pairs: Pairs, rules: Rules, arrivals: Longs | None
) -> tuple[list[tuple[Unaffected, pa.Table]], Pairs]:
    def look(share: Share) -> Sifting:
        unaffected = find_unaffected(*share, rules, arrivals)
        taken_rows = share[0].take(pa.array(unaffected.taken_at))
        return Sifting((unaffected.figures_only(), taken_rows), unaffected.rest_before, unaffected.rest_after)

    return pairs.sift(look)


def verified_logs(
    question: Question, known_logs: Mapping[int, KnownLog], removed: Mapping[int, Mapping[str, int]]
) -> dict[int, VerifiedLog]:
    """The logs by log id, in the order of reports. ``removed``: counts by reason, by log id."""
    return {
        log_id: VerifiedLog(
            *question.logs[log_id],
            records_before=known_logs[log_id].facts.records_before,
            records_after=known_logs[log_id].facts.records_after,
            removed=dict(sorted(removed.get(log_id, {}).items())),
            first_dirty_offset=known_logs[log_id].first_dirty_offset,
            cleaned_end_offset=known_logs[log_id].cleaned_end_offset,
            cleaned_end_is_given=known_logs[log_id].is_end_given,
        )
        for log_id in question.log_numbers
        if log_id in known_logs
    }
