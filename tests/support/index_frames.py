"""Index DataFrames made from records, as the engine makes them from dumps."""

from collections.abc import Iterable

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kcompact.dumps.records.indexing import index_rows
from kcompact.dumps.records.layout import SplitNotes
from kcompact.dumps.records.record import Record, index_schema, log_id_of


def index_frame(spark: SparkSession, records: Iterable[Record], extra: frozenset[str]) -> DataFrame:
    """One split of one file that holds the records in the order given."""
    return table_frame(spark, index_table(records, extra))


def index_table(records: Iterable[Record], extra: frozenset[str]) -> pa.Table:
    """The same rows before they are Spark's, without ``file_id``."""
    found = ((position, 1, record) for position, record in enumerate(records))
    batches = list(index_rows(found, 0, extra, SplitNotes()))
    return pa.Table.from_batches(batches, schema=index_schema(extra))


def table_frame(spark: SparkSession, table: pa.Table) -> DataFrame:
    """Rows of one file."""
    # Spark knows no binary of fixed width.
    plain = [pa.field(f.name, pa.binary() if f.name.endswith("_hash") else f.type) for f in table.schema]
    return spark.createDataFrame(table.cast(pa.schema(plain))).withColumn("file_id", F.lit(0))


def logs_of(*dumps: Iterable[Record]) -> dict[int, tuple[str, int]]:
    """The logs that stand in any of the dumps, by log_id."""
    found = {(record.topic, record.partition) for records in dumps for record in records}
    return {log_id_of(*log): log for log in found}
