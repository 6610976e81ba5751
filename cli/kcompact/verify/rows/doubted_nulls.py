"""Values of a dump that may be nulls: those that are refused, and those that leave a finding undecided."""

from collections.abc import Iterable, Mapping

from kcompact.dumps.dialects.dialect import DATA_ROLES, DataRole, Dialect
from kcompact.dumps.dump import Dump
from kcompact.dumps.note_checks import refuse_doubts
from kcompact.dumps.null_texts import likely_nulls, refuse_null_texts
from kcompact.dumps.records.layout import SplitNotes
from kcompact.errors import InputError

_DOUBTS = dict.fromkeys(DATA_ROLES, "what verify finds")


def refuse_doubted_nulls(dump: Dump, by_file: Mapping[int, SplitNotes], others: set[Dialect]) -> None:
    """Raise InputError for keys and values that may be null or not, where findings depend on it.

    Texts that databases write for null are refused only if one of the dumps compared with this one has
    another dialect (``others``), such as kcompact's own. Where the dialect is the same, such a text is
    compared with itself.
    """
    is_null_beside = _nothing_is_null_in(others)
    refuse_doubts(dump, by_file, _DOUBTS, any_quote_tells=True, nothing_is_null_beside=is_null_beside)
    for file in dump.files:
        own = (file.dialect.name, file.dialect.sure)
        if any((dialect.name, dialect.sure) != own for dialect in others):
            refuse_null_texts(
                file,
                by_file[file.file_id],
                dump.options,
                by_file.values(),
                asked="value",
                depends=_DOUBTS["value"],
                nothing_is_null_beside=is_null_beside,
            )


def _nothing_is_null_in(dialects: Iterable[Dialect]) -> bool:
    """Whether a dialect reads a missing value as null, though an option could make it an empty value."""
    return any("missing" in dialect.value.nulls - dialect.sure_nulls for dialect in dialects)


def doubts_about_nulls(dump: Dump, by_file: Mapping[int, SplitNotes]) -> dict[DataRole, InputError]:
    """By role, the error for CSV that quotes only where it must: a missing key or value may be empty."""
    doubts = {}
    for role, reason in _REASONS.items():
        try:
            refuse_doubts(dump, by_file, {role: reason})
        except InputError as error:
            doubts[role] = error
    return doubts


_REASONS: dict[DataRole, str] = {
    "key": "which records may go",
    "value": "whether what went was a tombstone",
}


def words_for_null(dump: Dump, by_file: Mapping[int, SplitNotes]) -> frozenset[bytes]:
    """Values in CSV that may be nulls: words that programs write for null, such as ``None``."""
    return frozenset(
        null.text.encode()
        for file in dump.files
        for null in likely_nulls(file, by_file[file.file_id], dump.options)
        if null.role == "value"
    )
