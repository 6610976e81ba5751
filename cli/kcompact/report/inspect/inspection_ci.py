"""An inspection for CI servers."""

from kcompact.inspect.inspection import Inspection
from kcompact.inspect.severity import Finding, Level
from kcompact.report.ci import CiCase, CiFinding, CiLevel, CiReport
from kcompact.report.inspect.inspection_text import place

_LEVELS = {Level.ERROR: CiLevel.ERROR, Level.WARNING: CiLevel.WARNING, Level.NOTE: CiLevel.NOTICE}
_READ = "the dump can be read"


def ci_report(inspection: Inspection, failing: Level | None) -> CiReport:
    """One case per kind of finding, and one that holds; ``failing`` is the first level that fails a case."""
    kinds: dict[str, list[Finding]] = {}
    for finding in inspection.findings:
        kinds.setdefault(finding.code, []).append(finding)
    cases = [_case(inspection, code, findings, failing) for code, findings in kinds.items()]
    inputs = ", ".join(file.path for file in inspection.files[:3])
    return CiReport(
        "inspect",
        "dump",
        f"what is in {inputs}?",
        inspection.verdict,
        not any(case.fails for case in cases),
        [CiCase(_READ), *cases],
        inspection.notes,
    )


def _case(inspection: Inspection, code: str, findings: list[Finding], failing: Level | None) -> CiCase:
    file = inspection.files[0].path if len(inspection.files) == 1 else ""
    ci_findings = tuple(
        CiFinding(_LEVELS[finding.level], f"{code}{_where(finding)}", finding.text, file)
        for finding in findings
    )
    fails = failing is not None and any(finding.level >= failing for finding in findings)
    return CiCase(code, ci_findings, len(findings), fails)


def _where(finding: Finding) -> str:
    return f" in {place(finding).removesuffix(': ')}" if finding.topic is not None else ""
