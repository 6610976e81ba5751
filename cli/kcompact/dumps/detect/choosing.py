"""Chooses the dialect that a sample of records is written in, with its places and encodings."""

from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from kcompact.dumps.detect.avro_json import refuse_avro_json
from kcompact.dumps.detect.byte_arrays import (
    arrays_of_bytes,
    note_on_lost_bytes,
    note_on_numbers,
    with_arrays,
)
from kcompact.dumps.detect.doubtful_samples import (
    as_written,
    ask_for_base64,
    ask_for_headers,
    ask_for_tool,
    clock_of_tool,
    note_on_headers,
    note_on_short_keys,
    refuse_misnamed,
    refuse_places_in_texts,
    refuse_two_kinds,
)
from kcompact.dumps.detect.event_proposals import check_delete_flags, check_events
from kcompact.dumps.detect.field_places import (
    places_by_name,
    refuse_absent_values,
    refuse_optionals,
    refuse_taken_apart,
    with_markers,
)
from kcompact.dumps.detect.fitting import (
    FORMS_REMEMBERED,
    Form,
    decodes,
    dialects_fitting,
    forms_of,
    header_values,
    names_in,
)
from kcompact.dumps.detect.likely_encodings import (
    is_rounded_number,
    is_rounded_text,
    note_on_base64_columns,
    note_on_base64_values,
    notes_on_printed_bytes,
    null_seen,
    with_encodings,
)
from kcompact.dumps.dialects.dialect import DATA_ROLES, JSON, Dialect, forms
from kcompact.dumps.dialects.dialect_table import BY_NAME
from kcompact.dumps.dialects.envelope import AVRO, PARQUET, guess_envelope
from kcompact.dumps.dialects.overrides import forced, with_dotted_names, with_options
from kcompact.dumps.dialects.part_names import refuse_likely_places, refuse_windows
from kcompact.dumps.dialects.printed_objects import refuse_addresses
from kcompact.dumps.dialects.sampled_values import Row, names_far_within, texts_among, values_at
from kcompact.dumps.dialects.unexported import is_size, refuse_other_spelling
from kcompact.dumps.json.late_members import late_names
from kcompact.dumps.null_texts import notes_on_nothing, notes_on_null_keys, notes_on_null_values
from kcompact.dumps.options import PLACES, ReadOptions
from kcompact.dumps.records.shown import shown
from kcompact.errors import InputError


class _Sample(NamedTuple):
    """The first records of a file, the names of their fields, and what the user says of them."""

    path: str
    layout: str
    rows: list[Row]
    forms: frozenset[Form]
    field_names: frozenset[str]
    options: ReadOptions

    @property
    def fitting(self) -> tuple[Dialect, ...]:
        """The dialects of the table that records with these fields can be of."""
        return dialects_fitting(self.layout, self.forms)


def choose_dialect(path: str, layout: str, rows: list[Row], options: ReadOptions) -> Dialect:
    """The dialect of a sample, with the user's options worked in. Raises InputError.

    Each step changes the dialect that the step before returned. Doubts are about the tool's own dialect, so
    they come before the user's options, which come before places; encodings are those found at these places.
    """
    forms = forms_of(rows)
    field_names = names_in(forms) if layout != "csv_lines" else frozenset(chain.from_iterable(rows))
    options = with_dotted_names(options, field_names)
    sample = _Sample(path, layout, rows, forms, field_names, options)
    dialect = _of_tool(sample)
    _refuse_unfit(sample, dialect)
    dialect = _noted(dialect, _doubts(sample, dialect))
    dialect = _with_options(sample, dialect)
    dialect = _with_places(sample, dialect)
    dialect = _with_encodings(sample, dialect)
    late = late_names(layout, dialect, field_names, is_told_value="value" in options.fields)
    return _with_late_names(dialect, late)


def notes_on_columns(path: str, dialect: Dialect, rows: list[Row], options: ReadOptions) -> tuple[str, ...]:
    """Notes on keys and values in columns of Avro and Parquet, without those of ``note_on_python_texts``.

    Raises InputError where keys or values can hardly be the exported data, such as addresses of objects.
    """
    for role in DATA_ROLES:
        refuse_addresses(path, role, values_at(rows, dialect.of(role).place))
    layout = dialect.layouts[0]
    sample = _Sample(path, layout, rows, frozenset(), frozenset({dialect.key.error or ""}), options)
    notes = _notes_on_nulls(sample, dialect) + _ask_for_rounded_keys(sample, dialect)
    notes += _notes_on_empty_keys(sample, dialect)
    _, of_arrays = arrays_of_bytes(path, layout, dialect, rows, options)
    return notes + note_on_base64_columns(dialect, rows) + note_on_lost_bytes(dialect, rows) + of_arrays


_OF_TEXT = {("csv_lines",), ("dump_log",)}


