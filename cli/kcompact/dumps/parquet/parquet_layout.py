"""Parquet: each row group is read by itself, and survivors are written as row groups without other rows.

A record's position is the number of its row group, times 2**32, plus its row there; ``record_bytes`` is its
share of the row group's packed bytes. The bounds of a split are sums of the packed bytes of row groups.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice, pairwise
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import orjson
import pyarrow as pa

from kcompact.dumps.detect.candidate import Recognised
from kcompact.dumps.detect.choosing import notes_on_columns
from kcompact.dumps.detect.event_proposals import (
    check_delete_flags,
    check_events,
    marks_of,
    parsed_values,
)
from kcompact.dumps.detect.likely_encodings import note_on_python_texts
from kcompact.dumps.dialects.envelope import PARQUET, value_place
from kcompact.dumps.dialects.part_names import ALIASES, plain_name
from kcompact.dumps.dialects.sampled_values import Row, with_bytes_unread
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.parquet.parquet_columns import (
    bytes_of,
    column_at,
    columns_of,
    is_bytes_at,
    parquet_dialect,
    scalars_of,
    takes_no_null,
    without_views,
)
from kcompact.dumps.parquet.parquet_contents import check_contents
from kcompact.dumps.parquet.parquet_file import (
    GROUP_SHIFT,
    ParquetInput,
    RowGroup,
    bad_row_group,
    batches_of,
    input_of,
    instants_of_spark,
    naming,
    open_parquet,
    reading_footer,
    refuse_encrypted,
    refuse_nanoseconds,
    refuse_variants,
    row_groups,
)
from kcompact.dumps.parquet.parquet_output import form_of, framed, is_ours
from kcompact.dumps.parquet.parquet_reader import ParquetReader, RowGroupRows, has_no_null
from kcompact.dumps.records.indexing import Entry, gathered, index_rows
from kcompact.dumps.records.layout import Chosen, DumpFile, Split, SplitNotes, SplitToIndex
from kcompact.dumps.records.layout_interface import Layout, asked_for, until_reject, with_tombstones
from kcompact.dumps.records.record import Record
from kcompact.errors import InputError, UnreadableError

if TYPE_CHECKING:
    from pyarrow import parquet

_IN_GROUP = (1 << GROUP_SHIFT) - 1
_SAMPLED = 20
_LOOKED_AT = 200  # rows whose keys and values are looked at: few, as there may be many files
_COPIED_BYTES = 128 << 20  # kept in memory: a row group may unpack to any size
_LYING_HINT = "nulls are tombstones: write the file again, without statistics or with another writer"


def recognise_parquet(path: str, data: ParquetInput, options: ReadOptions) -> Recognised:
    """Recognise a file with Parquet's magic; messages name it ``path``. Raises InputError."""
    with open_parquet(path, data) as source:
        refuse_encrypted(path, data, source)
        with reading_footer(path, data):
            check_contents(source.metadata)
            schema, groups, form = source.schema_arrow, row_groups(source, data), form_of(source)
            columns = columns_of(path, schema)
            refuse_variants(path, source)
        refuse_nanoseconds(path, data, source)
        if is_ours(schema):  # options describe what another tool wrote
            options = options.for_converted
        place = value_place(columns, options)
        try:
            sample = _sample(source, groups[0], place) if groups else []
        except (UnreadableError, KeyError):
            sample = []  # reported when all is read, or below if two columns have this name
        dialect = PARQUET["parquet"].with_places({"value": place})
        notes = check_events(path, dialect, parsed_values(sample), options)
        notes += () if options.tombstone else note_on_python_texts(sample)
        with reading_footer(path, data):  # a name or zone in it may be no text
            dialect = parquet_dialect(columns, schema, options)
        if dialect.timestamp in instants_of_spark(source):
            dialect = replace(dialect, is_zoneless=False)
        if dialect.offset is None and "offset" not in options.fields:
            _refuse_offsets_of_pandas(path, schema)
        if groups and (marks := marks_of(dialect, columns.names)):
            rows = _first_rows(source, groups[0], [*marks, *filter(None, [dialect.value.place])])
            flag = check_delete_flags(path, dialect, rows, marks, options)
            dialect = replace(dialect, delete_flag=flag)
        places = [part for part in (dialect.key.place, dialect.value.place) if part]
        of_bytes = {part for part in places if is_bytes_at(schema, part)}
        parts = [part for part in places if part not in of_bytes or takes_no_null(schema, part)]
        if groups and parts:
            rows = _first_rows(source, groups[0], parts, _LOOKED_AT)
            rows = with_bytes_unread(rows, of_bytes.intersection(parts))
            notes += notes_on_columns(path, dialect, rows, options)
        return Recognised("parquet", dialect, form, notes=notes)


