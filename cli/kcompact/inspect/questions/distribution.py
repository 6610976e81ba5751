"""How many records do keys have? Counted in buckets that double: 1, 2, 3 to 4, 5 to 8, ..."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from kcompact.inspect.questions.keys import Keys


@dataclass(frozen=True)
class Bucket:
    """Keys with ``least`` to ``most`` records, and how many records these have together."""

    least: int
    most: int
    keys: int
    records: int


def count_records_per_key(keys: Keys) -> pa.Table:
    """Rows (log_id, bucket, keys, records); bucket b holds keys of 2^(b-1) + 1 to 2^b records."""
    records = keys.column("records")
    buckets = np.ceil(np.log2(records)).astype(np.int64)
    counts = np.ones(len(records), np.int64)
    table = pa.table({"log_id": keys.column("log_id"), "bucket": buckets, "keys": counts, "records": records})
    return sum_buckets(table)


def sum_buckets(rows: pa.Table) -> pa.Table:
    """Rows of several tasks, added up by log and bucket."""
    grouped = rows.group_by(["log_id", "bucket"], use_threads=False)
    return grouped.aggregate([("keys", "sum"), ("records", "sum")]).rename_columns(rows.column_names)


def distribution(rows: pa.Table) -> list[Bucket]:
    """The buckets of all logs together, from few records to many."""
    grouped = rows.group_by("bucket", use_threads=False).aggregate([("keys", "sum"), ("records", "sum")])
    buckets = sorted(grouped.to_pylist(), key=lambda row: row["bucket"])
    return [_bucket(row["bucket"], row["keys_sum"], row["records_sum"]) for row in buckets]


def _bucket(number: int, keys: int, records: int) -> Bucket:
    return Bucket(1 if not number else 2 ** (number - 1) + 1, 2**number, keys, records)
