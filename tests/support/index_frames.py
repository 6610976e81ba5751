"""Index rows made from records, as the engine makes them from dumps."""

from collections.abc import Iterable

import pyarrow as pa

from kcompact.broker.log_names import LogName
from kcompact.dumps.dialects.dialect import Dialect
from kcompact.dumps.records.indexing import index_rows
from kcompact.dumps.records.layout import DumpFile, Split, SplitNotes, SplitToIndex
from kcompact.dumps.records.record import Record, index_schema, log_id_of
from siphash import SECRET


def index_table(records: Iterable[Record], extra: frozenset[str]) -> pa.Table:
    """The index rows of one split of one file that holds the records in the order given."""
    found = ((position, 1, record) for position, record in enumerate(records))
    batches = list(index_rows(found, part_of_rows(0), extra))
    return pa.Table.from_batches(batches, schema=index_schema(extra))


def part_of_rows(split_id: int) -> SplitToIndex:
    """A split for rows that come from no dump."""
    file = DumpFile(0, "rows", "rows", 0, "json_lines", Dialect("rows", "no tool"))
    return SplitToIndex(file, Split(split_id, 0, 0, 0), SplitNotes(), SECRET)


def logs_of(*dumps: Iterable[Record]) -> dict[int, LogName]:
    """The logs that occur in any of the dumps, by log_id."""
    found = {LogName(record.topic, record.partition) for records in dumps for record in records}
    return {log_id_of(*log): log for log in found}
