"""README's "why not a one-liner": each expression is run on nine records, and the table says what it did."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

README = Path(__file__).parents[1] / "README.md"
Kept = list[tuple[int, str | None, str | None]]  # partition, key, value

NINE = [
    (0, 0, 1000, "a", "1"),
    (0, 1, 1000, "b", "1"),
    (0, 2, 1000, None, "x"),
    (0, 3, 1000, "a", "2"),
    (0, 4, 1000, "b", None),
    (0, 5, 1000, None, "y"),
    (0, 6, 2000, "c", "1"),
    (0, 7, 1000, "c", "2"),
    (1, 0, 1000, "a", "9"),
]
"""partition, offset, timestamp, key, value: b is deleted, two records have no key, a is in two partitions."""
COLUMNS = ["partition", "offset", "timestamp", "key", "value"]


def duckdb_arg_max(_: SparkSession) -> Kept:
    return _duckdb('SELECT "partition", key, arg_max(value, "offset") FROM dump GROUP BY "partition", key')


def duckdb_qualify(_: SparkSession) -> Kept:
    return _duckdb(
        'SELECT "partition", key, value FROM dump QUALIFY row_number()'
        ' OVER (PARTITION BY "partition", key ORDER BY "offset" DESC) = 1'
    )


def polars_unique(_: SparkSession) -> Kept:
    frame = pl.DataFrame(NINE, schema=COLUMNS, orient="row")
    kept = frame.sort("offset").unique(["partition", "key"], keep="last")
    return kept.select("partition", "key", "value").rows()


def pandas_drop_duplicates(_: SparkSession) -> Kept:
    return _of_pandas(_pandas().sort_values("offset").drop_duplicates(["partition", "key"], keep="last"))


def pandas_last(_: SparkSession) -> Kept:
    return _of_pandas(_pandas().sort_values("offset").groupby(["partition", "key"]).last().reset_index())


def spark_max_by(spark: SparkSession) -> Kept:
    return _of_spark(
        _spark(spark).groupBy("partition", "key").agg(F.max_by("value", "offset").alias("value"))
    )


def spark_last(spark: SparkSession) -> Kept:
    ordered = _spark(spark).coalesce(1).sortWithinPartitions("offset")
    return _of_spark(
        ordered.groupBy("partition", "key").agg(F.last("value", ignorenulls=True).alias("value"))
    )


def _duckdb(query: str) -> Kept:
    connection = duckdb.connect()
    connection.register("dump", pl.DataFrame(NINE, schema=COLUMNS, orient="row").to_arrow())
    return connection.execute(query).fetchall()


def _pandas() -> pd.DataFrame:
    return pd.DataFrame(NINE, columns=COLUMNS)


def _of_pandas(frame: pd.DataFrame) -> Kept:
    rows = frame[["partition", "key", "value"]].astype(object)
    return [tuple(row) for row in rows.where(rows.notna(), None).to_numpy()]


def _spark(spark: SparkSession) -> Any:
    return spark.createDataFrame(NINE, "partition int, offset long, timestamp long, key string, value string")


def _of_spark(frame: Any) -> Kept:
    return [tuple(row) for row in frame.select("partition", "key", "value").collect()]


ONE_LINERS: list[tuple[str, Callable[[SparkSession], Kept]]] = [
    ("DuckDB `arg_max(value, offset) … GROUP BY`", duckdb_arg_max),
    ("DuckDB `QUALIFY row_number() … = 1`", duckdb_qualify),
    ('Polars `sort("offset").unique(keep="last")`', polars_unique),
    ('pandas `drop_duplicates(keep="last")`', pandas_drop_duplicates),
    ("pandas `groupby(…).last()`", pandas_last),
    ("Spark `max_by(value, offset)`", spark_max_by),
    ("Spark `last(value, ignorenulls=True)`", spark_last),
]


def cells(kept: Kept) -> list[str]:
    """What a one-liner did to the deleted key, and to the two records without key."""
    (deleted,) = [value for _, key, value in kept if key == "b"]
    keyless = [value for _, key, value in kept if key is None]
    return [
        "stays deleted" if deleted is None else f"**comes back** as `{deleted}`",
        {0: "dropped, unsaid", 1: "two become one", 2: "kept"}[len(keyless)],
    ]


def readme_rows() -> dict[str, list[str]]:
    table = README.read_text().split("## Why not a one-liner")[1].split("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    return {row[0].strip(): [cell.strip() for cell in row[1:]] for row in rows}


@pytest.mark.parametrize(("name", "one_liner"), ONE_LINERS, ids=[name for name, _ in ONE_LINERS])
def test_the_table_says_what_each_one_liner_does(
    name: str, one_liner: Callable[[SparkSession], Kept], spark: SparkSession
) -> None:
    assert readme_rows()[name] == cells(one_liner(spark))


@pytest.mark.usefixtures("spark")
def test_kcompact_keeps_the_tombstone_and_asks_about_the_keyless(
    tmp_path: Path, kcompact: Callable[..., Any]
) -> None:
    from dump_files import kcat_offsets, write_kcat
    from records import record

    records = [
        record(key, value, partition=partition, offset=offset, timestamp_ms=timestamp_ms)
        for partition, offset, timestamp_ms, key, value in NINE
    ]
    dump = write_kcat(tmp_path / "nine.jsonl", records)

    assert kcompact("compact", dump).exit_code == 2
    assert kcompact("compact", dump, "--null-keys", "drop").exit_code == 0

    kept = [(partition, offset) for _, partition, offset in kcat_offsets(tmp_path / "nine.compacted.jsonl")]
    assert kept == [(0, 3), (0, 4), (0, 7), (1, 0)]


def test_every_row_of_the_table_is_measured() -> None:
    measured = {name for name, _ in ONE_LINERS}
    assert set(readme_rows()) - measured == {"expression", "---", "**kcompact**"}
