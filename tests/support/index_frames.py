"""Index rows made from records, as the engine makes them from dumps."""

from collections.abc import Iterable

import pyarrow as pa

from kcompact.dumps.records.indexing import index_rows
from kcompact.dumps.records.layout import SplitNotes
from kcompact.dumps.records.record import Record, index_schema, log_id_of


def index_table(records: Iterable[Record], extra: frozenset[str]) -> pa.Table:
    """One split of one file that holds the records in the order given."""
    found = ((position, 1, record) for position, record in enumerate(records))
    batches = list(index_rows(found, 0, extra, SplitNotes()))
    return pa.Table.from_batches(batches, schema=index_schema(extra))


def logs_of(*dumps: Iterable[Record]) -> dict[int, tuple[str, int]]:
    """The logs that stand in any of the dumps, by log_id."""
    found = {(record.topic, record.partition) for records in dumps for record in records}
    return {log_id_of(*log): log for log in found}
