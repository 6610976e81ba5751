"""A verification for programs; the README documents the shape."""

from dataclasses import asdict
from typing import Any

from kcompact.report.json_document import json_document
from kcompact.report.verify.verify_words import Keys
from kcompact.verify.check import Severity
from kcompact.verify.outcome import Finding, KeyEvidence, Outcome

SCHEMA_VERSION = 1


def render_json(outcome: Outcome, keys: Keys) -> str:
    """The whole outcome; keys are printable text, and in base64 beside it unless they are hashed."""
    return json_document(_as_dict(outcome, keys))


def _as_dict(outcome: Outcome, keys: Keys) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "command": "verify",
        "mode": outcome.mode,
        "before": list(outcome.before),
        "after": outcome.after,
        "holds": outcome.holds,
        "undecided": outcome.is_undecided,
        "counts": {
            name: {severity.value: outcome.counts_of(severity).get(name, 0) for severity in Severity}
            for name in outcome.checks
        },
        "tallies": [asdict(tally) for tally in outcome.tallies if tally.topic is not None],
        "facts": outcome.facts,
        "assumed": list(outcome.assumed),
        "logs": [asdict(log) for log in outcome.logs],
        "findings": [_finding(finding, keys) for finding in outcome.findings],
        "keys": [_evidence(evidence, keys) for evidence in outcome.evidence],
        "sha256": outcome.sha256,
        "run": {"now_ms": outcome.now_ms},
    }


def _finding(finding: Finding, keys: Keys) -> dict[str, Any]:
    values = {name: value for name, value in asdict(finding).items() if name != "found_key"}
    shown = {"key": keys.shown(finding.key), "found": keys.actual(finding)}
    return {**values, "severity": finding.severity.value, **shown}


def _evidence(evidence: KeyEvidence, keys: Keys) -> dict[str, Any]:
    return {**asdict(evidence), "key": keys.shown(evidence.key), "verdict": evidence.verdict.value}
