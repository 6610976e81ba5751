"""What is asked, and all that is known beside the dumps."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession

from kcompact.log.compaction import ROWS_PER_SHUFFLE_PARTITION
from kcompact.verify.bounds import Bounds
from kcompact.verify.check import Check, Severity
from kcompact.verify.pair import CONTENT

Log = tuple[str, int]

_PARTITIONS = "spark.sql.shuffle.partitions"


@dataclass(frozen=True)
class Question:
    """``logs`` are the logs of all dumps by log_id; ``compared`` the parts of a record that count."""

    logs: dict[int, Log]
    before_name: tuple[str, ...]
    after_name: str
    bounds: dict[int, Bounds] = field(default_factory=dict)
    compared: frozenset[str] = frozenset(CONTENT)
    now_ms: int = 0
    is_strict: bool = False
    max_findings: int = 100

    def severity(self, check: Check) -> Severity:
        """Notes become findings in strict mode."""
        return Severity.FINDING if self.is_strict else check.severity


@contextmanager
def shuffled_for(spark: SparkSession, records: int) -> Iterator[None]:
    """Let shuffles make partitions of a size that a modest heap can sort."""
    before = spark.conf.get(_PARTITIONS, "200")  # Spark's own default
    spark.conf.set(_PARTITIONS, str(max(2, -(-records // ROWS_PER_SHUFFLE_PARTITION))))
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