def _refuse_offsets_of_pandas(path: str, schema: pa.Schema) -> None:
    """Raise InputError where the offsets are a range index of pandas, for which it writes no column."""
    names: list[str] = []
    with suppress(ValueError, KeyError, TypeError):  # no metadata of pandas, or not as it writes them
        about = orjson.loads((schema.metadata or {})[b"pandas"])
        indexes = [index for index in about["index_columns"] if isinstance(index, dict)]
        names = [str(index["name"]) for index in indexes if index["kind"] == "range"]
    for name in names:
        if plain_name(name) in ALIASES["offset"]:
            raise InputError(
                f"{path}: {name} is an index of pandas, which is in no column of the file",
                hint="write it as a column: frame.reset_index().to_parquet(...); or, if the order of the rows"
                " is enough, --fields offset=",
            )


def _sample(source: "parquet.ParquetFile", group: RowGroup, place: str) -> list[bytes | None]:
    """The bytes of the first values. Raises UnreadableError."""
    batch = next(batches_of(source, group, [place] if place else None))
    with naming(group.number):
        return bytes_of(column_at(batch.slice(0, _SAMPLED), place)) if batch.num_columns else []


def _first_rows(
    source: "parquet.ParquetFile", group: RowGroup, places: list[str], most: int | None = None
) -> list[Row]:
    """The cells of these columns in the first rows, bytes as text."""
    try:
        batch = next(batches_of(source, group, places)).slice(0, most)
        with naming(group.number):
            columns = [scalars_of(column_at(batch, place)) for place in places]
    except UnreadableError:
        return []  # reported when the whole is read
    return [dict(zip(places, cells, strict=True)) for cells in zip(*columns, strict=True)]


class Parquet(Layout):
    """The layout of Parquet files."""

    def plan(self, file: DumpFile, split_bytes: int) -> list[tuple[int, int]]:
        """Cut between row groups; one range if records depend on those before them (``Dialect.in_order``)."""
        return _between_groups(file, input_of(file), split_bytes)

    def cut(self, file: DumpFile, source: BinaryIO, split_bytes: int) -> list[tuple[int, int]]:
        """As ``plan``, for an opened object: only its table of contents is read."""
        return _between_groups(file, source, split_bytes)

    def read(self, part: SplitToIndex, *, values: bool) -> Iterator[Entry]:
        """The records that are asked for, row group by row group."""
        return asked_for(_all_entries(part, values=values), part)

    def index(self, part: SplitToIndex, extra: frozenset[str]) -> Iterator[pa.RecordBatch]:
        """Index rows: of ordinary row groups by columns, of others record by record; in joined batches."""
        in_order = part.file.dialect.in_order
        return super().index(part, extra) if in_order else gathered(_indexed(part, extra))

    def decode_alone(self, chosen: Chosen, notes: SplitNotes) -> Iterator[Record]:
        """The chosen records. Raises UnreadableError."""
        reader = ParquetReader(chosen.file, notes, values=True)
        for number, rows in _chosen(chosen.file, chosen.positions):
            yield from reader.decoded(rows, number)

    def copy(self, chosen: Chosen, out: BinaryIO) -> int:
        """Write the survivors of each row group, in tables that ``parquet_output.py`` reads."""
        try:
            positions = with_tombstones(chosen, _all_entries).positions
            return sum(out.write(framed(rows)) for _, rows in _chosen(chosen.file, positions))
        except UnreadableError as bad:
            raise self.refusal(chosen.file, bad) from bad

    def refusal(self, file: DumpFile, bad: UnreadableError) -> InputError:
        """The error that a user sees; it names the row group alone, as chosen rows are not numbered."""
        return InputError(
            f"{file.path}: row group {(bad.position or 0) >> GROUP_SHIFT}: {bad}", hint=bad.hint
        )

    def place(self, position: int) -> str:
        """The row group and row, as messages name them."""
        return f"row group {position >> GROUP_SHIFT}, row {position & _IN_GROUP}"


