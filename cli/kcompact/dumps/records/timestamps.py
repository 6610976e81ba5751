"""Timestamps in all spellings of dumps, read as milliseconds since the epoch; -1 is "none"."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from kcompact.digits import whole_number
from kcompact.dumps.count_names import CountName

NO_TIMESTAMP = -1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
DOUBTFUL: dict[CountName, tuple[int, int]] = {
    "ten_digit_timestamps": (10**9, 10**10),
    "calendar_dates": (19_700_101, 22_000_101),
    "calendar_timestamps": (19_700_101_000_000, 22_000_101_000_000),  # as milliseconds: years 2594 to 2667
}
"""Ranges (least, end) of whole numbers that are unlikely to be milliseconds."""
SMALLEST_US = 10**14  # as milliseconds, whole numbers from here on would be after the year 5138
SMALLEST_NS = 10**17
PER_MS = {"ms": 1, "us": 1_000, "ns": 1_000_000}
_DAYS_END = 10**5  # smaller numbers with a fraction are more likely Excel's days (until the year 2173)
_SMALLEST_MS = 10**11  # from here on, numbers with a fraction cannot be seconds (year 5138)
_FRACTION = re.compile(r"([0-9]{1,19})\.([0-9]{1,400})")
# Trino, BigQuery and Athena print 2024-01-31 10:00:00 UTC, Go prints 2024-01-31 10:00:00 +0100 CET m=+1.5
_ZONED = re.compile(
    r"(.*?[0-9]) ?(?:([+-][0-9]{2}):?([0-9]{2})(?: [A-Z]{3,4}| [+-][0-9]{2,4})?(?: m=[+-].*)?|UTC|GMT)"
)
_SLASHES = re.compile(r"([0-9]{4})/([0-9]{2})/([0-9]{2})(?![0-9])")
_PREFIXES = {"CreateTime": "create", "LogAppendTime": "logappend"}
_IN_BRACKETS = re.compile(r"(CreateTime|LogAppendTime)\((-?\d+)\)")  # Debug of Rust's rdkafka
_NUMBERS_IN_PAIRS = {1: "create", 2: "logappend"}  # confluent_kafka's; 0 is "none"
_NO_TYPES = {"", "-1", "notimestamptype", "no_timestamp_type", "none", "not available", "unknown"}
_TYPES = {
    "create": "create",
    "createtime": "create",
    "create_time": "create",
    "0": "create",
    "logappend": "logappend",
    "logappendtime": "logappend",
    "log_append_time": "logappend",
    "1": "logappend",
}


def timestamp_ms(raw: Any, unit: str = "auto") -> int:
    """The milliseconds that a raw timestamp stands for. Raises ValueError.

    ``raw`` is a number, digits, ISO 8601 text, ``CreateTime:`` text (always milliseconds) or a Python
    client's pair. ``unit`` is that of numbers: "ms", "us", "ns", "s" or "auto". With "auto", the size of a
    whole number decides between milliseconds, microseconds and nanoseconds; a number with a fraction is in
    seconds unless it is too large: pandas writes 1700000000123.0 for 1700000000123 in a column with gaps.
    """
    if raw is None:
        return NO_TIMESTAMP
    if isinstance(raw, int) and not isinstance(raw, bool):
        return _from_integer(raw, unit)
    if isinstance(raw, float):
        if raw < 0:
            return NO_TIMESTAMP
        return round(raw * 1000) if _is_seconds(int(raw), unit) else _from_integer(int(raw), unit)
    if isinstance(raw, str):
        return _from_text(raw.strip(), unit)
    match raw:
        case [_, milliseconds]:  # confluent_kafka: (type, milliseconds)
            return timestamp_ms(milliseconds, unit)
    raise ValueError(f"{raw!r} is no timestamp")


def odd_time(raw: Any) -> CountName | None:
    """The count to which a timestamp without a given unit adds if another unit may be meant, or None."""
    number = whole_number(raw.strip()) if isinstance(raw, str) else raw
    if isinstance(number, int | float) and number >= SMALLEST_US:
        return "scaled_timestamps"
    if type(number) is int:
        return next((name for name, (least, end) in DOUBTFUL.items() if least <= number < end), None)
    parts = _FRACTION.fullmatch(raw.strip()) if isinstance(raw, str) else None
    whole = int(parts[1]) if parts else number
    if not isinstance(whole, int | float) or not 0 < whole < _SMALLEST_MS:
        return None
    return "day_numbers" if whole < _DAYS_END else "fractional_seconds"


def spelt_in_ms(milliseconds: int, kind: str | None) -> int | str:
    """A timestamp for JSON output; a large one has its type in front, so that its unit cannot be mistaken."""
    if milliseconds < SMALLEST_US:
        return milliseconds
    return f"{'LogAppendTime' if kind == 'logappend' else 'CreateTime'}:{milliseconds}"


def timestamp_type(raw: Any) -> str | None:
    """Either "create" or "logappend", however it is spelt, or None."""
    return _TYPES.get(str(raw).lower()) if isinstance(raw, str | int) else None


def is_unknown_type(raw: Any) -> bool:
    """Whether the field names a timestamp type that Kafka does not have."""
    return raw is not None and timestamp_type(raw) is None and str(raw).lower() not in _NO_TYPES


def prefixed_type(raw: Any) -> str | None:
    """The type in front of a timestamp: in ``CreateTime:1700000000000``, or in a Python client's pair."""
    match raw:
        case str():
            return _PREFIXES.get(_IN_BRACKETS.sub(r"\1:\2", raw).partition(":")[0])
        case [int(number), _]:
            return _NUMBERS_IN_PAIRS.get(number)
    return None


