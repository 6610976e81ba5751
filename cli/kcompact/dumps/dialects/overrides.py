"""Works the user's options about a dump into its dialect, where they replace the dialect's rules."""

import re
from collections.abc import Collection
from dataclasses import replace
from difflib import get_close_matches

from kcompact.dumps.dialects.dialect import QUOTING, TYPED, Dialect, NullForm, forms
from kcompact.dumps.dialects.dialect_table import BY_NAME
from kcompact.dumps.dialects.paths import escaped, unescaped
from kcompact.dumps.options import ReadOptions
from kcompact.errors import InputError

_TOMBSTONES: dict[str, frozenset[NullForm]] = {
    "null": forms("null"),
    "missing": forms("missing", "null"),
    "empty": forms("missing", "empty", "null"),
    "none": forms(),
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

    The backslash may be left out where no path is spelt so without it. ``names`` are those of the sample:
    paths, or names of columns as they are.
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
    dialect = dialect.with_places(options.places)
    if options.cdc != dialect.cdc:
        dialect = replace(dialect, cdc=options.cdc)
    if options.canonical_keys:
        dialect = replace(dialect, canonical_keys=True)
    if options.key_fields:
        # In change events they are fields of the row, with or without the object that holds it.
        key_fields = (_ROW.sub("", name) if options.cdc else name for name in options.key_fields)
        dialect = replace(dialect, key_fields=tuple(key_fields))
    if options.missing_key is not None:
        dialect = _with_missing_key(dialect, options.missing_key)
    return dialect if options.tombstone is None else _with_tombstone(dialect, options.tombstone)


_ROW = re.compile(r"^(?:payload\.)?(?:(?:after|before|data|fullDocument|documentKey)\.)?")


def _with_missing_key(dialect: Dialect, meaning: str) -> Dialect:
    if meaning not in {"null", "empty", "text"}:
        raise InputError(f"--missing-key {meaning}", hint="it is null, empty or text")
    key, same = dialect.key, forms("missing", "null")
    # Whether an empty cell in quotes is null, too, is decided by a sample of rows: text_recognition.py.
    is_doubtful = "empty" in key.doubtful and key.settled_by != QUOTING
    if is_doubtful or TYPED.issuperset(dialect.layouts):
        same |= forms("empty")
    nulls = key.nulls | same if meaning == "null" else key.nulls - same
    key = replace(key, nulls=nulls, doubtful=forms())
    return replace(dialect, key=key, literal_keys=meaning != "text")


def _with_tombstone(dialect: Dialect, form: str) -> Dialect:
    others, _, text = form.partition("literal:")
    if text and others in {"", "missing,", "empty,"} and not text.endswith((",missing", ",empty")):
        form = others.removesuffix(",") or "none"
    elif form not in _TOMBSTONES:
        hint = "it is null, missing, empty, none, literal:TEXT or missing,literal:TEXT"
        raise InputError(f"--tombstone {form}", hint=hint)
    literal = dialect.null_literal if form == "null" else text or None
    value = replace(dialect.value, nulls=_TOMBSTONES[form] | dialect.sure_nulls, doubtful=forms())
    return replace(dialect, value=value, null_literal=literal)