def _indexed(part: SplitToIndex, extra: frozenset[str]) -> Iterator[pa.RecordBatch]:
    """Index rows of a split, up to the first record that cannot be read."""
    data = input_of(part.file)
    with open_parquet(part.file.path, data) as source:
        by_batch = RowGroupRows(part, source)
        reader = ParquetReader(part.file, part.notes, values=bool(extra))
        for group in _groups_in(source, data, part.split):
            done = 0
            for rows, behind in () if extra else by_batch.read(group):
                done = behind
                yield rows
            if done == group.rows:
                continue
            others = islice(_records_of(source, group, reader), done, None)
            records = until_reject(asked_for(others, part), part)
            yield from index_rows(records, part, extra)
            if part.notes.rejects:
                return


def _between_groups(file: DumpFile, data: ParquetInput, split_bytes: int) -> list[tuple[int, int]]:
    with open_parquet(file.path, data) as source:
        groups = row_groups(source, data)
    ends = [groups[-1].end if groups else 0]
    if not file.dialect.in_order:
        last = 0
        for group in groups[:-1]:
            if group.end - last >= split_bytes:
                ends.insert(-1, group.end)
                last = group.end
    return list(pairwise([0, *ends]))


def _groups_in(source: "parquet.ParquetFile", data: ParquetInput, split: Split) -> list[RowGroup]:
    return [group for group in row_groups(source, data) if split.start <= group.start < split.end]


def _all_entries(part: SplitToIndex, *, values: bool = False) -> Iterator[Entry]:
    """The records of a split, one by one. Raises UnreadableError."""
    reader = ParquetReader(part.file, part.notes, values=values)
    data = input_of(part.file)
    with open_parquet(part.file.path, data) as source:
        for group in _groups_in(source, data, part.split):
            yield from _records_of(source, group, reader)


def _records_of(source: "parquet.ParquetFile", group: RowGroup, reader: ParquetReader) -> Iterator[Entry]:
    """All records of a row group. Raises UnreadableError."""
    least, larger = divmod(group.end - group.start, group.rows)
    for row, record in enumerate(reader.records(source, group)):
        yield group.number << GROUP_SHIFT | row, least + (row < larger), record


def _chosen(file: DumpFile, positions: np.ndarray) -> Iterator[tuple[int, pa.Table]]:
    """The rows at the positions, in that order, as tables with the number of a row group for messages."""
    if not len(positions):
        return
    order = np.argsort(positions, kind="stable")
    tables = _ascending(file, positions[order])
    if (np.diff(positions) > 0).all():
        yield from tables
        return
    rows = pa.concat_tables(rows for _, rows in tables)
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    yield int(positions[0]) >> GROUP_SHIFT, rows.take(pa.array(ranks))


def _ascending(file: DumpFile, positions: np.ndarray) -> Iterator[tuple[int, pa.Table]]:
    """The rows at ascending positions, in tables of rows of one row group, with its number."""
    data = input_of(file)
    with open_parquet(file.path, data) as source:
        for group in row_groups(source, data):
            first, behind = np.searchsorted(
                positions, [group.number << GROUP_SHIFT, (group.number + 1) << GROUP_SHIFT]
            )
            if first < behind:
                value = file.dialect.value.place
                # The index pass trusted statistics that count no null: here the values are checked.
                never_null = value if value and has_no_null(source, group, value) else None
                for rows in _rows_of(source, group, positions[first:behind] & _IN_GROUP, never_null):
                    yield group.number, rows


def _rows_of(
    source: "parquet.ParquetFile", group: RowGroup, rows: np.ndarray, never_null: str | None
) -> Iterator[pa.Table]:
    """The chosen rows of a row group, in tables of some _COPIED_BYTES. Raises UnreadableError."""
    batches, row_bytes, start, schema = [], 0, 0, without_views(source.schema_arrow)
    for batch in batches_of(source, group, None):
        if never_null and column_at(batch, never_null).null_count:
            reason = f"its statistics say that {never_null} is never null, and it is"
            raise bad_row_group(group.number, reason, _LYING_HINT)
        plain = batch if batch.schema.equals(schema) else batch.cast(schema)
        first, behind = np.searchsorted(rows, [start, start + batch.num_rows])
        if first < behind:  # a table without rows would be an empty row group
            batches.append(plain.take(pa.array(rows[first:behind] - start)))
            row_bytes += batches[-1].nbytes
        start += batch.num_rows
        if row_bytes > _COPIED_BYTES:
            yield pa.Table.from_batches(batches, schema)
            batches, row_bytes = [], 0
    if batches:
        yield pa.Table.from_batches(batches, schema)
