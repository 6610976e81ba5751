"""JSON keys that are equal by value: numbers as Python's fractions compare them, digit by digit."""

import json
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dump_pipeline import index_all, open_one
from kcompact.dumps.json.json_text import canonical
from kcompact.errors import UnreadableError

DIGITS = st.text("0159", min_size=1, max_size=22)
NUMBERS = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "-"]),
    DIGITS.map(lambda digits: digits.lstrip("0") or "0"),
    st.just("") | DIGITS.map(".{}".format) | st.sampled_from(["0" * 30, "0" * 31, "0" * 40]),
    st.sampled_from(["", "e0", "E+2", "e-3", "e21", "e31"]),
).filter(lambda number: not number.lstrip("-").startswith("00"))


@given(NUMBERS, NUMBERS)
def test_numbers_are_one_key_if_and_only_if_their_values_are_equal(spelling: str, other: str) -> None:
    is_one_key = canonical(spelling.encode()) == canonical(other.encode())
    assert is_one_key == (Fraction(spelling) == Fraction(other))


@given(NUMBERS)
def test_a_number_in_a_key_keeps_its_value(number: str) -> None:
    spelt = canonical(f'{{"b": [{number}], "a": null}}'.encode())
    assert json.loads(spelt, parse_float=Fraction, parse_int=Fraction) == {"a": None, "b": [Fraction(number)]}


@pytest.mark.parametrize("text", [b'{"a":"\\ud800"}', b'{"a":"\xff"}'])
def test_half_characters_and_raw_bytes_are_a_part_of_the_key(text: bytes) -> None:
    assert canonical(text.replace(b":", b" : ")) == canonical(text)


@pytest.mark.parametrize("key", [b"1" * 5_000 + b".0", b"1" * 5_000 + b".5"])
def test_numbers_may_have_more_digits_than_python_prints_of_an_integer(key: bytes) -> None:
    assert canonical(key) == key.removesuffix(b".0")


def test_numbers_that_are_too_large_to_compare_are_refused() -> None:
    with pytest.raises(UnreadableError, match="too large"):
        canonical(b"1e99999999999999999999")


def test_rows_whose_keys_are_alike_as_floats_are_two(tmp_path: Path) -> None:
    keys = ["9007199254740993.0001", "9007199254740993.0002", "9007199254740993.00010"]
    event = '{"database":"d","table":"r","type":"insert","ts":1,"data":{"id":%s,"v":1}}\n'
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(event % key for key in keys))
    with open_one(path, cdc="maxwell", key_fields=("id",)) as dump:
        first, second, third = index_all(dump)[0]["key"].to_pylist()
    assert first == third != second
