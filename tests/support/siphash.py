"""SipHash in plain Python, written from the paper: an oracle for hashes, slow and short."""

MASK = 2**64 - 1
SECRET = bytes(range(16))
"""The key of the published test vectors, and of tests that compare hashes."""


def siphash128(message: bytes, key: bytes = SECRET, each: int = 1, last: int = 3) -> bytes:
    """SipHash-``each``-``last`` with an output of 128 bits."""
    k0, k1 = (int.from_bytes(key[at : at + 8], "little") for at in (0, 8))
    v = [
        k0 ^ 0x736F6D6570736575,
        k1 ^ 0x646F72616E646F6D ^ 0xEE,
        k0 ^ 0x6C7967656E657261,
        k1 ^ 0x7465646279746573,
    ]
    whole = len(message) - len(message) % 8
    words = [int.from_bytes(message[at : at + 8], "little") for at in range(0, whole, 8)]
    words.append(int.from_bytes(message[whole:], "little") | (len(message) % 256) << 56)
    for word in words:
        v[3] ^= word
        _rounds(v, each)
        v[0] ^= word
    v[2] ^= 0xEE
    _rounds(v, last)
    first = v[0] ^ v[1] ^ v[2] ^ v[3]
    v[1] ^= 0xDD
    _rounds(v, last)
    return b"".join(half.to_bytes(8, "little") for half in (first, v[0] ^ v[1] ^ v[2] ^ v[3]))


def _rounds(v: list[int], count: int) -> None:
    for _ in range(count):
        v[0] = (v[0] + v[1]) & MASK
        v[1] = _rotated(v[1], 13) ^ v[0]
        v[0] = _rotated(v[0], 32)
        v[2] = (v[2] + v[3]) & MASK
        v[3] = _rotated(v[3], 16) ^ v[2]
        v[0] = (v[0] + v[3]) & MASK
        v[3] = _rotated(v[3], 21) ^ v[0]
        v[2] = (v[2] + v[1]) & MASK
        v[1] = _rotated(v[1], 17) ^ v[2]
        v[2] = _rotated(v[2], 32)


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> (64 - bits)) & MASK


def value_hash(value: bytes | None, key: bytes = SECRET) -> bytes:
    """The hash of a value, after a word that is 0 for null and 1 for others."""
    return siphash128((0 if value is None else 1).to_bytes(8, "little") + (value or b""), key)
