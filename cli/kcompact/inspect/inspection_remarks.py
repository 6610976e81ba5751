"""Remarks about a dump, in sentences; none of them is an error."""

from collections.abc import Iterable, Iterator, Sequence

from kcompact.counted import counted
from kcompact.inspect.inspection import LogFacts, TopicFacts
from kcompact.inspect.severity import Finding, Level
from kcompact.rules.capacity import DEFAULT_BUFFER_BYTES


def remarks_on(
    logs: Sequence[LogFacts], topics: Iterable[TopicFacts], *, byte_exact: bool = False
) -> list[Finding]:
    """Every remark, the graver first; then by kind, the more telling kinds first.

    ``byte_exact``: U+FFFD in a key is no damage done by the exporter.
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


def _of_topics(topics: Iterable[TopicFacts]) -> Iterator[Finding]:
    for topic in topics:
        if topic.severe_keys:
            text = (
                f"{counted(topic.severe_keys, 'key')} deleted in one partition and alive in"
                " another: the tombstone never reaches the old value, which stays for good"
            )
            yield Finding(Level.WARNING, "deleted-elsewhere", text, topic.topic)
        if topic.shared_keys:
            text = (
                f"{counted(topic.shared_keys, 'key')} in several partitions, each of which keeps"
                f" its own latest record; likely cause: {topic.placement.text}"
            )
            yield Finding(Level.WARNING, "cross-partition-keys", text, topic.topic)
        for differ_by, count in topic.lookalike_keys.items():
            text = (
                f"{counted(count, 'key differs', 'keys differ')} from another"
                f" one only by {differ_by}: to a broker they are different"
            )
            yield Finding(Level.WARNING, "lookalike-keys", text, topic.topic)


def _of_logs(logs: Iterable[LogFacts]) -> Iterator[Finding]:
    for log in logs:
        place = log.topic, log.partition
        if log.null_keys:
            text = (
                f"{counted(log.null_keys, 'record')} without key, the first at offset"
                f" {', '.join(map(str, log.null_key_offsets))}: brokers refuse them in compacted topics, and"
                " cleaners drop those that were there before"
            )
            yield Finding(Level.WARNING, "null-keys", text, *place)
        if log.repeated_offsets:
            records = counted(log.repeated_offsets, "record")
            text = f"{records} at an offset that occurs before: do exports overlap?"
            yield Finding(Level.WARNING, "repeated-offsets", text, *place)
        if not log.in_offset_order:
            text = "the records are not in offset order in the dump"
            yield Finding(Level.NOTE, "offset-order", text, *place)
        if log.dedupe_buffer_bytes is None or log.dedupe_buffer_bytes > DEFAULT_BUFFER_BYTES:
            size = log.dedupe_buffer_bytes or "more than any broker takes"
            text = (
                f"one cleaning round needs log.cleaner.dedupe.buffer.size={size} per cleaner thread;"
                f" with the default {DEFAULT_BUFFER_BYTES} it takes several"
            )
            yield Finding(Level.NOTE, "dedupe-buffer", text, *place)


def _of_dump(logs: Sequence[LogFacts], *, byte_exact: bool) -> Iterator[Finding]:
    """Counts over all logs."""
    if count := sum(log.lossy_keys for log in logs):
        text = f"{counted(count, 'key')} with U+FFFD: where an exporter put it, different keys became one"
        yield Finding(Level.NOTE if byte_exact else Level.WARNING, "lossy-keys", text)
    if count := sum(log.unmarked_delete_keys for log in logs):
        text = (
            f'{counted(count, "key")} with a Debezium delete event (op "d") and no tombstone after it:'
            " compaction never removes these rows (tombstones.on.delete, or an exporter that drops nulls);"
            " --cdc debezium counts such deletes as tombstones"
        )
        yield Finding(Level.WARNING, "unmarked-deletes", text)
    no_tombstone = "which is no tombstone: a key with it stays alive"
    if count := sum(log.values.word_null for log in logs):
        text = f"{counted(count, 'value is', 'values are')} the text null, {no_tombstone}"
        yield Finding(Level.WARNING, "word-null", text)
    if count := sum(log.values.empty for log in logs):
        text = f"{counted(count, 'value is', 'values are')} empty, {no_tombstone}"
        yield Finding(Level.NOTE, "empty-values", text)
    if count := sum(log.late_keys for log in logs):
        text = (
            f"{counted(count, 'key')} whose latest record by offset is not the latest by timestamp;"
            " compaction goes by offset"
        )
        yield Finding(Level.NOTE, "late-keys", text)
    yield from _gaps(logs)


def _gaps(logs: Sequence[LogFacts]) -> Iterator[Finding]:
    gaps = sum(log.gaps.count for log in logs)
    singles = sum(log.gaps.single_offset_gaps for log in logs)
    if not gaps:
        return
    missing = counted(sum(log.gaps.missing_offsets for log in logs), "offset is", "offsets are") + " missing"
    if not any(log.tombstones for log in logs):
        text = f"{missing} and there is no tombstone: did the exporter leave out deletes?"
        yield Finding(Level.NOTE if singles == gaps else Level.WARNING, "no-tombstones", text)
    text = (
        f"{missing} in {counted(gaps, 'gap')}, {singles:,} of them a single offset as transaction markers"
        " leave; one dump alone cannot tell why: compaction, markers, aborted records, or loss"
    )
    yield Finding(Level.NOTE, "gaps", text)
