"""The dump in one line: how much there is, what compaction would bring, what to look at first."""

from collections.abc import Sequence

from kcompact.inspect.findings import Finding, Level
from kcompact.inspect.inspection import LogFacts

_HARDLY = 0.1  # share of records that compaction has to remove to be worth a word
_ENOUGH_KEYS = 100  # below, nothing is said about growth
_STEADY = 0.8
_SETTLED = 0.05


def verdict(logs: Sequence[LogFacts], findings: Sequence[Finding]) -> str:
    """One sentence or two."""
    records = sum(log.records for log in logs)
    if not records:
        return "the dump holds no records"
    keys, live = sum(log.keys for log in logs), sum(log.live_keys for log in logs)
    topics = len({log.topic for log in logs})
    where = f"{len(logs):,} {'partition' if len(logs) == 1 else 'partitions'}"
    where += f" of {topics:,} topics" if topics > 1 else ""
    parts = [f"{records:,} records, {live:,} live of {keys:,} keys in {where}", _saving(logs, records, keys)]
    parts += [text for text in (_growth(logs, keys),) if text]
    return "; ".join(parts) + _worst(findings)


def _saving(logs: Sequence[LogFacts], records: int, keys: int) -> str:
    superseded = records - sum(log.null_keys + log.repeated_offsets for log in logs) - keys
    if superseded < _HARDLY * records:
        return "almost every record has its own key, so compaction can hardly help"
    return f"compaction can remove {superseded:,} superseded records ({100 * superseded / records:.0f} %)"


def _growth(logs: Sequence[LogFacts], keys: int) -> str | None:
    """Whether new keys keep coming, by the tenths of each log."""
    new = [sum(log.slices[at].new_keys for log in logs) for at in range(len(logs[0].slices))]
    if keys < _ENOUGH_KEYS or not new:
        return None
    half = len(new) // 2
    if sum(new[half:]) >= _STEADY * sum(new[:half]):
        return "new keys keep coming at a steady rate, so it grows whatever is cleaned"
    if sum(new[-3:]) <= _SETTLED * keys:
        return "hardly any new keys come any more"
    return None


def _worst(findings: Sequence[Finding]) -> str:
    for level, name in ((Level.ERROR, "error"), (Level.WARNING, "warning")):
        found = [finding for finding in findings if finding.level is level]
        if found:
            more = f" (and {len(found) - 1:,} more)" if len(found) > 1 else ""
            where = f"{found[0].topic}: " if found[0].topic else ""
            return f". First {name}{more}: {where}{found[0].text}"
    return ""
