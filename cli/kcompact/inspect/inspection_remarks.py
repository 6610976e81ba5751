"""A dump in words: remarks as sentences, none of which is an error, and a verdict in one line."""

from collections.abc import Iterable, Iterator, Sequence

from kcompact.counted import counted
from kcompact.inspect.inspection import LogFacts, TopicFacts
from kcompact.inspect.severity import InspectFinding, Level
from kcompact.rules.capacity import DEFAULT_BUFFER_BYTES

_HARDLY = 0.1  # if compaction removes a smaller share of the records, it hardly helps
_ENOUGH_KEYS = 100  # if there are fewer, nothing is said about growth
_STEADY = 0.8  # new keys of a log's second half for each one of its first half
_SETTLED = 0.05  # share of all keys that are new in the last three tenths


def remarks_on(
    logs: Sequence[LogFacts], topics: Iterable[TopicFacts], *, byte_exact: bool = False
) -> list[InspectFinding]:
    """All remarks, errors before warnings before notes; those of one level in the order of ``_KINDS``.

    ``byte_exact``: keys are the bytes that Kafka had, so U+FFFD in one is no sign of damage.
    """
    remarks = [*_of_topics(topics), *_of_logs(logs), *_of_dump(logs, byte_exact=byte_exact)]
    return sorted(remarks, key=lambda remark: (-remark.level, _KINDS.index(remark.code)))


_KINDS = (
    "deleted-elsewhere",
    "cross-partition-keys",
    "null-keys",
    "repeated-offsets",
    "lossy-keys",
    "lookalike-keys",
    "no-tombstones",
    "unmarked-deletes",
    "word-null",
    "empty-values",
    "late-keys",
    "offset-order",
    "gaps",
    "dedupe-buffer",
)
"""The order in which remarks of one level are shown."""


def _of_topics(topics: Iterable[TopicFacts]) -> Iterator[InspectFinding]:
    for topic in topics:
        if topic.severe_keys:
            text = (
                f"{counted(topic.severe_keys, 'key')} deleted in one partition and alive in"
                " another: the tombstone never reaches the old value, which stays for good"
            )
            yield InspectFinding(Level.WARNING, "deleted-elsewhere", text, topic.topic)
        if topic.shared_keys:
            text = (
                f"{counted(topic.shared_keys, 'key')} in several partitions, each of which keeps"
                f" its own latest record; likely cause: {topic.placement.text}"
            )
            yield InspectFinding(Level.WARNING, "cross-partition-keys", text, topic.topic)
        for differ_by, count in topic.lookalike_keys.items():
            text = (
                f"{counted(count, 'key differs', 'keys differ')} from another"
                f" one only by {differ_by}: to a broker they are different"
            )
            yield InspectFinding(Level.WARNING, "lookalike-keys", text, topic.topic)


def _of_logs(logs: Iterable[LogFacts]) -> Iterator[InspectFinding]:
    for log in logs:
        place = log.topic, log.partition
        if log.null_keys:
            text = (
                f"{counted(log.null_keys, 'record')} without key, the first at offset"
                f" {', '.join(map(str, log.null_key_offsets))}: brokers refuse them in compacted topics, and"
                " cleaners drop those that were there before"
            )
            yield InspectFinding(Level.WARNING, "null-keys", text, *place)
        if log.repeated_offsets:
            records = counted(log.repeated_offsets, "record")
            text = f"{records} at an offset that occurs before: do exports overlap?"
            yield InspectFinding(Level.WARNING, "repeated-offsets", text, *place)
        if not log.in_offset_order:
            text = "the records are not in offset order in the dump"
            yield InspectFinding(Level.NOTE, "offset-order", text, *place)
        if log.dedupe_buffer_bytes is None or log.dedupe_buffer_bytes > DEFAULT_BUFFER_BYTES:
            size = log.dedupe_buffer_bytes or "more than any broker takes"
            text = (
                f"one cleaning round needs log.cleaner.dedupe.buffer.size={size} per cleaner thread;"
                f" with the default {DEFAULT_BUFFER_BYTES} it takes several"
            )
            yield InspectFinding(Level.NOTE, "dedupe-buffer", text, *place)


