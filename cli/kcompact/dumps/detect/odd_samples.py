"""Samples whose rows are not all records of one kind: objects around records, records of two tools."""

import shlex
from typing import Any

from kcompact.dumps.detect.sampled_values import Row
from kcompact.dumps.dialects.dialect import Dialect
from kcompact.dumps.dialects.envelope import FRAMES
from kcompact.dumps.dialects.part_names import ALIASES, fields_by_role, plain_name
from kcompact.dumps.dialects.paths import path_of
from kcompact.dumps.options import ReadOptions
from kcompact.errors import InputError

Rows = list[Row]


def refuse_wrapped(path: str, sample: Rows) -> None:
    """Raise InputError where each row holds a list of what are the records: ``{"messages": [...]}``."""
    if not sample or any(names <= sample[0].keys() for names in FRAMES):
        return
    for name in sample[0]:
        lists = [row.get(name) for row in sample]
        is_headers = plain_name(name) in ALIASES["headers"]
        if not is_headers and all(
            isinstance(items, list) and items and _is_record(items[0]) for items in lists
        ):
            take_out = shlex.quote(f"del(.{name}) + .{name}[]")
            raise InputError(
                f"{path}: the records lie in a list, {name}, of an object",
                hint=f"take them out first: jq -c {take_out} FILE > NEW",
            )


def _is_record(item: Any) -> bool:
    if not isinstance(item, dict):
        return False
    named = fields_by_role(item)
    return bool(named["key"] and (named["value"] or named["offset"]))


def refuse_two_kinds(path: str, dialect: Dialect, sample: Rows, options: ReadOptions) -> None:
    """Raise InputError where some rows have their value under another name: those would be tombstones."""
    if not dialect.value or dialect.listed or "value" in options.fields:
        return
    head = path_of(dialect.value)[0]
    with_value = [row for row in sample if head in row]
    others = {name for row in with_value for name in row}
    for row in sample if with_value else ():
        if head in row:
            continue
        names = [name for name in row if plain_name(name) in ALIASES["value"] and name not in others]
        if names:
            raise InputError(
                f"{path}: records with {head}, and records with {names[0]} and no {head}: of two tools?",
                hint="give what each of them wrote as a file of its own",
            )
