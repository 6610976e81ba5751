"""The inspection as titled tables, for renderings that people read."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from kcompact.inspect.inspection import Inspection, LogFacts, TopicFacts
from kcompact.inspect.placement.partitioning import Change
from kcompact.report.inert import printable_key
from kcompact.report.table import Foreign, Table, texts

MOST_ROWS = 40  # of a table of logs; the JSON form has all
MOST_TOP = 5  # keys, records, gaps of a log
_LONGEST_YEARS_MS = 253_402_300_800_000  # datetime ends with the year 9999


def sections(inspection: Inspection) -> list[Table]:
    """All sections that have rows, in the order of questions people ask."""
    tables = [
        _files(inspection),
        _records(inspection.logs),
        _values(inspection.logs),
        _keys(inspection.logs),
        _distribution(inspection),
        _new_keys(inspection.logs),
        _top_keys(inspection, "by records"),
        _top_keys(inspection, "by bytes"),
        _largest(inspection),
        _placement(inspection.topics),
        _changes(inspection.topics),
        _shared(inspection.topics),
        _lookalikes(inspection.topics),
        _gaps(inspection.logs),
        _ages(inspection.logs),
    ]
    return [section for section in tables if section.rows]


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
    headers = ("file", "layout", "dialect", "recognised", "where the parts of a record stand")
    return _listed("Recognised", headers, rows, texts(*headers))


def _records(logs: Sequence[LogFacts]) -> Table:
    rows = [
        (
            _log(log),
            f"{log.end_minus_begin:,}",
            f"{log.records:,}",
            f"{log.first_offset:,}",
            f"{log.last_offset:,}",
            when(log.min_timestamp_ms),
            when(log.max_timestamp_ms),
        )
        for log in logs
    ]
    headers = ("log", "end - begin", "present", "first offset", "last offset", "from (UTC)", "to (UTC)")
    return _listed("Records", headers, rows, texts(*headers[:1]))


def _values(logs: Sequence[LogFacts]) -> Table:
    rows = [
        (
            _log(log),
            f"{log.values.present:,}",
            f"{log.values.null:,}",
            f"{log.values.empty:,}",
            f"{log.values.word_null:,}",
            f"{log.null_keys:,}",
        )
        for log in logs
    ]
    headers = ("log", "with a value", "null", "empty", "the word null", "without key")
    return _listed("Values", headers, rows, texts(*headers[:1]))


def _keys(logs: Sequence[LogFacts]) -> Table:
    rows = [
        (
            _log(log),
            f"{log.keys:,}",
            f"{log.live_keys:,}",
            f"{log.deleted_keys:,}",
            f"{log.single_record_keys:,}",
            f"{log.late_keys:,}",
            f"{log.superseded_bytes:,}",
            "no size" if log.dedupe_buffer_bytes is None else f"{log.dedupe_buffer_bytes:,}",
        )
        for log in logs
    ]
    headers = (
        "log",
        "distinct",
        "live",
        "deleted",
        "with one record",
        "later by timestamp",
        "superseded bytes",
        "dedupe buffer bytes",
    )
    return _listed("Keys", headers, rows, texts(*headers[:1]))


def _distribution(inspection: Inspection) -> Table:
    rows = [
        (_span(bucket.least, bucket.most), f"{bucket.keys:,}", f"{bucket.records:,}")
        for bucket in inspection.records_per_key
    ]
    return Table("Records per key", ("records", "keys", "records of these"), rows, texts("records"))


def _new_keys(logs: Sequence[LogFacts]) -> Table:
    rows = []
    for at in range(max((len(log.slices) for log in logs), default=0)):
        records = sum(log.slices[at].records for log in logs)
        new = sum(log.slices[at].new_keys for log in logs)
        share = f"{100 * new / records:.0f} %" if records else "-"
        rows.append((f"{at + 1} of {len(logs[0].slices)}", f"{records:,}", f"{new:,}", share))
    headers = ("tenth of the offsets", "records", "new keys", "share")
    return Table("New keys along the logs", headers, rows, texts(headers[0]))


def _top_keys(inspection: Inspection, by: str) -> Table:
    keys = inspection.top_keys_by_records if by == "by records" else inspection.top_keys_by_bytes
    rows = [
        (
            Foreign(printable_key(key.key)),
            Foreign(f"{key.topic}-{key.partition}"),
            f"{key.records:,}",
            f"{key.record_bytes:,}",
            f"{key.superseded_bytes:,}",
        )
        for key in keys[:MOST_TOP]
        if key.records > 1 or by == "by bytes"
    ]
    headers = ("key", "log", "records", "bytes", "superseded bytes")
    return Table(f"Top keys {by}", headers, rows, texts(*headers[:2]))


def _largest(inspection: Inspection) -> Table:
    rows = [
        (
            Foreign(printable_key(record.key)),
            Foreign(f"{record.topic}-{record.partition}"),
            f"{record.offset:,}",
            f"{record.record_bytes:,}",
        )
        for record in inspection.largest_records
    ]
    return Table("Largest records", ("key", "log", "offset", "bytes"), rows, texts("key", "log"))


def _placement(topics: Iterable[TopicFacts]) -> Table:
    rows = [
        (
            Foreign(topic.topic),
            topic.placement.text,
            _explained(topic),
        )
        for topic in topics
    ]
    return Table(
        "Who placed the keys", ("topic", "most likely", "explained"), rows, texts("topic", "most likely")
    )


def _explained(topic: TopicFacts) -> str:
    placement = topic.placement
    return f"{placement.explained:,} of {placement.looked_at:,}" if placement.placed else "-"


def _changes(topics: Iterable[TopicFacts]) -> Table:
    rows = [
        (Foreign(f"{topic.topic}-{change.partition}"), _offset(change, 1), _offset(change, 2))
        for topic in topics
        for change in topic.placement.changes
    ]
    headers = ("log", "last offset only the old explains", "first offset only the new explains")
    return _listed("Where it changed", headers, rows, texts(*headers[:1]))


def _offset(change: Change, column: int) -> str:
    return "-" if change[column] is None else f"{change[column]:,}"


def _shared(topics: Iterable[TopicFacts]) -> Table:
    rows = [
        (
            Foreign(printable_key(shared.key)),
            Foreign(f"{topic.topic}-{place.partition}"),
            "tombstone" if place.is_tombstone else "value",
            "newest" if place.is_newest else "",
            f"{place.records:,}",
            f"{place.last_offset:,}",
            when(place.last_timestamp_ms),
        )
        for topic in topics
        for shared in topic.shared_key_examples
        for place in shared.places
    ]
    headers = ("key", "log", "latest is a", "", "records", "last offset", "at (UTC)")
    return Table("Keys in several partitions (examples)", headers, rows, texts(*headers[:4]))


def _lookalikes(topics: Iterable[TopicFacts]) -> Table:
    rows = [
        (Foreign(topic.topic), example.differ_by, Foreign("   ".join(map(printable_key, example.keys))))
        for topic in topics
        for example in topic.lookalike_examples
    ]
    headers = ("topic", "differ by", "keys")
    return Table("Keys that look alike (examples)", headers, rows, texts(*headers[:3]))


def _gaps(logs: Iterable[LogFacts]) -> Table:
    rows = [
        (_log(log), f"{gap.first_offset:,}", f"{gap.last_offset:,}", f"{gap.length:,}", _reason(gap.length))
        for log in logs
        for gap in log.gaps.longest[:MOST_TOP]
    ]
    headers = ("log", "first missing", "last missing", "length", "reason")
    return _listed(f"Gaps (the {MOST_TOP} longest of each log)", headers, rows, texts(*headers[:1]))


def _reason(length: int) -> str:
    return "unknown, marker-like" if length == 1 else "unknown"


def _ages(logs: Iterable[LogFacts]) -> Table:
    rows = [(_log(log), age, f"{count:,}") for log in logs for age, count in log.tombstone_ages.items()]
    headers = ("log", "before the newest record", "tombstones")
    return _listed("Ages of tombstones", headers, rows, texts(*headers[:2]))


def _log(log: LogFacts) -> Foreign:
    return Foreign(f"{log.topic}-{log.partition}")


def _span(least: int, most: int) -> str:
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _listed(
    title: str, headers: tuple[str, ...], rows: Sequence[tuple[str, ...]], of_text: frozenset[str]
) -> Table:
    """A table of which the first rows are enough."""
    return Table(title, headers, rows, of_text).shortened(MOST_ROWS, "--format json shows all")
