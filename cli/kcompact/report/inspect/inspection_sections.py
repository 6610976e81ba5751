"""The inspection as titled tables, for renderings that people read."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from kcompact.inspect.inspection import Bucket, Inspection, LargeRecord, LogFacts, TopicFacts, TopKey
from kcompact.printable import printable_key
from kcompact.report.table import WHERE_ALL, Foreign, Table, log_cell

MOST_ROWS = 40  # of a table; the JSON form has all
MOST_TOP = 5  # keys, records, gaps of a log
_LONGEST_YEARS_MS = 253_402_300_800_000  # datetime ends with the year 9999


def sections(inspection: Inspection) -> list[Table]:
    """All sections that have rows, each cut to its first rows, in the order of questions that people ask."""
    tables = [
        _files(inspection),
        _records(inspection.logs),
        _values(inspection.logs),
        _keys(inspection.logs),
        _distribution(inspection),
        _new_keys(inspection.logs),
        _top_keys("by records", inspection.top_keys_by_records, least_records=2),
        _top_keys("by bytes", inspection.top_keys_by_bytes, least_records=1),
        _largest(inspection),
        _placement(inspection.topics),
        _changes(inspection.topics),
        _shared(inspection.topics),
        _lookalikes(inspection.topics),
        _gaps(inspection.logs),
        _ages(inspection.logs),
    ]
    return [table.shortened(MOST_ROWS, WHERE_ALL) for table in tables if table.rows]


def when(timestamp_ms: int) -> str:
    """A timestamp in UTC, to the second."""
    if not 0 <= timestamp_ms < _LONGEST_YEARS_MS:
        return "-" if timestamp_ms < 0 else f"{timestamp_ms} ms"
    return datetime.fromtimestamp(timestamp_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _files(inspection: Inspection) -> Table:
    rows = [
        (
            Foreign(file.path),
            file.layout.replace("_", " "),
            file.dialect,
            "certain" if file.sure else "by its field names",
            Foreign(" ".join(f"{role}={path}" for role, path in file.fields.items())),
        )
        for file in inspection.files
    ]
    headers = ("file", "layout", "dialect", "recognised", "parts of a record and their fields")
    return Table.of("Recognised", headers, rows, headers)


def _records(logs: Sequence[LogFacts]) -> Table:
    rows = [
        (
            _log(log),
            log.end_minus_begin,
            log.records,
            log.first_offset,
            log.last_offset,
            when(log.min_timestamp_ms),
            when(log.max_timestamp_ms),
        )
        for log in logs
    ]
    headers = ("log", "end - begin", "present", "first offset", "last offset", "from (UTC)", "to (UTC)")
    return Table.of("Records", headers, rows)


def _values(logs: Sequence[LogFacts]) -> Table:
    headers = ("log", "with a value", "null", "empty", "the word null", "without key")
    rows = [
        (_log(log), values.present, values.null, values.empty, values.word_null, log.null_keys)
        for log in logs
        for values in [log.values]
    ]
    return Table.of("Values", headers, rows)


def _keys(logs: Sequence[LogFacts]) -> Table:
    rows = [
        (
            _log(log),
            log.keys,
            log.live_keys,
            log.deleted_keys,
            log.single_record_keys,
            log.late_keys,
            log.superseded_bytes,
            "no size" if log.dedupe_buffer_bytes is None else log.dedupe_buffer_bytes,
        )
        for log in logs
    ]
    counts = ("distinct", "live", "deleted", "with one record", "later by timestamp", "superseded bytes")
    return Table.of("Keys", ("log", *counts, "dedupe buffer bytes"), rows)


def _distribution(inspection: Inspection) -> Table:
    rows = [(bucket_name(bucket), bucket.keys, bucket.records) for bucket in inspection.records_per_key]
    return Table.of("Records per key", ("records", "keys", "records of these"), rows, ("records",))


def bucket_name(bucket: Bucket) -> str:
    """The numbers of records of keys in a bucket."""
    return f"{bucket.least:,}" if bucket.least == bucket.most else f"{bucket.least:,} to {bucket.most:,}"


def _new_keys(logs: Sequence[LogFacts]) -> Table:
    rows = []
    for at, slices in enumerate(zip(*(log.slices for log in logs), strict=True), start=1):
        records, new = sum(part.records for part in slices), sum(part.new_keys for part in slices)
        share = f"{100 * new / records:.0f} %" if records else "-"
        rows.append((f"{at} of {len(logs[0].slices)}", records, new, share))
    headers = ("tenth of the offsets", "records", "new keys", "share")
    return Table.of("New keys along the logs", headers, rows, headers[:1])


def _top_keys(title: str, keys: Sequence[TopKey], *, least_records: int) -> Table:
    rows = [
        (_key(key.key), _log(key), key.records, key.record_bytes, key.superseded_bytes)
        for key in keys[:MOST_TOP]
        if key.records >= least_records
    ]
    headers = ("key", "log", "records", "bytes", "superseded bytes")
    return Table.of(f"Top keys {title}", headers, rows, ("key", "log"))


def _largest(inspection: Inspection) -> Table:
    records = inspection.largest_records
    rows = [(_key(record.key), _log(record), record.offset, record.record_bytes) for record in records]
    return Table.of("Largest records", ("key", "log", "offset", "bytes"), rows, ("key", "log"))


def _placement(topics: Iterable[TopicFacts]) -> Table:
    rows = [
        (
            Foreign(topic.topic),
            placement.text,
            f"{placement.explained:,} of {placement.looked_at:,}" if placement.placed else None,
        )
        for topic in topics
        for placement in [topic.placement]
    ]
    return Table.of(
        "Who placed the keys", ("topic", "most likely", "explained"), rows, ("topic", "most likely")
    )


def _changes(topics: Iterable[TopicFacts]) -> Table:
    rows = [
        (log_cell(topic.topic, change.partition), change.old_last_offset, change.new_first_offset)
        for topic in topics
        for change in topic.placement.changes
    ]
    headers = ("log", "last offset only the old explains", "first offset only the new explains")
    return Table.of("Where it changed", headers, rows)


def _shared(topics: Iterable[TopicFacts]) -> Table:
    rows = [
        (
            _key(shared.key),
            log_cell(topic.topic, place.partition),
            "tombstone" if place.is_tombstone else "value",
            "newest" if place.is_newest else "",
            place.records,
            place.last_offset,
            when(place.last_timestamp_ms),
        )
        for topic in topics
        for shared in topic.shared_key_examples
        for place in shared.places
    ]
    headers = ("key", "log", "latest is a", "", "records", "last offset", "at (UTC)")
    return Table.of("Keys in several partitions (examples)", headers, rows, headers[:4])


def _lookalikes(topics: Iterable[TopicFacts]) -> Table:
    rows = [
        (Foreign(topic.topic), example.differ_by, Foreign("   ".join(map(printable_key, example.keys))))
        for topic in topics
        for example in topic.lookalike_examples
    ]
    headers = ("topic", "differ by", "keys")
    return Table.of("Keys that look alike (examples)", headers, rows, headers)


def _gaps(logs: Iterable[LogFacts]) -> Table:
    rows = [
        (_log(log), gap.first_offset, gap.last_offset, gap.length, _reason(gap.length))
        for log in logs
        for gap in log.gaps.longest[:MOST_TOP]
    ]
    headers = ("log", "first missing", "last missing", "length", "reason")
    return Table.of(f"Gaps (the {MOST_TOP} longest of each log)", headers, rows)


def _reason(length: int) -> str:
    return "unknown, marker-like" if length == 1 else "unknown"


def _ages(logs: Iterable[LogFacts]) -> Table:
    rows = [(_log(log), age, count) for log in logs for age, count in log.tombstone_ages.items()]
    headers = ("log", "before the newest record", "tombstones")
    return Table.of("Ages of tombstones", headers, rows, headers[:2])


def _log(log: LogFacts | TopKey | LargeRecord) -> Foreign:
    return log_cell(log.topic, log.partition)


def _key(key: bytes | None) -> Foreign:
    return Foreign(printable_key(key))
