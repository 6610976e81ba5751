"""An inspection for CI servers."""

from kcompact.inspect.inspection import Inspection
from kcompact.inspect.severity import Finding, Level
from kcompact.report.ci.ci import CiCase, CiFinding, CiLevel, CiReport
from kcompact.report.inspect.inspection_text import place

_LEVELS = {Level.ERROR: CiLevel.ERROR, Level.WARNING: CiLevel.WARNING, Level.NOTE: CiLevel.NOTICE}
_READ = "the dump can be read"


def ci_report(found: Inspection, failing: Level | None) -> CiReport:
    """One case per kind of finding, and one that holds; ``failing`` is the first level that fails a case."""
    kinds: dict[str, list[Finding]] = {}
    for finding in found.findings:
        kinds.setdefault(finding.code, []).append(finding)
    cases = [_case(found, code, some, failing) for code, some in kinds.items()]
    inputs = ", ".join(file.path for file in found.files[:3])
    return CiReport(
        "inspect",
        "dump",
        f"what is in {inputs}?",
        found.verdict,
        not any(case.fails for case in cases),
        [CiCase(_READ), *cases],
        found.notes,
    )


def _case(found: Inspection, code: str, some: list[Finding], failing: Level | None) -> CiCase:
    file = found.files[0].path if len(found.files) == 1 else ""
    findings = tuple(CiFinding(_LEVELS[one.level], f"{code}{_where(one)}", one.text, file) for one in some)
    fails = failing is not None and any(one.level >= failing for one in some)
    return CiCase(code, findings, len(some), fails)


def _where(finding: Finding) -> str:
    return f" in {place(finding).removesuffix(': ')}" if finding.topic is not None else ""
