"""Text of a known shape: literal bytes with runs of decimal digits in known places, in many lines at once."""

import re
from dataclasses import dataclass

import numpy as np

from kcompact.dumps.line_window import LineWindow

_NUMBER = re.compile(rb"0|[1-9][0-9]*")
_WORD = 8
_MOST_DIGITS = 16
_LARGEST_DIGIT = 9
_EACH = 0x0101010101010101


@dataclass(frozen=True)
class Digits:
    """A non-negative number: from byte ``start`` on, ``width`` digits, the first of which is 0 only alone."""

    role: str | None  # what the number is, if anybody asks
    start: int
    width: int


@dataclass(frozen=True)
class FixedText:
    """``text`` with ``numbers`` in it, whose digits may be others."""

    text: bytes
    numbers: tuple[Digits, ...]

    @property
    def width(self) -> int:
        """Bytes."""
        return len(self.text)

    def fits(self, window: LineWindow, positions: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Whether the text stands at each position (bool), and the numbers that have a role (int64).

        Numbers are meaningless where the text does not stand.
        """
        wrong = np.zeros(len(positions), np.uint64)
        if self.width:
            self._compare(window, positions, wrong)
        found = {}
        for number in self.numbers:
            starts = positions + number.start
            if number.width > 1:
                wrong |= window.data[starts] == ord("0")
            values = _parse(window, starts, number.width, wrong)
            if number.role is not None:
                found[number.role] = values
        return wrong == 0, found

    def _compare(self, window: LineWindow, positions: np.ndarray, wrong: np.ndarray) -> None:
        """Set bits of ``wrong`` where a literal byte differs."""
        literal, mask = self._literal()
        cells = window.gather(positions, len(literal) * _WORD)
        for column, (word, bits) in enumerate(zip(literal, mask, strict=True)):
            if bits:
                differing = cells[:, column] ^ word
                if bits != np.uint64(0xFFFFFFFFFFFFFFFF):
                    differing &= bits
                wrong |= differing

    def _literal(self) -> tuple[np.ndarray, np.ndarray]:
        """The text in words, and the bits of each word that are literal."""
        padded = -(-self.width // _WORD) * _WORD
        mask = np.zeros(padded, np.uint8)
        mask[: self.width] = 0xFF
        for number in self.numbers:
            mask[number.start : number.start + number.width] = 0
        return np.frombuffer(self.text.ljust(padded, b"\0"), "<u8"), mask.view("<u8")


def is_number(spelt: bytes) -> bool:
    """Whether a text is a number as FixedText reads them: digits, the first of which is 0 only alone."""
    return _NUMBER.fullmatch(spelt) is not None


def can_parse(width: int) -> bool:
    """Whether numbers of that many digits are read here."""
    return 0 < width <= _MOST_DIGITS


def _parse(window: LineWindow, positions: np.ndarray, width: int, wrong: np.ndarray) -> np.ndarray:
    """The numbers at the positions; sets bits of ``wrong`` where there is none of that width."""
    if width == 1:
        digits = window.data[positions] - np.uint8(ord("0"))
        wrong |= digits > _LARGEST_DIGIT
        return digits.astype(np.int64)
    if width > _WORD:
        high = _parse(window, positions, width - _WORD, wrong)
        return high * 10**_WORD + _parse_word(window.words(positions + (width - _WORD)), _WORD, wrong)
    return _parse_word(window.words(positions), width, wrong)


def _parse_word(words: np.ndarray, width: int, wrong: np.ndarray) -> np.ndarray:
    """The first ``width`` bytes of each word as a number; three multiplications join 2, 4 and 8 digits."""
    words = words << np.uint64(8 * (_WORD - width))
    digits = np.uint64((1 << 64) - (1 << 8 * (_WORD - width)))  # the bytes that must be digits
    high, zeros = np.uint64(0xF0 * _EACH), np.uint64(0x30 * _EACH)
    # A digit's high half is 3, and still is after adding 6. A carry comes only out of a byte that is none.
    wrong |= ((words ^ zeros) | ((words + (np.uint64(6 * _EACH) & digits)) ^ zeros)) & (high & digits)
    words &= np.uint64(0x0F * _EACH)
    words = (words * np.uint64(2561)) >> np.uint64(8)
    words = ((words & np.uint64(0x00FF00FF00FF00FF)) * np.uint64(6553601)) >> np.uint64(16)
    words = ((words & np.uint64(0x0000FFFF0000FFFF)) * np.uint64(42949672960001)) >> np.uint64(32)
    return words.view(np.int64)
