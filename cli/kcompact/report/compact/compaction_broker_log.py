"""Lines that a broker's cleaner logs after each round, for the rounds of ``compact``: to be compared.

The lines that only tell how long something took are left out; all others are the broker's, figure by figure.
"""

from collections.abc import Iterator, Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from kcompact.report.compact.compaction_report import CompactionReport
from kcompact.report.inert import terminal
from kcompact.rules.capacity import DEFAULT_MAP_SLOTS

_BYTES_PER_MB = 1 << 20
_THREAD = "[kafka-log-cleaner-thread-0]"


def render_broker_log(report: CompactionReport) -> str:
    """The rounds, log by log."""
    lines: list[str] = []
    for log in report.logs:
        name = f"{terminal(log.topic)}-{log.partition}"
        for one in log.rounds:
            lines += _round(name, one)
    return "".join(f"{line}\n" for line in lines)


def _round(name: str, one: Mapping[str, Any]) -> Iterator[str]:
    dirty = f"[{one['first_dirty_offset']}, {one['next_dirty_offset']}]"
    filled = one["buffer_utilization"]
    if filled is None:  # an unlimited map: as much of a broker's default one as it would fill
        filled = one["map_entries"] / DEFAULT_MAP_SLOTS
    yield f"INFO {_THREAD}: "
    yield f"\tLog cleaner thread 0 cleaned log {name} (dirty section = {dirty})"
    yield f"\tBuffer utilization: {_tenths(100 * filled)}%"
    yield f"\tStart size: {_size(one['bytes_read'], one['messages_read'])}"
    yield f"\tEnd size: {_size(one['bytes_written'], one['messages_written'])}"
    size = _reduction(one["bytes_read"], one["bytes_written"])
    messages = _reduction(one["messages_read"], one["messages_written"])
    yield f"\t{size}% size reduction ({messages}% fewer messages)"
    if one["invalid_messages_read"]:
        yield f"WARN {_THREAD}: \tFound {one['invalid_messages_read']} invalid messages during compaction."


def _size(size_bytes: int, messages: int) -> str:
    return f"{_tenths(size_bytes / _BYTES_PER_MB)} MB ({messages:,} messages)"


def _reduction(before: int, after: int) -> str:
    return _tenths(100 * (1 - after / before)) if before else "NaN"


def _tenths(number: float) -> str:
    """One decimal, rounded as Java's formatter does: halves go up."""
    return f"{Decimal(number).quantize(Decimal('0.1'), ROUND_HALF_UP):,}"
