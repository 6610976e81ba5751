"""Remarks about a dump, in sentences. One function per remark; none of them is an error."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from kcompact.counted import counted
from kcompact.inspect.inspection import LogFacts, TopicFacts
from kcompact.inspect.severity import Finding, Level
from kcompact.rules.capacity import DEFAULT_BUFFER_BYTES


@dataclass(frozen=True)
class Facts:
    """Facts to make remarks about. ``byte_exact``: U+FFFD in a key is no damage done by the exporter."""

    logs: Sequence[LogFacts]
    topics: Sequence[TopicFacts]
    byte_exact: bool = False

    def total(self, name: str) -> int:
        """A count added up over all logs."""
        return sum(getattr(log, name) for log in self.logs)


Remark = Callable[[Facts], Iterator[Finding]]


def remarks_on(facts: Facts) -> list[Finding]:
    """Every remark, the graver first."""
    findings = [finding for remark in REMARKS for finding in remark(facts)]
    return sorted(findings, key=lambda finding: -finding.level)


def _keys_deleted_elsewhere(facts: Facts) -> Iterator[Finding]:
    for topic in facts.topics:
        if topic.severe_keys:
            text = (
                f"{counted(topic.severe_keys, 'key')} deleted in one partition and alive in"
                " another: the tombstone never reaches the old value, which stays for good"
            )
            yield Finding(Level.WARNING, "deleted-elsewhere", text, topic.topic)


def _shared_keys(facts: Facts) -> Iterator[Finding]:
    for topic in facts.topics:
        if topic.shared_keys:
            text = (
                f"{counted(topic.shared_keys, 'key')} in several partitions, each of which keeps"
                f" its own latest record; likely cause: {topic.placement.text}"
            )
            yield Finding(Level.WARNING, "cross-partition-keys", text, topic.topic)


def _null_keys(facts: Facts) -> Iterator[Finding]:
    for log in facts.logs:
        if log.null_keys:
            first = ", ".join(map(str, log.null_key_offsets))
            text = (
                f"{counted(log.null_keys, 'record')} without key, the first at"
                f" offset {first}: brokers refuse them"
                " in compacted topics, and cleaners drop those that were there before"
            )
            yield Finding(Level.WARNING, "null-keys", text, log.topic, log.partition)


def _repeated_offsets(facts: Facts) -> Iterator[Finding]:
    for log in facts.logs:
        if log.repeated_offsets:
            text = (
                f"{counted(log.repeated_offsets, 'record')} at an offset that"
                " occurs before: do exports overlap?"
            )
            yield Finding(Level.WARNING, "repeated-offsets", text, log.topic, log.partition)


def _lossy_keys(facts: Facts) -> Iterator[Finding]:
    count = facts.total("lossy_keys")
    if count:
        level = Level.NOTE if facts.byte_exact else Level.WARNING
        text = f"{counted(count, 'key')} with U+FFFD: where an exporter put it, different keys became one"
        yield Finding(level, "lossy-keys", text)


def _lookalikes(facts: Facts) -> Iterator[Finding]:
    for topic in facts.topics:
        for differ_by, count in topic.lookalike_keys.items():
            text = (
                f"{counted(count, 'key differs', 'keys differ')} from another"
                f" one only by {differ_by}: to a broker they are different"
            )
            yield Finding(Level.WARNING, "lookalike-keys", text, topic.topic)


def _lost_deletes(facts: Facts) -> Iterator[Finding]:
    missing, tombstones = sum(log.gaps.missing_offsets for log in facts.logs), facts.total("tombstones")
    if missing and not tombstones:
        singles = all(log.gaps.count == log.gaps.single_offset_gaps for log in facts.logs)
        text = (
            f"{counted(missing, 'offset is', 'offsets are')} missing and"
            " there is no tombstone: did the exporter leave out deletes?"
        )
        yield Finding(Level.NOTE if singles else Level.WARNING, "no-tombstones", text)


def _unmarked_deletes(facts: Facts) -> Iterator[Finding]:
    count = facts.total("unmarked_delete_keys")
    if count:
        text = (
            f'{counted(count, "key")} with a Debezium delete event (op "d") and no tombstone after it:'
            " compaction never removes these rows (tombstones.on.delete, or an exporter that drops nulls);"
            " --cdc debezium counts such deletes as tombstones"
        )
        yield Finding(Level.WARNING, "unmarked-deletes", text)


def _word_null(facts: Facts) -> Iterator[Finding]:
    count = sum(log.values.word_null for log in facts.logs)
    if count:
        text = (
            f"{counted(count, 'value is', 'values are')} the text null, which"
            " is no tombstone: a key with it stays alive"
        )
        yield Finding(Level.WARNING, "word-null", text)


def _empty_values(facts: Facts) -> Iterator[Finding]:
    count = sum(log.values.empty for log in facts.logs)
    if count:
        text = (
            f"{counted(count, 'value is', 'values are')} empty, which is"
            " no tombstone: a key with it stays alive"
        )
        yield Finding(Level.NOTE, "empty-values", text)


def _late_keys(facts: Facts) -> Iterator[Finding]:
    count = facts.total("late_keys")
    if count:
        text = (
            f"{counted(count, 'key')} whose latest record by offset is not the latest by timestamp;"
            " compaction goes by offset"
        )
        yield Finding(Level.NOTE, "late-keys", text)


def _offset_order(facts: Facts) -> Iterator[Finding]:
    for log in facts.logs:
        if not log.in_offset_order:
            text = "the records are not in offset order in the dump"
            yield Finding(Level.NOTE, "offset-order", text, log.topic, log.partition)


def _gaps(facts: Facts) -> Iterator[Finding]:
    count = sum(log.gaps.count for log in facts.logs)
    if count:
        missing = sum(log.gaps.missing_offsets for log in facts.logs)
        singles = sum(log.gaps.single_offset_gaps for log in facts.logs)
        text = (
            f"{counted(missing, 'offset is', 'offsets are')} missing in {counted(count, 'gap')},"
            f" {singles:,} of them a single offset as"
            " transaction markers leave; one dump alone cannot tell why: compaction, markers, aborted"
            " records, or loss"
        )
        yield Finding(Level.NOTE, "gaps", text)


def _dedupe_buffer(facts: Facts) -> Iterator[Finding]:
    for log in facts.logs:
        if log.dedupe_buffer_bytes is None or log.dedupe_buffer_bytes > DEFAULT_BUFFER_BYTES:
            size = log.dedupe_buffer_bytes or "more than any broker takes"
            text = (
                f"one cleaning round needs log.cleaner.dedupe.buffer.size={size} per"
                f" cleaner thread; with the default {DEFAULT_BUFFER_BYTES} it takes several"
            )
            yield Finding(Level.NOTE, "dedupe-buffer", text, log.topic, log.partition)


REMARKS: tuple[Remark, ...] = (
    _keys_deleted_elsewhere,
    _shared_keys,
    _null_keys,
    _repeated_offsets,
    _lossy_keys,
    _lookalikes,
    _lost_deletes,
    _unmarked_deletes,
    _word_null,
    _empty_values,
    _late_keys,
    _offset_order,
    _gaps,
    _dedupe_buffer,
)
"""All remarks, the more telling first among those of one level."""
