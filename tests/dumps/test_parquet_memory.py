"""Values that a Parquet file has once for many rows: read a few rows at a time."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from kcompact.dumps.parquet.parquet_file import batches_of, open_parquet, row_groups

ROWS = 20_000
BIG = b"x" * 300_000


@pytest.mark.slow
@pytest.mark.parametrize("place", ["value", "headers"])
def test_a_value_of_many_rows_is_unpacked_for_some_at_a_time(place: str, tmp_path: Path) -> None:
    texts = [b"a", b"b", BIG]
    numbers = pa.array([row % 2 if row < ROWS - 2_000 else 2 for row in range(ROWS)], pa.int32())
    values = pa.DictionaryArray.from_arrays(numbers, pa.array(texts))
    if place == "headers":
        values = pa.ListArray.from_arrays(
            pa.array(range(ROWS + 1), pa.int32()), pa.StructArray.from_arrays([values], ["value"])
        )
    path = tmp_path / "t.parquet"
    columns = {"key": pa.array([b"%d" % row for row in range(ROWS)]), place: values}
    parquet.write_table(pa.table(columns), path, store_schema=False)

    with open_parquet("t", str(path)) as source:
        (group,) = row_groups(source, str(path))
        peaks, rows = [], 0
        for batch in batches_of(source, group, ["key", place]):
            peaks.append(batch.nbytes)
            rows += batch.num_rows

    assert rows == ROWS
    assert max(peaks) < 300 * len(BIG)


def test_ordinary_rows_are_read_many_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    values = [b"%d" % (row % 1000) * 20 for row in range(ROWS)]
    parquet.write_table(pa.table({"value": values}), path)
    with open_parquet("t", str(path)) as source:
        (group,) = row_groups(source, str(path))
        sizes = [batch.num_rows for batch in batches_of(source, group, ["value"])]
    assert max(sizes) > 16_000
