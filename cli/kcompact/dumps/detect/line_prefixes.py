"""Lines of which another program wrote the beginning: docker compose, ``grep -H``, ``cat -n``, a log."""

import re
from typing import Any

import orjson

from kcompact.dumps.detect.fitting import dialects_fitting, forms_of
from kcompact.dumps.dialects.part_names import fields_by_role
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.records.shown import shown
from kcompact.dumps.text.delimited_text import columns_to_type
from kcompact.errors import InputError

_OF_COMPOSE = re.compile(rb"([\w.-]+[-_]\d+) +\| ")
_PLACE = ("topic", "partition", "offset")


def refuse_prefixed_lines(path: str, lines: list[bytes], options: ReadOptions) -> None:
    """Raise InputError where all lines begin with the name of one container, as docker compose writes it."""
    matches = [match for match in map(_OF_COMPOSE.match, lines) if match is not None]
    is_one = 1 < len(lines) == len(matches) and len({match[0] for match in matches}) == 1
    if not _is_told(options) and is_one:
        before, name = matches[0][0].decode(), matches[0][1].decode()
        raise InputError(
            f"{path}: every line begins with {before!r}, as docker compose writes it",
            hint=f"take that away: sed 's/^{name} *| //' FILE > NEW; if it is of the data, --dialect text",
        )


def refuse_prefixed_records(path: str, lines: list[bytes], options: ReadOptions) -> None:
    """Raise InputError where most lines are records of JSON with something before them.

    Taken for a key, it would be the same for all, or another for each. Values may look like that, too.
    """
    records = [line for line in lines if _is_record(line)]
    if _is_told(options) or 2 * len(records) <= len(lines):
        return
    before = records[0].partition(b"{")[0].decode("utf-8", "replace")
    as_keys = columns_to_type(records)
    as_keys = as_keys if as_keys.startswith("--columns key,value") else "--columns key,value --delimiter TEXT"
    raise InputError(
        f"{path}: the lines are records of JSON that tell their offsets, behind something: {shown(before)}",
        hint="take that away if it is of grep -H, cat -n, docker compose or a log:"
        f" sed 's/^[^{{]*{{/{{/' FILE > NEW; if it is a key, and the JSON its value: {as_keys}",
    )


def _is_told(options: ReadOptions) -> bool:
    """Whether the user says what the lines are."""
    return bool(options.dialect or options.delimiter)


def _is_record(line: bytes) -> bool:
    """Whether an object that tells where it was in Kafka, with a key or a value, follows something else."""
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
