"""The search of stretches against a search byte by byte."""

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcompact.dumps.loops.compiling import CHECKED
from kcompact.dumps.loops.fields import REFUSED, copied, whole_number
from kcompact.dumps.loops.words import PADDING_BYTES, digits_in, first_of, word_at

NEWLINE, QUOTE, LARGEST, LEAST = ord("\n"), ord('"'), 0xFF, 8


@numba.njit
def first_place(data: np.ndarray, at: int, least: int) -> int:
    """Compiled, as loops call it."""
    return first_of(data, at, NEWLINE, QUOTE, LARGEST, least)


@numba.njit
def digits_at(data: np.ndarray, at: int) -> int:
    """Compiled, as loops call it."""
    return digits_in(word_at(data, at))


@numba.njit
def number_in(data: np.ndarray, start: int, end: int) -> int:
    """Compiled, as loops call it."""
    return whole_number(data, start, end)


@numba.njit
def copied_to(data: np.ndarray, start: int, end: int, out: np.ndarray, at: int) -> int:
    """Compiled, as loops call it."""
    return copied(data, start, end, out, at)


@given(st.binary(min_size=8, max_size=8) | st.text("/0189:\x00\x7f", min_size=8, max_size=8).map(str.encode))
def test_digits_of_a_word_are_counted(word: bytes) -> None:
    expected = next((place for place, byte in enumerate(word) if byte not in b"0123456789"), 8)
    assert digits_at(np.frombuffer(word, np.uint8), 0) == expected


@pytest.mark.skipif(not CHECKED, reason="only with NUMBA_BOUNDSCHECK=1, as in test_modes.py")
@pytest.mark.parametrize("at", [-1, 1])
def test_a_word_outside_of_its_buffer_is_refused(at: int) -> None:
    with pytest.raises(IndexError):
        digits_at(np.zeros(8, np.uint8), at)


@given(st.text("0123456789", max_size=20), st.binary(max_size=2), st.integers(0, 3))
def test_a_whole_number_is_read(digits: str, odd: bytes, at: int) -> None:
    at = min(at, len(digits))
    text = digits[:at].encode() + odd + digits[at:].encode()
    data = np.frombuffer(b"9" + text + b"9" + bytes(PADDING_BYTES), np.uint8)
    spelt = text.decode("latin-1")
    is_number = text.isdigit() and str(int(spelt)) == spelt and len(text) <= 18
    assert number_in(data, 1, 1 + len(text)) == (int(spelt) if is_number else REFUSED)


@given(st.binary(max_size=40), st.integers(0, 9))
def test_a_copy_writes_nothing_but_itself(text: bytes, at: int) -> None:
    out = np.full(at + len(text) + 1, 0xAA, np.uint8)
    data = np.frombuffer(b"<" + text + b">", np.uint8)
    assert copied_to(data, 1, 1 + len(text), out, at) == at + len(text)
    assert out.tobytes() == b"\xaa" * at + text + b"\xaa"


@given(
    st.binary(max_size=100),
    st.integers(0, 40),
    st.sampled_from([0, LEAST]),
    st.sampled_from([b"\n", b"\xff"]),
)
def test_the_first_byte_of_a_kind_is_found(text: bytes, at: int, least: int, last: bytes) -> None:
    data = text.rjust(at, b"\xfe") + last + bytes(PADDING_BYTES)
    kinds = {NEWLINE, QUOTE, LARGEST}
    expected = next(i for i in range(at, len(data)) if data[i] in kinds or data[i] < least)
    assert first_place(np.frombuffer(data, np.uint8), at, least) == expected


@pytest.mark.parametrize("place", range(70))
def test_it_is_found_wherever_it_stands(place: int) -> None:
    data = bytearray(b"\x7f\x80\xfe" * 40)
    data[place] = QUOTE
    assert first_place(np.frombuffer(data, np.uint8), 0, 32) == place
