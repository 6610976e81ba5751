"""GitLab's code quality report: a JSON list that merge requests show."""

import hashlib
from typing import Any

from kcompact.printable import terminal
from kcompact.report.ci.ci import CiFinding, CiLevel, CiReport
from kcompact.report.json_document import json_document

_SEVERITIES = {CiLevel.ERROR: "major", CiLevel.WARNING: "minor", CiLevel.NOTICE: "info"}


def render_code_quality(report: CiReport) -> str:
    """One issue per finding, at the first line of its file; the same finding has the same fingerprint."""
    return json_document([_issue(report, finding) for finding in report.findings])


def _issue(report: CiReport, finding: CiFinding) -> dict[str, Any]:
    text = f"{finding.title}: {finding.text}"
    fingerprint = hashlib.sha256(f"{report.command}\0{finding.file}\0{text}".encode("utf-8", "replace"))
    return {
        "description": terminal(text),
        "check_name": f"kcompact {report.command}",
        "fingerprint": fingerprint.hexdigest(),
        "severity": _SEVERITIES[finding.level],
        "location": {"path": finding.file, "lines": {"begin": 1}},
    }