def _of_tool(sample: _Sample) -> Dialect:
    """The dialect that the user names; else the first that fits and decodes; else one by names of fields."""
    path, layout, rows, _, field_names, options = sample
    if options.dialect is not None:
        dialect = forced(options.dialect)
        if layout in JSON and dialect.layouts in _OF_TEXT:
            raise InputError(
                f"{path}: --dialect {dialect.name} is one of CSV or text, and this is JSON",
                hint="leave --dialect out, or name one of JSON: kcompact inspect --dialects lists them",
            )
        return dialect
    known = next((dialect for dialect in sample.fitting if decodes(dialect, rows)), None)
    if known is not None:
        return known
    return guess_envelope(path, layout, set(field_names), options)


def _refuse_unfit(sample: _Sample, dialect: Dialect) -> None:
    """Raise InputError for records of a dialect that is refused, and for Avro's own JSON."""
    if dialect.refused is not None:
        raise InputError(f"{sample.path}: {dialect.tool}: {dialect.refused}", hint=dialect.hint)
    is_open = sample.options.dialect is None and not sample.options.fields
    if is_open and any(nested for _, nested in sample.forms):
        refuse_avro_json(sample.path, dialect, sample.rows)


def _doubts(sample: _Sample, dialect: Dialect) -> tuple[str, ...]:
    """Notes on data that may mean something else than is read. Raises InputError where nobody can tell."""
    notes = _ask_for_encodings(sample, dialect) + _ask_for_rounded_keys(sample, dialect)
    notes += check_events(sample.path, dialect, values_at(sample.rows, dialect.value.place), sample.options)
    return notes + _notes_on_empty_keys(sample, dialect)


def _ask_for_encodings(sample: _Sample, dialect: Dialect) -> tuple[str, ...]:
    """Notes on texts that may be encoded. Raises InputError where nobody can tell."""
    path, rows = sample.path, sample.rows
    is_open = not dialect.sure and sample.options.dialect is None
    notes = note_on_short_keys(dialect, rows)
    if is_open and dialect.key.encoding == "text":
        notes += ask_for_base64(path, dialect, rows)
        for other in sample.fitting:
            ask_for_tool(path, dialect, other, rows)
    if is_open:
        notes += note_on_headers(dialect, rows)
    header_texts = texts_among(values_at(header_values(rows, dialect), "value"))
    if dialect.text_timestamps and any(header_texts):
        notes += ("headers' values are read as base64, as Spark writes them; --dialect plain has their text",)
    if dialect.header_names_encoding == "text":
        ask_for_headers(path, dialect.headers, rows)
    return notes


def _notes_on_nulls(sample: _Sample, dialect: Dialect) -> tuple[str, ...]:
    """Notes on texts that most likely stand for null."""
    notes = notes_on_null_keys(dialect, sample.rows)
    is_asked = sample.layout != "csv_lines" and sample.options.tombstone is None
    return notes + notes_on_null_values(dialect, sample.rows) if is_asked else notes


_NOTE_ON_EMPTY_KEYS = (
    "several keys of the first records are empty, so they count as one key, and none is null: if the tool"
    " writes that for no key, --missing-key null reads it as such"
)


def _notes_on_empty_keys(sample: _Sample, dialect: Dialect) -> tuple[str, ...]:
    """The note on empty keys that may mean "no key", unless the user or a field with their size says so."""
    is_sized = any(is_size(name, "key") for name in sample.field_names)
    is_said = is_sized or sample.options.missing_key is not None
    return (_NOTE_ON_EMPTY_KEYS,) if _may_mean_none(sample, dialect) and not is_said else ()


def _may_mean_none(sample: _Sample, dialect: Dialect) -> bool:
    """Whether empty keys in JSON of an unknown tool may mean "no key": no sampled key is null or missing.

    Go's ``string(key)`` writes no key as an empty one; read as such, all those records would have one key.
    """
    keys = [*values_at(sample.rows, dialect.key.place)]
    is_open = _may_write_none_as_empty(sample, dialect)
    return is_open and keys.count("") > 1 and None not in keys and len(keys) == len(sample.rows)


def _may_write_none_as_empty(sample: _Sample, dialect: Dialect) -> bool:
    """Whether it is unknown how the tool writes "no key". In CSV, quotes tell (``csv_writers``)."""
    is_text = dialect.key.encoding in ("text", "base64")
    return sample.layout != "csv_lines" and not dialect.sure and is_text


