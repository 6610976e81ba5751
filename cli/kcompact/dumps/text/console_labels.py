"""Text without a header line whose columns are labelled, as kafka-console-consumer prints them."""

import re
from codecs import BOM_UTF8
from collections import Counter
from itertools import takewhile

from kcompact.dumps.json.json_text import reads_as_json
from kcompact.dumps.records.framed import MARK_WITHIN
from kcompact.dumps.records.shown import delimiter_option, shown
from kcompact.errors import InputError

UNLABELLED = "a line that does not begin as the others of kafka-console-consumer do"
UNLABELLED_HINT = "a key or value with a line end in it, most likely: export as JSON lines (kcat -J)"
LABELS = {
    "timestamp": re.compile(rb"(?:CreateTime|LogAppendTime):-?\d+$|NO_TIMESTAMP$"),
    "partition": re.compile(rb"Partition:\d+$"),
    "offset": re.compile(rb"Offset:\d+$"),
    "delivery": re.compile(rb"Delivery:(?:\d+|NOT_PRESENT)$"),
    "epoch": re.compile(rb"Epoch:(?:\d+|NOT_PRESENT)$"),
}
_HEADERS = re.compile(rb"NO_HEADERS$|[^:]*:")  # names may be empty, and values hold a comma
NOISE = re.compile(rb"Processed a total of \d+ messages$")

_DATED = re.compile(rb"(?:CreateTime|LogAppendTime):\d{4}-\d\d-\d\d")

_USUAL_SEPARATORS = "\t|;#, "
_ANY_LABEL = b"(?:" + b"|".join(label.pattern.replace(b"$", b"") for label in LABELS.values()) + b")"
_SIGNS = rb"[\x01-\t\x0b\x0c\x0e-\x1f !#$%&()*+,./:;<=>?@^`|~-]"  # no parts of words or JSON
_SIGNS_ALONE = re.compile(_SIGNS + b"*")
_FIRST_LABEL = re.compile(_ANY_LABEL + b"(" + _SIGNS + b"*)")
_TWO_LABELS = re.compile(_ANY_LABEL + b"(" + _SIGNS + b"+)(?:" + _ANY_LABEL + b"|NO_HEADERS)")

Columns = tuple[str, ...]


def readings_of(lines: list[bytes], separator: bytes) -> list[Columns]:
    """The columns that sampled lines may have, by their names; empty if lines have no labels, or differ.

    Behind the labels there are headers, key and value; key and value; or the value alone, which may hold the
    separator. Kafka 2.5 and 2.6 printed a bare partition after the value.
    """
    lines = [line for line in lines if not NOISE.match(line)]
    labels = _labels_of(lines[0].split(separator)) if lines else ()
    if not labels:  # as in nearly every file: the other lines need not be looked at
        return []
    rows = [line.split(separator) for line in lines]
    if any(_labels_of(row) != labels for row in rows):
        return []
    tails = [row[len(labels) :] for row in rows]
    [(width, _)] = Counter(map(len, tails)).most_common(1)
    rows = [tail for tail in tails if len(tail) == width]
    return [labels + columns for columns in _tails(rows, width, "partition" in labels)]


def _tails(rows: list[list[bytes]], width: int, has_partition: bool) -> list[Columns]:
    """The columns that may follow the labelled ones, in rows with ``width`` further pieces.

    A key may look like a header (``user:1``); only a row without headers shows that they were printed.
    """
    if width <= 1:
        return [("value",)] * width
    has_headers = any(cells[0] == b"NO_HEADERS" for cells in rows)
    may_have_headers = all(_HEADERS.match(cells[0]) and not reads_as_json(cells[0]) for cells in rows)
    if width == len(("key", "value")):
        columns: list[Columns] = [("headers", "value")] if may_have_headers else []
        return columns if has_headers else [("key", "value"), *columns]
    columns = [("headers", "key", "value")] if may_have_headers else []
    if has_headers:
        return columns
    is_old = not has_partition and width == len(("key", "value", "partition"))
    is_old = is_old and all(cells[-1].isdigit() for cells in rows)
    return [("key", "value"), *columns, *[("key", "value", "partition")] * is_old]


def ambiguous(path: str, readings: list[Columns]) -> InputError:
    """The error for labelled lines that may have different columns."""
    names = [",".join(columns) for columns in readings]
    options = [f"--columns {name}" for name in names if "key" in name.split(",")]
    return InputError(
        f"{path}: the columns of kafka-console-consumer may be {' or '.join(names)}: nobody can tell",
        hint=f"say what was printed: {' or '.join(options)}"
        + ("; if no keys were, export again with print.key=true" if len(options) < len(names) else ""),
    )


