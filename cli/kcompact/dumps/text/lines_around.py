"""Lines before and behind the records of a dump, in which a tool talks about itself."""

import re
from collections.abc import Iterator

from kcompact.dumps.records.shown import shown

TAIL_BYTES = 64 << 10
_AT_THE_START = re.compile(
    rb"(?:\r?\n)*(?:"
    rb"The consumer rebalance protocol \(KIP-848\) is production-ready! Set group\.protocol=consumer to"
    rb" try it out\.(?: See https?://\S+)?"  # kafka-console-consumer 4.x
    rb"|Option \S+ is deprecated and will be removed in a future version\. Use \S+ instead\."  # Kafka 4.2
    rb"|Starting Kafka Consumer\. Use Ctrl-C to exit\."  # Confluent's CLI
    rb"|(?:OpenJDK|Java HotSpot\(TM\)) [^\n]* VM warning: [^\r\n]*"  # what runs Kafka's tools
    rb"|Picked up _?(?:JAVA_TOOL|JDK_JAVA|JAVA)_OPTIONS: [^\r\n]*"
    rb")[ \t]*\r?(?:\n(?:\r?\n)*|\Z)"
)
_AT_THE_END = re.compile(
    rb"(?:\^C)?Processed a total of \d+ messages?"  # kafka-console-consumer, copied from a terminal, too
    rb"|Stopping Consumer\."  # Confluent's CLI
    rb"|% (?:Reached end of topic|Auto-selecting|Waiting for|ERROR:|Group )[^\"]*"  # kcat; not within quotes
    rb"|%[0-7]\|\d+\.\d+\|.*"  # librdkafka
    rb"|\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] (?:ERROR|WARN|INFO) .*[^\"]"  # Kafka's scripts, by log4j
    rb"|Non-consecutive offsets in .*\.log:?"  # kafka-dump-log, on standard error
    rb"|(?:ERROR|WARN) .*(?:Exception|Error|terminating).*[^\"]"
)
_FAILED = re.compile(rb"ERROR")
_STACK = re.compile(
    rb"(?:[a-z]\w*\.)+\w*(?:Exception|Error)\b.*|\s+at [\w.$/<>]+\(.*\)|Caused by: .*|\s+\.\.\. \d+ more"
    rb"|\s+-?\d+ is followed by \d+"  # gaps of a compacted log
)
"""Lines of an exception or a list. They only count below a line of the tool, as records may be like them."""


def start_of_records(body: bytes) -> tuple[int, int]:
    """The start of the first line behind the tool's own lines, and the number of these."""
    start, lines = 0, 0
    while (match := _AT_THE_START.match(body, start)) is not None:
        start, lines = match.end(), lines + 1
    return start, lines


def end_of_records(tail: bytes, data_bytes: int) -> tuple[int, int]:
    """The start of the tool's own lines at the end of a text file, and the number of these.

    ``tail`` are the last bytes (TAIL_BYTES) of the file's ``data_bytes``. Blank lines between the tool's are
    passed over, but not counted. Without lines of the tool: the end of the file, and 0.
    """
    end, lines = data_bytes, 0
    position, count = data_bytes, 0
    for line in _lines_backwards(tail):
        position -= len(line)
        text = line.rstrip(b"\r\n")
        is_tool = _AT_THE_END.fullmatch(text) is not None
        if text.strip() and not is_tool and not _STACK.fullmatch(text):
            break
        count += bool(text.strip())
        if is_tool:
            end, lines = position, count
    return end, lines


def note_on_start(lines: int) -> str:
    """The note on a number of the tool's own lines at the beginning."""
    return _passed_over(lines, "beginning")


def note_on_end(tail: bytes, lines: int) -> str:
    """The note on a number of the tool's own lines at the end; a line about an error is quoted.

    A timeout is not: it is how kafka-console-consumer is usually made to end.
    """
    note = _passed_over(lines, "end")
    texts = [line.strip() for line in list(_lines_backwards(tail))[: 2 * lines] if line.strip()][:lines]
    error = next((text for text in reversed(texts) if _FAILED.search(text)), None)
    if error is None or any(b"TimeoutException" in text for text in texts):
        return note
    return f"{note}: {shown(error.decode('utf-8', 'replace'))}: what it had not read by then is missing here"


def _passed_over(lines: int, place: str) -> str:
    lines_text = "a line" if lines == 1 else f"{lines} lines"
    return f"{lines_text} at the {place} passed over, in which the tool talks about itself"


def _lines_backwards(text: bytes) -> Iterator[bytes]:
    """The lines, last one first, with their ends (LF, CR LF or CR); most callers only take one."""
    end = len(text)
    while end:
        inner_end = end - (2 if text.endswith(b"\r\n", 0, end) else 1)
        start = max(text.rfind(b"\n", 0, inner_end), text.rfind(b"\r", 0, inner_end)) + 1
        yield text[start:end]
        end = start
