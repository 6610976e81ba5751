import pytest

from kcompact.broker.quantities import parse_duration_ms, parse_moment_ms, parse_size_bytes


@pytest.mark.parametrize(
    ("text", "expected_ms"),
    [
        ("0", 0),
        ("-1", -1),
        ("86400000", 86_400_000),
        ("7d", 604_800_000),
        ("90s", 90_000),
        ("10m", 600_000),
        ("10min", 600_000),
        ("1.5h", 5_400_000),
        ("2w", 1_209_600_000),
        ("9223372036854775807", 9223372036854775807),
    ],
)
def test_a_duration_is_read_as_milliseconds(text: str, expected_ms: int) -> None:
    assert parse_duration_ms(text) == expected_ms


@pytest.mark.parametrize(
    ("text", "expected_bytes"),
    [
        ("1048576", 1048576),
        ("64MiB", 67108864),
        ("1GiB", 1073741824),
        ("64MB", 64000000),
        ("10kB", 10000),
        ("0.5KiB", 512),
    ],
)
def test_a_size_is_read_as_bytes(text: str, expected_bytes: int) -> None:
    assert parse_size_bytes(text) == expected_bytes


def test_a_moment_in_seconds_is_refused() -> None:
    with pytest.raises(ValueError, match="1700000000 has ten digits") as refused:
        parse_moment_ms("1700000000")
    assert str(refused.value).endswith("wanted: 1700000000000, or 2023-11-14T22:13:20Z")


@pytest.mark.parametrize("text", ["", "d", "7 days", "1.5", "7D", "1e3", "0x10"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="7d"):
        parse_duration_ms(text)


@pytest.mark.parametrize("text", ["64m", "64M", "MiB", "1.5", "ten"])
def test_an_ambiguous_or_odd_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="64MiB"):
        parse_size_bytes(text)


@pytest.mark.parametrize(
    ("text", "expected_ms"),
    [
        ("1700000000123", 1700000000123),
        ("2023-11-14T22:13:20Z", 1700000000000),
        ("2023-11-14T23:13:20.123+01:00", 1700000000123),
        ("1969-12-31T23:59:59Z", -1000),
    ],
)
def test_a_moment_is_read_as_milliseconds_since_1970(text: str, expected_ms: int) -> None:
    assert parse_moment_ms(text) == expected_ms


@pytest.mark.parametrize("text", ["yesterday", "2023-11-14T22:13:20"])
def test_a_moment_without_a_zone_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="2026-01-31T12:00:00Z"):
        parse_moment_ms(text)
