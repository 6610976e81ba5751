"""Shares of both dumps that lie in files: Spark's workers look at them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from typing import TypeVar

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from kcompact.engine.tasks import run_tasks
from kcompact.verify.question import Question
from kcompact.verify.rows.disorder import Disorder, sort_out
from kcompact.verify.rows.indexed import Indexed
from kcompact.verify.rows.pairs import Share, Sifted
from kcompact.verify.rows.row_files import RowFiles, by_key, by_place

T = TypeVar("T")


@dataclass(frozen=True)
class PairFiles:
    """One task for each receiver of the row files. ``after`` None: AFTER stands alone, beside itself."""

    spark: SparkSession
    before: RowFiles
    after: RowFiles | None

    def ask(self, look: Callable[[Share], T]) -> list[T]:
        """The results of ``look`` on each share."""
        before, after = self.before, self.after

        def do(task: int) -> T:
            return look(_share(before, after, task))

        return run_tasks(self.spark, before.receivers, do)

    def sift(self, look: Callable[[Share], Sifted]) -> tuple[list[object], "PairFiles"]:
        """The results of ``look`` on each share, and the shares of what is left."""
        before, after = self.before, self.after
        left_before, left_after = _passed_on(before, "left"), after and _passed_on(after, "left")

        def do(task: int) -> object:
            share = _share(before, after, task)
            sifted = look(share)
            _put(left_before, task, share[0].filter(pa.array(sifted.before)), by_key)
            if left_after is not None:
                _put(left_after, task, share[1].filter(pa.array(sifted.after)), by_key)
            return sifted.found

        left = PairFiles(self.spark, left_before, left_after)
        return run_tasks(self.spark, before.receivers, do), left


def pairs_in_order(
    spark: SparkSession, before: Indexed, after: Indexed | None, question: Question
) -> tuple[PairFiles, Disorder]:
    """Shares in which no offset of a log occurs twice, and what was wrong until then.

    ``after`` None: AFTER stands alone; it is ``before``.
    """
    dumps = [before] if after is None else [before, after]
    pairs = PairFiles(spark, before.files, after.files if after else None)
    if all(dump.is_in_order for dump in dumps):
        return pairs, Disorder()
    files = [dump.files for dump in dumps]
    earlier = before.earlier, dumps[-1].earlier
    placed, ordered = (
        [_passed_on(one, "placed") for one in files],
        [_passed_on(one, "ordered") for one in files],
    )

    def place(task: int) -> None:
        for one, target in zip(files, placed, strict=True):
            _put(target, task, one.take(task), by_place)

    def order(task: int) -> Disorder:
        tables = [one.take(task) for one in placed]
        found, *first = sort_out(tables[0], tables[-1], question, earlier)
        for target, table, is_first in zip(ordered, tables, first[: len(tables)], strict=True):
            _put(target, task, table.filter(pa.array(is_first)), by_key)
        return found

    run_tasks(spark, before.files.receivers, place)
    disorder = reduce(Disorder.plus, run_tasks(spark, before.files.receivers, order), Disorder())
    return PairFiles(spark, ordered[0], ordered[1] if after else None), disorder


def _passed_on(files: RowFiles, name: str) -> RowFiles:
    """Files for what the receivers of other files pass on to each other."""
    return replace(files, name=f"{files.name}-{name}", senders=files.receivers, renamed={})


def _put(files: RowFiles, task: int, rows: pa.Table, spread: Callable[[pa.Table, int], np.ndarray]) -> None:
    outbox = files.outbox(task)
    outbox.put(rows, spread(rows, files.receivers))
    outbox.close()


def _share(before: RowFiles, after: RowFiles | None, task: int) -> Share:
    rows = before.take(task)
    return rows, rows if after is None else after.take(task)
