"""Lines that a broker's cleaner would log after each round of ``compact``, to compare with its own log.

Lines with nothing but durations are left out; all others are as the broker writes them, with all figures.
"""

from collections.abc import Iterator, Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from kcompact.printable import terminal
from kcompact.report.compact.compaction_report import CompactionReport
from kcompact.rules.capacity import DEFAULT_MAP_SLOTS

_BYTES_PER_MB = 1 << 20
_THREAD = "[kafka-log-cleaner-thread-0]"


def render_broker_log(report: CompactionReport) -> str:
    """The rounds, log by log."""
    lines: list[str] = []
    for log in report.logs:
        name = f"{terminal(log.topic)}-{log.partition}"
        for figures in log.rounds:
            lines += _round(name, figures)
    return "".join(f"{line}\n" for line in lines)


def _round(name: str, figures: Mapping[str, Any]) -> Iterator[str]:
    dirty = f"[{figures['first_dirty_offset']}, {figures['next_dirty_offset']}]"
    filled = figures["buffer_utilization"]
    if filled is None:  # the map is unlimited: the share of a broker's default map that it would fill
        filled = figures["map_entries"] / DEFAULT_MAP_SLOTS
    yield f"INFO {_THREAD}: "
    yield f"\tLog cleaner thread 0 cleaned log {name} (dirty section = {dirty})"
    yield f"\tBuffer utilization: {_tenths(100 * filled)}%"
    yield f"\tStart size: {_size(figures['bytes_read'], figures['messages_read'])}"
    yield f"\tEnd size: {_size(figures['bytes_written'], figures['messages_written'])}"
    size = _reduction(figures["bytes_read"], figures["bytes_written"])
    messages = _reduction(figures["messages_read"], figures["messages_written"])
    yield f"\t{size}% size reduction ({messages}% fewer messages)"
    invalid = figures["invalid_messages_read"]
    if invalid:
        yield f"WARN {_THREAD}: \tFound {invalid} invalid messages during compaction."


def _size(size_bytes: int, messages: int) -> str:
    return f"{_tenths(size_bytes / _BYTES_PER_MB)} MB ({messages:,} messages)"


def _reduction(before: int, after: int) -> str:
    return _tenths(100 * (1 - after / before)) if before else "NaN"


def _tenths(number: float) -> str:
    """One decimal, rounded as Java's formatter does: halves go up."""
    return f"{Decimal(number).quantize(Decimal('0.1'), ROUND_HALF_UP):,}"
