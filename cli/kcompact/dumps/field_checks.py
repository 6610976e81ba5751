"""Checks of a read dump: fields were exported, different keys look different, records are in order."""

from collections import Counter, defaultdict
from collections.abc import Mapping

from kcompact.counted import counted
from kcompact.dumps.avro.avro_schema import kind_names_at
from kcompact.dumps.count_names import ComposedName
from kcompact.dumps.dialects.dialect import JSON, TYPED, Dialect
from kcompact.dumps.dump import Dump
from kcompact.dumps.files.at_hand import file_at_hand
from kcompact.dumps.records.change_events import FORMATS
from kcompact.dumps.records.framed import last_byte
from kcompact.dumps.records.layout import DumpFile, SplitNotes
from kcompact.dumps.records.shown import (
    by_jq,
    columns_option,
    delimiter_option,
    fields_option,
    key_field_option,
)
from kcompact.dumps.text.csv_lines import CR_LF_ROWS
from kcompact.dumps.text.csv_reader import CsvShape
from kcompact.errors import InputError

_STRUCTURED = {"record", "array", "map"}  # types of Avro


def has_structured_keys(file: DumpFile) -> bool:
    """Whether a file's keys are Avro structures, which are compared by their encoded bytes."""
    schema, place = None, file.dialect.key.place
    if file.layout == "avro":
        schema = file.shape.header.schema
    elif file.layout == "side_files" and (header := file.shape.parts["keys"].header) is not None:
        schema, place = {"type": "record", "fields": [{"name": "key", "type": header.schema}]}, "key"
    return schema is not None and not kind_names_at(schema, place).isdisjoint(_STRUCTURED)


def check_fields(dump: Dump, file_notes: Mapping[int, SplitNotes]) -> None:
    """Raise InputError where no record of a dialect's files has a key, or a value: it was not exported.

    Such keys and values are not null.
    """
    by_dialect: dict[Dialect, Counter[str]] = defaultdict(Counter)
    for file in dump.files:
        by_dialect[file.dialect].update(file_notes[file.file_id].fields_seen)
    options = dump.options
    for dialect, counts in by_dialect.items():
        if not counts.get("record"):
            continue
        path = next(file.path for file in dump.files if file.dialect == dialect)
        if not counts.get("key") and options.key_fields:
            raise _no_such_fields(path, options.key_fields, file_notes)
        if not counts.get("key") and options.missing_key is None:
            raise InputError(
                f"{path}: no record has the field {dialect.key.place or 'key'}: the keys were not exported,"
                " or are in another field",
                hint="export again with keys (kafkactl: --print-keys; console consumer: --property"
                " print.key=true), or name the field with --fields key=FIELD or --key-field FIELD",
            )
        if not counts.get("value") and not (options.tombstone or "").startswith(("missing", "empty")):
            may_be_row = dialect.layouts != ("csv_lines",) and "value" not in options.fields
            as_row = " (value= where each whole record is the value)" if may_be_row else ""
            raise InputError(
                f"{path}: no record has the field {dialect.value.place or 'value'}: values that were not"
                " exported are no tombstones",
                hint="export again with values (rpk: without --meta-only), or name the field with --fields"
                f" value=FIELD{as_row}; if all records really are tombstones, add --tombstone missing",
            )


def _no_such_fields(path: str, fields: tuple[str, ...], file_notes: Mapping[int, SplitNotes]) -> InputError:
    """The error for ``--key-field`` with names that no value has."""
    for name in FORMATS:
        if any(notes.counts.get(ComposedName(f"{name}_events")) for notes in file_notes.values()):
            return InputError(
                f"{path}: no value has the field {', '.join(fields)}; they are change events of {name}",
                hint=f"--cdc {name} looks it up in the row, after the change or before it",
            )
    return InputError(
        f"{path}: no value has the field {', '.join(fields)}",
        hint="name a field that every value has, with the path to it: --key-field payload.id; if the"
        " values are another field of the records: --fields value=FIELD; if each whole record"
        " is the value: --fields value=",
    )


