"""The search of stretches against a search byte by byte."""

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcompact.dumps.loops.words import PADDING_BYTES, first_of

NEWLINE, QUOTE, LARGEST, LEAST = ord("\n"), ord('"'), 0xFF, 8


@numba.njit
def found(data: np.ndarray, at: int, least: int) -> int:
    """Compiled, as loops call it."""
    return first_of(data, at, NEWLINE, QUOTE, LARGEST, least)


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
    assert found(np.frombuffer(data, np.uint8), at, least) == expected


@pytest.mark.parametrize("place", range(70))
def test_it_is_found_wherever_it_stands(place: int) -> None:
    data = bytearray(b"\x7f\x80\xfe" * 40)
    data[place] = QUOTE
    assert found(np.frombuffer(data, np.uint8), 0, 32) == place
