"""The figures of many splits at once are those of each split by itself."""

import itertools

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kcompact.compact.output.split_figures import Splits, split_figures
from kcompact.engine.passes.grouped_rows import location_of
from kcompact.engine.passes.summaries import LogSummary

Record = tuple[bool, bool, bool, int]  # is it the latest of its key, a tombstone, dropped; removed before it


@st.composite
def split_logs(draw: st.DrawFn) -> list[tuple[list[int], list[Record]]]:
    """Per split: the offsets of one log (none is in two splits), and what is known of each record."""
    splits = []
    start = 0
    record = st.tuples(st.booleans(), st.booleans(), st.booleans(), st.integers(0, 2))
    for steps in draw(st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=6), min_size=1, max_size=5)):
        offsets = list(itertools.accumulate(steps, initial=start))
        start = offsets[-1] + draw(st.integers(1, 3))
        splits.append((offsets, draw(st.lists(record, min_size=len(offsets), max_size=len(offsets)))))
    order = draw(st.permutations(range(len(splits))))  # names of files need not follow offsets
    return [splits[number] for number in order]


def runs_of(offsets: list[int]) -> np.ndarray:
    cuts = [0, *(n for n in range(1, len(offsets)) if offsets[n] > offsets[n - 1] + 1), len(offsets)]
    return np.array([[offsets[a], offsets[b - 1] + 1] for a, b in itertools.pairwise(cuts)])


def rows_of(split_id: int, offsets: list[int], records: list[Record]) -> pa.Table:
    latest = [
        (offset, tombstone, dropped and tombstone, removed)
        for offset, (is_latest, tombstone, dropped, removed) in zip(offsets, records, strict=True)
        if is_latest
    ]
    columns = np.array(latest, np.int64).reshape(-1, 4)
    location = location_of(np.full(len(latest), split_id), columns[:, 0] % 7 + 1, columns[:, 1])
    return pa.table(
        {
            "split_id": np.full(len(latest), split_id),
            "last_offset": columns[:, 0],
            "location": location,
            "retained_offset": np.where(columns[:, 2], -1, columns[:, 0]),
            "records_removed": columns[:, 3] + columns[:, 2],
        }
    )


def expected(rows: pa.Table, offsets: list[int]) -> dict[str, int]:
    """The figures of one split, one after another."""
    key_rows = rows.to_pylist()
    kept = [row for row in key_rows if row["retained_offset"] >= 0]
    kept_offsets = [row["last_offset"] for row in kept]
    gaps = [(low + 1, high) for low, high in itertools.pairwise(kept_offsets) if high - low > 1]
    first, last = (kept_offsets[0], kept_offsets[-1]) if kept else (-1, -1)
    return {
        "split_id": key_rows[0]["split_id"],
        "first_offset": key_rows[0]["last_offset"],
        "keys": len(key_rows),
        "kept": len(kept),
        "kept_bytes": sum(row["last_offset"] % 7 + 1 for row in kept),
        "tombstones_kept": sum(row["location"] & 1 for row in kept),
        "first_kept": first,
        "last_kept": last,
        "records_before": sum(offset < first for offset in offsets),
        "records_through": sum(offset <= last for offset in offsets),
        "removed_keys": sum(row["records_removed"] > 0 for row in key_rows),
        "gaps": len(gaps),
        "gap_offsets": sum(end - start for start, end in gaps),
        "gap_missing_before": sum(
            offset not in offsets for start, end in gaps for offset in range(start, end)
        ),
    }


@given(split_logs())
def test_many_splits_at_once_are_as_each_by_itself(splits: list[tuple[list[int], list[Record]]]) -> None:
    tables = [rows_of(number, *split) for number, split in enumerate(splits)]
    numbers = [number for number, table in enumerate(tables) if table.num_rows]
    if not numbers:
        return
    rows = pa.concat_tables(tables).combine_chunks()
    logs = [
        LogSummary(number, 7, "t", 0, first_offset=splits[number][0][0], runs=runs_of(splits[number][0]))
        for number in numbers
    ]

    columns, gaps = split_figures(rows, Splits.of(rows["split_id"].to_numpy()), logs)

    figure_rows = [
        dict(zip(columns, row, strict=True))
        for row in zip(*(column.tolist() for column in columns.values()), strict=True)
    ]
    assert [expected(tables[number], splits[number][0]) for number in numbers] == figure_rows
    assert len(gaps) == sum(row["gaps"] for row in figure_rows)
