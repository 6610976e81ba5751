"""Which rows of a task are wanted, against a set of keys."""

import random

import pyarrow as pa
import pytest

from kcompact.verify.rows import wanted
from kcompact.verify.rows.wanted import Wanted, WantedRows


@pytest.mark.parametrize("few", [0, 50, 1_000])
@pytest.mark.parametrize("keyless", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_rows_are_wanted_for_their_keys(
    monkeypatch: pytest.MonkeyPatch, seed: int, few: int, *, keyless: bool
) -> None:
    monkeypatch.setattr(wanted, "FEW_KEYS", few)
    chance = random.Random(seed)
    keys = [b"", b"\0", *(b"key-%d" % number for number in range(300)), *(b"k" * size for size in range(40))]
    chosen = set(chance.sample(keys, chance.choice([0, 3, 60, 200])))
    rows: list[bytes | None] = [chance.choice([None, *keys]) for _ in range(1_000)]
    tells = WantedRows(Wanted(pa.array(sorted(chosen), pa.binary()), keyless=keyless))
    batch = pa.record_batch({"key": pa.array(rows, pa.binary())}).slice(17, 900)

    flags = tells.by_key(batch)
    expected = [keyless if key is None else key in chosen for key in rows[17:917]]
    assert flags.tolist() == expected
