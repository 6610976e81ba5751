"""The report of ``compact``: made once, rendered in many forms; of these, ``report.json``."""

from dataclasses import asdict, dataclass, field
from typing import Any

from kcompact.compact.totals import LogOutcome
from kcompact.printable import printable_key
from kcompact.report.json_document import json_document

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


def render_json(report: CompactionReport) -> str:
    """The report as JSON, keys in a stable order, in the shape that the README documents."""
    return json_document(
        {
            "schema_version": SCHEMA_VERSION,
            "command": "compact",
            "dry_run": report.dry_run,
            "inputs": report.inputs,
            "recognised": report.recognised,
            "outputs": report.outputs,
            "policies": report.policies,
            "logs": [_log(log) for log in report.logs],
            "keys_in_several_partitions": {
                "count": report.shared_keys,
                "examples": [
                    {"topic": shared.topic, "key": printable_key(shared.key)}
                    for shared in report.shared_key_examples
                ],
            },
            "notes": report.notes,
            "warnings": report.warnings,
            "run": report.run,
        }
    )


def _log(log: LogOutcome) -> dict[str, Any]:
    figures = asdict(log)
    del figures["log_id"]
    return figures
