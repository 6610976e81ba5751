"""The user's options about a dump take the place of its dialect's rules."""

import re
from collections.abc import Collection
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from kcompact.dumps.dialects.dialect import QUOTING, TYPED, Dialect
from kcompact.dumps.dialects.dialect_table import BY_NAME
from kcompact.dumps.dialects.paths import escaped, unescaped
from kcompact.dumps.options import ReadOptions
from kcompact.errors import InputError

_TOMBSTONES: dict[str, dict[str, Any]] = {
    "null": {"missing_value": "empty", "empty_value": "empty"},
    "missing": {"missing_value": "null", "empty_value": "empty", "null_literal": None},
    "empty": {"missing_value": "null", "empty_value": "null", "null_literal": None},
    "none": {"missing_value": "empty", "empty_value": "empty", "null_literal": None},
}


def forced(name: str) -> Dialect:
    """The dialect of ``--dialect NAME``. Raises InputError."""
    if name not in BY_NAME:
        near = get_close_matches(name.lower(), sorted(BY_NAME))
        all_names = "kcompact inspect --dialects lists them: " + ", ".join(sorted(BY_NAME))
        hint = f"is it {' or '.join(near)}? kcompact inspect --dialects lists all" if near else all_names
        raise InputError(f"--dialect {name}: no such dialect of JSON, CSV or text", hint=hint)
    return BY_NAME[name]


def with_dotted_names(options: ReadOptions, names: Collection[str]) -> ReadOptions:
    r"""The options with ``--fields`` as paths, where a field's own name has dots: ``kafka\.key``.

    Without the backslash, too, where no path leads there. ``names`` are paths; of columns, names as they are.
    """
    if not options.fields:
        return options

    def as_path(field: str) -> str:
        likely = (field, escaped(field), unescaped(field))
        return next((name for name in likely if name in names), field)

    fields = {
        role: as_path(field) if any(sign in field for sign in ".,") else field
        for role, field in options.fields.items()
    }
    return replace(options, fields=fields)


def with_options(dialect: Dialect, options: ReadOptions) -> Dialect:
    """Work in ``--fields``, ``--tombstone``, ``--missing-key`` and whatever says what keys are.

    Raises InputError.
    """
    changes: dict[str, Any] = {**options.places, "cdc": options.cdc}
    if options.canonical_keys:
        changes["canonical_keys"] = True
    if options.key_fields:
        # In change events those of the row, whichever of its places is named.
        changes["key_fields"] = tuple(
            _ROW.sub("", name) if options.cdc else name for name in options.key_fields
        )
    if options.missing_key is not None:
        if options.missing_key not in {"null", "empty", "text"}:
            raise InputError(f"--missing-key {options.missing_key}", hint="it is null, empty or text")
        form = "null" if options.missing_key == "null" else "empty"
        literal_keys = options.missing_key != "text"
        changes |= {"missing_key": form, "literal_keys": literal_keys, "doubtful_key": frozenset()}
        # Whether what is empty in quotes is null, too, a sample of the rows says: text_recognition.py.
        is_doubtful = "empty" in dialect.doubtful_key and dialect.key_settled_by != QUOTING
        if is_doubtful or TYPED.issuperset(dialect.layouts):
            changes["empty_key"] = form
    if options.tombstone is not None:
        changes |= {**_tombstone(options.tombstone), "doubtful_value": frozenset()}
    changes = {name: value for name, value in changes.items() if getattr(dialect, name) != value}
    return replace(dialect, **changes) if changes else dialect


_ROW = re.compile(r"^(?:payload\.)?(?:(?:after|before|data|fullDocument|documentKey)\.)?")


def _tombstone(form: str) -> dict[str, Any]:
    others, _, text = form.partition("literal:")
    if text and others in {"", "missing,", "empty,"}:
        return {**_TOMBSTONES[others.removesuffix(",") or "none"], "null_literal": text}
    if form not in _TOMBSTONES:
        hint = "it is null, missing, empty, none, literal:TEXT or missing,literal:TEXT"
        raise InputError(f"--tombstone {form}", hint=hint)
    return _TOMBSTONES[form]
