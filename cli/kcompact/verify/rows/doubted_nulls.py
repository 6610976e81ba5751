"""Values of a dump that may be nulls: those that are asked about, and those that are left undecided."""

from collections.abc import Iterable, Mapping

from kcompact.dumps.dialects.dialect import DATA_ROLES, DataRole, Dialect
from kcompact.dumps.dump import Dump
from kcompact.dumps.note_checks import refuse_doubts
from kcompact.dumps.null_texts import likely_nulls, refuse_null_texts
from kcompact.dumps.records.layout import SplitNotes
from kcompact.errors import InputError

_DOUBTS = dict.fromkeys(DATA_ROLES, "what verify finds")


def refuse_doubted_nulls(dump: Dump, by_file: Mapping[int, SplitNotes], others: set[Dialect]) -> None:
    """Raise InputError for what may be null or not, where findings depend on it.

    Values that databases write for null are asked about beside a dump of another tool's, by its dialect in
    ``others``. In dumps of one dialect such a text is compared with itself, but not with what kcompact made
    of it.
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
    """Whether one of them takes what is not there for null, where an option may make it an empty value."""
    return any("missing" in dialect.value.nulls - dialect.sure_nulls for dialect in dialects)


def doubts_about_nulls(dump: Dump, by_file: Mapping[int, SplitNotes]) -> dict[DataRole, InputError]:
    """By role, the error for CSV with quotes only where they must be: what is not there may be empty."""
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
    """Values of CSV that are words by which programs write null, such as ``None``, and may be nulls."""
    return frozenset(
        null.text.encode()
        for file in dump.files
        for null in likely_nulls(file, by_file[file.file_id], dump.options)
        if null.role == "value"
    )
