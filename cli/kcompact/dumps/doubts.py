"""Doubts about keys and values whose spelling may mean null or something else, and what the user is asked."""

from collections.abc import Mapping
from shlex import quote
from typing import NamedTuple

from kcompact.counted import counted
from kcompact.dumps.count_names import ComposedName, CountName
from kcompact.dumps.dialects.dialect import DATA_ROLES, QUOTING, DataRole, Dialect, NullForm, Quoting
from kcompact.dumps.records.layout import DumpFile, SplitNotes


class Doubt(NamedTuple):
    """Why nulls of a file are in doubt, and the options that settle it.

    ``is_likely_misread``: these keys or values are read as empty, but in dumps null is the more frequent one.
    """

    text: str
    hint: str
    is_likely_misread: bool


def doubt_about(
    file: DumpFile,
    notes: SplitNotes,
    role: DataRole,
    *,
    any_quote_tells: bool = False,
    nothing_is_null_beside: bool = False,
) -> Doubt | None:
    """The doubt about the nulls of a file's keys or values (``role``); None if no record is in doubt.

    ``any_quote_tells``: any quotes in CSV settle doubts about missing ones. ``nothing_is_null_beside``: in
    another dump, read with the same options, a missing value is a tombstone, and the hint keeps it one.
    """
    dialect = file.dialect
    if role == "key" and dialect.key_fields:
        return None
    settled_by = dialect.of(role).settled_by
    counts = {
        form: count
        for form in sorted(dialect.of(role).doubtful)
        if (count := notes.counts.get(ComposedName(f"{form}_{role}"), 0))
        and not _is_settled(form, role, settled_by, notes, any_quote_tells=any_quote_tells)
    }
    if not counts:
        return None
    words = _words(dialect, notes, role)
    is_minimal = settled_by == QUOTING and "missing" in counts and notes.counts.get("quoted_cells")
    tool = _WHERE_QUOTED_ONLY if is_minimal else dialect.short_tool
    meaning = "no key" if role == "key" else "a tombstone"
    parts = [
        f"{counted(count, 'record')} with {_FORMS.get(form, _words_as(words))} {role},"
        f" which {tool} writes for {meaning} and for"
        f" {_texts(words) if form == 'literal' else f'an empty {role}'} alike"
        for form, count in counts.items()
    ]
    is_likely_misread = "empty" in counts and "empty" not in dialect.of(role).nulls
    hint = _hint(role, counts, words, notes if nothing_is_null_beside else None)
    if role == "value" and [*counts] == ["empty"] and settled_by == QUOTING:
        hint = _EMPTY_CELLS
    return Doubt(f"{file.path}: {'; '.join(parts)}", hint, is_likely_misread)


def _is_settled(
    form: str, role: str, settled_by: CountName | Quoting | None, notes: SplitNotes, *, any_quote_tells: bool
) -> bool:
    """Whether other records show that the tool writes this form with one meaning only.

    CSV: a tool that quotes empty text, or a word that needs no quotes, leaves a cell without content only for
    null. An empty cell in quotes is an empty text if the tool does not quote every cell, which a row without
    quotes or a null shows.
    """
    if settled_by != QUOTING:
        return settled_by is not None and notes.counts.get(settled_by, 0) > 0
    quoted = notes.counts.get("quoted_cells", 0)
    if form == "missing":
        return (any_quote_tells and quoted > 0) or any(map(notes.counts.get, _NEEDLESS_QUOTES[role]))
    is_null = any(notes.counts.get(ComposedName(f"missing_{role}")) for role in DATA_ROLES)
    return is_null or notes.fields_seen.get("record", 0) > quoted


_FORMS = {"missing": "no", "empty": "an empty", "null": "a null"}
_WHERE_QUOTED_ONLY = "a tool that quotes only where it must, such as pandas,"
_NEEDLESS_QUOTES: dict[str, tuple[CountName, ...]] = {
    "key": ("empty_key", "empty_value", "quoted_words"),
    "value": ("empty_value", "quoted_words"),  # Commons CSV quotes an empty text in the first column alone
}


def _words(dialect: Dialect, notes: SplitNotes, role: str) -> list[str]:
    """The spellings of the dialect's word for null that keys or values have."""
    if dialect.null_literal is None:
        return []
    upper = notes.counts.get(ComposedName(f"upper_literal_{role}"), 0)
    lower = notes.counts.get(ComposedName(f"literal_{role}"), 0) - upper
    return [dialect.null_literal] * (lower > 0) + [dialect.null_literal.upper()] * (upper > 0)


def _words_as(words: list[str]) -> str:
    return f"the word{'s' * (len(words) > 1)} {' or '.join(words)} as"


def _texts(words: list[str]) -> str:
    return f"the text {' or '.join(map(repr, words))}"


def _hint(role: str, counts: Mapping[NullForm, int], words: list[str], beside: SplitNotes | None) -> str:
    """The options for each meaning that a form may have; each option reads the form in that meaning only.

    ``beside``: the file's notes if a missing value is a tombstone in another dump, else None.
    """
    if "literal" not in counts:
        return _NULLS_OF_JSON if role == "value" and "null" in counts else _HINTS[role]
    others = "missing" in counts or "empty" in counts
    if role == "key":
        answers = [
            f"--missing-key text where it is {_texts(words)}",
            "--missing-key empty where it means no key",
            *["--missing-key null where a missing key means no key, too"] * others,
        ]
    else:
        is_empty_here = beside is not None and beside.counts.get("missing_value", 0) > 0
        is_null_beside = beside is not None and not is_empty_here
        form = "missing,literal" if is_null_beside else "literal"
        literals = " or ".join(f"--tombstone {quote(f'{form}:{word}')}" for word in words)
        answers = [
            f"{literals} where {'one of them' if len(words) > 1 else 'it'} is a tombstone",
            f"--tombstone {'missing' if is_null_beside else 'none'} where it is text",
            *["--tombstone missing where a missing value is a tombstone and the word is text"] * others,
            *[f"--tombstone {quote(f'missing,literal:{words[0]}')} where both are tombstones"] * others,
            *[_NO_OPTION_FOR_BOTH] * (is_empty_here and not others),
        ]
    return f"say what the word means: {', '.join(answers)}"


_NULLS_OF_JSON = (
    "say which it is: --tombstone missing where all are tombstones, --tombstone none where all are empty;"
    " where there are both, export with a tool that tells them apart, such as kcat -J"
)
_HINTS = {
    "value": "say what a tombstone looks like: --tombstone null|missing|empty|literal:TEXT",
    "key": "say what such a key is: --missing-key null|empty",
}
_NO_OPTION_FOR_BOTH = (
    "but where a missing value is an empty one here, and a tombstone in the other dump, no option reads both"
    " right: export both with the same tool"
)
_EMPTY_CELLS = (
    "say which it is: --tombstone empty where it is a tombstone, --tombstone missing where it is empty"
)
