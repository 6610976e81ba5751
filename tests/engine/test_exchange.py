import itertools
from collections import Counter
from hashlib import blake2b

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcompact.engine import exchange
from kcompact.engine.exchange import key_hashes, receivers_by_key, shares_by_key
from kcompact.engine.passes.grouped_rows import GROUPED, GROUPED_SCHEMA

SCHEMA = pa.schema([("key", pa.binary()), ("number", pa.int64())])


def rows(*numbers: int) -> pa.Table:
    return pa.table({"key": [str(n).encode() for n in numbers], "number": list(numbers)}, SCHEMA)


@given(st.lists(st.binary(max_size=40), max_size=50), st.integers(1, 9), st.integers(0, 3))
def test_equal_keys_meet_wherever_they_stand(keys: list[bytes], receivers: int, cut: int) -> None:
    array = pa.chunked_array([pa.array(keys, pa.binary())])
    turned = pa.chunked_array([pa.array(keys[::-1], pa.binary())]).slice(cut)

    forth = dict(zip(keys, receivers_by_key(array, receivers).tolist(), strict=True))
    back = dict(zip(keys[::-1][cut:], receivers_by_key(turned, receivers).tolist(), strict=True))

    assert all(forth[key] == receiver for key, receiver in back.items())
    assert all(0 <= receiver < receivers for receiver in forth.values())


def hash_of_key(key: bytes) -> int:
    if len(key) > 1024:
        return int.from_bytes(blake2b(key, digest_size=8).digest(), "little")
    mixed = (len(key) + 1) * 0x9E3779B97F4A7C15 % 2**64
    for at in range(0, len(key), 8):
        word = int.from_bytes(key[at : at + 8].rjust(8, b"\0"), "little")
        mixed = (mixed ^ word) * 0x9E3779B97F4A7C15 % 2**64
        mixed ^= mixed >> 29
    return mixed * 0x9E3779B97F4A7C15 % 2**64


LONG_KEYS = st.sampled_from([b"k" * 1024, b"k" * 1025, b"k" * 5000])


@pytest.mark.parametrize("has_loop", [True, False])
@given(st.lists(st.binary(max_size=40) | LONG_KEYS, min_size=1, max_size=50), st.data())
def test_a_task_with_loops_and_one_without_hash_alike(
    has_loop: bool, keys: list[bytes], data: st.DataObject
) -> None:
    from kcompact.dumps.loops import hash_loops

    first = data.draw(st.integers(0, len(keys) - 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exchange, "loaded_loop", lambda _: hash_loops if has_loop else None)
        hashes = key_hashes(pa.array(keys, pa.binary()).slice(first)).tolist()
    assert hashes == list(map(hash_of_key, keys[first:]))


@given(st.lists(st.lists(st.integers(0, 30), max_size=8), max_size=5), st.integers(1, 3), st.integers(1, 5))
def test_a_share_holds_all_rows_of_its_keys(numbers: list[list[int]], receivers: int, shares: int) -> None:
    batches = [rows(*some).combine_chunks().to_batches() for some in numbers]
    all_batches = [batch for some in batches for batch in some]

    share_numbers = [
        pa.Table.from_batches(share, SCHEMA)["number"].to_pylist()
        for share in shares_by_key(all_batches, receivers, shares)
    ]

    assert len(share_numbers) == shares
    assert sorted(itertools.chain(*share_numbers)) == sorted(itertools.chain(*numbers))
    assert sum(len(set(share)) for share in share_numbers) == len(set(itertools.chain(*numbers)))


def test_keys_spread_evenly_though_they_differ_in_the_middle_only() -> None:
    keys = pa.chunked_array([pa.array([b"prefix-%06d-suffix" % n for n in range(10_000)], pa.binary())])

    shares = Counter(receivers_by_key(keys, 10).tolist())

    assert len(shares) == 10
    assert max(shares.values()) < 1300


def group(offset: int, position: int) -> pa.RecordBatch:
    columns = [[7], [b"k"], [2], [offset - 1], [offset], [position], [position << 1]]
    return pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, GROUPED_SCHEMA, strict=True)],
        schema=GROUPED_SCHEMA,
    )


def test_the_highest_offset_wins_whatever_the_order_of_groups() -> None:
    for groups in ([group(5, 1), group(9, 2)], [group(9, 2), group(5, 1)]):
        (row,) = GROUPED.merged(groups).to_pylist()

        assert row == {
            "log_id": 7,
            "key": b"k",
            "records": 4,
            "first_offset": 4,
            "last_offset": 9,
            "position": 2,
            "location": 4,
        }
