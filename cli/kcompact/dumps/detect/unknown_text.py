"""Errors for text that kcompact does not read: the format that it looks like, and the remedy."""

import re
from functools import cache

from kcompact.dumps.detect.candidate import Candidate
from kcompact.dumps.records.shown import fields_option, name_list, shown
from kcompact.dumps.text.csv_quoting import BadCsvError, cells_of
from kcompact.dumps.text.delimited_text import NAME_COLUMNS, glued, is_glued
from kcompact.dumps.text.dump_log import holds_no_record
from kcompact.dumps.text.printed_sentences import EXPORT_HINT, tell_places
from kcompact.errors import InputError, NoRecordsError


def looks_like(body: bytes) -> tuple[str, str] | None:
    """The name of a known format that is not read, and the remedy; None for any other text."""
    return next((kind for pattern, kind in _patterns() if pattern.match(body)), None)


@cache
def _patterns() -> list[tuple[re.Pattern[bytes], tuple[str, str]]]:
    """The patterns, compiled once: a look-up in the cache of ``re`` would take as long as the match."""
    return [(re.compile(pattern), kind) for pattern, kind in _LOOKS_LIKE.items()]


def refuse_empty_segments(file: Candidate) -> None:
    """Raise NoRecordsError for what kafka-dump-log prints of segments that hold no record."""
    if file.whole and _EMPTY_SEGMENTS.fullmatch(file.body):
        raise NoRecordsError(
            f"{file.path}: output of kafka-dump-log for empty segments",
            hint="it holds no record: give the files of the other logs alone",
        )


_EMPTY_SEGMENTS = re.compile(
    rb"(?:\s*+\$ .*+\s++)?(?:Dumping \S[^\n]*+\s++(?:(?:Log s|S)tarting offset: \d++\s++)++"
    rb"(?:baseOffset: \d++ lastOffset: \d++ count: 0 [^\n]*+\s++)*+)++"  # kept for their producers (R36)
)


def refuse_batches_alone(file: Candidate) -> None:
    """Raise InputError for what kafka-dump-log prints of batches where records are not asked for."""
    if file.whole and holds_no_record(file.head):
        refuse_empty_segments(file)
        raise InputError(
            f"{file.path}: kafka-dump-log printed batches, and no record",
            hint="print with --print-data-log, and without --skip-record-metadata: records with their"
            " offsets, keys and payloads",
        )


def unknown(path: str, body: bytes, lines: list[bytes]) -> InputError:
    """The error for text in no known format; ``lines`` are its first ones, without their line ends."""
    kind = looks_like(body) or _printed(lines)
    if kind is not None:
        name, hint = kind
        return InputError(f"{path}: looks like {name}, which cannot be read back safely", hint=hint)
    if all(map(is_glued, lines)):
        return glued(path)
    if is_binary(lines):
        return InputError(
            f"{path}: binary keys or values in lines of text, which may hold line ends of their own",
            hint="export as JSON lines (kcat -J, with -s avro where that is what they are) or Avro",
        )
    names = _header_names(lines)
    if names and all(line.startswith((b'"{""', b'{"')) for line in lines[1:]):
        places = {"key": f"{names[0]}.FIELD", "value": "FIELD", "offset": f"{names[0]}.FIELD"}
        return InputError(
            f"{path}: CSV whose columns hold JSON ({name_list(names)}), so that none of them is the key",
            hint="export JSON lines with these objects within (Snowflake: OBJECT_CONSTRUCT_KEEP_NULL(*),"
            " with FILE_FORMAT = (TYPE = JSON)), and name their members:"
            f" {fields_option(places)}",
        )
    if names:
        return InputError(
            f"{path}: CSV with the header line {name_list(names)}, which names no key and no offset",
            hint=f"if the first line is a record like the others, {NAME_COLUMNS}; if two of its"
            " columns are the key and the value, say which with --fields key=COLUMN,value=COLUMN; if a row is"
            " a value as a whole, convert it to JSON lines (mlr --icsv --ojsonl cat) and name its key with"
            " --key-field",
        )
    return InputError(
        f"{path}: text in which no delimiter between key and value is known",
        hint=f"{NAME_COLUMNS}; or export as JSON lines (kcat -J); where a header line or JSON stands below"
        " something else, take that out (if it is the end of a record, the dump was cut off, and what came"
        " before is lost, or ends another file: join what was split again)",
    )


