"""Parquet: row groups are read by themselves, survivors are row groups without the others' rows.

A record's position is the number of its row group, times 2**32, plus its row there; ``record_bytes`` is its
share of the row group's packed bytes. A split counts the packed bytes of row groups, one after another.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import pyarrow as pa

from kcompact.dumps.detect.event_proposals import check_events, parsed_values
from kcompact.dumps.dialects.columns import PARQUET, value_place
from kcompact.dumps.dialects.dialect import Dialect
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.parquet.parquet_columns import bytes_of, column_at
from kcompact.dumps.parquet.parquet_dialect import columns_of, parquet_dialect
from kcompact.dumps.parquet.parquet_file import (
    BadRowGroup,
    RowGroup,
    batches_of,
    naming,
    open_parquet,
    reading_footer,
    row_groups,
)
from kcompact.dumps.parquet.parquet_output import ParquetForm, form_of, framed, is_ours
from kcompact.dumps.parquet.parquet_reader import ParquetReader
from kcompact.dumps.parquet.parquet_rows import GROUP_SHIFT, RowGroupRows
from kcompact.dumps.records.indexing import Found, index_rows
from kcompact.dumps.records.layout import DumpFile, Layout, Reject, Split, SplitNotes
from kcompact.dumps.records.record import Record
from kcompact.errors import InputError

if TYPE_CHECKING:
    from pyarrow import parquet

_IN_GROUP = (1 << GROUP_SHIFT) - 1
_SAMPLED = 20


@dataclass(frozen=True)
class ParquetShape:
    """The shape of a Parquet file: how its output is written."""

    form: ParquetForm


def recognise_parquet(path: str, data_path: str, options: ReadOptions) -> tuple[ParquetShape, Dialect]:
    """Shape and dialect of a file with Parquet's magic; messages name it ``path``. Raises InputError."""
    with open_parquet(path, data_path) as source:
        with reading_footer(path, data_path):
            schema, groups, form = source.schema_arrow, row_groups(source), form_of(source)
        if is_ours(schema):  # options tell of what another tool wrote
            options = ReadOptions(canonical_keys=options.canonical_keys, cdc=options.cdc)
        columns = columns_of(path, schema)
        place = value_place(columns, options)
        try:
            sample = parsed_values(_sample(source, groups[0], place)) if groups else []
        except BadRowGroup:
            sample = []  # told when it is read as a whole
        notes = check_events(path, replace(PARQUET["parquet"], value=place), sample, options)
        dialect = parquet_dialect(columns, schema, options)
        return ParquetShape(form), replace(dialect, notes=dialect.notes + notes)


def _sample(source: "parquet.ParquetFile", group: RowGroup, place: str) -> list[bytes | None]:
    """The first values."""
    batch = next(batches_of(source, group, [place] if place else None))
    with naming(group.number):
        return bytes_of(column_at(batch.slice(0, _SAMPLED), place)) if batch.num_columns else []


class Parquet(Layout):
    """The layout of Parquet files."""

    def plan(self, file: DumpFile, split_bytes: int) -> list[tuple[int, int]]:
        """Cut between row groups. Without offsets, records are numbered through the file: one split."""
        with open_parquet(file.path, file.data_path) as source:
            groups = row_groups(source)
        ends = [groups[-1].end if groups else 0]
        if file.dialect.offset is not None:
            last = 0
            for group in groups[:-1]:
                if group.end - last >= split_bytes:
                    ends.insert(-1, group.end)
                    last = group.end
        return list(pairwise([0, *ends]))

    def index(
        self, file: DumpFile, split: Split, extra: frozenset[str], notes: SplitNotes
    ) -> Iterator[pa.RecordBatch]:
        """Rows of ``index_schema(extra)``; stops at the first row group that cannot be read."""
        with open_parquet(file.path, file.data_path) as source:
            by_batch = RowGroupRows(file, source, split.split_id, notes)
            reader = ParquetReader(file, notes, values=bool(extra))
            for group in _groups_in(source, split):
                found = None if extra else by_batch.read(group)
                if found is not None:
                    yield from found
                    continue
                records = _records_of(file, source, group, reader, notes)
                yield from index_rows(_until_reject(records, split, notes), split.split_id, extra, notes)
                if notes.rejects:
                    return

    def records(self, file: DumpFile, split: Split) -> Iterator[Found]:
        """Every record, decoded in full. Raises InputError."""
        try:
            yield from _found(file, split, SplitNotes(), values=True)
        except BadRowGroup as bad:
            raise _input_error(file, bad) from bad

    def decode(
        self, file: DumpFile, split: Split, positions: np.ndarray, record_bytes: np.ndarray
    ) -> Iterator[Record]:
        """The records at the given positions, in that order. Of a dump without offsets, see ``records``."""
        del split, record_bytes
        reader = ParquetReader(file, SplitNotes(), values=True)
        try:
            for number, rows in _chosen(file, positions):
                yield from reader.decoded(rows, number)
        except BadRowGroup as bad:
            raise _input_error(file, bad) from bad

    def copy(
        self,
        file: DumpFile,
        split: Split,
        positions: np.ndarray,
        record_bytes: np.ndarray,
        out: BinaryIO,
    ) -> int:
        """A row group for every one of the input that has survivors, as ``parquet_output.py`` reads them."""
        del split, record_bytes
        try:
            return sum(out.write(framed(rows)) for _, rows in _chosen(file, positions))
        except BadRowGroup as bad:
            raise _input_error(file, bad) from bad


