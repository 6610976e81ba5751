"""Hashes of values: as the oracle has them, by loop and in numpy; nothing told apart that is the same."""

import random
from hashlib import blake2b

import numpy as np
import pytest

from kcompact.dumps.loops.readiness import load_loops
from kcompact.dumps.records.content_hashes import LONGEST_OF_MANY, value_hashes
from siphash import SECRET, siphash128, value_hash

assert load_loops("json_lines")

LENGTHS = [*range(40), 63, 64, 65, 255, 256, 257, LONGEST_OF_MANY - 1, LONGEST_OF_MANY]


def some_values(seed: int) -> list[bytes | None]:
    chance = random.Random(seed)
    values = [chance.randbytes(length) for length in LENGTHS]
    values += [bytes(length) for length in LENGTHS]
    return chance.sample([*values, None, None], len(values) + 2)


@pytest.mark.parametrize(
    ("message", "published"),
    [
        (b"", "a3817f04ba25a8e66df67214c7550293"),
        (b"\0", "da87c1d86b99af44347659119b22fc45"),
    ],
)
def test_the_oracle_is_siphash(message: bytes, published: str) -> None:
    # The vectors of its authors are of SipHash-2-4.
    assert siphash128(message, SECRET, 2, 4).hex() == published


@pytest.mark.parametrize("seed", range(3))
def test_short_values_are_hashed_as_the_oracle_hashes_them(seed: int) -> None:
    values = some_values(seed)
    assert value_hashes(values, SECRET).to_pylist() == list(map(value_hash, values))


@pytest.mark.parametrize("seed", range(3))
def test_the_loop_hashes_as_the_oracle_does(seed: int) -> None:
    from kcompact.dumps.loops.hash_loops import hash_ranges

    values = some_values(seed)
    lengths = np.array([-1 if value is None else len(value) for value in values])
    data = np.frombuffer(b"".join(value or b"" for value in values), np.uint8)  # nothing behind the last one
    starts = np.cumsum(np.maximum(lengths, 0)) - np.maximum(lengths, 0)
    hashes = np.empty((len(values), 2), np.uint64)
    hash_ranges(data, starts, lengths, np.frombuffer(SECRET, np.uint64), hashes)
    assert [row.tobytes() for row in hashes] == list(map(value_hash, values))


def test_long_values_are_hashed_one_by_one() -> None:
    long = bytes(range(256)) * 5
    short, digest, other = value_hashes([b"a", long, long[:-1]], SECRET).to_pylist()
    assert digest == blake2b(long, digest_size=16, key=SECRET).digest()
    assert len({short, digest, other}) == 3


def test_values_alone_count_and_so_does_the_secret() -> None:
    values = [None, b"", b"-", b"null", b"\0", b"\0\0", bytes(8), bytes(256), bytes(512)]
    hashes = value_hashes(values, SECRET).to_pylist()
    assert len(set(hashes)) == len(values)
    assert value_hashes(values[::-1], SECRET).to_pylist() == hashes[::-1]
    assert not set(hashes) & set(value_hashes(values, bytes(16)).to_pylist())


@pytest.mark.parametrize("secret", [b"", bytes(8), bytes(17)])
def test_a_secret_has_its_length(secret: bytes) -> None:
    # Compiled, a loop would read whatever stands behind a shorter one.
    with pytest.raises(ValueError, match="not 16"):
        value_hashes([b"a"], secret)


def test_no_values_have_no_hashes() -> None:
    assert value_hashes([], SECRET).to_pylist() == []
