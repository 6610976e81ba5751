"""Sentences that programs print about records: they have words, places or times where a key would be."""

import re
from itertools import pairwise

from kcompact.dumps.options import ReadOptions
from kcompact.dumps.records.shown import delimiter_option, shown
from kcompact.dumps.text.csv_reader import first_cells
from kcompact.errors import InputError

_PARTS = "topic partition offset key value headers? timestamp payload message msg record body data event"
_VERBS = "received consumed got read new polled from at"
_LEVELS = "trace debug info warn warning error"
_WORDS = re.compile(
    rf"\A\s*(?:(?:{'|'.join(f'{_PARTS} {_VERBS} {_LEVELS}'.split())})[ :=]*)+\Z".encode(), re.IGNORECASE
)
_PLACE = re.compile(
    rb"\b(?:partition|offset)\b[ :=\[]{1,3}\d|\[\[?\d+\]?\] (?:@|at offset )\d|partition/offset \S+/\d+/\d"
    rb"|\[\d+ \| \d+\] / \d",  # KafkaJS's example
    re.IGNORECASE,
)
_TIME = re.compile(  # of 2014 to 2033: milliseconds, or seconds with a fraction; or as ISO 8601 has it
    rb"\A\s*(?:\w*time\w*[:=] ?)?(?:1[4-9]\d{11}|1[4-9]\d{8}\.\d+"
    rb"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d[\d:.,]*(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?)\s*\Z",
    re.IGNORECASE,
)
_OFFSET = re.compile(rb"\A\d{1,18}\Z")
_NO_HEADERS = re.compile(rb"\ANO_HEADERS\Z")
_ENOUGH_LINES = 10  # for numbers that are unlikely to ascend by chance
EXPORT_HINT = "export the topic itself as JSON lines (kcat -J)"


def tell_places(lines: list[bytes]) -> bool:
    """Whether most lines tell in words where a record is from."""
    return 2 * sum(_PLACE.search(line) is not None for line in lines) > len(lines)


def refuse_words_as_keys(path: str, lines: list[bytes], delimiter: str, options: ReadOptions) -> None:
    """Raise InputError where the text before the delimiter is hardly a key, and the user did not call it one.

    Keys that are the same words in many lines would supersede one another.
    """
    if options.says_what_lines_are:
        return
    pairs = [first_cells(line, delimiter.encode(), 2) for line in lines]
    keys = [pair[0] or b"" for pair in pairs]
    for pattern, kind in (
        (_WORDS, "words about a record, as programs print them"),
        (_PLACE, "the places of records, as programs print them"),
        (_TIME, "times"),
        (_OFFSET, "numbers that ascend, as offsets do"),
        (_NO_HEADERS, "headers, as kafka-console-consumer prints them"),
    ):
        matching = [key for key in keys if pattern.search(key)]
        are_enough = len(matching) > (0 if pattern is _NO_HEADERS else len(keys) // 2)
        if are_enough and (pattern is not _OFFSET or _ascend(matching)):
            text = shown(matching[0].decode("utf-8", "replace"))
            raise InputError(
                f"{path}: what would be keys are {kind}: {text}",
                hint=f"{EXPORT_HINT}; if they are keys: --columns key,value {delimiter_option(delimiter)}",
            )
    values = [pair[1] for pair in pairs if pair[1:] and pair[1]]
    if delimiter != "\t" and values and all(value[:1] == b" " for value in values):
        before = " " if all(key[-1:] == b" " for key in keys) else ""
        raise InputError(
            f"{path}: a blank follows {delimiter!r} in every line, as in what programs print",
            hint=f"if it stands between keys and values: --columns key,value"
            f" {delimiter_option(f'{before}{delimiter} ')}, or {delimiter_option(delimiter)} where blanks"
            f" belong to the data; if not, {EXPORT_HINT}",
        )


def _ascend(numbers: list[bytes]) -> bool:
    """Whether nearly all numbers exceed the one before them; they start again with each partition."""
    steps = [int(after) - int(before) for before, after in pairwise(numbers)]
    return len(numbers) >= _ENOUGH_LINES and sum(step > 0 for step in steps) >= _MOST * len(steps)


_MOST = 0.9
