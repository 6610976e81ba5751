"""Operations on many bytes at a time: eight as a little-endian word, or a stretch that is searched.

Also a hint to the processor to load memory that is needed soon.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from kcompact.dumps.loops.compiling import CHECKED, int64, part
from kcompact.dumps.loops.windows import PADDING_BYTES

STRETCH_BYTES = PADDING_BYTES  # so that a stretch can be loaded at the last byte of a window
WORD = 8
_BYTE_BITS = 8
_QUOTE, _BACKSLASH, _SPACE = b'"\\ '
_ZEROS, _HIGHEST_BITS = np.uint64(0x3030303030303030), np.uint64(0x8080808080808080)
_TO_THE_HIGHEST_BIT = np.uint64(0x7676767676767676)
_VALUES, _PAIRS, _FOURS = (np.uint64(m) for m in (0x0F0F0F0F0F0F0F0F, 0x00FF00FF00FF00FF, 0x0000FFFF0000FFFF))
_TEN_AND_ONE = np.uint64((10 << 8) + 1)
_HUNDRED_AND_ONE = np.uint64((100 << 16) + 1)
_TEN_THOUSAND_AND_ONE = np.uint64((10_000 << 32) + 1)


def _loaded(context: Any, builder: Any, data_type: Any, data: Any, at: Any, loaded_type: Any) -> Any:
    """An unaligned load without a check of bounds."""
    array = context.make_array(data_type)(context, builder, data)
    pointer = builder.gep(array.data, [at])
    return builder.load(builder.bitcast(pointer, loaded_type.as_pointer()), align=1)


@intrinsic  # type: ignore[untyped-decorator]  # numba has no types here
def _word(_typing: Any, data: Any, at: Any) -> Any:
    del at

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _loaded(context, builder, signature.args[0], arguments[0], arguments[1], ir.IntType(64))

    return types.uint64(data, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]  # numba has no types here
def _steps(_typing: Any, data: Any, at: Any, first: Any, second: Any, third: Any, least: Any) -> Any:
    del at, first, second, third, least
    byte, bits = ir.IntType(8), ir.IntType(STRETCH_BYTES)
    stretch_type = ir.VectorType(byte, STRETCH_BYTES)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        stretch = _loaded(context, builder, signature.args[0], arguments[0], arguments[1], stretch_type)

        def compared(how: str, number: Any) -> Any:
            single = builder.insert_element(
                ir.Constant(stretch_type, ir.Undefined), builder.trunc(number, byte), ir.IntType(32)(0)
            )
            lanes = ir.Constant(ir.VectorType(ir.IntType(32), STRETCH_BYTES), [0] * STRETCH_BYTES)
            return builder.icmp_unsigned(how, stretch, builder.shuffle_vector(single, single, lanes))

        marks = compared("<", arguments[5])
        for number in arguments[2:5]:
            marks = builder.or_(marks, compared("==", number))
        steps = builder.cttz(builder.bitcast(marks, bits), ir.IntType(1)(0))  # all if none is marked
        return builder.zext(steps, ir.IntType(64))

    return types.int64(data, *[types.int64] * 5), generate


@intrinsic  # type: ignore[untyped-decorator]  # numba has no types here
def _store(_typing: Any, data: Any, at: Any, word: Any) -> Any:
    del at, word

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = builder.bitcast(builder.gep(array.data, [arguments[1]]), ir.IntType(64).as_pointer())
        builder.store(arguments[2], place, align=1)
        return context.get_dummy_value()

    return types.void(data, types.int64, types.uint64), generate


@intrinsic  # type: ignore[untyped-decorator]  # numba has no types here
def _low_zeros(_typing: Any, word: Any) -> Any:
    del word

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.IntType(1)(0))

    return types.int64(types.uint64), generate


@intrinsic  # type: ignore[untyped-decorator]  # numba has no types here
def _prefetch(_typing: Any, rows: Any, at: Any) -> Any:
    del at

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        bytes_, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        row_bytes = cgutils.unpack_tuple(builder, array.strides)[0]
        place = builder.gep(builder.bitcast(array.data, bytes_), [builder.mul(arguments[1], row_bytes)])
        kind = ir.FunctionType(ir.VoidType(), [bytes_, number, number, number])
        prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        builder.call(prefetch, [place, number(1), number(3), number(1)])  # to write, to keep, data
        return context.get_dummy_value()

    return types.void(rows, types.int64), generate


@part
def word_at(data: np.ndarray, at: int) -> np.uint64:
    """The eight bytes from ``at`` on as a word, the first byte lowest."""
    if CHECKED and (at < 0 or at + WORD > len(data)):
        raise IndexError("a word outside of its buffer")
    return _word(data, at)


@part
def store_word(data: np.ndarray, at: int, word: np.uint64) -> None:
    """Write eight bytes from ``at`` on, the lowest one first."""
    if CHECKED and (at < 0 or at + WORD > len(data)):
        raise IndexError("a word outside of its buffer")
    _store(data, at, word)


@part
def digits_in(word: np.uint64) -> int:
    """The number of digits at the start of a word, before the first byte that is none."""
    # XOR turns a digit's byte into its value. Adding 0x76 sets the highest bit of any value above 9 that has
    # not set it anyway; a carry only reaches bytes behind one that is no digit.
    values = word ^ _ZEROS
    return _low_zeros(((values + _TO_THE_HIGHEST_BIT) | values) & _HIGHEST_BITS) // _BYTE_BITS


@part
def number_of_digits(word: np.uint64) -> int:
    """The number that a word of eight digits spells: pairs of digits are joined, then fours, then all."""
    pairs = ((word & _VALUES) * _TEN_AND_ONE) >> np.uint64(8)
    fours = ((pairs & _PAIRS) * _HUNDRED_AND_ONE) >> np.uint64(16)
    return int64(((fours & _FOURS) * _TEN_THOUSAND_AND_ONE) >> np.uint64(32))


@part
def steps_to(data: np.ndarray, at: int, first: int, second: int, third: int, least: int) -> int:
    """The number of bytes before the first one from ``at`` on that is one of three or below ``least``.

    STRETCH_BYTES if there is none in the stretch that starts at ``at``.
    """
    if CHECKED and (at < 0 or at + STRETCH_BYTES > len(data)):
        raise IndexError("a stretch outside of its buffer")
    return _steps(data, at, first, second, third, least)


@part
def prefetched(rows: np.ndarray, at: int) -> None:
    """Have the processor load a row (of a one-dimensional array: an element) that will be used soon."""
    if CHECKED and not 0 <= at < len(rows):
        raise IndexError("a row outside of its array")
    _prefetch(rows, at)


@part
def first_of(data: np.ndarray, at: int, first: int, second: int, third: int, least: int) -> int:
    """The place of the first byte that is one of three or below ``least``; there has to be one."""
    while True:
        steps = steps_to(data, at, first, second, third, least)
        at += steps
        if steps < STRETCH_BYTES:
            return at


@part
def end_of_plain_text(data: np.ndarray, at: int) -> int:
    """The place of the first quote, backslash or control character from ``at`` on; there has to be one."""
    return first_of(data, at, _QUOTE, _BACKSLASH, _QUOTE, _SPACE)