def _of_dump(logs: Sequence[LogFacts], *, byte_exact: bool) -> Iterator[InspectFinding]:
    """Counts over all logs."""
    if count := sum(log.lossy_keys for log in logs):
        text = f"{counted(count, 'key')} with U+FFFD: where an exporter put it, different keys became one"
        yield InspectFinding(Level.NOTE if byte_exact else Level.WARNING, "lossy-keys", text)
    if count := sum(log.unmarked_delete_keys for log in logs):
        text = (
            f'{counted(count, "key")} with a Debezium delete event (op "d") and no tombstone after it:'
            " compaction never removes these rows (tombstones.on.delete, or an exporter that drops nulls);"
            " --cdc debezium counts such deletes as tombstones"
        )
        yield InspectFinding(Level.WARNING, "unmarked-deletes", text)
    no_tombstone = "which is no tombstone: a key with it stays alive"
    if count := sum(log.values.word_null for log in logs):
        text = f"{counted(count, 'value is', 'values are')} the text null, {no_tombstone}"
        yield InspectFinding(Level.WARNING, "word-null", text)
    if count := sum(log.values.empty for log in logs):
        text = f"{counted(count, 'value is', 'values are')} empty, {no_tombstone}"
        yield InspectFinding(Level.NOTE, "empty-values", text)
    if count := sum(log.late_keys for log in logs):
        text = (
            f"{counted(count, 'key')} whose latest record by offset is not the latest by timestamp;"
            " compaction goes by offset"
        )
        yield InspectFinding(Level.NOTE, "late-keys", text)
    yield from _gaps(logs)


def _gaps(logs: Sequence[LogFacts]) -> Iterator[InspectFinding]:
    gaps = sum(log.gaps.count for log in logs)
    singles = sum(log.gaps.single_offset_gaps for log in logs)
    if not gaps:
        return
    missing = counted(sum(log.gaps.missing_offsets for log in logs), "offset is", "offsets are") + " missing"
    if not any(log.tombstones for log in logs):
        text = f"{missing} and there is no tombstone: did the exporter leave out deletes?"
        yield InspectFinding(Level.NOTE if singles == gaps else Level.WARNING, "no-tombstones", text)
    text = (
        f"{missing} in {counted(gaps, 'gap')}, {singles:,} of them a single offset as transaction markers"
        " leave; one dump alone cannot tell why: compaction, markers, aborted records, or loss"
    )
    yield InspectFinding(Level.NOTE, "gaps", text)


def verdict(logs: Sequence[LogFacts], findings: Sequence[InspectFinding]) -> str:
    """The verdict on a dump: counts of records and keys, what compaction can do, whether keys keep coming."""
    records = sum(log.records for log in logs)
    if not records:
        return "the dump holds no records"
    keys, live = sum(log.keys for log in logs), sum(log.live_keys for log in logs)
    topics = len({log.topic for log in logs})
    where = counted(len(logs), "partition")
    where += f" of {topics:,} topics" if topics > 1 else ""
    size = f"{counted(records, 'record')}, {live:,} live of {counted(keys, 'key')} in {where}"
    parts = [size, _saving(logs, records, keys), _growth(logs, keys), _grave_findings(findings)]
    return "; ".join(part for part in parts if part)


def _saving(logs: Sequence[LogFacts], records: int, keys: int) -> str:
    if not keys:
        return "no record has a key, so there is nothing to compact by"
    if records == 1:
        return "one record leaves nothing to compact"
    # Repeated records may be the same ones as those without a key, so only the larger count is subtracted.
    superseded = records - keys - sum(max(log.null_keys, log.repeated_offsets) for log in logs)
    most = "up to " if any(log.null_keys and log.repeated_offsets for log in logs) else ""
    if superseded < _HARDLY * records:
        return "almost every record has its own key, so compaction can hardly help"
    share = f"({100 * superseded / records:.0f} %)"
    return f"compaction can remove {most}{counted(superseded, 'superseded record')} {share}"


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


def _grave_findings(findings: Sequence[InspectFinding]) -> str | None:
    """The numbers of errors and warnings, in words; None: there are none."""
    levels = [finding.level for finding in findings]
    level_counts = [
        counted(levels.count(level), level.name.lower()) for level in _GRAVE_LEVELS if level in levels
    ]
    return ", ".join(level_counts) or None


_GRAVE_LEVELS = (Level.ERROR, Level.WARNING)
