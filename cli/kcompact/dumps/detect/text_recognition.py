"""Recognises CSV and text: with a header line, with columns that the user names, or with a tool's labels."""

from dataclasses import replace
from itertools import islice

from kcompact.dumps.detect.candidate import Candidate, Recognised, lines_in
from kcompact.dumps.detect.choosing import choose_dialect
from kcompact.dumps.detect.csv_writers import is_own, judged_by_texts, quotes_all, without_doubts
from kcompact.dumps.detect.doubtful_samples import refuse_missing_columns
from kcompact.dumps.detect.event_proposals import check_events
from kcompact.dumps.detect.likely_encodings import notes_on_text
from kcompact.dumps.detect.line_prefixes import refuse_prefixed_lines, refuse_prefixed_records
from kcompact.dumps.detect.unknown_text import (
    is_binary,
    looks_like,
    refuse_batches_alone,
    refuse_empty_segments,
    unknown,
)
from kcompact.dumps.dialects.dialect import Dialect, forms
from kcompact.dumps.dialects.dialect_table import BY_NAME
from kcompact.dumps.dialects.overrides import forced, with_dotted_names, with_options
from kcompact.dumps.dialects.part_names import ALIASES, plain_name
from kcompact.dumps.dialects.paths import unescaped
from kcompact.dumps.dialects.sampled_values import Row
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.records.shown import delimiter_option
from kcompact.dumps.text.between_records import is_of_kcat, refuse_telling_lines
from kcompact.dumps.text.console_labels import (
    ambiguous,
    ambiguous_separator,
    readings_of,
    refuse_colons,
    refuse_label_as_key,
    refuse_labels,
    refuse_odd_values,
    separators_in,
)
from kcompact.dumps.text.csv_quoting import BadCsvError, cells_of, has_bare, quoting_of
from kcompact.dumps.text.csv_reader import CsvShape, first_cells
from kcompact.dumps.text.delimited_text import (
    delimiter_of,
    key_value_delimiter,
    may_be_csv,
    names_columns,
    tells_by_json,
)
from kcompact.dumps.text.dump_log import dump_log_facts, is_of_segment, log_of_folder, sections_of
from kcompact.dumps.text.lines import newline_of
from kcompact.dumps.text.printed_sentences import refuse_words_as_keys
from kcompact.dumps.writers.text_writers import COLUMNS
from kcompact.errors import InputError

_SAMPLE_ROWS = 200
_DELIMITERS = ",\t;|#^:"
_WITH_REST = {"text", "console-consumer"}
_KARAPACE_V2 = b"/V2\n"
_CR_HINT = (
    "export with line feeds; or, if no key and no value holds a CR, make them line feeds:"
    " tr '\\r' '\\n' < FILE > NEW"
)


def recognise_text(file: Candidate, options: ReadOptions) -> Recognised:
    """Recognise a file that is neither JSON nor binary. Raises InputError."""
    if b"\n" not in file.body and b"\r" in file.body.strip():
        raise InputError(f"{file.path}: lines that end with a carriage return (CR) alone", hint=_CR_HINT)
    if options.columns:
        return _with_columns(file, options)
    if file.body.startswith(_KARAPACE_V2):
        dialect = with_options(BY_NAME["karapace-v2"], options)
        return _csv(file, dialect, dialect.columns, "\t", file.start + len(_KARAPACE_V2))
    dump_log = dump_log_facts(file.head, file.start)
    if dump_log is not None:
        refuse_batches_alone(file)
        shape, topic, partition = dump_log
        notes: tuple[str, ...] = ()
        if topic is None and is_of_segment(file.path):  # the tool was run in the folder of the log
            topic, partition = log_of_folder(file.path)
            notes = () if topic is None else (f"no log named in it; by its folder: {topic}-{partition}",)
        shape = replace(shape, sections=sections_of(file.data_path))
        dialect = with_options(BY_NAME["dump-log"], options)
        return Recognised("dump_log", dialect, shape, topic, partition, notes=notes)
    refuse_prefixed_lines(file.path, _sampled(file), options)
    recognised = _labelled(file, options) or _with_header(file, options)
    if recognised is None:
        refuse_prefixed_records(file.path, _sampled(file), options)
        refuse_telling_lines(file.path, file.head)
        recognised = _delimited(file, options)
    if recognised is None:
        refuse_empty_segments(file)
        raise unknown(file.path, file.body, _sampled(file))
    return recognised


def _with_columns(file: Candidate, options: ReadOptions) -> Recognised:
    """Recognise text whose columns the user named; a first line that repeats the names is a header line."""
    separator = _separator(file, options)
    line, newline, _ = file.body.partition(b"\n")
    dialect = with_options(forced(options.dialect or ("console-consumer" if separator else "text")), options)
    delimiter = options.delimiter or dialect.delimiter or separator or _delimiter_for(file, options.columns)
    named = _named(file.path, dialect, options)
    has_header = names_columns(line.rstrip(b"\r"), delimiter, options.columns)
    is_guessed = options.dialect is None and separator is None
    if is_guessed and may_be_csv(_sampled(file)[has_header:], delimiter, named, options.columns):
        raise InputError(
            f"{file.path}: cells in quotes, which are CSV's or a part of the data: nobody can tell",
            hint="say which: --dialect csv if they are CSV's (--dialect spark-csv if a backslash stands"
            " before quotes in them, as Spark writes it), --dialect text if they belong to the data",
        )
    start = file.start + (len(line) + len(newline) if has_header else 0)
    if options.columns[0] in (named.key.place, named.value.place):
        refuse_label_as_key(file.path, (_sampled(file) or [line])[0], delimiter)
    return _csv(file, named, options.columns, delimiter, start)


