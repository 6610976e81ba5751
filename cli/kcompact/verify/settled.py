"""Keys settled in Spark's workers, so that the rules are only asked about the others."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import orjson
import pyarrow as pa
from pyspark.sql import SparkSession

from kcompact.engine.tasks import run_tasks
from kcompact.log.lookups import Lookup
from kcompact.verify.indexed import Indexed
from kcompact.verify.question import Question
from kcompact.verify.row_files import RowFiles
from kcompact.verify.settling import Replaceable, Rules, Settled, SettledLog, settle

_ARRIVALS = pa.schema([("log_id", pa.int64()), ("offset", pa.int64())])


@dataclass(frozen=True)
class Unsettled:
    """Where the rows of both dumps are that are left to be judged; figures of the others, by log."""

    before: RowFiles
    after: RowFiles
    logs: Mapping[int, SettledLog]
    is_nothing: bool = False  # whether no row is left


def rules_of(question: Question, lookups: Mapping[int, Lookup]) -> Rules:
    """For a pair of dumps."""
    found = {log_id: bounds.replaceable for log_id, bounds in question.bounds.items()}
    known = {log_id: one for log_id, one in found.items() if one is not None}
    return Rules(known, lookups, question.compared)


def rules_alone(question: Question, lookups: Mapping[int, Lookup]) -> Rules:
    """For a dump beside itself: keys with one record, a value, are settled whatever bounds its log."""
    return Rules(
        dict.fromkeys(question.logs, Replaceable()), lookups, question.compared, keeps_tombstones=False
    )


def unsettled(spark: SparkSession, before: Indexed, after: Indexed, rules: Rules) -> Unsettled:
    """Settle what can be; all rows are left where an offset may stand twice in a dump."""
    if not (before.is_in_order and after.is_in_order):
        return Unsettled(before.files, after.files, {})
    folder = after.files.folder / "unsettled"
    folder.mkdir()
    job = _Job(before.files, after.files, rules, folder)
    arrivals, rows = job.run(spark, arrivals_known=False)
    if arrivals:
        # A key that BEFORE has where AFTER has another one is not settled: once more, knowing them.
        _, rows = job.run(spark, arrivals_known=True)
    figures = _merged(orjson.loads(path.read_bytes()) for path in folder.glob("*.json"))
    return Unsettled(
        job.rest(before.files), job.rest(after.files), figures, is_nothing=not rows and bool(figures)
    )


@dataclass(frozen=True)
class _Job:
    """Travels to the workers. One task for each receiver of the row files."""

    before: RowFiles
    after: RowFiles
    rules: Rules
    folder: Path

    def run(self, spark: SparkSession, *, arrivals_known: bool) -> tuple[int, int]:
        """Settle the keys of all tasks; return the number of arrivals and of rows that are left."""

        def do(task: int) -> tuple[int, int]:
            return self._settle(task, arrivals_known=arrivals_known)

        found = run_tasks(spark, self.before.receivers, do)
        return sum(arrivals for arrivals, _ in found), sum(rows for _, rows in found)

    def rest(self, files: RowFiles) -> RowFiles:
        """Where the rows are that are left of a dump."""
        name = "before" if files is self.before else "after"
        tasks = files.receivers
        return replace(files, folder=self.folder, name=name, senders=tasks, renamed={})

    def _settle(self, task: int, *, arrivals_known: bool) -> tuple[int, int]:
        before, after = self.before.take(task), self.after.take(task)
        arrivals = _read_arrivals(self.folder) if arrivals_known else None
        found = settle(before, after, self.rules, arrivals)
        if not arrivals_known:
            _write_arrivals(self.folder / f"arrivals-{task:06}.arrow", found.arrivals)
        _leave(self.rest(self.before), task, before.filter(pa.array(found.rest_before)))
        _leave(self.rest(self.after), task, after.filter(pa.array(found.rest_after)))
        self._write_figures(task, found)
        rows = int(found.rest_before.sum() + found.rest_after.sum())
        return len(found.arrivals), rows

    def _write_figures(self, task: int, found: Settled) -> None:
        logs = {str(log_id): asdict(log) for log_id, log in found.logs.items()}
        (self.folder / f"{task:06}.json").write_bytes(orjson.dumps(logs))


def _leave(files: RowFiles, task: int, rows: pa.Table) -> None:
    """Each task reads its own rows again."""
    outbox = files.outbox(task)
    outbox.put(rows, np.full(rows.num_rows, task))
    outbox.close()


def _write_arrivals(path: Path, places: np.ndarray) -> None:
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, _ARRIVALS) as writer:
        writer.write_table(pa.table([places[:, 0], places[:, 1]], schema=_ARRIVALS))


def _read_arrivals(folder: Path) -> np.ndarray:
    tables = []
    for path in sorted(folder.glob("arrivals-*.arrow")):
        with pa.OSFile(str(path), "rb") as source:
            tables.append(pa.ipc.open_file(source).read_all())
    table = pa.concat_tables(tables)
    return np.stack([table["log_id"].to_numpy(), table["offset"].to_numpy()], axis=1)


def _merged(tasks: Iterable[dict[str, dict[str, object]]]) -> dict[int, SettledLog]:
    """The figures of all tasks, by log."""
    merged: dict[int, SettledLog] = {}
    for task in tasks:
        for log_id, figures in task.items():
            one = SettledLog(**figures)  # type: ignore[arg-type]  # written by asdict above
            known = merged.get(int(log_id))
            merged[int(log_id)] = one if known is None else known.plus(one)
    return merged