def check_tables(dump: Dump, file_notes: Mapping[int, SplitNotes]) -> None:
    """Raise InputError for rows of several tables in a topic: the same id is another row in each table."""
    tables: dict[str, set[str]] = defaultdict(set)
    for notes in file_notes.values():
        for topic, topic_tables in notes.tables.items():
            tables[topic] |= set(topic_tables)
    for topic, names in tables.items():
        if len(names) > 1 and "" in names:
            raise InputError(
                f"{dump.files[0].path}: {topic} holds values that name no table beside those of"
                f" {min(names - {''})}",
                hint="are these keys, in lines of their own? export each record with its key (kcat -J)",
            )
        if len(names) > 1:
            parts = [dict(part.partition("=")[::2] for part in name.split(", ")) for name in sorted(names)]
            differing = [part for part in parts[0] if any(row.get(part) != parts[0][part] for row in parts)]
            raise InputError(
                f"{dump.files[0].path}: {topic} holds rows of several tables"
                f" ({'; '.join(sorted(names)[:3])}): the same key in two of them is two rows",
                hint="make the table a part of the key: "
                + key_field_option([*differing, *dump.options.key_fields]),
            )


def check_kinds_of_keys(dump: Dump, file_notes: Mapping[int, SplitNotes]) -> list[str]:
    """Raise InputError where different keys have the same bytes; return notes where one key may have several.

    In JSON files of keys, 7 and "7" are two keys, which would be one without the quotes.
    """
    _check_types_of_keys(dump, file_notes)
    other = next((file for file in dump.files if file_notes[file.file_id].counts.get("json_keys")), None)
    quoted = next(
        (file for file in dump.files if file_notes[file.file_id].counts.get("json_keys_in_quotes")), None
    )
    if other is not None and quoted is not None:
        raise InputError(
            f'{quoted.path}: some keys are strings such as "7", others (in {other.path}) JSON such as 7:'
            " nobody can tell which bytes they had in Kafka",
            hint="have the connector write keys as Avro (keys.format.class), or export the topic with its"
            " keys (kcat -J)",
        )
    return _notes_on_mixed_keys(dump, file_notes)


def _check_types_of_keys(dump: Dump, file_notes: Mapping[int, SplitNotes]) -> None:
    """Raise InputError where files of one topic have keys of different types.

    With another enum or record as its schema, the same Avro datum is another key. In Parquet, pandas makes a
    column of whole numbers one of doubles where a number is missing: 7 becomes 7.0.
    """
    paths: dict[str, dict[str, str]] = defaultdict(dict)
    for file in dump.files:
        notes = file_notes[file.file_id]
        for topic in {log.topic for log in notes.logs.values()} if notes.key_type else ():
            paths[topic].setdefault(notes.key_type or "", file.path)
    for topic, by_type in paths.items():
        if len(by_type) > 1:
            first, other, *_ = by_type.values()
            raise InputError(
                f"{other}: keys of {topic} have another type than in {first}: different keys may have"
                " the same bytes, and the same key others",
                hint="write the older files again with the schema of the newest, as readers of Avro can;"
                " or export the keys as the bytes that Kafka has",
            )


def _notes_on_mixed_keys(dump: Dump, file_notes: Mapping[int, SplitNotes]) -> list[str]:
    """A note on the first topic whose keys are text in one file, and of Avro's or Parquet's types in another.

    kcompact's spelling of a typed key may differ from that of a tool: ``{"id": 1}`` and ``{"id":1}``.
    """
    typed: dict[str, str] = {}
    spelt: dict[str, str] = {}
    for file in dump.files:
        notes = file_notes[file.file_id]
        is_spelt = notes.key_type is None and not TYPED.issuperset([file.layout])
        if is_spelt or notes.key_type not in {None, "plain"}:
            for log in notes.logs.values():
                (spelt if is_spelt else typed).setdefault(log.topic, file.path)
    return [
        f"{spelt[topic]}: keys of {topic} are compared as they are spelt here with those of {path}, which"
        " have a type: one key may count as two: export all of them in one format"
        for topic, path in typed.items()
        if topic in spelt
    ][:1]


