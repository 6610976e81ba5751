"""``report.json``: the compaction report for programs."""

from dataclasses import asdict
from typing import Any

from kcompact.compact.totals import LogOutcome
from kcompact.report.compact.compaction_report import SCHEMA_VERSION, CompactionReport
from kcompact.report.inert import printable_key
from kcompact.report.json_document import json_document


def render_json(report: CompactionReport) -> bytes:
    """The report as JSON, keys in a stable order."""
    return json_document(as_dict(report))


def as_dict(report: CompactionReport) -> dict[str, Any]:
    """The report as plain values, in the shape that the README documents."""
    return {
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


def _log(log: LogOutcome) -> dict[str, Any]:
    figures = asdict(log)
    del figures["log_id"]
    rounds = figures.pop("rounds")
    return {**figures, "rounds": rounds}
