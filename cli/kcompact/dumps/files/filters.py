"""Refuses ``--topic`` and ``--partitions`` that match nothing: an empty result would look like a good one."""

from collections.abc import Iterable

from kcompact.broker.log_names import LogName
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.records.layout import SplitNotes
from kcompact.errors import InputError

_MOST_NAMED = 20


def logs_left_out(notes: Iterable[SplitNotes]) -> set[LogName]:
    """The logs that ``--topic`` and ``--partitions`` left out, of all splits."""
    return {log for of_split in notes for log in of_split.left_out}


def refuse_unmatched(options: ReadOptions, logs: Iterable[LogName], left_out: Iterable[LogName]) -> None:
    """Raise InputError if no record was read of a topic that was asked for, or of any of the partitions.

    Each of several topics must have a record in one of the partitions. Some of the partitions may be empty.
    """
    logs = set(logs)
    topics = {topic for topic, _ in logs}
    dump_logs = logs | set(left_out)
    for topic in sorted(options.topics - topics):
        partitions = {partition for name, partition in dump_logs if name == topic}
        if not partitions:
            names = _named(sorted({name for name, _ in dump_logs}))
            raise InputError(f"--topic {topic}: no record of this topic", hint=f"the dump holds {names}")
        raise _no_partition(f" of {topic}", partitions)
    if options.partitions and not logs:
        raise _no_partition("", {partition for _, partition in dump_logs})


def _no_partition(of_topic: str, partitions: set[int]) -> InputError:
    names = _named(_ranges(sorted(partitions)))
    return InputError(f"--partitions: no record{of_topic} is in any of them", hint=f"the dump holds {names}")


def _named(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    return f"{', '.join(names[:_MOST_NAMED])}{more}" if names else "no records"


def _ranges(ascending: list[int]) -> list[str]:
    """``0-3``, ``5``: runs of partitions as ``--partitions`` takes them."""
    runs: list[list[int]] = []
    for partition in ascending:
        if runs and runs[-1][-1] + 1 == partition:
            runs[-1][1:] = [partition]
        else:
            runs.append([partition])
    return ["-".join(map(str, run)) for run in runs]
