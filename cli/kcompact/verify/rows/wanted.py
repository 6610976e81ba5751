"""The records of some keys: ``verify`` reads them again if one row for all values of a key is not enough."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kcompact.arrays import Flags, Longs, flags_of
from kcompact.engine.blocks import block_of, joined, row_blocks
from kcompact.engine.exchange import key_hashes
from kcompact.engine.passes.index_pass import IndexPlan, TaskReader
from kcompact.engine.shuffle import DRIVER, Send, Sent, Stage
from kcompact.rules.lookups import rows_of_logs
from kcompact.verify.rows.keyed_rows import BEFORE, OrderInSplits, by_key

FEW_KEYS = 1_000
MOST_KEYS = 400_000
MOST_KEY_BYTES = 32 << 20
MOST_PLACES = 2_000_000
"""FEW_KEYS are looked up without a sieve. Beyond the other limits, too much would be sent to every task, and
all rows are read instead.
"""

TAKEN = "taken"
"""The kind of blocks with BEFORE's rows that are wanted only for their place."""

_SIEVE_BITS = 22
_HASH_BITS = 64


@dataclass(frozen=True)
class Wanted:
    """The records to read: those of ``keys``, without a key if ``keyless``, and BEFORE's at ``places``.

    Places are (log_id, offset). Only the ``tasks`` of the reading stage have records of the keys; None: any
    task may have some.
    """

    keys: pa.Array
    places: Longs = field(default_factory=lambda: np.empty((0, 2), np.int64))
    keyless: bool = False
    tasks: frozenset[int] | None = None

    def may_be_in(self, task: int) -> bool:
        """Whether a task may have any of the wanted records."""
        return self.tasks is None or self.keyless or len(self.places) > 0 or task in self.tasks

    @property
    def is_too_much(self) -> bool:
        """Whether reading all rows is better."""
        return (
            len(self.keys) > MOST_KEYS or self.keys.nbytes > MOST_KEY_BYTES or len(self.places) > MOST_PLACES
        )

    @property
    def is_nothing(self) -> bool:
        """Whether nothing has to be read."""
        return not (len(self.keys) or self.keyless)


class WantedRows:
    """Tells a task which rows are wanted.

    Arrow looks up a few keys fast, but builds its table of them anew for each batch. If there are many keys,
    a sieve of their hashes excludes most rows before the remaining ones are looked up.
    """

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._many = frozenset(wanted.keys.to_pylist()) if len(wanted.keys) > FEW_KEYS else None
        self._sieve = np.zeros(1 << _SIEVE_BITS if self._many else 0, np.bool_)
        if self._many:
            self._sieve[_sieve_places(wanted.keys)] = True
        order = np.lexsort((wanted.places[:, 1], wanted.places[:, 0]))
        self._places = {
            int(of_log[0, 0]): of_log[:, 1]
            for of_log in np.split(wanted.places[order], np.flatnonzero(np.diff(wanted.places[order, 0])) + 1)
            if len(of_log)
        }

    def by_key(self, rows: pa.RecordBatch) -> Flags:
        """Whether the key of each row is wanted."""
        keys = rows.column("key")
        is_null = flags_of(keys.is_null())
        flags: Flags = is_null & self._wanted.keyless
        if self._many is None:
            is_in = flags_of(pc.is_in(keys, self._wanted.keys))
            return flags | is_in
        maybe = np.flatnonzero(~is_null & self._sieve[_sieve_places(keys)])
        flags[maybe] = [key in self._many for key in keys.take(pa.array(maybe)).to_pylist()]
        return flags

    def by_place(self, rows: pa.RecordBatch) -> Flags:
        """Whether the place of each row is wanted."""
        flags = np.zeros(rows.num_rows, np.bool_)
        log_ids, offsets = rows.column("log_id").to_numpy(), rows.column("offset").to_numpy()
        for log_id, at in rows_of_logs(log_ids):
            if log_id not in self._places:
                continue
            places = self._places[log_id]
            near = np.minimum(np.searchsorted(places, offsets[at]), len(places) - 1)
            flags[at] = places[near] == offsets[at]
        return flags


def _sieve_places(keys: pa.Array) -> np.ndarray:
    places: np.ndarray = (key_hashes(keys) >> np.uint64(_HASH_BITS - _SIEVE_BITS)).astype(np.int64)
    return places


def send_wanted(send: Send, plans: Mapping[str, IndexPlan], receivers: int, wanted: Wanted) -> Stage:
    """Send the wanted rows as ``send_dumps`` does, from dumps that are in order (so ORDER means nothing).

    BEFORE's rows that are wanted only for their place go to the driver, in blocks TAKEN.
    """
    pairs = [(kind, task) for kind, plan in plans.items() for task in range(len(plan.tasks))]
    tasks = [pair for number, pair in enumerate(pairs) if wanted.may_be_in(number)]

    def work(number: int) -> Sent:
        kind, task = tasks[number]
        chosen, order = WantedRows(wanted), OrderInSplits()
        batches: list[pa.RecordBatch] = []

        def some(batch: pa.RecordBatch) -> pa.RecordBatch:
            if kind == BEFORE:
                at_place = batch.filter(pa.array(chosen.by_place(batch)))
                batches.append(at_place.filter(pa.array(~chosen.by_key(at_place))))
            whole = batch.filter(batch.column("value_hash").is_valid())  # null where ``by_key`` says no
            return order.add(whole.filter(pa.array(chosen.by_key(whole))))

        for rows in joined(map(some, TaskReader(plans[kind], task).rows(chosen.by_key))):
            yield from row_blocks(kind, rows, by_key(rows, receivers))
        others = pa.Table.from_batches(batches) if batches else None
        if others is not None and others.num_rows:
            yield DRIVER, block_of(TAKEN, others)

    return send(len(tasks), receivers, work)