def ask_whose_quotes(file: DumpFile, notes: SplitNotes) -> None:
    """Raise InputError for a table whose quotes may be those of CSV or a part of the data.

    ClickHouse, PostgreSQL, MySQL and SQLite quote nothing in tables in which tabs or bars divide cells. There
    ``"a"`` is another key than ``a``; read as CSV, all rows between two quotes would be a part of one value.
    """
    shape, rows = file.shape, notes.fields_seen.get("record", 0)
    if not isinstance(shape, CsvShape):
        return
    free, within = (notes.counts.get(name, 0) for name in ("freely_quoted_cells", "rows_within_quotes"))
    is_table = shape.delimiter in {"\t", "|"} and b'"' not in shape.begin
    if within:
        doubt = f"{counted(within, 'row')} with lines between quotes each of which looks like a row"
    elif is_table and free and notes.counts.get("quoted_cells", 0) != rows:
        doubt = f"{free:,} of {rows:,} rows with quotes around a cell that needs none"
    else:
        return
    places = file.dialect.places
    renamed = {role: name for role, name in places.items() if name != role and name in shape.columns}
    fields = f" {fields_option(renamed)}" if renamed else ""
    raise InputError(
        f"{file.path}: {doubt}: nobody can tell whether they are CSV's or a part of the data",
        hint=f"--dialect csv{fields} if they are CSV's, --dialect text{fields}"
        f" {columns_option(shape.columns)} {delimiter_option(shape.delimiter)} if they belong to the data",
    )


def ask_whose_line_ends(file: DumpFile, notes: SplitNotes) -> None:
    """Raise InputError for text in which a CR before a line feed may end a key or value, or the line."""
    dialect, cr_lf = file.dialect, notes.counts.get(CR_LF_ROWS, 0)
    last = file.shape.columns[-1] if isinstance(file.shape, CsvShape) and file.shape.columns else None
    encodings = {part.place: part.encoding for part in (dialect.key, dialect.value)}
    lf = notes.fields_seen.get("record", 0) - cr_lf
    if not cr_lf or not lf or last is None or encodings.get(last) != "text":
        return
    if lf == 1:  # the last row, which may have no line end at all
        with file_at_hand(file) as file_on_disk:
            if last_byte(file_on_disk) not in b"\r\n":
                return
    raise InputError(
        f"{file.path}: {cr_lf:,} of {cr_lf + lf:,} rows end{'s' * (cr_lf == 1)} in CR LF, the others in LF:"
        f" nobody can tell whether a CR ends a {'key' if last == dialect.key.place else 'value'} or its line",
        hint="export as JSON lines (kcat -J); or, if no key and no value ends in a CR, give all rows the same"
        " line end: sed 's/\\r$//' FILE > NEW",
    )


def refuse_newest_first(file: DumpFile, notes: SplitNotes) -> None:
    """Raise InputError for records without offsets, newest first, as web pages and queries show them.

    Their order in the file would count as the order of the log: a key's oldest record would supersede all
    others.
    """
    earlier, later = (notes.counts.get(name, 0) for name in ("earlier_records", "later_records"))
    if earlier < _TOO_MANY_FOR_CHANCE or earlier < _TO_ONE_LATER * later:
        return
    in_json = f" in JSON, {by_jq(_REVERSED)};" if {*JSON}.issuperset(file.dialect.layouts) else ""
    raise InputError(
        f"{file.path}: no offsets in the records, and the newest come first: {earlier:,} are earlier"
        f" than the one before them in their log, {later:,} later",
        hint=f"export the offsets, too, or the oldest first;{in_json} if this is the order of the log:"
        " --fields timestamp= (the times are left out then)",
    )


_TOO_MANY_FOR_CHANCE = 3
_TO_ONE_LATER = 20  # a few may be later even so, as the clocks of several producers differ
_REVERSED = 'if type == "array" then . else [., inputs] end | reverse[]'
