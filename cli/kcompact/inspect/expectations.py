"""A user's expectations of a dump: limits for oddities, and the offsets at which logs end."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kcompact.broker.log_names import LogName
from kcompact.broker.text_lines import number_in, numbered_lines, partition_in, shown
from kcompact.errors import InputError
from kcompact.inspect.inspection import LogFacts, TopicFacts
from kcompact.inspect.severity import InspectFinding, Level

# ``orders:0:1199`` as kafka-get-offsets.sh prints it, or the same three fields separated by blanks.
_LINE = re.compile(r"(?P<topic>[a-zA-Z0-9._-]+)[:\s]\s*(?P<partition>[0-9]+)[:\s]\s*(?P<end>[0-9]+)")
_HINT = "kafka-get-offsets.sh --time latest prints such lines"


@dataclass(frozen=True)
class Expectations:
    """The largest counts allowed over all logs (None: any), and log end offsets (exclusive) by log."""

    max_null_keys: int | None = None
    max_cross_partition_keys: int | None = None
    max_gaps: int | None = None
    end_offsets: Mapping[LogName, int] = field(default_factory=dict)


def check_expectations(
    logs: Sequence[LogFacts], topics: Iterable[TopicFacts], expected: Expectations
) -> list[InspectFinding]:
    """An error for every limit that is exceeded, and findings on logs that do not end as expected."""
    shared = sum(topic.shared_keys for topic in topics)
    gaps, null_keys = sum(log.gaps.count for log in logs), sum(log.null_keys for log in logs)
    limits = [
        ("null-keys", null_keys, "records without key", expected.max_null_keys),
        (
            "cross-partition-keys",
            shared,
            "keys in several partitions",
            expected.max_cross_partition_keys,
        ),
        ("gaps", gaps, "gaps", expected.max_gaps),
    ]
    findings = [
        InspectFinding(Level.ERROR, f"max-{code}", f"{count:,} {things}; at most {most:,} are allowed")
        for code, count, things, most in limits
        if most is not None and count > most
    ]
    return findings + (_check_ends(logs, expected.end_offsets) if expected.end_offsets else [])


def _check_ends(logs: Iterable[LogFacts], ends: Mapping[LogName, int]) -> list[InspectFinding]:
    """Findings for logs that do not end in the dump as expected, or of which no end is given."""
    present_ends = {LogName(log.topic, log.partition): log.last_offset + 1 for log in logs}
    findings = [
        InspectFinding(*_wrong_end(end, present_ends.get(name)), *name)
        for name, end in sorted(ends.items())
        if present_ends.get(name, 0) != end
    ]
    unexpected = "no expected end offset is given for this log"
    others = sorted(present_ends.keys() - ends.keys())
    return findings + [InspectFinding(Level.NOTE, "end-offset", unexpected, *name) for name in others]


def _wrong_end(end: int, present_end: int | None) -> tuple[Level, str, str]:
    """Level, code and text. One missing offset may be a transaction marker, so it is only a warning."""
    level = Level.ERROR
    if present_end is None:
        text = f"the log ends at {end:,}, and the dump holds none of it"
    elif present_end > end:
        level = Level.NOTE
        text = f"the dump reaches {present_end:,}, the log ended at {end:,}: records came later"
    elif present_end == end - 1:
        level = Level.WARNING
        text = f"the last offset below the log end {end:,} is missing: a transaction marker, or a lost record"
    else:
        missing = f"{end - present_end:,} offsets are missing at the end"
        text = f"the dump ends at {present_end:,}, the log at {end:,}: {missing}"
    return level, "end-offset", text


def read_end_offsets(path: str) -> dict[LogName, int]:
    """Log end offsets (exclusive) by log; ``#`` starts a comment. Raises InputError.

    A file without any offset is an error, too: it may come from a command that failed, and would check
    nothing.
    """
    ends: dict[LogName, int] = {}
    for number, line in numbered_lines(path):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        match = _LINE.fullmatch(text)
        if match is None:
            raise InputError(f"{path}:{number}: not TOPIC:PARTITION:END_OFFSET: {shown(text)}", hint=_HINT)
        log = LogName(match["topic"], partition_in(match["partition"], path, number))
        end = number_in(match["end"], path, number)
        if ends.setdefault(log, end) != end:
            raise InputError(f"{path}:{number}: {log} ends at {ends[log]:,} by a line before", hint=_HINT)
    if not ends:
        raise InputError(f"{path}: no log end offsets in this file", hint=_HINT)
    return ends
