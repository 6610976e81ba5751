"""How Spark SQL's queries on index rows are run."""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import DataFrame, SparkSession

from kcompact.compact.full import ROWS_PER_RECEIVER

_PARTITIONS = "spark.sql.shuffle.partitions"


@contextmanager
def shuffled_for(spark: SparkSession, records: int) -> Iterator[None]:
    """Let shuffles make partitions of a size that a modest heap can sort."""
    before = spark.conf.get(_PARTITIONS, "200")  # Spark's own default
    spark.conf.set(_PARTITIONS, str(max(2, -(-records // ROWS_PER_RECEIVER))))
    try:
        yield
    finally:
        spark.conf.set(_PARTITIONS, str(before))


@contextmanager
def kept(rows: DataFrame) -> Iterator[DataFrame]:
    """Rows that several queries read, computed once."""
    persisted = rows.persist()
    try:
        yield persisted
    finally:
        persisted.unpersist()
