"""CSV and text: with a header line, with columns that the user names, or as tools label them."""

import re
from dataclasses import replace
from typing import Any

from kcompact.dumps.choosing import Row, choose_dialect
from kcompact.dumps.console_consumer import labelled_columns
from kcompact.dumps.csv_reader import CsvShape
from kcompact.dumps.csv_text import BadCsvError, cells_of
from kcompact.dumps.dialect import Dialect
from kcompact.dumps.dialects import BY_NAME
from kcompact.dumps.dump_log import dump_log_facts
from kcompact.dumps.envelope import ALIASES, plain_name
from kcompact.dumps.lines import newline_of
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.overrides import forced, with_options
from kcompact.dumps.recognition import Candidate, Recognised
from kcompact.errors import InputError

_CSV_HINT = (
    "name the columns of text without a header line, such as --columns topic,partition,offset,key,value,"
    " and what stands between them with --delimiter; or export as JSON lines (kcat -J)"
)
_SAMPLE_ROWS = 200
_DELIMITERS = ",\t;|#"
_SEPARATORS = "\t|;#, "  # of the console consumer (key.separator); the usual one first
_KARAPACE_V2 = b"/V2\n"


def recognise_text(found: Candidate, options: ReadOptions) -> Recognised:
    """Recognise a file that is neither JSON nor binary. Raises InputError."""
    if options.columns:
        return _with_columns(found, options)
    if found.body.startswith(_KARAPACE_V2):
        dialect = with_options(BY_NAME["karapace-v2"], options)
        return _csv(found, dialect, dialect.columns, "\t", found.start + len(_KARAPACE_V2))
    dump_log = dump_log_facts(found.head, found.start)
    if dump_log is not None:
        shape, topic, partition = dump_log
        dialect = with_options(BY_NAME["dump-log"], options)
        return Recognised("dump_log", dialect, shape, dialect.notes, topic, partition)
    return _labelled(found, options) or _with_header(found, options)


def _with_columns(found: Candidate, options: ReadOptions) -> Recognised:
    """The user named the columns; a first line that repeats the names is a header line."""
    dialect = with_options(forced(options.dialect or "text"), options)
    line, newline, _ = found.body.partition(b"\n")
    wanted = len(options.columns) - 1
    counted = [d for d in _DELIMITERS if line.count(d.encode()) == wanted]
    delimiter = options.delimiter or dialect.delimiter or (counted or ["\t"])[0]
    start = found.start
    if line.rstrip(b"\r").decode("utf-8", "replace").split(delimiter) == list(options.columns):
        start += len(line) + len(newline)
    return _csv(found, _named(dialect, options), options.columns, delimiter, start)


def _named(dialect: Dialect, options: ReadOptions) -> Dialect:
    """The dialect with its parts found among the columns' names."""
    places: dict[str, Any] = {}
    for role, aliases in _COLUMN_NAMES.items():
        named = options.fields.get(role)
        places[role] = named or next((c for c in options.columns if plain_name(c) in aliases), None)
    return replace(dialect, **places)


_COLUMN_NAMES = ALIASES | {"key_size": ("keysize", "keylength"), "value_size": ("valuesize", "valuelength")}


def _labelled(found: Candidate, options: ReadOptions) -> Recognised | None:
    """What the console consumer prints; None if it is something else."""
    lines = [line.removesuffix(b"\r") for line in _whole_lines(found.body, found.whole)]
    separators = [options.delimiter] if options.delimiter else list(_SEPARATORS)
    read = ((separator, labelled_columns(lines, separator.encode())) for separator in separators)
    separator, columns = next(((text, names) for text, names in read if names is not None), ("", None))
    if columns is None:
        return None
    if "key" not in columns:
        raise InputError(
            f"{found.path}: kafka-console-consumer printed no keys ({', '.join(columns)})",
            hint="export again with --property print.key=true, print.partition=true and print.offset=true",
        )
    dialect = with_options(BY_NAME["console-consumer"], options)
    return _csv(found, _named(dialect, replace(options, columns=columns)), columns, separator, found.start)


def _with_header(found: Candidate, options: ReadOptions) -> Recognised:
    line, newline, rest = found.body.partition(b"\n")
    delimiter = options.delimiter or next((d for d in _DELIMITERS if d.encode() in line), ",")
    try:
        cells = cells_of(line.removesuffix(b"\r"), delimiter.encode())
    except BadCsvError as error:
        raise InputError(f"{found.path}:1: {error}", hint=_CSV_HINT) from error
    columns = tuple((cell or b"").decode("utf-8", "surrogateescape").strip() for cell in cells)
    known = {alias for aliases in ALIASES.values() for alias in aliases}
    if sum(plain_name(name) in known for name in columns) <= 1:  # one may well be data
        raise _unknown(found)
    sample = _rows(columns, _whole_lines(rest, found.whole), delimiter) or [dict.fromkeys(columns)]
    dialect = choose_dialect(found.path, "csv_lines", sample, options)
    return _csv(found, dialect, columns, delimiter, found.start + len(line) + len(newline))


def _unknown(found: Candidate) -> InputError:
    for pattern, (what, hint) in _LOOKS_LIKE.items():
        if re.match(pattern, found.body):
            return InputError(f"{found.path}: looks like {what}, which cannot be read back safely", hint=hint)
    return InputError(f"{found.path}: not JSON, not Avro, and no CSV with a header line", hint=_CSV_HINT)


_LOOKS_LIKE = {
    rb"(?i)(?:\w+: .*\n)*(?:partition|offset|key): ": ("YAML or labelled text", "export as JSON (-o json)"),
    rb"Partition=\d+ Offset=\d+": ("the text of an old kt", "export with kt 10 or later, which writes JSON"),
}


def _csv(
    found: Candidate, dialect: Dialect, columns: tuple[str, ...], delimiter: str, start: int
) -> Recognised:
    shape = CsvShape(
        start=start,
        begin=found.head[:start],
        newline=newline_of(found.body),
        columns=columns,
        delimiter=delimiter,
        quoting=dialect.quoting,
        splittable=not dialect.in_order,
    )
    return Recognised("csv_lines", dialect, shape, dialect.notes)


def _whole_lines(body: bytes, complete: bool) -> list[bytes]:
    lines = body.split(b"\n")
    return [line for line in (lines if complete else lines[:-1]) if line.strip()][:_SAMPLE_ROWS]


def _rows(columns: tuple[str, ...], lines: list[bytes], delimiter: str) -> list[Row]:
    """Sampled rows whose cells fit the columns; quoted line ends make some rows misfits, which is fine."""
    rows: list[Row] = []
    for line in lines:
        try:
            cells = cells_of(line.removesuffix(b"\r"), delimiter.encode())
        except BadCsvError:
            continue
        if len(cells) == len(columns):
            texts = [None if cell is None else cell.decode("utf-8", "surrogateescape") for cell in cells]
            rows.append(dict(zip(columns, texts, strict=True)))
    return rows
