"""The question, and all that is known beside the dumps."""

from dataclasses import dataclass, field
from functools import cached_property

from kcompact.broker.log_names import LogName
from kcompact.dumps.records.record_contents import CONTENT
from kcompact.verify.classification.bounds import Bounds
from kcompact.verify.rows.key_rows import Lacking


@dataclass(frozen=True)
class Question:
    """``logs`` are the logs of all dumps by log_id; ``compared`` the parts of a record that count.

    ``doubted`` are those that may differ where the record is the same; ``lacking`` are, for BEFORE and AFTER,
    the splits that do not have a part.
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
        """The place of each log among all, by topic and partition."""
        return {log_id: number for number, log_id in enumerate(sorted(self.logs, key=self.logs.__getitem__))}
