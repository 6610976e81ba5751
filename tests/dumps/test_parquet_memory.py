"""Values that a Parquet file has once for many rows: read a few rows at a time. Columns: looked at once."""

from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest
from pyarrow import parquet

from kcompact.dumps.parquet.parquet_columns import without_views
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


class _Columns(list[pa.Field]):
    """A schema in which no column can be replaced by itself: Arrow copies all of them for each."""

    metadata: ClassVar = {b"of": b"the file"}


def test_a_schema_gets_all_its_plain_columns_at_once() -> None:
    number = pa.field("number", pa.int8(), nullable=False, metadata={b"of": b"the column"})
    columns: Any = _Columns([pa.field("text", pa.string_view(), nullable=False), number])

    plain = without_views(columns)

    text = pa.field("text", pa.string(), nullable=False)
    assert plain.equals(pa.schema([text, number], {b"of": b"the file"}), check_metadata=True)
