"""The report of ``compact``: made once, rendered as text, JSON and Markdown."""

from dataclasses import dataclass, field
from typing import Any

from kcompact.compact.totals import LogOutcome

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class SharedKey:
    """A key that is in several partitions of a topic."""

    topic: str
    key: bytes


@dataclass
class CompactionReport:
    """The report of one run of ``compact``; bytes are bytes in the dump.

    Whatever depends on the clock or the machine is under ``run``: the rest is the same for the same input.
    """

    logs: list[LogOutcome]
    inputs: list[str]
    outputs: list[str]
    policies: dict[str, dict[str, Any]]  # by topic
    recognised: list[str]
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    shared_keys: int = 0
    shared_key_examples: list[SharedKey] = field(default_factory=list)
    dry_run: bool = False
    run: dict[str, Any] = field(default_factory=dict)
