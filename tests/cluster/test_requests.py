"""How often a store is asked: a listing; for an object and pass twice, and once for each further 8 MiB."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from s3_server import S3
from store_proxy import store_proxy
from store_runs import put_large, put_sample, run_kcompact

pytestmark = [pytest.mark.spark, pytest.mark.at_length]
PASSES = 3  # opening, indexing, copying
MOST_LISTINGS = 6  # at the start, at the end, whatever the number of objects below a thousand


@pytest.mark.parametrize(
    ("put", "objects", "most_a_pass"),
    [
        pytest.param(lambda store, prefix: put_sample(store, prefix, 30), 30, 2, id="small"),
        pytest.param(put_large, 2, 3, id="of 9 MB"),
    ],
)
def test_an_object_is_asked_for_a_few_times_a_pass(
    put: Callable[[S3, str], None], objects: int, most_a_pass: int, store: S3, tmp_path: Path
) -> None:
    store.remove("s3://bucket/")
    put(store, "s3://bucket/asked/")

    with store_proxy(store) as proxy:
        run = run_kcompact(
            *("compact", "s3://bucket/asked/", "-o", "s3://bucket/counted/", "-q"),
            environment=proxy.store.environment,
            folder=tmp_path,
        )

    assert run.returncode == 0, run.stderr
    asked = Counter(one.path for one in proxy.asked if ".jsonl" in one.path and "/asked/" in one.path)
    assert len(asked) == objects
    assert max(asked.values()) <= most_a_pass * PASSES
    listings = [one for one in proxy.asked if "list-type=2" in one.path and "prefix=asked" in one.path]
    assert len(listings) <= MOST_LISTINGS
