"""Rows of the dumps of a verification: one per record, or one per key and then the records of some keys."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from kcompact.dumps.records.content_hashes import SECRET_BYTES, value_hashes
from kcompact.engine.blocks import rows_in
from kcompact.engine.passes.index_pass import IndexPlan
from kcompact.engine.shuffle import Send, Stage, send_in_process
from kcompact.verify.classification.evidence import added_up
from kcompact.verify.rows.folded_unaffected_keys import FoldedUnaffected, find_unaffected_in_blocks
from kcompact.verify.rows.folding import send_folded
from kcompact.verify.rows.keyed_rows import BEFORE, send_dumps
from kcompact.verify.rows.pairs import Pairs, ShareReader
from kcompact.verify.rows.unaffected_keys import Rules, UnaffectedLog
from kcompact.verify.rows.wanted import TAKEN, Wanted, send_wanted

_KEYS_PER_RECEIVER = 10_000


@dataclass(frozen=True)
class DumpRows:
    """The dumps as the stage ``first`` read them: with a row for each record, or folded.

    If ``is_folded``, the stage holds rows of ``folding.FOLDED``, and methods that give rows of records read
    the dumps again. ``plans`` are those of the dumps that are there, by kind (``keyed_rows``).
    """

    send: Send
    plans: Mapping[str, IndexPlan]
    receivers: int
    first: Stage
    reader: ShareReader
    is_folded: bool

    @property
    def null_hash(self) -> bytes:
        """The ``value_hash`` of null in these rows."""
        return self.hashes_of([None])[0]

    def hashes_of(self, values: Collection[bytes | None]) -> tuple[bytes, ...]:
        """The ``value_hash`` of each value in these rows."""
        secret = next((plan.hash_secret for plan in self.plans.values()), bytes(SECRET_BYTES))
        return tuple(map(bytes, value_hashes([*values], secret).to_pylist()))

    def renaming(self, renamed: Mapping[int, int]) -> "DumpRows":
        """The same with other log ids for AFTER: by id in its rows, the id to use."""
        return replace(self, reader=replace(self.reader, renamed=renamed))

    def with_values_as_json(self) -> "DumpRows":
        """The same dumps, read again with values that are equal if they are the same JSON.

        Folded rows are not read again, and still compare values as they are spelt: where they differ, the
        records of the key are read in any case.
        """
        plans = {kind: replace(plan, values_as_json=True) for kind, plan in self.plans.items()}
        first = self.first if self.is_folded else send_dumps(self.send, plans, self.receivers)
        return replace(self, plans=plans, first=first)

    def pairs(self) -> Pairs:
        """Rows of all records."""
        stage = send_dumps(self.send, self.plans, self.receivers) if self.is_folded else self.first
        return Pairs(stage, self.receivers, self.reader)

    def unaffected(self, rules: Rules, *, keyless: bool) -> tuple[Pairs, dict[int, UnaffectedLog]]:
        """The records of the keys that need classification, and the figures of the other keys by log id.

        Only for folded rows of dumps that are in order. ``keyless``: there are records without a key. A key
        of BEFORE at whose place AFTER holds another key needs classification, too.
        """
        others = pa.array([], pa.binary())
        while True:
            shares = self._find_unaffected(rules, others)
            keys = pa.concat_arrays([share.keys for share in shares])
            places = np.concatenate([share.places for share in shares])
            wanted = Wanted(keys, places, keyless, frozenset().union(*(share.tasks for share in shares)))
            if wanted.is_too_much:
                return self.pairs(), {}
            figures = added_up(share.logs for share in shares)
            if wanted.is_nothing:
                return Pairs(send_in_process(0, 1, lambda _: iter(())), 1, self.reader), figures
            # Each question to the pairs costs a task for each receiver: as much as some thousand keys do.
            receivers = min(self.receivers, 1 + len(keys) // _KEYS_PER_RECEIVER)
            stage = send_wanted(self.send, self.plans, receivers, wanted)
            batches = rows_in(stage.driver_blocks(), TAKEN)
            if not batches:
                return Pairs(stage, receivers, self.reader), figures
            others = pa.concat_arrays([others, *(batch.column("key") for batch in batches)])

    def _find_unaffected(self, rules: Rules, others: pa.Array) -> list[FoldedUnaffected]:
        renamed = self.reader.renamed
        return self.first.results(lambda _, blocks: find_unaffected_in_blocks(blocks, renamed, rules, others))


def read_rows(send: Send, plans: Mapping[str, IndexPlan], receivers: int, *, folds: bool) -> DumpRows:
    """Read the dumps of ``plans`` once, folded if ``folds`` and if there are several receivers.

    The driver's blocks of ``first`` are the summaries of each kind.
    """
    is_folded = folds and receivers > 1
    first = (send_folded if is_folded else send_dumps)(send, plans, receivers)
    return DumpRows(send, plans, receivers, first, ShareReader(is_alone=BEFORE not in plans), is_folded)
