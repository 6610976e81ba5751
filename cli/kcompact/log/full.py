"""The full form: Kafka's cleaner on an ungrouped index, for whatever the plain form does not cover."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kcompact.broker.given import GivenLog
from kcompact.broker.log_names import LogName
from kcompact.dumps.dump import Dump
from kcompact.dumps.filters import logs_left_out, refuse_unmatched
from kcompact.dumps.judging import judge
from kcompact.dumps.layout import SplitNotes
from kcompact.engine.indexing import IndexPlan, index_rows, plan_index
from kcompact.engine.summaries import LogSummary, log_names, read_side_files
from kcompact.log.cleaned_log import LogCleaning
from kcompact.log.cleaning import Cleaning, clean
from kcompact.log.policy import Policy
from kcompact.log.shared_keys import EXAMPLES, SharedKeys
from kcompact.log.totals import unsorted_files
from kcompact.log.verdicts import Verdict

FULL_EXTRA = frozenset({"log_bytes", "is_control"})


@dataclass(frozen=True)
class FullIndex:
    """The index that the cleaner works on, kept by Spark, and what reading it told."""

    plan: IndexPlan
    rows: DataFrame
    summaries: list[LogSummary]
    notes: dict[int, SplitNotes]
    remarks: list[str]
    sorted_files: frozenset[int]  # files that are out of order, and so come out sorted

    @property
    def names(self) -> dict[int, tuple[str, int]]:
        """Topic and partition of every log id."""
        return {part.log_id: (part.topic, part.partition) for part in self.summaries}


def full_index(spark: SparkSession, dump: Dump, folder: Path) -> FullIndex:
    """Read a dump into an index; a second time, file by file, where one is out of order and was cut."""
    found = _index(spark, dump, plan_index(dump, folder, FULL_EXTRA))
    splits = Counter(split.file_id for split in found.plan.splits.values())
    if not any(splits[file_id] > 1 for file_id in found.sorted_files):
        return found
    found.rows.unpersist()
    for path in folder.glob("index-*.arrow"):
        path.unlink()
    return _index(spark, dump, plan_index(dump, folder, FULL_EXTRA, whole_files=True))


def _index(spark: SparkSession, dump: Dump, plan: IndexPlan) -> FullIndex:
    rows = index_rows(spark, plan).persist(StorageLevel.MEMORY_AND_DISK)
    rows.count()
    summaries, notes = read_side_files(Path(plan.folder))
    remarks = judge(dump, plan.splits, notes)
    refuse_unmatched(dump.options, log_names(summaries), logs_left_out(notes.values()))
    file_ids = {split.split_id: split.file_id for split in plan.splits.values()}
    return FullIndex(plan, rows, summaries, notes, remarks, unsorted_files(summaries, file_ids))


def clean_index(
    index: FullIndex,
    given: Mapping[int, GivenLog],
    policy_of: Callable[[str], Policy],
) -> Cleaning:
    """The cleaner's decisions on every log."""
    policies = {log_id: policy_of(topic) for log_id, (topic, _) in index.names.items()}
    names = {log_id: str(LogName(*name)) for log_id, name in index.names.items()}
    return clean(index.rows, given, policies, names)


def shared_keys(rows: DataFrame, names: Mapping[int, tuple[str, int]]) -> SharedKeys:
    """Keys in several partitions of their topic; no job at all where every topic has one partition."""
    topics = sorted({topic for topic, _ in names.values()})
    if len(topics) == len(names):
        return SharedKeys()
    number = F.create_map(
        *(F.lit(x) for log_id, (topic, _) in names.items() for x in (log_id, topics.index(topic)))
    )
    shared = (
        rows.where("key is not null")
        .groupBy(number[F.col("log_id")].alias("topic"), "key")
        .agg(F.count_distinct("log_id").alias("partitions"))
        .where("partitions > 1")
    )
    count = shared.count()
    if not count:
        return SharedKeys()
    first = shared.orderBy("topic", "key").limit(EXAMPLES).toArrow().to_pylist()
    return SharedKeys(count, [(topics[row["topic"]], row["key"]) for row in first])


def null_key_removals(logs: Mapping[int, LogCleaning]) -> int:
    """How many records without key the run would remove (R20)."""
    return sum(log.removed.get(Verdict.KEYLESS, 0) for log in logs.values())
