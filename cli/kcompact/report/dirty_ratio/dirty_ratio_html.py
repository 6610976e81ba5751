"""The dirty-ratio report as one HTML file: how dirty each log is, and its what-if rows as curves."""

from collections.abc import Sequence

from kcompact.report.dirty_ratio.dirty_ratio_report import DirtyRatioReport, LogReport, verdict
from kcompact.report.dirty_ratio.dirty_ratio_tables import moment, tables
from kcompact.report.html_page import render, shown
from kcompact.report.pictures import MOST_PICTURED_LOGS, WIDTH, Bar, Curve, bar, curves

MOST_CURVES = 6


def render_html(report: DirtyRatioReport) -> str:
    """The whole report, in the order in which a cleaner would take the logs."""
    logs = report.logs[:MOST_PICTURED_LOGS]
    settings = [dirtiness.setting for dirtiness in logs[0].what_if] if logs else []
    values = [", ".join(f"{name}={text}" for name, text in setting.values) for setting in settings]
    drawn, largest = _curves(report.logs) if values else ([], 0)
    return render(
        "dirty_ratio.html",
        report=report,
        eligible=sum(log.dirtiness.eligible for log in report.logs),
        records=sum(log.dirtiness.gain.removable_records for log in report.logs),
        bytes=sum(log.dirtiness.gain.removable_bytes for log in report.logs),
        hidden_logs=len(report.logs) - len(logs),
        ratio_bars=[_ratio_bar(log) for log in logs],
        limits=[round(WIDTH * log.dirtiness.ratio.min_cleanable_dirty_ratio, 1) for log in logs],
        tombstone_bars=_tombstone_bars(logs),
        values=values,
        curves=drawn,
        largest=largest,
        tables=shown(tables(report)),
    )


def _ratio_bar(log: LogReport) -> Bar:
    """A bar of cleanable and clean bytes; its whole width is both together, so a ratio is a share of it."""
    ratio = log.dirtiness.ratio
    return bar(
        str(log.log),
        [
            ("aborted", "cleanable bytes", ratio.cleanable_bytes),
            ("missing", "clean bytes", ratio.clean_bytes),
        ],
        ratio.cleanable_bytes + ratio.clean_bytes,
        f"dirty ratio {ratio.ratio:.4f}; {verdict(log.dirtiness)}",
    )


def _tombstone_bars(logs: Sequence[LogReport]) -> list[Bar]:
    largest = max((log.perfect.tombstones for log in logs), default=0)
    bars = []
    for log in logs:
        gain = log.perfect
        until = "" if log.next_due_ms is None else f", the next from {moment(log.next_due_ms)} on"
        until += "" if log.last_due_ms is None else f", the last from {moment(log.last_due_ms)} on"
        unstamped = gain.tombstones - gain.stamped_tombstones
        amounts = [
            ("superseded", "horizon passed: the next round removes them", gain.due_tombstones),
            ("expired_tombstone", "horizon ahead", gain.stamped_tombstones - gain.due_tombstones),
            ("missing", "no horizon yet: the next round sets it", unstamped),
        ]
        note = f"{gain.tombstones:,} latest tombstones{until}"
        bars += [bar(str(log.log), amounts, largest, note)] if gain.tombstones else []
    return bars


def _curves(logs: Sequence[LogReport]) -> tuple[list[Curve], int]:
    """Removable bytes by what-if row: of all logs together, and of those with most; and the largest value."""

    def gains(log: LogReport) -> list[int]:
        return [dirtiness.gain.removable_bytes for dirtiness in log.what_if]

    total = [sum(column) for column in zip(*map(gains, logs), strict=True)]
    most = sorted(logs, key=lambda log: -max(gains(log)))[: MOST_CURVES - 1]
    series = [("all logs", total)] if len(logs) > 1 else []
    return curves([*series, *((str(log.log), gains(log)) for log in most)])
