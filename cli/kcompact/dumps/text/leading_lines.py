"""Lines at the beginning of a dump that are no records: what a tool says before it reads the first one."""

import re

_ITSELF = re.compile(
    rb"(?:\r?\n)*(?:"
    rb"The consumer rebalance protocol \(KIP-848\) is production-ready! Set group\.protocol=consumer to"
    rb" try it out\.(?: See https?://\S+)?"  # kafka-console-consumer 4.x
    rb"|Starting Kafka Consumer\. Use Ctrl-C to exit\."  # Confluent's CLI
    rb"|(?:OpenJDK|Java HotSpot\(TM\)) [^\n]* VM warning: [^\r\n]*"  # what runs Kafka's tools
    rb"|Picked up _?(?:JAVA_TOOL|JDK_JAVA|JAVA)_OPTIONS: [^\r\n]*"
    rb")[ \t]*\r?(?:\n(?:\r?\n)*|\Z)"
)


def start_of_records(body: bytes) -> tuple[int, int]:
    """Where the first line behind those of the tool begins, and how many these are."""
    start, lines = 0, 0
    while (match := _ITSELF.match(body, start)) is not None:
        start, lines = match.end(), lines + 1
    return start, lines


def note_on_start(lines: int) -> str:
    """The note on so many lines of the tool at the beginning."""
    lines_text = "a line" if lines == 1 else f"{lines} lines"
    return f"{lines_text} at the beginning passed over, in which the tool talks about itself"
