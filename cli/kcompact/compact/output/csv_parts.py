"""Lines of removed-keys.csv and gaps.csv, as the workers write them (they can be as large as the dump)."""

import io
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from kcompact.broker.log_names import LogName
from kcompact.inert import csv_cell
from kcompact.printable import printable_key

REMOVED_KEYS_HEADER = b"topic,partition,key,records_removed,first_offset_removed,retained_offset,reason\n"
GAPS_HEADER = b"topic,partition,first_offset,last_offset,length,missing_before,removed_by_this_run\n"
# Keys that are written as they are: not "0x..", which stands for bytes, and no invisible blank at the end.
_HARMLESS = r"^[1-9A-Za-z_](?:[0-9A-Za-z_.:/|@#~ -]*[0-9A-Za-z_.:/|@~-])?$"
# Escaped, a key is at most four times as long, below what a spreadsheet's cell holds: 32,767 characters.
LONGEST_KEY_BYTES = 8_000
_WRITE_OPTIONS = csv.WriteOptions(include_header=False, quoting_style="needed")


def render_removed_keys(logs: Sequence[LogName], counts: Sequence[int], removed: pa.Table) -> bytes:
    """CSV lines, one for each row of ``REMOVED_SCHEMA``. Keys are made printable, and inert in a spreadsheet.

    ``counts`` tells how many of the rows each of ``logs`` has; rows are in the order of ``logs``. A key of
    more than LONGEST_KEY_BYTES is cut, with its length and digest added, as ``printable_key`` does it.
    """
    if not removed.num_rows:
        return b""
    columns = [_key_cells(removed["key"]), *(removed[name] for name in removed.column_names[1:])]
    return _lines(logs, counts, columns)


def render_gaps(logs: Sequence[LogName], counts: Sequence[int], gaps: np.ndarray) -> bytes:
    """CSV lines for rows (n, 3) of ``gap_rows``. In the lines both ends of a gap are inclusive.

    ``counts`` tells how many of the rows each of ``logs`` has; rows are in the order of ``logs``.
    """
    if not len(gaps):
        return b""
    starts, ends, missing = gaps[:, 0], gaps[:, 1], gaps[:, 2]
    length = ends - starts
    return _lines(logs, counts, [pa.array(c) for c in (starts, ends - 1, length, missing, length - missing)])


def _lines(logs: Sequence[LogName], counts: Sequence[int], columns: list[pa.Array]) -> bytes:
    names = [str(number) for number in range(len(columns) + 2)]
    numbers = pa.array(np.repeat(np.arange(len(logs)), counts))
    topics = pa.array([_topic_cell(log.topic) for log in logs], pa.string())
    partitions = pa.array([log.partition for log in logs], pa.int64())
    out = io.BytesIO()
    table = pa.table([topics.take(numbers), partitions.take(numbers), *columns], names=names)
    csv.write_csv(table, out, _WRITE_OPTIONS)
    return out.getvalue()


def _topic_cell(topic: str) -> str:
    """The cell of a topic. Kafka allows 249 characters, but a dump may hold any name: a long one is cut."""
    name = topic.encode(errors="replace")
    return csv_cell(topic if len(name) <= LONGEST_KEY_BYTES else printable_key(name, LONGEST_KEY_BYTES))


def _key_cells(keys: pa.ChunkedArray) -> pa.Array:
    """The cells of keys. Most keys are plain words, so that only the others are handled one by one."""
    keys = keys.combine_chunks() if isinstance(keys, pa.ChunkedArray) else keys
    harmless = pc.and_(
        pc.match_substring_regex(keys, _HARMLESS), pc.less_equal(pc.binary_length(keys), LONGEST_KEY_BYTES)
    )
    if pc.all(harmless).as_py():
        return keys.cast(pa.string())
    cells = [
        key.decode() if plain else csv_cell(printable_key(key, LONGEST_KEY_BYTES))
        for key, plain in zip(keys.to_pylist(), harmless.to_pylist(), strict=True)
    ]
    return pa.array(cells, pa.string())
