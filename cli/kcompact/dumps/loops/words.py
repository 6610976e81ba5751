"""Eight bytes at a time: the bytes of a text as little-endian words, and the first byte of a kind in them."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from kcompact.dumps.loops.compiling import CHECKED, INTERPRETED, int64, part

PADDING_BYTES = 8  # behind the last byte that a loop looks at, so that a word can be loaded from it
_WORD = 8
_EACH = np.uint64(0x0101010101010101)
_TOPS = np.uint64(0x8080808080808080)
_ONE = np.uint64(1)
_BLANKS = np.uint64(0x2020202020202020)
_QUOTES = np.uint64(0x2222222222222222)
_BACKSLASHES = np.uint64(0x5C5C5C5C5C5C5C5C)
_LAST = np.uint64(56)


def _interpreted_word(data: np.ndarray, at: int) -> np.uint64:
    return np.uint64(int.from_bytes(data[at : at + _WORD].tobytes(), "little"))


@intrinsic  # type: ignore[untyped-decorator]  # numba has no types here
def _compiled_word(_typing: Any, data: Any, at: Any) -> Any:
    """A load that need not be aligned, and looks at no bounds."""
    del at

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        pointer = builder.gep(array.data, [arguments[1]])
        return builder.load(builder.bitcast(pointer, ir.IntType(64).as_pointer()), align=1)

    return types.uint64(data, types.int64), generate


_word = _interpreted_word if INTERPRETED else _compiled_word


@part
def word_at(data: np.ndarray, at: int) -> np.uint64:
    """The eight bytes from ``at`` on, the first one lowest."""
    if CHECKED and (at < 0 or at + _WORD > len(data)):
        raise IndexError("a word outside of its buffer")
    return _word(data, at)


@part
def first_marked(marks: np.uint64) -> int:
    """The number of the first byte whose top bit is set in ``marks``, which is not 0."""
    below = ((marks & (~marks + _ONE)) - _ONE) & _EACH
    return int64((below * _EACH) >> _LAST) - 1


@part
def equal_bytes(word: np.uint64, each: np.uint64) -> np.uint64:
    """Top bits of the bytes that are equal; right up to the first one."""
    differing = word ^ each
    return (differing - _EACH) & ~differing & _TOPS


@part
def end_of_plain_text(data: np.ndarray, at: int) -> int:
    """The first quote, backslash or control character from ``at`` on; one is known to come."""
    while True:
        word = word_at(data, at)
        controls = (word - _BLANKS) & ~word & _TOPS
        marks = controls | equal_bytes(word, _QUOTES) | equal_bytes(word, _BACKSLASHES)
        if marks != 0:
            return at + first_marked(marks)
        at += _WORD
