"""Reads a dump into an index: a row of every record, with all rows of a key in one task."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from kcompact.broker.state.known_records import KnownRecord
from kcompact.cleaner.shares import Shares, plan_shares
from kcompact.cleaner.tracked import INDEXED, index_rows_in, send_index
from kcompact.compact.context.remembering import (
    Digests,
    Known,
    KnownByLog,
    last_offsets_in,
    records_in,
)
from kcompact.compact.read_dump import ReadDump, checked
from kcompact.dumps.dump import Dump
from kcompact.engine.passes.index_pass import IndexPlan, plan_index
from kcompact.engine.shuffle import Send

ROWS_PER_RECEIVER = 500_000
TYPICAL_RECORD_BYTES = 200  # to guess the number of records before any is read
RECORDS_PER_SHARE = 1 << 20  # of a log, unless one split has more


@dataclass(frozen=True)
class RecordIndex(ReadDump):
    """The index rows of all records, for the cleaner to work on."""

    @property
    def shares(self) -> Shares:
        """The shares into which the records are divided."""
        return plan_shares(self.summaries, RECORDS_PER_SHARE)

    def records_at(self, wanted: KnownByLog) -> dict[tuple[int, int], KnownRecord]:
        """See ``ReadDump``."""
        parts = self.keyed.results(lambda _, blocks: records_in(index_rows_in(blocks), wanted))
        return {place: record for part in parts for place, record in part.items()}

    def last_offsets(self, digests: Digests) -> Known:
        """See ``ReadDump``."""
        parts = self.keyed.results(
            lambda _, blocks: last_offsets_in(index_rows_in(blocks), "offset", digests)
        )
        return {place: offset for part in parts for place, offset in part.items()}


def index_records(send: Send, dump: Dump, folder: Path) -> RecordIndex:
    """Read a dump into an index.

    If a file that was cut into splits is not in the order of offsets, the dump is read again with whole
    files.
    """
    index = _index(send, dump, plan_index(dump, folder, INDEXED))
    splits = Counter(index.file_ids.values())
    if not any(splits[file_id] > 1 for file_id in index.sorted_files):
        return index
    return _index(send, dump, plan_index(dump, folder, INDEXED, whole_files=True))


def _index(send: Send, dump: Dump, plan: IndexPlan) -> RecordIndex:
    keyed = send_index(send, plan, key_receivers(dump, plan))
    return RecordIndex(plan, keyed, *checked(dump, plan, (block.content for block in keyed.driver_blocks())))


def key_receivers(dump: Dump, plan: IndexPlan) -> int:
    """How many tasks share the keys: one per 500,000 rows, but at least 2; 1 if one task reads the dump."""
    if len(plan.tasks) == 1:
        return 1
    return max(2, dump.data_bytes // (ROWS_PER_RECEIVER * TYPICAL_RECORD_BYTES))