def _delimiter_for(file: Candidate, columns: tuple[str, ...]) -> str:
    """The delimiter that makes so many columns in most of the lines. Raises InputError."""
    lines = _sampled(file)
    gaps = len(columns) - 1
    counts = {d: [line.count(d.encode()) for line in lines] for d in _DELIMITERS}
    exact = [d for d in _DELIMITERS if 2 * sum(count == gaps for count in counts[d]) > len(lines)]
    if len(exact) > 1:
        shown_delimiters = " or ".join(repr(d) for d in exact)
        raise InputError(
            f"{file.path}: {len(columns)} columns may be separated by {shown_delimiters}: nobody can tell",
            hint="say by which, such as " + " or ".join(map(delimiter_option, exact)),
        )
    at_least = next((d for d in _DELIMITERS if all(count >= gaps for count in counts[d])), None)
    if not exact and at_least is None:
        raise InputError(
            f"{file.path}: no known delimiter separates {len(columns)} columns in most of the lines",
            hint="name it with --delimiter, such as --delimiter ':' or --delimiter '\\t'",
        )
    return exact[0] if exact else str(at_least)


def _delimited(file: Candidate, options: ReadOptions) -> Recognised | None:
    """A key and a value in each line, with one delimiter between them; None if it is something else."""
    lines = _sampled(file)
    delimiter = key_value_delimiter(lines, options.delimiter)
    if delimiter is None or looks_like(file.body) is not None or is_binary(lines):
        return None
    refuse_words_as_keys(file.path, lines, delimiter, options)
    columns = ("key", "value")
    dialect = with_options(forced(options.dialect or "text"), options)
    values = [first_cells(line, delimiter.encode(), 2)[-1] for line in lines]
    texts = [value.decode("utf-8", "replace") for value in values if value is not None]
    reading = f"each line is read as a key, {delimiter!r}, and a value"
    notes = (*dialect.notes, reading, *check_events(file.path, dialect, texts, options))
    dialect = replace(_named(file.path, dialect, replace(options, columns=columns)), notes=notes)
    recognised = _csv(file, dialect, columns, delimiter, file.start)
    is_by_json = options.delimiter is None and tells_by_json(delimiter)
    return replace(recognised, shape=replace(recognised.shape, values_are_json=is_by_json))


def _named(path: str, dialect: Dialect, options: ReadOptions) -> Dialect:
    """The dialect with its parts found among the columns' names. Raises InputError."""
    options = with_dotted_names(options, options.columns)
    refuse_missing_columns(path, options)

    def called(*names: str) -> str | None:
        return next((column for column in options.columns if plain_name(column) in names), None)

    key = replace(dialect.key, size=called("keysize", "keylength"))
    value = replace(dialect.value, size=called("valuesize", "valuelength"))
    # An empty name (--fields timestamp=) says that there is no such part.
    places = {role: options.fields.get(role, called(*names)) or None for role, names in ALIASES.items()}
    return replace(dialect, key=key, value=value).with_places(places)


def _labelled(file: Candidate, options: ReadOptions) -> Recognised | None:
    """Recognise the labelled columns of kafka-console-consumer; None if there are none."""
    lines = _sampled(file)
    separator = _separator(file, options)
    readings = readings_of(lines, separator.encode()) if separator else []
    if separator == ":":
        refuse_colons(file.path, lines[0])
    if separator is None or not readings:
        all_lines = [b""] * file.head.count(b"\n", 0, file.start)  # a tool's lines, to keep line numbers
        all_lines += [line.removesuffix(b"\r") for line in lines_in(file.body, whole=file.whole)]
        refuse_labels(file.path, all_lines, separator or options.delimiter)
        return None
    if len(readings) > 1:
        raise ambiguous(file.path, readings)
    if "key" not in (columns := readings[0]):
        raise InputError(
            f"{file.path}: kafka-console-consumer printed no keys ({', '.join(columns)})",
            hint="export again with --property print.key=true, print.partition=true and print.offset=true",
        )
    refuse_odd_values(file.path, columns, lines, separator)
    dialect = with_options(BY_NAME["console-consumer"], options)
    dialect = _named(file.path, dialect, replace(options, columns=columns))
    recognised = _csv(file, dialect, columns, separator, file.start)
    may_be_in_keys = options.delimiter is None and separator != "\t"
    return replace(recognised, shape=replace(recognised.shape, values_are_json=may_be_in_keys))


