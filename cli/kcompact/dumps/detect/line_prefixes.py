"""Refuses lines with a prefix of docker compose, ``grep -H``, ``cat -n``, Flink's ``print()`` or a log."""

import re
from typing import Any

import orjson

from kcompact.dumps.detect.fitting import dialects_fitting, forms_of
from kcompact.dumps.dialects.part_names import fields_by_role
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.records.shown import shown
from kcompact.errors import InputError

_PREFIXES = (
    (re.compile(rb"([\w.-]+[-_]\d+) +\| "), "docker compose", "sed 's/^{name} *| //' FILE > NEW"),
    (re.compile(rb"([\w./-]+\.(?:jsonl?|ndjson|txt|log)):"), "grep -H", "sed 's/^{name}://' FILE > NEW"),
    (re.compile(rb"(?=[ \d]{6}\t)( +[1-9]\d*)\t"), "cat -n", "cut -f2- FILE > NEW"),
    (re.compile(rb"(?:[\w.-]+:)?[1-9]\d*(>) "), "Flink's print()", "sed 's/^[^ >]*> //' FILE > NEW"),
)
"""Patterns of prefixes, the program that writes each, and the command that removes it.

A pattern's group is the same text in all lines, or a number that increases by one from line to line.
"""
_PLACE = ("topic", "partition", "offset")


def refuse_prefixed_lines(path: str, lines: list[bytes], options: ReadOptions) -> None:
    """Raise InputError where all lines begin as docker compose, grep, cat -n or Flink make them begin."""
    if options.says_what_lines_are or len(lines) <= 1:
        return
    for pattern, tool, remedy in _PREFIXES:
        matches = [match for match in map(pattern.match, lines) if match is not None]
        if len(matches) == len(lines) and _is_one(matches):
            command = remedy.format(name=re.sub(r"([./])", r"\\\1", matches[0][1].decode()))
            raise InputError(
                f"{path}: lines begin with {matches[0][0].decode()!r} and the like, as {tool} writes it",
                hint=f"remove that: {command}; if it is part of the data, --dialect text",
            )


def _is_one(matches: list[re.Match[bytes]]) -> bool:
    """Whether the groups of all matches are the same, or numbers that increase by one."""
    texts = [match[1] for match in matches]
    if not texts[0].strip().isdigit():
        return len(set(texts)) == 1
    return [int(text) for text in texts] == [int(texts[0]) + place for place in range(len(texts))]


def refuse_prefixed_records(path: str, lines: list[bytes], options: ReadOptions) -> None:
    """Raise InputError where most lines are records of JSON with something before them.

    If that text were taken for the key, all records would have the same key, or each a different one. It may
    be the key, too, with the JSON as its value, so the hint has options for both.
    """
    records = [line for line in lines if _is_record(line)]
    if options.says_what_lines_are or 2 * len(records) <= len(lines):
        return
    before = records[0].partition(b"{")[0].decode("utf-8", "replace")
    raise InputError(
        f"{path}: the lines are JSON records with offsets, each after some other text: {shown(before)}",
        hint="take that away if it is of grep -H, cat -n, docker compose or a log:"
        " sed 's/^[^{]*{/{/' FILE > NEW; if it is a key, and the JSON its value: --columns key,value"
        " --delimiter TEXT",
    )


def _is_record(line: bytes) -> bool:
    """Whether a line is some text and a JSON object with a record's place in Kafka and its key or value."""
    start = line.find(b"{")
    try:
        document: Any = orjson.loads(line[start:]) if start > 0 else None
    except orjson.JSONDecodeError:
        return False
    if not isinstance(document, dict):
        return False
    named = fields_by_role(document)
    if named["offset"] and (named["key"] or named["value"]):
        return all(map(named.get, _PLACE)) or bool(named["key"] and named["value"])
    return any(
        dialect.sure and dialect.offset for dialect in dialects_fitting("json_lines", forms_of([document]))
    )
