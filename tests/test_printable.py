"""Keys in print: nothing hidden, nothing alike."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcompact.printable import escaped, printable_key


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        (None, "null"),
        (b"null", '"null"'),
        (b"nullable", "nullable"),
        (b"", '""'),
        (b"order-17", "order-17"),
        (b"two words", "two words"),
        (b" padded", '" padded"'),
        (b"padded ", '"padded "'),
        (b'say "hi"', 'say "hi"'),
        (b'"quoted"', r'"\"quoted\""'),
        (b"0x00", '"0x00"'),
        (b"\xff\x00", "0xff00"),
        (b"a\\nb", r"a\\nb"),
        (b"a\nb", r"a\nb"),
        (b"\x1b[31mred", r"\x1b[31mred"),
        (b"\x00\x00\x00\x00\x07k", r"\x00\x00\x00\x00\x07k"),
        ("grün".encode(), "grün"),
        ("evil\u202egnp.exe".encode(), r"evil\u202egnp.exe"),
        ("zero\u200bwidth".encode(), r"zero\u200bwidth"),
        ("filler\u3164".encode(), r"filler\u3164"),
        ("tag\U000e0041".encode(), r"tag\U000e0041"),
        ("lossy\ufffd".encode(), "lossy\ufffd"),
        ("cut…".encode(), r"cut\u2026"),
    ],
)
def test_a_key_is_shown_as(key: bytes | None, shown: str) -> None:
    assert printable_key(key) == shown


def test_a_long_key_is_cut_between_characters_and_says_how_long_it_is() -> None:
    long = "é".encode() * 100
    assert printable_key(long, limit_bytes=5).startswith("éé…[200 bytes, ")
    assert printable_key(b"\xff" * 100, limit_bytes=2).startswith("0xffff…[100 bytes, ")


def test_long_keys_with_one_beginning_stay_apart() -> None:
    assert printable_key(b"x" * 100 + b"1") != printable_key(b"x" * 100 + b"2")


@given(st.lists(st.one_of(st.none(), st.binary(max_size=80), st.text().map(str.encode)), unique=True))
def test_different_keys_look_different(keys: list[bytes | None]) -> None:
    assert len({printable_key(key, limit_bytes=20) for key in keys}) == len(keys)


@given(st.one_of(st.binary(), st.text().map(str.encode)))
def test_nothing_that_does_not_show_is_left(key: bytes) -> None:
    shown = printable_key(key)
    assert not {c for c in shown if unicodedata.category(c)[0] in "CZ"} - {" "}


@given(st.text())
def test_escaping_twice_changes_nothing(text: str) -> None:
    assert escaped(escaped(text)) == escaped(text)