def separators_in(path: str, lines: list[bytes], delimiter: str | None) -> list[str]:
    """The separators (``key.separator``) that may follow the label with which sampled lines begin.

    Empty if they begin otherwise. ``delimiter`` is the separator that the user named, if any. Between two
    labels there is nothing but the separator. After a single label, the separator consists of one or more of
    the signs that all lines have there, if these occur again behind the key. It may also include letters
    with which all keys and values begin.
    """
    lines = [line for line in lines if not NOISE.match(line)]
    if not lines or not _FIRST_LABEL.match(lines[0]):
        return []
    if delimiter:
        return [delimiter] if _labels_of(lines[0].split(delimiter.encode())) else []
    _refuse_dates(path, lines)
    if (between := _TWO_LABELS.match(lines[0])) is not None:
        return [between.group(1).decode()]
    matches = [match for match in map(_FIRST_LABEL.match, lines) if match is not None]
    signs = _shared_beginning([match.group(1) for match in matches])
    if not signs:
        return []
    tails = [match.string[match.start(1) :] for match in matches]
    texts = [signs[:length] for length in range(1, len(signs) + 1)]
    likely = [text for text in texts if all(_divides(text, tail) for tail in tails)]
    likely = likely or list(dict.fromkeys([signs[:1], signs]))  # without keys, one sign or all
    if signs[:1] == b"\t" and b"\t" not in signs[1:]:
        likely = [signs[:1]]  # the usual one, whatever the keys begin with
    letters = _shared_beginning([piece for tail in tails for piece in tail.split(likely[-1])[1:3]])
    if len(letters) > 1 and likely != [b"\t"]:
        likely.append(likely[-1] + letters)
    return [text.decode("utf-8", "replace") for text in likely]


def _divides(text: bytes, tail: bytes) -> bool:
    """Whether a text may be the separator around a key: it occurs twice, with more than signs between."""
    _, key, *others = tail.split(text)
    return bool(others) and _SIGNS_ALONE.fullmatch(key) is None


