"""How often a store is asked: a listing, and for each small object twice a pass."""

from collections import Counter
from pathlib import Path

import pytest

from s3_server import S3
from store_proxy import store_proxy
from store_runs import put_sample, run_kcompact

pytestmark = [pytest.mark.spark, pytest.mark.at_length]
OBJECTS = 30
PASSES = 3  # opening, indexing, copying
MOST_LISTINGS = 6  # at the start, at the end, whatever the number of objects below a thousand


def test_small_objects_are_asked_for_twice_a_pass(store: S3, tmp_path: Path) -> None:
    put_sample(store, "s3://bucket/small/", OBJECTS)

    with store_proxy(store) as proxy:
        run = run_kcompact(
            *("compact", "s3://bucket/small/", "-o", "s3://bucket/counted/", "-q"),
            environment=proxy.store.environment,
            folder=tmp_path,
        )

    assert run.returncode == 0, run.stderr
    asked = Counter(one.path for one in proxy.asked if "/small/orders-" in one.path)
    assert len(asked) == OBJECTS
    assert max(asked.values()) <= 2 * PASSES
    listings = [one for one in proxy.asked if "list-type=2" in one.path and "prefix=small" in one.path]
    assert len(listings) <= MOST_LISTINGS
