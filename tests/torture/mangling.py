"""Dumps that something damaged: cut, flipped, spliced, doubled, swapped, with values of the wrong kind."""

import random
from collections.abc import Callable

from hostile_values import spelt_in_cells, spelt_in_json

from avro_files import SYNC

_IN_JSON = [value for value in spelt_in_json() if len(value) < 1_000]
_IN_CELLS = [value for value in spelt_in_cells() if len(value) < 1_000]
_HEADERS_SPARED = 0.8  # or hardly a block would be read
_MARKS = b'"{}[],:\n\\%;\t \x00\xff\xc3\r0-'


def mangled(data: bytes, layout: str, chance: random.Random) -> bytes:
    """The dump with one to three things wrong with it."""
    head = b""
    if layout == "avro" and chance.random() < _HEADERS_SPARED:
        end = data.index(SYNC) + len(SYNC)
        head, data = data[:end], data[end:]
    for _ in range(chance.choice([1, 1, 2, 3])):
        ways = [cut, flip, mark, drop, double, splice, swap, cut]
        ways += (
            []
            if layout == "avro"
            else [swap_lines, swap_lines, double_line, drop_line, wrong_value, wrong_value]
        )
        data = chance.choice(ways)(data, chance) or data
    return head + data


def _range(data: bytes, chance: random.Random, most: int = 64) -> tuple[int, int]:
    start = chance.randrange(max(1, len(data)))
    return start, min(len(data), start + chance.randint(1, most))


def cut(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(max(1, len(data)))
    return data[:at] if chance.random() < 0.8 else data[at:]


def flip(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(max(1, len(data)))
    return data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :] if data else data


def mark(data: bytes, chance: random.Random) -> bytes:
    """Put in, or over another, a byte that means something."""
    at = chance.randrange(max(1, len(data)))
    sign = bytes([chance.choice(_MARKS)])
    return data[:at] + sign + data[at + chance.randrange(2) :]


def drop(data: bytes, chance: random.Random) -> bytes:
    start, end = _range(data, chance)
    return data[:start] + data[end:]


def double(data: bytes, chance: random.Random) -> bytes:
    start, end = _range(data, chance, 300)
    return data[:end] + data[start:end] + data[end:]


def splice(data: bytes, chance: random.Random) -> bytes:
    start, end = _range(data, chance, 200)
    at = chance.randrange(max(1, len(data)))
    return data[:at] + data[start:end] + data[at + (end - start) * chance.randrange(2) :]


def swap(data: bytes, chance: random.Random) -> bytes:
    (a, b), (c, d) = sorted([_range(data, chance), _range(data, chance)])
    return data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:] if b <= c else data


def _line_wise(
    change: Callable[[list[bytes], random.Random], object],
) -> Callable[[bytes, random.Random], bytes]:
    def changed(data: bytes, chance: random.Random) -> bytes:
        lines = data.split(b"\n")
        change(lines, chance)
        return b"\n".join(lines)

    return changed


def _swap(lines: list[bytes], chance: random.Random) -> None:
    a, b = chance.randrange(len(lines)), chance.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]


swap_lines = _line_wise(_swap)
double_line = _line_wise(
    lambda lines, chance: lines.insert(chance.randrange(len(lines)), chance.choice(lines))
)
drop_line = _line_wise(lambda lines, chance: lines.pop(chance.randrange(len(lines))))


def wrong_value(data: bytes, chance: random.Random) -> bytes:
    """A value between a colon or comma and the next comma or brace."""
    starts = [at for at, byte in enumerate(data) if byte in b":,"]
    if not starts:
        return data
    start = chance.choice(starts) + 1
    ends = [at for at in (data.find(sign, start) for sign in (b",", b"}", b"\n")) if at >= 0]
    value = chance.choice(_IN_JSON if data.lstrip()[:1] in b"{[" else _IN_CELLS)
    return data[:start] + value + data[min(ends, default=len(data)) :]
