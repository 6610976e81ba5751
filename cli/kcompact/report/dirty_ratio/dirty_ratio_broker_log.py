"""Lines that a broker's cleaner would log when it looks for work: to compare with its own log."""

from kcompact.printable import terminal
from kcompact.report.dirty_ratio.dirty_ratio_report import DirtyRatioReport, LogReport


def render_broker_log(report: DirtyRatioReport) -> str:
    """Lines in the order of a broker: resets (R1), then the logs as they are taken (R9), then the totals."""
    lines = [_reset(log) for log in report.logs if log.dirtiness.range.checkpoint_reset]
    lines += [_taken(log) for log in report.logs if log.dirtiness.eligible]
    eligible = sum(log.dirtiness.eligible for log in report.logs)
    delays = [log.dirtiness.ratio.compaction_delay_ms for log in report.logs]
    lines.append(
        f"INFO [kafka-log-cleaner-thread-0]: \tCleanable partitions: {eligible},"
        f" Delayed partitions: {sum(delay > 0 for delay in delays)}, max delay: {max(delays, default=0)}"
    )
    return "\n".join(map(_line, lines)) + "\n"


def _reset(log: LogReport) -> str:
    bounds, checkpoint = log.dirtiness.bounds, log.checkpoint_offset or 0
    if checkpoint > bounds.log_end_offset:
        return (
            f"WARN The last checkpoint dirty offset for partition {log.log} is {checkpoint}, which is larger"
            f" than the log end offset {bounds.log_end_offset}. Resetting to the log start offset"
            f" {bounds.log_start_offset}."
        )
    return (
        f"WARN Resetting first dirty offset of {log.log} to log start offset {bounds.log_start_offset}"
        f" since the checkpointed offset {checkpoint} is invalid."
    )


def _taken(log: LogReport) -> str:
    cleanable = log.dirtiness.range
    first_dirty, end_offset = cleanable.first_dirty_offset, cleanable.first_uncleanable_offset
    count = ""
    if log.dirtiness.segments is not None:
        bases = [segment.base_offset for segment in log.dirtiness.segments]
        lower_bases = [base for base in bases if base <= first_dirty]
        first_base = lower_bases[-1] if lower_bases else first_dirty
        count = f" for {sum(first_base <= base < end_offset for base in bases)} segments"
    return (
        f"INFO Cleaner 0: Building offset map for log {log.log}{count}"
        f" in offset range [{first_dirty}, {end_offset})."
    )


def _line(line: str) -> str:
    head, tab, tail = line.partition("\t")
    return terminal(head) + tab + terminal(tail)
