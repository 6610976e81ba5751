"""Durations, sizes and moments as people write them: ``7d``, ``64MiB``, ``2026-01-31T12:00:00Z``."""

import re
from datetime import UTC, datetime

from kcompact.broker.text_lines import shown
from kcompact.digits import LONG_MAX, whole_number

_MS_PER_UNIT = {
    "ms": 1,
    "s": 1000,
    "m": 60_000,
    "min": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
    "w": 604_800_000,
}
_BYTES_PER_UNIT = {"B": 1} | {
    f"{prefix}{suffix}": base**power
    for power, prefix in enumerate("KMGT", start=1)
    for suffix, base in (("iB", 1024), ("B", 1000))
}
_BYTES_PER_UNIT["kB"] = 1000
_QUANTITY = re.compile(r"(?P<number>[+-]?[0-9]+(?P<fraction>\.[0-9]+)?)\s*(?P<unit>[a-zA-Z]*)")


def parse_duration_ms(text: str) -> int:
    """``7d``, ``90s``, ``1.5h`` or plain milliseconds, as milliseconds. Raises ValueError."""
    return _parse(text, _MS_PER_UNIT, "milliseconds, or a number with ms, s, m, h, d or w, for example 7d")


def parse_size_bytes(text: str) -> int:
    """``64MiB`` (1024), ``64MB`` (1000) or plain bytes, as bytes. Raises ValueError.

    A bare ``64m`` is refused: it means 1000 to some and 1024 to others.
    """
    return _parse(
        text, _BYTES_PER_UNIT, "bytes, or a number with KiB, MiB, GiB, kB, MB or GB, for example 64MiB"
    )


def parse_moment_ms(text: str) -> int:
    """Milliseconds since 1970, or an ISO 8601 time with its offset from UTC. Raises ValueError.

    Ten digits are refused, as they are most likely seconds: as milliseconds they would be a time in 1970.
    """
    if re.fullmatch(r"[0-9]{10}", text):
        raise ValueError(
            f"{text} has ten digits, so it may be seconds; wanted: {text}000, or {_as_iso(text)}"
        )
    if re.fullmatch(r"-?[0-9]+", text):
        return _whole(text)
    form = "milliseconds since 1970, or a time such as 2026-01-31T12:00:00Z"
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"'{shown(text)}' is not a moment; wanted: {form}") from error
    if moment.tzinfo is None:
        raise ValueError(f"'{shown(text)}' does not say its time zone; wanted: {form}")
    since_1970 = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since_1970.days * 86_400 + since_1970.seconds) * 1000 + since_1970.microseconds // 1000


def _as_iso(seconds: str) -> str:
    return datetime.fromtimestamp(int(seconds), UTC).isoformat().replace("+00:00", "Z")


def _whole(text: str) -> int:
    number = whole_number(text)
    if number is None or abs(number) > LONG_MAX:
        raise ValueError(f"'{shown(text)}' does not fit into 64 bits")
    return number


def _parse(text: str, factors: dict[str, int], form: str) -> int:
    match = _QUANTITY.fullmatch(text.strip())
    unit = match["unit"] if match else ""
    if match is None or (unit and unit not in factors) or (match["fraction"] and not unit):
        raise ValueError(f"'{shown(text)}' is not {form}")
    factor = factors[unit] if unit else 1
    if not match["fraction"]:
        return _whole(match["number"]) * factor
    fraction = float(match["number"]) * factor
    if not abs(fraction) <= LONG_MAX:
        raise ValueError(f"'{shown(text)}' does not fit into 64 bits")
    return round(fraction)
