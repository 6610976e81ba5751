"""The inputs that all workers of the full form share."""

from collections.abc import Mapping
from dataclasses import dataclass

from kcompact.compact.plain_copying import RenderGaps, RenderRemoved
from kcompact.dumps.output.workplace import Workplace
from kcompact.dumps.writers.converting import Copier
from kcompact.engine.passes.index_pass import IndexPlan
from kcompact.rules.verdicts import Verdict

REASON_NAMES = {
    Verdict.SUPERSEDED: "superseded",
    Verdict.EXPIRED_TOMBSTONE: "expired_tombstone",
    Verdict.KEYLESS: "keyless",
    Verdict.ABORTED: "aborted",
    Verdict.EXPIRED: "expired",
    Verdict.EXPIRED_MARKER: "expired_marker",
}
"""The words of a report. A repeated record is no removal: it is counted for itself."""


@dataclass(frozen=True)
class FullJob:
    """The plan, the output and the reports of one run. Picklable. ``names``: (topic, partition) by log id."""

    plan: IndexPlan
    workplace: Workplace
    copier: Copier | None
    render_removed: RenderRemoved
    render_gaps: RenderGaps
    names: Mapping[int, tuple[str, int]]
    sorted_files: frozenset[int] = frozenset()  # files that come out in offset order
    has_state: bool = False  # records are to be remembered

    def ranks(self) -> dict[int, int]:
        """Place of each log among all, by topic and partition."""
        ordered = sorted(self.names, key=lambda log_id: self.names[log_id])
        return {log_id: rank for rank, log_id in enumerate(ordered)}
