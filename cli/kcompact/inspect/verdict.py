"""The dump in one line: how much there is, what compaction would bring, what to look at first."""

from collections.abc import Sequence

from kcompact.counted import counted
from kcompact.inspect.inspection import LogFacts
from kcompact.inspect.severity import Finding, Level

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
    where = counted(len(logs), "partition")
    where += f" of {topics:,} topics" if topics > 1 else ""
    size = f"{counted(records, 'record')}, {live:,} live of {counted(keys, 'key')} in {where}"
    parts = [size, _saving(logs, records, keys), _growth(logs, keys), _graver(findings)]
    return "; ".join(part for part in parts if part)


def _saving(logs: Sequence[LogFacts], records: int, keys: int) -> str:
    if not keys:
        return "no record has a key, so there is nothing to compact by"
    if records == 1:
        return "one record leaves nothing to compact"
    superseded = records - sum(log.null_keys + log.repeated_offsets for log in logs) - keys
    if superseded < _HARDLY * records:
        return "almost every record has its own key, so compaction can hardly help"
    share = f"({100 * superseded / records:.0f} %)"
    return f"compaction can remove {counted(superseded, 'superseded record')} {share}"


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


def _graver(findings: Sequence[Finding]) -> str | None:
    """How many errors and warnings there are, which are listed by themselves."""
    levels = [finding.level for finding in findings]
    level_counts = [counted(levels.count(level), level.name.lower()) for level in _GRAVER if level in levels]
    return ", ".join(level_counts) or None


_GRAVER = (Level.ERROR, Level.WARNING)
