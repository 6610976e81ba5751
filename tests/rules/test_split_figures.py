"""The figures of many logs and splits at once are those of each by itself."""

import itertools

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kcompact.compact.output.split_figures import Splits, are_on_one_axis, split_figures
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


def summary_of(number: int, log_id: int, offsets: list[int]) -> LogSummary:
    ends = {"first_offset": offsets[0], "last_offset": offsets[-1]}
    return LogSummary(number, log_id, "t", log_id, **ends, runs=runs_of(offsets))


@given(st.lists(split_logs(), min_size=1, max_size=4))
def test_many_splits_and_logs_at_once_are_as_each_by_itself(
    logs: list[list[tuple[list[int], list[Record]]]],
) -> None:
    parts = [
        (log_id, number, offsets, rows_of(number, offsets, records))
        for log_id, splits in enumerate(logs)
        for number, (offsets, records) in enumerate(splits)
    ]
    parts = [part for part in parts if part[3].num_rows]
    if not parts:
        return
    rows = pa.concat_tables([table for *_, table in parts]).combine_chunks()
    log_ids = np.repeat([log_id for log_id, *_ in parts], [table.num_rows for *_, table in parts])
    summaries = [summary_of(number, log_id, offsets) for log_id, number, offsets, _ in parts]

    columns, gaps = split_figures(rows, Splits.of(rows["split_id"].to_numpy(), log_ids), summaries)

    figure_rows = [
        dict(zip(columns, row, strict=True))
        for row in zip(*(column.tolist() for column in columns.values()), strict=True)
    ]
    assert [expected(table, offsets) for *_, offsets, table in parts] == figure_rows
    assert gaps[:, :2].tolist() == [
        [low + 1, high]
        for *_, table in parts
        for low, high in itertools.pairwise(
            row["last_offset"] for row in table.to_pylist() if row["retained_offset"] >= 0
        )
        if high - low > 1
    ]


def test_offsets_that_do_not_fit_one_behind_the_other_are_told_of_each_log_alone() -> None:
    near_the_end = [summary_of(0, log_id, [2**63 - 20, 2**63 - 10]) for log_id in range(2)]
    assert are_on_one_axis(near_the_end[:1])
    assert not are_on_one_axis(near_the_end)
    assert are_on_one_axis([summary_of(0, log_id, [10**12]) for log_id in range(1000)])
