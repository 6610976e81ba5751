"""The sample dump as it grows from night to night, and the records that the rules, read plainly, leave."""

import json
from pathlib import Path

from s3_server import S3
from spark_cluster import cluster_environment
from store_runs import records_of, run_kcompact

STATE = "s3://bucket/orders.state/"
ORDERS = Path(__file__).parents[2] / "samples" / "orders.jsonl"
LINES = ORDERS.read_text().splitlines(keepends=True)
NIGHTS = [LINES[:200], LINES[200:400], LINES[400:]]
NOW_MS = 1_760_100_000_000
_DAY_MS = 24 * 3_600_000


def now_ms(night: int) -> int:
    """The time of a night. Nights are two days apart: tombstones, kept for a day, expire before the next."""
    return NOW_MS + 2 * night * _DAY_MS


def expected(nights: list[list[str]]) -> list[str]:
    """The lines that a plain reading of the rules leaves, where every log has new records each night.

    These are the latest record of each key, but of tombstones only those that are new in the last night.
    """
    lines = [line for night in nights for line in night]
    latest = {(one["partition"], one["key"]): line for line in lines for one in [json.loads(line)]}
    fresh = set(nights[-1])
    kept = [line for line in latest.values() if json.loads(line)["payload"] is not None or line in fresh]
    return sorted(kept)


def put_nights(store: S3) -> None:
    """Put the new records of each night on the store."""
    for night, lines in enumerate(NIGHTS):
        store.put(f"s3://bucket/new-{night}/orders.jsonl", "".join(lines).encode())


def stored_line(night: int) -> tuple[str, ...]:
    """The command line of a night, which continues the dump of the night before, all on the store."""
    inputs = [*([f"s3://bucket/out-{night - 1}/"] if night else []), f"s3://bucket/new-{night}/"]
    line = ("compact", *inputs, "-o", f"s3://bucket/out-{night}/", "--state", STATE)
    return (*line, "--overwrite", "--now", str(now_ms(night)))


def check_nights_in_a_row(store: S3, folder: Path, place: str) -> None:
    """Assert that nights run one after another, from the state on the store, leave the expected records.

    ``place`` is Spark's master; ``folder`` takes the driver's files.
    """
    put_nights(store)
    for night in range(len(NIGHTS)):
        run = run_kcompact(
            *(*stored_line(night), "--master", place),
            environment=store.environment | cluster_environment(),
            folder=folder,
        )
        assert run.returncode == 0, run.stderr
        left = records_of(store.objects(f"s3://bucket/out-{night}/")).decode()
        assert sorted(left.splitlines(keepends=True)) == expected(NIGHTS[: night + 1])
    assert list(store.objects(STATE)) == ["state.json"]
