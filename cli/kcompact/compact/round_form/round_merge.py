"""The decisions of rounds on the records of each key, where these meet: by the rules that the full form has.

A row stands for all records of a key in the dirty section (its latest one and their number), or for a single
record of the clean section, or of what the round leaves alone.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from kcompact.cleaner.verdict_tallies import tally_rows
from kcompact.compact.decided_rows import DECIDED_SCHEMA, NO_OFFSET
from kcompact.compact.full_form import remembering
from kcompact.compact.full_form.remembering import KnownByLog, records_to_know
from kcompact.compact.keys_across_partitions import SharedKeys, find_shared_keys, together
from kcompact.compact.sections import Sections
from kcompact.digits import LONG_MAX
from kcompact.engine.passes.grouped_rows import SIZED, is_tombstone_of, numbered
from kcompact.rules.decisions import TALLY_COLUMNS, Plan, with_columns
from kcompact.rules.links import NO_OFFSET as NO_PREVIOUS_OFFSET
from kcompact.rules.lookups import Lookup, look_up
from kcompact.rules.verdicts import NEVER, Verdict


@dataclass(frozen=True)
class MergedFigures:
    """Of some keys. ``tallies`` leave out the records that were merged into others."""

    shared: SharedKeys = field(default_factory=SharedKeys)
    keys: Counter[int] = field(default_factory=Counter)  # by log id
    tallies: list[pa.Table] = field(default_factory=list)
    known: KnownByLog = field(default_factory=dict)  # empty where no state remembers

    @classmethod
    def together(cls, parts: Sequence["MergedFigures"]) -> "MergedFigures":
        """Of the keys of all parts."""
        return cls(
            together(part.shared for part in parts),
            sum((part.keys for part in parts), Counter()),
            [table for part in parts for table in part.tallies],
            remembering.together(part.known for part in parts),
        )


@dataclass(frozen=True)
class RoundMerge:
    """All rounds over the keys of one merge task. Plans and lookups are by log id.

    ``sections``: the first uncleanable offset is where the last round ends, 0 of a log without a round.
    """

    names: Mapping[int, tuple[str, int]]
    sections: Sections
    plans: Mapping[int, Plan]
    lookups: Mapping[int, Lookup]
    has_state: bool

    def merged(self, groups: list[pa.RecordBatch]) -> tuple[pa.Table, MergedFigures]:
        """DECIDED_SCHEMA rows of all groups (SIZED_SCHEMA) of some keys, and figures of these."""
        rows, starts = self._by_key(groups)
        if not rows.num_rows:
            return DECIDED_SCHEMA.empty_table(), MergedFigures()
        rows = self._decided(rows, starts)
        return _outcome(rows, starts), self._figures(rows, starts)

    def _by_key(self, groups: list[pa.RecordBatch]) -> tuple[pa.Table, np.ndarray]:
        """All rows, those of a key side by side in the order of offsets; where each key begins."""
        inside = [pa.array(self.sections.are_dirty(batch)) for batch in groups]
        others = [batch.filter(pa.compute.invert(at)) for batch, at in zip(groups, inside, strict=True)]
        if not sum(map(len, others)):
            merged = SIZED.merged(groups).combine_chunks()
            return merged, np.arange(merged.num_rows)
        dirty = [batch.filter(at) for batch, at in zip(groups, inside, strict=True)]
        merged = SIZED.merged([batch for batch in dirty if len(batch)])
        rows = pa.concat_tables([merged, pa.Table.from_batches(others)]).combine_chunks()
        numbers = numbered(pa.concat_arrays(rows["key"].chunks), rows["log_id"].to_numpy())
        order = np.lexsort((rows["last_offset"].to_numpy(), numbers))
        starts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
        return rows.take(pa.array(order)).combine_chunks(), starts

    def _decided(self, rows: pa.Table, starts: np.ndarray) -> pa.Table:
        """The rows with TRACKED's columns, as far as rules ask for them, and TALLY_COLUMNS."""
        count = rows.num_rows
        offsets, first = rows["last_offset"].to_numpy(), rows["first_offset"].to_numpy()
        is_tombstone = is_tombstone_of(rows["location"].to_numpy())
        first = np.minimum.reduceat(np.where(self.sections.are_dirty(rows), first, NEVER), starts)
        first = np.repeat(first, np.diff(np.append(starts, count)))  # of the row's key in the dirty section
        columns = {
            "offset": offsets,
            "is_tombstone": is_tombstone,
            "has_key": np.ones(count, bool),
            "is_control": np.zeros(count, bool),
            "is_repeated": np.zeros(count, bool),
            "previous_offset": np.full(count, NO_PREVIOUS_OFFSET),  # what lies below has no entry in the map
            "superseded_at_offset": np.where(first > offsets, first, NEVER),
            "deletes_clean_value": ~self.sections.are_dirty(rows) & _deletes_value(is_tombstone, starts),
        }
        for name, column in columns.items():
            rows = rows.append_column(name, pa.array(column))
        looked_up = look_up(rows.combine_chunks().to_batches()[0], self.lookups)
        return with_columns(pa.Table.from_batches([looked_up]), self.plans, list(TALLY_COLUMNS))

    def _figures(self, rows: pa.Table, starts: np.ndarray) -> MergedFigures:
        keys = rows.select(["log_id", "key"]).take(pa.array(starts))
        counts = keys["log_id"].value_counts().to_pylist()
        return MergedFigures(
            find_shared_keys(keys, self.names),
            Counter({row["values"]: row["counts"] for row in counts}),
            [tally_rows(rows)],
            records_to_know(rows) if self.has_state else {},
        )


def _deletes_value(is_tombstone: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Whether a row is a tombstone and the row before a value of its key."""
    follows_value = np.roll(~is_tombstone, 1)
    follows_value[starts] = False
    return is_tombstone & follows_value


def _outcome(rows: pa.Table, starts: np.ndarray) -> pa.Table:
    """Records that stay, and the last one of each key, which tells what became of the others."""
    offsets, first = rows["last_offset"].to_numpy(), rows["first_offset"].to_numpy()
    kept = rows["verdict"].to_numpy() == int(Verdict.RETAINED)
    removed = rows["records"].to_numpy() - kept
    lasts = np.append(starts[1:], len(offsets)) - 1
    retained_offset, first_removed = offsets.copy(), first.copy()
    records_removed = np.full(len(offsets), -1)
    retained_offset[lasts] = np.maximum.reduceat(np.where(kept, offsets, NO_OFFSET), starts)
    first_removed[lasts] = np.minimum.reduceat(np.where(removed > 0, first, LONG_MAX), starts)
    records_removed[lasts] = np.add.reduceat(removed, starts)
    outcome = {
        "retained_offset": retained_offset,
        "records_removed": records_removed,
        "first_offset_removed": first_removed,
    }
    columns = {n: pa.array(outcome[n]) if n in outcome else rows[n] for n in DECIDED_SCHEMA.names}
    stays = kept.copy()
    stays[lasts] = True
    decided = pa.table(columns, schema=DECIDED_SCHEMA)
    return decided if stays.all() else decided.filter(pa.array(stays))
