"""The hash functions against published test vectors and against the definitions, one key at a time."""

import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcompact.inspect.placement import hashes
from kcompact.inspect.placement.hashes import KeyMatrix
from kcompact.inspect.placement.partitioners import absolute_remainder, to_positive, unsigned

# org.apache.kafka.common.utils.UtilsTest.testMurmur2
MURMUR2 = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}
# The FNV reference implementation's test vectors, 32 bits, 1a
FNV1A = {b"": 0x811C9DC5, b"a": 0xE40C292C, b"b": 0xE70C2DE5, b"foobar": 0xBF9CF968, b"foo": 0xA9F37ED7}
CRC32 = {b"123456789": 0xCBF43926, b"": 0}  # the check value of CRC-32/ISO-HDLC
JAVA_STRING = {b"": 0, b"hello": 99162322, b"polygenelubricants": -(2**31)}

keys = st.lists(st.binary(max_size=30), min_size=1, max_size=20)


def signed(hashed: np.ndarray) -> list[int]:
    return [int(number) for number in hashed.astype(np.uint32).view(np.int32)]


@pytest.mark.parametrize(
    ("function", "vectors"),
    [
        (hashes.murmur2, MURMUR2),
        (hashes.java_string_hash, JAVA_STRING),
        (hashes.fnv1a, {key: struct.unpack("<i", struct.pack("<I", h))[0] for key, h in FNV1A.items()}),
        (hashes.crc32, {key: struct.unpack("<i", struct.pack("<I", h))[0] for key, h in CRC32.items()}),
    ],
)
def test_published_vectors(function: object, vectors: dict[bytes, int]) -> None:
    assert callable(function)
    assert signed(function(KeyMatrix.of(list(vectors)))) == list(vectors.values())


@pytest.mark.slow
@given(keys)
def test_keys_side_by_side_hash_as_each_alone(many: list[bytes]) -> None:
    for function in (hashes.murmur2, hashes.fnv1a, hashes.java_string_hash, hashes.murmur2_in_doubles):
        together = function(KeyMatrix.of(many))
        assert [int(h) for h in together] == [int(function(KeyMatrix.of([key]))[0]) for key in many]


@given(keys)
def test_crc32_is_that_of_zlib(many: list[bytes]) -> None:
    assert [int(h) for h in hashes.crc32(KeyMatrix.of(many))] == [zlib.crc32(key) for key in many]


def javascript_murmur2(key: bytes) -> int:
    """Step by step with JavaScript's rules: doubles, and 32 bits only where an operator asks for them."""

    def int32(number: float) -> int:
        bits = int(number) & 0xFFFFFFFF
        return bits - (1 << 32) if bits >> 31 else bits

    def byte(at: int) -> int:
        return key[at] if at < len(key) else 0

    m = float(0x5BD1E995)
    h = float(int32(0x9747B28C) ^ len(key))
    step = 0
    while step < len(key) / 4:
        k = float(
            byte(4 * step)
            + (byte(4 * step + 1) << 8)
            + (byte(4 * step + 2) << 16)
            + int32(byte(4 * step + 3) << 24)
        )
        k *= m
        k = float(int32(k) ^ ((int32(k) & 0xFFFFFFFF) >> 24))
        k *= m
        h *= m
        h = float(int32(h) ^ int32(k))
        step += 1
    tail, left_bytes = len(key) & ~3, len(key) % 4
    if left_bytes == 3:
        h = float(int32(h) ^ (key[tail + 2] << 16))
    if left_bytes >= 2:
        h = float(int32(h) ^ (key[tail + 1] << 8))
    if left_bytes >= 1:
        h = float(int32(h) ^ key[tail])
        h *= m
    h = float(int32(h) ^ ((int32(h) & 0xFFFFFFFF) >> 13))
    h *= m
    return (int32(h) ^ ((int32(h) & 0xFFFFFFFF) >> 15)) & 0xFFFFFFFF


@given(st.binary(max_size=40))
def test_kafkajs_1_is_followed_with_its_rounding(key: bytes) -> None:
    assert int(hashes.murmur2_in_doubles(KeyMatrix.of([key]))[0]) == javascript_murmur2(key)


def test_signs_are_taken_off_in_three_ways() -> None:
    minus_seven = np.array([-7], np.int32).view(np.uint32)
    assert int(to_positive(minus_seven, 10)[0]) == ((-7) & 0x7FFFFFFF) % 10
    assert int(unsigned(minus_seven, 10)[0]) == (2**32 - 7) % 10
    assert int(absolute_remainder(minus_seven, 10)[0]) == 7