def place(position: int) -> str:
    """How messages name a record's place."""
    return f"row group {position >> GROUP_SHIFT}, row {position & _IN_GROUP}"


def _found(file: DumpFile, split: Split, notes: SplitNotes, *, values: bool) -> Iterator[Found]:
    """All records of a split. Raises BadRowGroup."""
    reader = ParquetReader(file, notes, values=values)
    with open_parquet(file.path, file.data_path) as source:
        for group in _groups_in(source, split):
            yield from _records_of(file, source, group, reader, notes)


def _groups_in(source: "parquet.ParquetFile", split: Split) -> list[RowGroup]:
    return [group for group in row_groups(source) if split.start <= group.start < split.end]


def _records_of(
    file: DumpFile,
    source: "parquet.ParquetFile",
    group: RowGroup,
    reader: ParquetReader,
    notes: SplitNotes,
) -> Iterator[Found]:
    """All records of a row group. Raises BadRowGroup."""
    least, larger = divmod(group.end - group.start, group.rows)
    for row, record in enumerate(reader.records(source, group)):
        if file.wants(record.topic, record.partition):
            yield group.number << GROUP_SHIFT | row, least + (row < larger), record
        else:
            notes.left_out.add((record.topic, record.partition))


def _until_reject(found: Iterator[Found], split: Split, notes: SplitNotes) -> Iterator[Found]:
    try:
        yield from found
    except BadRowGroup as bad:
        position = bad.number << GROUP_SHIFT | bad.row
        notes.rejects.append(Reject(split.split_id, position, bad.reason, bad.hint))


def _chosen(file: DumpFile, positions: np.ndarray) -> Iterator[tuple[int, pa.Table]]:
    """The rows at the positions, in that order, with the number of a row group they are of."""
    if not len(positions):
        return
    order = np.argsort(positions, kind="stable")
    found = _ascending(file, positions[order])
    if (np.diff(positions) > 0).all():
        yield from found
        return
    rows = pa.concat_tables(rows for _, rows in found)
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    yield int(positions[0]) >> GROUP_SHIFT, rows.take(pa.array(ranks))


def _ascending(file: DumpFile, positions: np.ndarray) -> Iterator[tuple[int, pa.Table]]:
    """The rows at positions that ascend, by row group."""
    with open_parquet(file.path, file.data_path) as source:
        for group in row_groups(source):
            first, behind = np.searchsorted(
                positions, [group.number << GROUP_SHIFT, (group.number + 1) << GROUP_SHIFT]
            )
            if first < behind:
                yield group.number, _rows_of(source, group, positions[first:behind] & _IN_GROUP)


def _rows_of(source: "parquet.ParquetFile", group: RowGroup, rows: np.ndarray) -> pa.Table:
    kept, start = [], 0
    for batch in batches_of(source, group, None):
        first, behind = np.searchsorted(rows, [start, start + batch.num_rows])
        kept.append(batch.take(pa.array(rows[first:behind] - start)))
        start += batch.num_rows
    return pa.Table.from_batches(kept, source.schema_arrow)


def _input_error(file: DumpFile, bad: BadRowGroup) -> InputError:
    return InputError(f"{file.path}: row group {bad.number}: {bad.reason}", hint=bad.hint)
