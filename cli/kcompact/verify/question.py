"""The question of a verification, with all that is known beside the dumps."""

from dataclasses import dataclass, field
from functools import cached_property

from kcompact.broker.log_names import LogName
from kcompact.dumps.records.record_contents import CONTENT
from kcompact.verify.classification.bounds import Bounds
from kcompact.verify.rows.key_rows import Lacking


@dataclass(frozen=True)
class Question:
    """The question about a pair of dumps.

    ``logs`` are the logs of all dumps by log id. ``compared`` are the columns of CONTENT that are compared;
    ``doubted`` are those that may differ although the record is the same. ``lacking``: for BEFORE and AFTER,
    the splits of files without a column. ``is_strict``: what is not certain is a finding, not a note.
    """

    logs: dict[int, LogName]
    before_name: tuple[str, ...]
    after_name: str
    bounds: dict[int, Bounds] = field(default_factory=dict)
    compared: frozenset[str] = frozenset(CONTENT)
    doubted: frozenset[str] = frozenset()
    lacking: tuple[Lacking, Lacking] = ({}, {})
    now_ms: int = 0
    is_strict: bool = False
    max_findings: int = 100
    null_hashes: tuple[bytes, ...] = ()  # of values that one of the dumps may have for null

    @cached_property
    def log_numbers(self) -> dict[int, int]:
        """By log id, the position of each log in the order of topics and partitions."""
        return {log_id: number for number, log_id in enumerate(sorted(self.logs, key=self.logs.__getitem__))}