def _printed(lines: list[bytes]) -> tuple[str, str] | None:
    """As ``looks_like``, for text that programs print about records that they consume."""
    if tell_places(lines):
        return "sentences of a program that tell where its records are from", EXPORT_HINT
    if lines and all(map(_OBJECT.match, lines)):
        name = shown(lines[0].decode("utf-8", "replace"))
        return f"objects as a program prints them, such as {name}", EXPORT_HINT
    return None


_OBJECT = re.compile(rb"[A-Z]\w+ ?[\[({] ?\w+ ?[=:]")  # Java's records, Scala's case classes, Rust's {:?}


def is_binary(lines: list[bytes]) -> bool:
    """Whether a line holds a zero byte, as no text does."""
    return any(b"\0" in line for line in lines)


def _header_names(lines: list[bytes]) -> list[str]:
    """The names in the first line, if it looks like a header line of the others; else none."""
    for delimiter in ",;\t|":
        try:
            rows = [cells_of(line, delimiter.encode()) for line in lines]
        except BadCsvError:
            continue
        names = [(cell or b"").decode("utf-8", "replace").strip() for cell in rows[0]]
        alike = all(len(row) == len(names) for row in rows[1:])
        if len(rows) > 1 and len(names) > 1 and alike and all(map(_IS_NAME.fullmatch, names)):
            return names
    return []


_IS_NAME = re.compile(r"[A-Za-z_][\w .-]*")


_LOG = (
    "text with lines of a tool's log in it",
    "export again, with what the tool logs in another file: 2> LOG",
)
_LOOKS_LIKE = {  # possessive where going back would take hours: a page of blanks, lines of nothing but "id: "
    rb"\s*\x1b\[": (
        "text in the colours of a terminal",
        r"export again without them (jq -M); or take them away: sed 's/\x1b\[[0-9;]*[mK]//g' FILE > NEW",
    ),
    rb"(?i)(?:(?:--|/\*)[^\n]*\n)*"
    rb"(?:-- (?:postgresql|mysql|mariadb)\b|pragma foreign_keys|insert into |(?:create|drop) table )": (
        "statements of SQL",
        "export the table as CSV: psql --csv -c 'SELECT ...', or sqlite3 -csv -header FILE 'SELECT ...'",
    ),
    rb"sep=.\r?\n": ("CSV with a line for Excel before it", "leave that line out: tail -n +2 FILE > NEW"),
    rb"(?i)(?:---[ \t]*\r?\n)?(?:[ -]*+\w+:(?: .*)?\n)*[ -]*+(?:partition|offset|key): ": (
        "YAML or labelled text",
        "export as JSON (kafkactl: -o json; kaf: --output json-each-row)",
    ),
    rb"(?:(?:\[[\w.# -]+\] |[\d:., TZ-]{8,30} (?:\[[^]\n]*\] |\S+ - )?)?"
    rb"(?:TRACE|DEBUG|INFO|WARN|ERROR)\b[^\n]*\n)+[\[{]": _LOG,
    rb"(?:(?:#+[^\n#]*|(?://|--)[^\n]*)\n)+(?!#|//|--|\Z|[^\n]*#)": (
        "text with a comment before it",
        "leave that line out: tail -n +2 FILE > NEW",
    ),
    rb"\[\d{4}-\d\d-\d\d[ T][^\n]*\] [A-Z]+ ": _LOG,
}