def _ask_for_rounded_keys(sample: _Sample, dialect: Dialect) -> tuple[str, ...]:
    """Raise InputError for keys that are numbers with an exponent, as spreadsheets save long ones.

    pandas writes whole numbers like this where the column has a gap. For kcompact's own CSV, known by its
    column of encodings, return a note instead: the keys may have been such texts before.
    """
    keys = [*values_at(sample.rows, dialect.key.place)]
    is_rounded = is_rounded_number if {*JSON}.issuperset(dialect.layouts) else is_rounded_text
    rounded = next(filter(is_rounded, keys), None)
    if rounded is None or dialect.key.encoding != "text" or sample.options.dialect is not None:
        return ()
    likely = f"keys such as {shown(rounded)} were most likely rounded or replaced, by a spreadsheet or pandas"
    likely += ": keys that were different look alike"
    if dialect.key.marker is not None and any(dialect.key.marker in row for row in sample.rows):
        return (likely,)
    has_name = dialect.name in {*BY_NAME, *AVRO, *PARQUET}
    as_named = f"--dialect {dialect.name}" if has_name else as_written(dialect, sample.rows)
    raise InputError(
        f"{sample.path}: {likely}",
        hint="take the file as it was exported, before a spreadsheet saved it (in pandas, have keys as text:"
        " dtype=str, or .astype('Int64') before they are written); if these are the keys,"
        f" {as_named} takes them as they are",
    )


def _with_options(sample: _Sample, dialect: Dialect) -> Dialect:
    """The dialect with the user's options, without timestamps by a tool's own clock. Raises InputError."""
    if sample.options.missing_key is not None and _may_write_none_as_empty(sample, dialect):
        doubtful = dialect.key.doubtful | forms("empty")
        dialect = replace(dialect, key=replace(dialect.key, doubtful=doubtful))
    dialect = with_options(dialect, sample.options)
    clock = clock_of_tool(sample.path, dialect, sample.rows, sample.options)
    return _noted(replace(dialect, timestamp=None), clock) if clock else dialect


def _with_places(sample: _Sample, dialect: Dialect) -> Dialect:
    """The dialect with the places where this sample has its parts. Raises InputError if they are unclear."""
    path, rows, field_names, options = sample.path, sample.rows, sample.field_names, sample.options
    looked_for = (*PLACES, "timestamp_type", *(("timestamp",) if dialect.timestamp else ()))
    parts = dialect.places
    lacking = [role for role in looked_for if not _is_in_sample(parts[role], field_names, rows)]
    refuse_misnamed(path, lacking, options, field_names)
    refuse_other_spelling(path, dialect, field_names, options)
    refuse_two_kinds(path, dialect, rows, options)
    absent = dict.fromkeys(role for role in PLACES if role in lacking)  # types may come in later records
    places = absent | places_by_name(path, dialect, lacking, field_names, options)
    dialect = with_markers(path, dialect.with_places(places), field_names)
    refuse_taken_apart(path, dialect, rows, options)
    refuse_optionals(path, dialect, rows)
    refuse_absent_values(path, dialect, rows, options)
    if dialect.value.place and not dialect.listed:
        parts = dialect.places
        is_open = any(parts[role] is None and role not in options.fields for role in PLACES)
        deep_names = {name for row in rows for name in names_far_within(row)} if is_open else set()
        refuse_likely_places(path, parts, field_names | deep_names, options)
        refuse_places_in_texts(path, dialect, rows, options)
        refuse_windows(path, parts, field_names, options)
        flag = check_delete_flags(path, dialect, rows, field_names, options)
        return replace(dialect, delete_flag=flag) if flag else dialect
    return dialect


def _with_encodings(sample: _Sample, dialect: Dialect) -> Dialect:
    """The dialect with the encodings that it leaves to its tool's users. Raises InputError."""
    path, layout, rows, _, _, options = sample
    encoded = with_encodings(path, dialect, rows, options)
    arrays, notes = arrays_of_bytes(path, layout, dialect, rows, options)
    notes += _notes_on_nulls(sample, replace(dialect, null_literal=null_seen(dialect, encoded, rows)))
    notes += notes_on_printed_bytes(dialect, encoded, rows) + note_on_lost_bytes(encoded, rows)
    notes += note_on_numbers(encoded, rows)
    if options.dialect is None and encoded.value.encoding == dialect.value.encoding:
        notes += note_on_base64_values(layout, dialect, rows)
    encoded = with_arrays(encoded, arrays)
    return _noted(encoded, notes + notes_on_nothing(encoded, rows) if layout in JSON else notes)


def _noted(dialect: Dialect, notes: tuple[str, ...]) -> Dialect:
    return replace(dialect, notes=dialect.notes + notes) if notes else dialect


@lru_cache(FORMS_REMEMBERED)
def _with_late_names(dialect: Dialect, late: tuple[tuple[str, str], ...]) -> Dialect:
    """The dialect with these names; equal ones are one object, which is quick to send and compare."""
    return replace(dialect, late_names=late)


def _is_in_sample(dotted: str | None, field_names: frozenset[str], sample: list[Row]) -> bool:
    """Whether a field is in the sample, whose names are known two levels deep."""
    return dotted in field_names or any(True for _ in values_at(sample, dotted))
