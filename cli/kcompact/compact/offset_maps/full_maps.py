"""Where full maps end the rounds of logs, and which records the rounds remove, as the steps of keys tell."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from kcompact.cleaner.log_case import LogCase, scan_limits, spans_of_case
from kcompact.cleaner.round_loop import plan_of
from kcompact.cleaner.shares import plan_shares
from kcompact.cleaner.tracked import in_turn
from kcompact.cleaner.verdict_tallies import Tally, summed, tallies_in, tally_rows
from kcompact.compact.offset_maps.key_groups import GROUPS, KeyScan
from kcompact.compact.offset_maps.sections import Sections
from kcompact.compact.offset_maps.steps import STEPS, STEPS_SCHEMA, steps_between
from kcompact.engine.blocks import joined, row_blocks, rows_in
from kcompact.engine.exchange import shares_by_key
from kcompact.engine.passes.grouped_rows import SIZED_SCHEMA
from kcompact.engine.passes.grouping import passes_for
from kcompact.engine.shuffle import Block, Sent
from kcompact.errors import AccountError
from kcompact.rules.decisions import TALLY_COLUMNS, with_columns
from kcompact.rules.links import NO_OFFSET
from kcompact.rules.lookups import Lookup, look_up
from kcompact.rules.orders import order_by_offset
from kcompact.rules.rounds import MapScan, RoundSpan

STEPS_PER_SHARE = 1 << 19  # of a log, unless one split has more
_STEPS_AT_A_TIME = 1 << 16  # get the columns that rules ask for


@dataclass
class FullMaps:
    """The maps of one log, filled with the steps of its dirty section, and tallies of superseded records.

    ``steps`` is the number of steps so far, ``last_offset`` the offset of the later record of the last one.
    ``misplaced`` counts steps that came twice or too late, or whose earlier record is not below the later
    one.
    """

    log_id: int
    name: str
    case: LogCase
    lookup: Lookup
    scan: MapScan
    tallies: pa.Table | None = None
    steps: int = 0
    misplaced: int = 0
    last_offset: int = NO_OFFSET

    @property
    def spans(self) -> list[RoundSpan]:
        """The rounds, as far as they are known by the steps so far."""
        return spans_of_case(self.case, self.scan)

    def check_steps(self, dirty_records: int) -> None:
        """Raise AccountError unless there was one step for each record of the dirty section, in order.

        The step of a key's first record supersedes nothing, but fills the map; no sum of records would show
        that it is missing.
        """
        if self.misplaced or self.steps != dirty_records:
            raise AccountError(
                f"{self.name}: {self.steps:,} steps, {self.misplaced:,} of them out of place, lead to"
                f" {dirty_records:,} records"
            )

    def superseded(self, others: Sequence[Tally]) -> list[Tally]:
        """Tallies of all records that are superseded in one of the rounds. ``others``: of all other records.

        Raises AccountError where both do not add up to the whole log.
        """
        tallies = [] if self.tallies is None else tallies_in([self.tallies])[self.log_id]
        whole, counted = self.case.records, (*tallies, *others)
        records = sum(tally.records for tally in counted)
        log_bytes = sum(tally.log_bytes for tally in counted)
        if (records, log_bytes) != (whole.records, whole.log_bytes):
            raise AccountError(
                f"{self.name}: steps and keys account for {records:,} of {whole.records:,} records,"
                f" {log_bytes:,} of {whole.log_bytes:,} bytes"
            )
        return tallies

    def fed(self, steps: pa.Table) -> "FullMaps":
        """Take in the next steps, which come in the order of their later records, and return itself."""
        for first in range(0, steps.num_rows, _STEPS_AT_A_TIME):
            self._feed(steps.slice(first, _STEPS_AT_A_TIME))
        return self

    def _feed(self, steps: pa.Table) -> None:
        at, offsets = (steps[name].to_numpy() for name in ("superseded_at_offset", "offset"))
        is_misplaced = (np.diff(at, prepend=self.last_offset) <= 0) | (offsets >= at)
        self.misplaced += int(np.count_nonzero(is_misplaced))
        self.steps, self.last_offset = self.steps + len(at), int(at[-1])
        self.scan.feed(at, offsets, np.ones(len(at), np.bool_), np.zeros(len(at), np.bool_))
        # Rounds that are not known yet begin after these steps, so the plan so far decides on all of them.
        gone = (offsets != NO_OFFSET) & (at < self.spans[-1].next_offset)
        if gone.any():
            known = [] if self.tallies is None else [self.tallies]
            self.tallies = summed(pa.concat_tables([*known, self._tallied(steps.filter(pa.array(gone)))]))

    def _tallied(self, steps: pa.Table) -> pa.Table:
        rows = steps.combine_chunks()
        flags = {"has_key": True, "is_control": False, "is_repeated": False, "deletes_clean_value": False}
        for name, flag in flags.items():
            rows = rows.append_column(name, pa.array(np.full(rows.num_rows, flag)))
        # So that the rows open no map entries: the scan has counted these.
        rows = rows.append_column("previous_offset", rows["offset"])
        looked_up = look_up(rows.to_batches()[0], {self.log_id: self.lookup})
        plans = {self.log_id: plan_of(self.case, self.spans, 0)}
        return tally_rows(with_columns(pa.Table.from_batches([looked_up]), plans, list(TALLY_COLUMNS)))


def find_full_maps(
    scan: KeyScan,
    sections: Sections,
    cases: Mapping[int, LogCase],
    lookups: Mapping[int, Lookup],
) -> dict[int, FullMaps]:
    """The full maps of the logs in ``cases``. ``sections`` are those that were merged as dirty.

    Raises AccountError if steps are missing.
    """
    if not cases:
        return {}
    shares, merge_tasks = plan_shares(scan.summaries, STEPS_PER_SHARE), scan.reading.merge_tasks

    def send_steps(_: int, blocks: list[Block]) -> Sent:
        for steps in _steps_in(blocks, merge_tasks, sections):
            places = (steps[name].to_numpy() for name in ("log_id", "superseded_at_offset"))
            yield from row_blocks(STEPS, steps, shares.of(*places))

    sent = scan.keyed.then(shares.count, send_steps)
    states = {
        i: FullMaps(i, str(scan.names[i]), case, lookups[i], MapScan(scan_limits(case)))
        for i, case in cases.items()
    }
    full_maps = in_turn(sent, shares, _in_order, states, FullMaps.fed)
    for log_id, maps in full_maps.items():
        maps.check_steps(scan.logs[log_id].dirty["records"])
    return full_maps


def _steps_in(blocks: list[Block], merge_tasks: int, sections: Sections) -> Iterator[pa.Table]:
    """All steps that a merge task has: those that were sent by way of it, and those between its groups."""
    yield from joined(batch for block in blocks for batch in rows_in([block], STEPS))
    groups = [batch.filter(pa.array(sections.are_dirty(batch))) for batch in rows_in(blocks, GROUPS)]
    for of_keys in shares_by_key(groups, merge_tasks, passes_for(groups)):
        rows = pa.Table.from_batches(of_keys, SIZED_SCHEMA)
        if rows.num_rows:
            yield steps_between(rows)


def _in_order(blocks: Sequence[Block]) -> pa.Table:
    """The steps of one share, in the order of logs and of the later records' offsets."""
    rows = pa.Table.from_batches(rows_in(blocks, STEPS), STEPS_SCHEMA).combine_chunks()
    log_ids, offsets = (rows[name].to_numpy() for name in ("log_id", "superseded_at_offset"))
    order = order_by_offset(log_ids, offsets)
    order = np.lexsort((offsets, log_ids)) if order is None else order
    return rows.take(pa.array(order)).combine_chunks()
