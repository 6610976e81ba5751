"""``--expect-end-offsets``: does the dump reach the log end offsets that the broker reported?"""

import re
from collections.abc import Iterable, Mapping

from kcompact.broker.log_names import LogName
from kcompact.broker.text_lines import number_in, partition_in, read_text, shown
from kcompact.errors import InputError
from kcompact.inspect.inspection import LogFacts
from kcompact.inspect.severity import Finding, Level

# ``orders:0:1199`` as kafka-get-offsets.sh prints it, or the same three apart by blanks.
_LINE = re.compile(r"(?P<topic>[a-zA-Z0-9._-]+)[:\s]\s*(?P<partition>[0-9]+)[:\s]\s*(?P<end>[0-9]+)")
_HINT = "kafka-get-offsets.sh --time latest prints such lines"


def read_end_offsets(path: str) -> dict[LogName, int]:
    """Log end offsets (exclusive) by log; ``#`` starts a comment. Raises InputError.

    A file without any is one, too: it may well come from a command that failed, and would expect nothing.
    """
    ends: dict[LogName, int] = {}
    for number, line in enumerate(read_text(path).splitlines(), start=1):
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


def check_end_offsets(logs: Iterable[LogFacts], ends: Mapping[LogName, int]) -> list[Finding]:
    """Where the dump ends before its log does.

    One missing offset may well be a transaction marker, which no consumer ever sees: a warning only.
    """
    logs_by_name = {LogName(log.topic, log.partition): log for log in logs}
    findings = []
    for name, end in sorted(ends.items()):
        log = logs_by_name.pop(name, None)
        present_end = log.last_offset + 1 if log is not None else 0
        if present_end != end:
            findings.append(_finding(name, end, None if log is None else present_end))
    findings += [_unexpected(name) for name in sorted(logs_by_name)]
    return findings


def _finding(name: LogName, end: int, present_end: int | None) -> Finding:
    code = "end-offset"
    if present_end is None:
        text = f"the log ends at {end:,}, and the dump holds none of it"
        return Finding(Level.ERROR, code, text, *name)
    if present_end > end:
        text = f"the dump reaches {present_end:,}, the log ended at {end:,}: records came later"
        return Finding(Level.NOTE, code, text, *name)
    missing = end - present_end
    if missing == 1:
        text = f"the last offset below the log end {end:,} is missing: a transaction marker, or a lost record"
        return Finding(Level.WARNING, code, text, *name)
    text = f"the dump ends at {present_end:,}, the log at {end:,}: {missing:,} offsets are missing at the end"
    return Finding(Level.ERROR, code, text, *name)


def _unexpected(name: LogName) -> Finding:
    return Finding(Level.NOTE, "end-offset", "no expected end offset is given for this log", *name)
