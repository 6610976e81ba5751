"""The same compaction as other tools do it: each contestant is one function, run as a process of its own.

    python bench/contestants.py NAME INPUT OUTPUT

Forms are the fastest of those tried with each tool, except ``pyspark-usual``, which is how people write it;
DuckDB has two. They know the columns beforehand, write no report, and check nothing.
"""

import shutil
import sys
from pathlib import Path
from typing import Any

KCAT_COLUMNS = {
    "topic": "VARCHAR",
    "partition": "INTEGER",
    "offset": "BIGINT",
    "tstype": "VARCHAR",
    "ts": "BIGINT",
    "broker": "INTEGER",
    "key": "VARCHAR",
    "payload": "VARCHAR",
}
CSV_COLUMNS = {
    "topic": "VARCHAR",
    "partition": "INTEGER",
    "offset": "BIGINT",
    "timestamp": "BIGINT",
    "key": "VARCHAR",
    "value": "VARCHAR",
}


def columns_of(source: str) -> dict[str, str]:
    return CSV_COLUMNS if source.endswith(".csv") else KCAT_COLUMNS


def duckdb_scan(source: str) -> str:
    if source.endswith(".csv"):
        return f"read_csv('{source}', header=true, columns={CSV_COLUMNS})"
    return f"read_json('{source}', format='newline_delimited', columns={KCAT_COLUMNS})"


def duckdb_copy(query: str, source: str, output: str) -> None:
    import duckdb

    connection = duckdb.connect()
    connection.execute("set preserve_insertion_order=false")
    form = "csv, header" if source.endswith(".csv") else "json"
    connection.execute(f"copy ({query}) to '{output}' (format {form})")


def duckdb_window(source: str, output: str) -> None:
    """The query that most people write: number the records of a key, keep the first."""
    order = 'row_number() over (partition by "partition", "key" order by "offset" desc)'
    duckdb_copy(f"select * from {duckdb_scan(source)} qualify {order} = 1", source, output)  # noqa: S608  ours


def duckdb_semi_join(source: str, output: str) -> None:
    """Another form: two scans, the first one of three columns only."""
    scan, columns = duckdb_scan(source), '"partition", "key", "offset"'
    latest = f'select "partition", "key", max("offset") as "offset" from {scan} group by all'  # noqa: S608  ours
    duckdb_copy(f"select * from {scan} semi join ({latest}) using ({columns})", source, output)  # noqa: S608  ours


def polars_streaming(source: str, output: str) -> None:
    import polars as pl

    types: dict[str, Any] = {"VARCHAR": pl.String, "INTEGER": pl.Int32, "BIGINT": pl.Int64}
    schema = {name: types[sql] for name, sql in columns_of(source).items()}
    is_csv = source.endswith(".csv")
    records = pl.scan_csv(source, schema=schema) if is_csv else pl.scan_ndjson(source, schema=schema)
    latest = records.group_by("partition", "key").agg(pl.all().sort_by("offset").last())
    latest.sink_csv(output, engine="streaming") if is_csv else latest.sink_ndjson(output, engine="streaming")


def polars_avro(source: str, output: str) -> None:
    """Polars has no lazy Avro reader: the file is read whole."""
    import polars as pl

    records = pl.read_avro(source).with_columns(pl.col("timestamp").dt.replace_time_zone(None))
    records.group_by("partition", "key").agg(pl.all().sort_by("offset").last()).write_avro(output, "snappy")


def pyspark_usual(source: str, output: str) -> None:
    """A PySpark program as it is usually written, with Spark's defaults."""
    from pyspark.sql import SparkSession, Window
    from pyspark.sql import functions as F

    spark = SparkSession.builder.getOrCreate()
    names = {"VARCHAR": "string", "INTEGER": "int", "BIGINT": "bigint"}
    schema = ", ".join(f"`{name}` {names[sql]}" for name, sql in columns_of(source).items())
    is_csv = source.endswith(".csv")
    reader = spark.read.schema(schema)
    records = reader.csv(source, header=True) if is_csv else reader.json(source)
    latest_first = Window.partitionBy("partition", "key").orderBy(F.col("offset").desc())
    survivors = records.withColumn("n", F.row_number().over(latest_first)).where("n = 1").drop("n")
    writer = survivors.write.mode("overwrite")
    writer.csv(output, header=True) if is_csv else writer.json(output, ignoreNullFields=False)
    spark.stop()


def pyspark_hello(_source: str, output: str) -> None:
    """The least that any PySpark program does: a session, one mapInArrow over one row, stop."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.getOrCreate()
    rows = spark.range(1).mapInArrow(lambda batches: batches, "id long").collect()
    Path(output).write_text(str(rows))
    spark.stop()


def dict_orjson(source: str, output: str) -> None:
    """The script that everybody writes first: two passes, a dict of the latest offsets."""
    import orjson

    latest: dict[tuple[int, str], int] = {}
    with Path(source).open("rb") as lines:
        for line in lines:
            record = orjson.loads(line)
            latest[record["partition"], record["key"]] = record["offset"]
    with Path(source).open("rb") as lines, Path(output).open("wb") as out:
        for line in lines:
            record = orjson.loads(line)
            if latest[record["partition"], record["key"]] == record["offset"]:
                out.write(line)


def dict_csv(source: str, output: str) -> None:
    import csv

    latest: dict[tuple[str, str], str] = {}
    with Path(source).open(newline="") as lines:
        for record in csv.DictReader(lines):
            latest[record["partition"], record["key"]] = record["offset"]
    with Path(source).open(newline="") as lines, Path(output).open("w", newline="") as out:
        records = csv.DictReader(lines)
        writer = csv.DictWriter(out, records.fieldnames or [])
        writer.writeheader()
        for record in records:
            if latest[record["partition"], record["key"]] == record["offset"]:
                writer.writerow(record)


def dict_fastavro(source: str, output: str) -> None:
    """As ``dict_orjson``, with fastavro, which makes a dict of each record in any case."""
    import fastavro

    latest: dict[Any, Any] = {}
    with Path(source).open("rb") as data:
        records: Any = fastavro.reader(data)
        for record in records:
            latest[record["partition"], record["key"]] = record["offset"]
    with Path(source).open("rb") as data, Path(output).open("wb") as out:
        records = fastavro.reader(data)
        survivors = (r for r in records if latest[r["partition"], r["key"]] == r["offset"])
        fastavro.writer(out, records.writer_schema, survivors, codec="snappy")


CONTESTANTS = {
    "duckdb-window": duckdb_window,
    "duckdb-semi-join": duckdb_semi_join,
    "polars-streaming": polars_streaming,
    "polars-avro": polars_avro,
    "pyspark-usual": pyspark_usual,
    "pyspark-hello": pyspark_hello,
    "dict-orjson": dict_orjson,
    "dict-csv": dict_csv,
    "dict-fastavro": dict_fastavro,
}


def remove(path: Path) -> None:
    """Delete a file or folder that an earlier run left."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


if __name__ == "__main__":
    name, source, output = sys.argv[1:]
    CONTESTANTS[name](source, output)
