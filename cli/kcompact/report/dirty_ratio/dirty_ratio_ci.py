"""The dirty-ratio report for CI servers."""

from kcompact.report.ci import CiCase, CiFinding, CiLevel, CiReport
from kcompact.report.dirty_ratio.dirty_ratio_report import DirtyRatioReport, LogReport, verdict


def ci_report(report: DirtyRatioReport, fail_above: float | None) -> CiReport:
    """One case per log; it fails where its ratio is above the limit."""
    above = report.above(fail_above) if fail_above is not None else []
    eligible = [log for log in report.logs if log.dirtiness.eligible]
    limit = "" if fail_above is None else f"; {len(above):,} above {fail_above:g}"
    return CiReport(
        "dirty-ratio",
        "log",
        "which logs would a broker clean now?",
        f"{len(eligible):,} of {len(report.logs):,}{limit}",
        not above,
        [_case(report, log, fails=log in above) for log in report.logs],
        report.notes,
    )


def _case(report: DirtyRatioReport, log: LogReport, *, fails: bool) -> CiCase:
    name = f"dirty ratio of {log.log}"
    if not fails and not log.dirtiness.eligible:
        return CiCase(name)
    file = report.inputs[0] if len(report.inputs) == 1 else ""
    never = "; no checkpoint is given, so it counts as never cleaned" if log.estimate else ""
    text = f"{log.dirtiness.ratio.ratio:.4f}; would be cleaned: {verdict(log.dirtiness)}{never}"
    level = CiLevel.ERROR if fails else CiLevel.NOTICE
    return CiCase(name, (CiFinding(level, name, text, file),), 1, fails)