def has_no_zone(raw: Any) -> bool:
    """Whether a timestamp that can be read is a date and time of an unknown zone."""
    if not isinstance(raw, str) or whole_number(raw.strip()) is not None:
        return False
    try:
        return _moment(raw.strip()).tzinfo is None
    except ValueError:
        return False


def _moment(text: str) -> datetime:
    """The moment of ISO 8601 text, also with slashes or another spelling of its zone. Raises ValueError."""
    text = _SLASHES.sub(r"\1-\2-\3", text)
    if zoned := _ZONED.fullmatch(text):
        text = f"{zoned[1]}{zoned[2] or '+00'}:{zoned[3] or '00'}"
    return datetime.fromisoformat(text)


def _is_seconds(whole: int, unit: str) -> bool:
    """Whether a number with a fraction is in seconds; ``whole`` is its whole part."""
    return unit == "s" or (unit == "auto" and whole < _SMALLEST_MS)


def _from_integer(number: int, unit: str) -> int:
    if number < 0:
        return NO_TIMESTAMP
    if unit == "s":
        return number * 1000
    if unit == "us" or (unit == "auto" and SMALLEST_US <= number < SMALLEST_NS):
        return number // 1000
    if unit == "ns" or (unit == "auto" and number >= SMALLEST_NS):
        return number // 1_000_000
    return number


def _from_text(text: str, unit: str) -> int:
    if text in {"", "NO_TIMESTAMP", "NotAvailable", "null"}:
        return NO_TIMESTAMP
    prefix, colon, number_text = _IN_BRACKETS.sub(r"\1:\2", text).partition(":")
    has_type = bool(colon) and prefix in _PREFIXES
    number = whole_number(number_text if has_type else text)
    if number is not None:
        return _from_integer(number, "ms" if has_type else unit)
    if parts := _FRACTION.fullmatch(text):
        whole, ten_thousandths = int(parts[1]), int(parts[2][:4].ljust(4, "0"))
        return (  # to the nearest, as of JSON: the double for 1700000000.842 may be printed as .8419998
            whole * 1000 + (ten_thousandths + 5) // 10
            if _is_seconds(whole, unit)
            else _from_integer(whole, unit)
        )
    moment = _moment(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(NO_TIMESTAMP, (moment - _EPOCH) // _MILLISECOND)  # Go's zero time is year 1