def _shared_beginning(texts: list[bytes]) -> bytes:
    """The beginning that all of the texts have in common."""
    first, last = min(texts, default=b""), max(texts, default=b"")
    pairs = zip(first, last, strict=False)
    return bytes(code for code, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def ambiguous_separator(path: str, separators: list[str]) -> InputError:
    """The error for labelled lines that may be divided by several texts."""
    return InputError(
        f"{path}: the columns of kafka-console-consumer may be separated by"
        f" {' or '.join(map(repr, separators))}: nobody can tell",
        hint="say by which (key.separator): " + " or ".join(map(delimiter_option, separators)),
    )


def refuse_odd_values(path: str, columns: Columns, lines: list[bytes], separator: str) -> None:
    """Raise InputError where sampled values hold more than a value: other records, or ids of schemas."""
    if separator == "," and "headers" in columns:
        raise InputError(
            f"{path}: commas separate columns of kafka-console-consumer, and headers from one another, too",
            hint="export again with another key.separator, or as JSON lines (kcat -J)",
        )
    sign = re.escape(separator.encode())
    labels = [LABELS[name].pattern.replace(b"$", b"") for name in columns if name in LABELS]
    if re.search(b"".join(b"(?:" + label + b")" + sign for label in labels), lines[0][1:]):
        raise InputError(
            f"{path}: a record begins within the first line, as where kafka-console-consumer was given a"
            " line.separator of its own",
            hint="export again without line.separator, or as JSON lines (kcat -J) if values hold line ends",
        )
    _refuse_schema_ids(path, columns, lines, separator)


def _refuse_schema_ids(path: str, columns: Columns, lines: list[bytes], separator: str) -> None:
    """Raise InputError where each value is JSON followed by a number or GUID, the id of its schema."""
    sign = separator.encode()
    cells = [line.split(sign, len(columns) - 1)[-1] for line in lines if not NOISE.match(line)]
    pairs = [cell.rpartition(sign)[::2] for cell in cells]
    values = [_behind_id(value, sign) for value, name in pairs if name != b"null" or value]
    names_ids = all(name == b"null" or _SCHEMA_ID.match(name) for _, name in pairs)
    is_marked = any(value == b"null" or value[:1] in (b"{", b"[", b'"') for value in values)
    if names_ids and is_marked and all(map(reads_as_json, values)):
        names = ",".join(columns)
        raise InputError(
            f"{path}: an id after each value of kafka-console-consumer, as print.schema.ids prints them",
            hint="export again without print.schema.ids, or as JSON lines (kcat -J); if it is a part of the"
            f" values: --columns {names} {delimiter_option(separator)}",
        )


_SCHEMA_ID = re.compile(rb"(?:\d+|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})$")


def _behind_id(value: bytes, sign: bytes) -> bytes:
    """A value without the id of the key's schema, if there is one before it."""
    name, _, behind = value.partition(sign)
    return behind if behind and _SCHEMA_ID.match(name) else value


def _refuse_dates(path: str, lines: list[bytes]) -> None:
    """Raise InputError for lines whose times are dates, made by another program: dashes would separate."""
    dated = next(filter(_DATED.match, lines), None)
    if dated is not None:
        text = shown(dated.split(b" ")[0].decode("utf-8", "replace"))
        raise InputError(
            f"{path}: a date after a label of kafka-console-consumer, which writes milliseconds: {text}",
            hint="read what kafka-console-consumer itself prints, or export as JSON lines (kcat -J)",
        )


def refuse_colons(path: str, line: bytes) -> None:
    """Raise InputError for a line whose columns are separated by colons, which labels contain, too."""
    words = {b"CreateTime": "timestamp", b"LogAppendTime": "timestamp"}
    words |= {kind.capitalize().encode(): kind for kind in LABELS if kind != "timestamp"}
    columns: list[str] = []
    for word in line.split(b":")[::2]:
        if word not in words:
            break
        columns += ["", words[word]]
    if line.count(b":") > len(columns):
        names = ",".join([*columns, "key", "value"])
        raise InputError(
            f"{path}: colons separate the columns of kafka-console-consumer, and are in its labels, too",
            hint=f"name all between two colons: --columns {names} --delimiter ':'"
            " if a key (which no colon may be in) and a value follow; or export as JSON lines (kcat -J)",
        )


def refuse_labels(path: str, lines: list[bytes], separator: str | None) -> None:
    """Raise InputError for lines whose labels differ, or behind whose labels the columns are unknown.

    Without a ``separator``, all of the usual ones are tried.
    """
    first = next((number for number, line in enumerate(lines) if line.strip()), len(lines))
    for mark in map(str.encode, [separator] if separator else _USUAL_SEPARATORS):
        if first == len(lines) or not _has_labels(lines[first], mark):
            continue
        labels = _labels_of(lines[first].split(mark))
        for number, line in enumerate(lines[first:], first + 1):
            if line.strip() and not NOISE.match(line) and _labels_of(line.split(mark)) != labels:
                is_marked = line.startswith(BOM_UTF8)
                reason, hint = MARK_WITHIN if is_marked else (UNLABELLED, UNLABELLED_HINT)
                raise InputError(f"{path}:{number}: {reason}", hint=hint)
        raise InputError(
            f"{path}: lines of kafka-console-consumer whose columns nobody can tell apart",
            hint="export as JSON lines (kcat -J), or without headers and with print.key=true",
        )


def refuse_label_as_key(path: str, line: bytes, delimiter: str) -> None:
    """Raise InputError if the first column, which the user calls a key or a value, is a label."""
    label, *_ = line.split(delimiter.encode())
    if _labels_of([label]):
        raise InputError(
            f"{path}: the first column is a label of kafka-console-consumer, {shown(label.decode())}, and no"
            " key or value",
            hint="leave --columns away, as labels say what they are, or export as JSON lines (kcat -J)",
        )


def _has_labels(line: bytes, separator: bytes) -> bool:
    """Whether any piece has a label, except for the last one: that is a value, whatever it looks like."""
    return any(label.match(piece) for piece in line.split(separator)[:-1] for label in LABELS.values())


def _labels_of(row: list[bytes]) -> Columns:
    """The kinds of labels with which a line begins, each at most once, and in Kafka's order."""
    labels: list[str] = []
    kinds = list(LABELS)
    for piece in row:
        kind = next((kind for kind in kinds if LABELS[kind].match(piece)), None)
        if kind is None:
            break
        labels.append(kind)
        kinds = kinds[kinds.index(kind) + 1 :]
    return tuple(labels)
