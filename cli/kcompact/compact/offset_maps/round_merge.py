"""The decisions of rounds on the records of each key, by the rules of ``rules/``, where these records meet.

A row stands either for all records of a key in the dirty section (the latest one, and how many there are), or
for a single record of the clean or the uncleanable section.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from kcompact.broker.log_names import LogName
from kcompact.cleaner.verdict_tallies import tally_rows
from kcompact.compact.context.remembering import records_to_know
from kcompact.compact.offset_maps.key_groups import HowToRead, groups_of_keys
from kcompact.compact.offset_maps.sections import Sections
from kcompact.compact.output.decided_rows import by_key, decided_by_key
from kcompact.compact.output.keys_across_partitions import find_shared_keys
from kcompact.compact.output.stages import KeyFigures
from kcompact.engine.passes.grouped_rows import SIZED, is_tombstone_of
from kcompact.engine.shuffle import Block
from kcompact.rules.decisions import TALLY_COLUMNS, Plan, with_columns
from kcompact.rules.links import NO_OFFSET
from kcompact.rules.lookups import Lookup, look_up
from kcompact.rules.verdicts import NEVER

_PASSES_TO_DECIDE = 2  # times as many passes as merging alone makes: rules take more memory for each row


@dataclass(frozen=True)
class RoundMerge:
    """All rounds over the keys of one merge task. Names, plans and lookups are by log id.

    In ``sections``, the first uncleanable offset of a log is where its last round ends, 0 if it has no round.
    """

    reading: HowToRead
    names: Mapping[int, LogName]
    sections: Sections
    plans: Mapping[int, Plan]
    lookups: Mapping[int, Lookup]
    has_state: bool

    def decide(self, blocks: list[Block]) -> Iterator[tuple[pa.Table, KeyFigures]]:
        """Decide on the keys of a merge task (see ``Decide``). Blocks are those of ``send_groups``."""
        for groups in groups_of_keys(blocks, self.reading, _PASSES_TO_DECIDE):
            rows, starts = self._by_key(groups)
            if rows.num_rows:
                rows = self._decided(rows, starts)
                yield decided_by_key(rows, starts), self._figures(rows, starts)

    def _by_key(self, groups: list[pa.RecordBatch]) -> tuple[pa.Table, np.ndarray]:
        """All rows, with those of a key next to each other by offset, and the positions where keys begin."""
        inside = [pa.array(self.sections.are_dirty(batch)) for batch in groups]
        others = [batch.filter(pa.compute.invert(at)) for batch, at in zip(groups, inside, strict=True)]
        if not sum(map(len, others)):
            merged = SIZED.merged(groups).combine_chunks()
            return merged, np.arange(merged.num_rows)
        dirty = [batch.filter(at) for batch, at in zip(groups, inside, strict=True)]
        merged = SIZED.merged([batch for batch in dirty if len(batch)])
        return by_key(pa.concat_tables([merged, pa.Table.from_batches(others)]))

    def _decided(self, rows: pa.Table, starts: np.ndarray) -> pa.Table:
        """The rows with those columns of TRACKED that the rules need, and with TALLY_COLUMNS."""
        count = rows.num_rows
        offsets, first = rows["last_offset"].to_numpy(), rows["first_offset"].to_numpy()
        is_tombstone = is_tombstone_of(rows["location"].to_numpy())
        first = np.minimum.reduceat(np.where(self.sections.are_dirty(rows), first, NEVER), starts)
        first = np.repeat(first, np.diff(np.append(starts, count)))  # per row, in its key's dirty section
        columns = {
            "offset": offsets,
            "is_tombstone": is_tombstone,
            "has_key": np.ones(count, bool),
            "is_control": np.zeros(count, bool),
            "is_repeated": np.zeros(count, bool),
            "previous_offset": np.full(count, NO_OFFSET),  # records below the section are in no map
            "superseded_at_offset": np.where(first > offsets, first, NEVER),
            "deletes_clean_value": ~self.sections.are_dirty(rows) & _deletes_value(is_tombstone, starts),
        }
        for name, column in columns.items():
            rows = rows.append_column(name, pa.array(column))
        looked_up = look_up(rows.combine_chunks().to_batches()[0], self.lookups)
        return with_columns(pa.Table.from_batches([looked_up]), self.plans, list(TALLY_COLUMNS))

    def _figures(self, rows: pa.Table, starts: np.ndarray) -> KeyFigures:
        keys = rows.select(["log_id", "key"]).take(pa.array(starts))
        return KeyFigures(
            find_shared_keys(keys, self.names),
            [tally_rows(rows)],
            records_to_know(rows) if self.has_state else {},
        )


def _deletes_value(is_tombstone: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Whether each row is a tombstone that directly follows a value of its key."""
    follows_value = np.roll(~is_tombstone, 1)
    follows_value[starts] = False
    return is_tombstone & follows_value