def _separator(file: Candidate, options: ReadOptions) -> str | None:
    """The text between the columns of kafka-console-consumer; None if it wrote something else."""
    separators = separators_in(file.path, _sampled(file), options.delimiter)
    if len(separators) > 1:
        raise ambiguous_separator(file.path, separators)
    return next(iter(separators), None)


def _with_header(file: Candidate, options: ReadOptions) -> Recognised | None:
    """CSV with a header line; None if the first line is none."""
    line, newline, data = file.body.partition(b"\n")
    lines = [text.removesuffix(b"\r") for text in _whole_lines(data, file.whole)]
    delimiter = options.delimiter or delimiter_of(line.removesuffix(b"\r"), lines, _DELIMITERS)
    try:
        cells = cells_of(line.removesuffix(b"\r"), delimiter.encode())
    except BadCsvError:
        return None
    if b"\0" in line or (lines and b"---" in lines[0] and not lines[0].strip(b"|-: ")):
        return None  # psql -A0 ends records so: the first line is the whole dump; or Markdown draws a line
    columns = tuple((cell or b"").decode("utf-8", "surrogateescape").strip() for cell in cells)
    all_aliases = {alias for aliases in ALIASES.values() for alias in aliases}
    is_named = not {*columns}.isdisjoint(map(unescaped, options.fields.values()))
    if not is_named and sum(plain_name(name) in all_aliases for name in columns) <= 1:  # one may well be data
        return None
    if not lines and any(map(str.isdecimal, columns)):
        hint = "export again, with each record in a line of its own"
        raise InputError(f"{file.path}: records stand in the header line, as line ends are gone", hint=hint)
    quoting = quoting_of(lines, len(columns), delimiter.encode(), "rfc4180")
    sample = _rows(columns, lines, delimiter, quoting) or [dict.fromkeys(columns)]
    dialect = choose_dialect(file.path, "csv_lines", sample, options)
    if columns == COLUMNS:
        dialect = replace(dialect, timestamp_unit="ms")
    if is_own(line.removesuffix(b"\r"), lines):
        dialect = without_doubts(dialect)
        return _csv(file, dialect, columns, delimiter, file.start + len(line) + len(newline))
    if options.dialect is None:
        quoting = quoting_of(lines, len(columns), delimiter.encode(), dialect.quoting)
        dialect = replace(dialect, quoting=quoting)
    dialect = judged_by_texts(dialect, sample, options)
    if options.missing_key == "null" and quotes_all(dialect, sample, lines, delimiter):
        dialect = replace(dialect, key=replace(dialect.key, nulls=dialect.key.nulls | forms("empty")))
    recognised = _csv(file, dialect, columns, delimiter, file.start + len(line) + len(newline))
    null = (dialect.null_literal or "").encode()
    is_bare = bool(null) and has_bare(lines, null, delimiter.encode(), dialect.quoting)
    return replace(recognised, shape=replace(recognised.shape, nulls_are_bare=is_bare))


def _csv(
    file: Candidate, dialect: Dialect, columns: tuple[str, ...], delimiter: str, start: int
) -> Recognised:
    """The result for CSV or text. Raises InputError where several columns have the name of one part."""
    places = (*dialect.places.values(), dialect.key.size, dialect.value.size)
    if twice := next((name for name in places if name and columns.count(name) > 1), None):
        raise InputError(
            f"{file.path}: {columns.count(twice)} columns are called {twice}",
            hint="give each column a different name: in the first line if it names them, else in --columns",
        )
    is_bare = dialect.quoting == "none" and dialect.name in _WITH_REST
    takes_rest = is_bare and columns[-1] == dialect.value.place
    if is_bare:
        rows = [first_cells(line, delimiter.encode(), len(columns)) for line in _sampled(file)]
        notes = notes_on_text(file.path, dialect, rows, delimiter, columns)
        dialect = replace(dialect, notes=dialect.notes + notes)
    shape = CsvShape(
        start=start,
        begin=file.head[:start],
        newline=newline_of(file.body),
        columns=columns,
        delimiter=delimiter,
        quoting=dialect.quoting,
        takes_rest=takes_rest,
        splittable=not dialect.in_order,
    )
    return Recognised("csv_lines", dialect, shape)


def _sampled(file: Candidate) -> list[bytes]:
    """The first lines that hold something, without their line ends."""
    return [line.removesuffix(b"\r") for line in _whole_lines(file.body, file.whole)]


def _whole_lines(body: bytes, complete: bool) -> list[bytes]:
    if not complete and b"\n" not in body:
        return []
    lines = (line for line in lines_in(body, whole=complete) if line.strip() and not is_of_kcat(line))
    return list(islice(lines, _SAMPLE_ROWS))


def _rows(columns: tuple[str, ...], lines: list[bytes], delimiter: str, quoting: str) -> list[Row]:
    """Sampled rows whose cells fit the columns; quoted line ends make some rows misfits, which is fine."""
    rows: list[Row] = []
    for line in lines:
        try:
            cells = cells_of(line, delimiter.encode(), quoting)
        except BadCsvError:
            continue
        if len(cells) == len(columns):
            texts = [None if cell is None else cell.decode("utf-8", "surrogateescape") for cell in cells]
            rows.append(dict(zip(columns, texts, strict=True)))
    return rows
