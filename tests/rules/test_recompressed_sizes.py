"""Sizes of compressed batches that a round encodes again, beside what codecs make of such records."""

import json
import random

import numpy as np
import pyarrow as pa
import pytest

from kcompact.rules.assumptions import ratio_note
from kcompact.rules.ratio import DirtyRatio
from kcompact.rules.sizes import BATCH_HEADER_BYTES, recompressed_bytes

Records = list[bytes]


def orders(count: int, chance: random.Random) -> Records:
    """Records of JSON, which repeat one another in part."""
    values = (
        {
            "order": number,
            "customer": f"customer {chance.randrange(1_000_000)}",
            "status": chance.choice(["new", "paid", "sent", "returned"]),
            "amount": round(chance.random() * 100, 2),
        }
        for number in range(count)
    )
    return [b"\x80\x02\0\0\0\x06k-%03d" % chance.randrange(500) + json.dumps(it).encode() for it in values]


def size_of(records: Records, codec: str | None) -> int:
    body = b"".join(records)
    return BATCH_HEADER_BYTES + len(pa.compress(body, codec=codec, asbytes=True) if codec else body)


@pytest.mark.parametrize("codec", ["lz4", "zstd", "gzip", "snappy"])
@pytest.mark.parametrize("count", [2, 3, 10, 100, 1_000])
@pytest.mark.parametrize("stays", [0.1, 0.5, 0.9])
def test_the_estimate_is_close_to_what_a_codec_makes_of_the_records(
    codec: str, count: int, stays: float
) -> None:
    chance = random.Random(count)
    before = orders(count, chance)
    after = [record for record in before if chance.random() < stays] or before[:1]

    sizes = np.array([[size_of(before, codec)], [size_of(before, None)], [size_of(after, None)]])
    (estimate,) = recompressed_bytes(*sizes)

    assert estimate == pytest.approx(size_of(after, codec), rel=0.2)


def test_a_round_that_follows_or_not_by_estimated_bytes_is_told() -> None:
    """As a 4.4.0 broker cleaned a log once more, whose ratio these sizes say is not above the threshold."""
    near = DirtyRatio(10_446, 4_390, 0, 0, 0.3)

    assert near.is_near
    (note,) = ratio_note(near)
    assert "at a dirty ratio of 0.296, where 0.3 is the threshold" in note
    assert not DirtyRatio(10_446, 4_390, 0, 0, 0.2).is_near
    assert not DirtyRatio(10_446, 4_390, 0, 1, 0.3).is_near  # the lag decides, whatever the bytes
    assert list(ratio_note(None)) == []
