"""Both dumps divided into shares, each with all records of its keys, and ways to work on each share."""

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from kcompact.arrays import Flags
from kcompact.engine.blocks import block_of, row_blocks, rows_in
from kcompact.engine.shuffle import DRIVER, Block, Sent, Stage, send_in_process
from kcompact.rules.orders import ranked
from kcompact.verify.question import Question
from kcompact.verify.rows.disorder import Disorder, LargestBefore, sort_out
from kcompact.verify.rows.keyed_rows import AFTER, BEFORE, ROWS_SCHEMA, by_key, by_place

T = TypeVar("T")
Share = tuple[pa.Table, pa.Table]
"""BEFORE's and AFTER's index rows (``keyed_rows.ROWS_SCHEMA``); equal keys are in the same share."""

_RESULT = "result"


@dataclass(frozen=True)
class Sifting:
    """The result of a look at a share, and which of its rows are to be looked at further."""

    result: object
    before: Flags
    after: Flags


@dataclass(frozen=True)
class ShareReader:
    """Makes a receiver's share from its blocks. Picklable.

    ``is_alone``: there is no BEFORE, and AFTER takes its place. ``renamed``: by log id in AFTER's rows, the
    id to read it as.
    """

    is_alone: bool = False
    renamed: Mapping[int, int] = field(default_factory=dict)

    def share(self, blocks: Sequence[Block]) -> Share:
        """The rows of one receiver."""
        after = renamed_logs(_table(blocks, AFTER), self.renamed)
        return after if self.is_alone else _table(blocks, BEFORE), after

    def dumps(self, share: Share) -> Iterator[tuple[str, pa.Table]]:
        """Each dump of a share once, with its kind."""
        if not self.is_alone:
            yield BEFORE, share[0]
        yield AFTER, share[1]


def renamed_logs(rows: pa.Table, renamed: Mapping[int, int]) -> pa.Table:
    """Rows, whose first column is ``log_id``, with other ids for some logs."""
    if not renamed:
        return rows
    ids, codes = ranked(rows["log_id"].to_numpy())
    log_ids = np.array([renamed.get(log_id, log_id) for log_id in ids.tolist()], np.int64)[codes]
    return rows.set_column(0, rows.schema.field(0), pa.array(log_ids))


@dataclass(frozen=True)
class Pairs:
    """All shares, one for each of the ``receivers`` of a stage with rows of ``keyed_rows.ROWS_SCHEMA``."""

    stage: Stage
    receivers: int
    reader: ShareReader = field(default_factory=ShareReader)

    def together(self, use: "Callable[[Pairs], T]") -> T:
        """The result of ``use`` on the pairs, computed within one task if there is only one share."""
        if self.receivers > 1:
            return use(self)
        reader = self.reader

        def work(_: int, blocks: list[Block]) -> T:
            return use(Pairs(send_in_process(1, 1, lambda _: ((0, block) for block in blocks)), 1, reader))

        (classified,) = self.stage.results(work)
        return classified

    def ask(self, look: Callable[[Share], T]) -> list[T]:
        """The results of ``look`` on each share."""
        reader = self.reader
        return self.stage.results(lambda _, blocks: look(reader.share(blocks)))

    def sift(self, look: Callable[[Share], Sifting]) -> "tuple[list[Any], Pairs]":
        """The results of ``look`` on each share, and the shares with the rows that it chose."""
        reader = self.reader

        def work(receiver: int, blocks: list[Block]) -> Sent:
            share = reader.share(blocks)
            sifting = look(share)
            for kind, rows in reader.dumps(share):
                affected = rows.filter(pa.array(sifting.before if kind == BEFORE else sifting.after))
                if affected.num_rows:
                    yield receiver, block_of(kind, affected)
            yield DRIVER, Block(_RESULT, pickle.dumps(sifting.result))

        pairs = replace(self, stage=self.stage.then(self.receivers, work), reader=_read_already(reader))
        return _results(pairs.stage), pairs

    def once_in_order(
        self,
        question: Question,
        earlier: tuple[LargestBefore, LargestBefore] | None,
        use: "Callable[[Pairs, Disorder], T]",
    ) -> T:
        """The result of ``use`` on the pairs ``in_order``; they already are if ``earlier`` is None."""

        def work(pairs: Pairs) -> T:
            return use(pairs, Disorder()) if earlier is None else use(*pairs.in_order(question, earlier))

        return self.together(work)

    def in_order(
        self, question: Question, earlier: tuple[LargestBefore, LargestBefore]
    ) -> "tuple[Pairs, Disorder]":
        """Shares in which no offset of a log occurs twice, and the disorder that there was until then.

        ``earlier`` is for BEFORE and for AFTER (``disorder.sort_out``).
        """
        reader, receivers = self.reader, self.receivers
        next_reader = _read_already(reader)

        def place(_: int, blocks: list[Block]) -> Sent:
            for kind, rows in reader.dumps(reader.share(blocks)):
                yield from row_blocks(kind, rows, by_place(rows, receivers))

        def order(_: int, blocks: list[Block]) -> Sent:
            share = next_reader.share(blocks)
            disorder, first_before, first_after = sort_out(*share, question, earlier)
            for kind, rows in next_reader.dumps(share):
                firsts = rows.filter(pa.array(first_before if kind == BEFORE else first_after))
                yield from row_blocks(kind, firsts, by_key(firsts, receivers))
            yield DRIVER, Block(_RESULT, pickle.dumps(disorder))

        ordered = self.stage.then(receivers, place).then(receivers, order)
        disorder = reduce(Disorder.plus, _results(ordered), Disorder())
        return replace(self, stage=ordered, reader=next_reader), disorder


def _read_already(reader: ShareReader) -> ShareReader:
    """The reader for rows that a stage has passed on: these are renamed already."""
    return replace(reader, renamed={})


def _results(stage: Stage) -> list[Any]:
    return [pickle.loads(block.content) for block in stage.driver_blocks()]  # noqa: S301  pickled above


def _table(blocks: Sequence[Block], kind: str) -> pa.Table:
    return pa.Table.from_batches(rows_in(blocks, kind), ROWS_SCHEMA)
