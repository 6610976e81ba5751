"""Text without a header line whose columns are labelled, as kafka-console-consumer prints them."""

import re
from collections import Counter

from kcompact.dumps.records.shown import shown
from kcompact.errors import InputError

UNLABELLED = "a line that does not begin as the others of kafka-console-consumer do"
UNLABELLED_HINT = "a key or value with a line end in it, most likely: export as JSON lines (kcat -J)"
LABELS = {
    "timestamp": re.compile(rb"(?:CreateTime|LogAppendTime):-?\d+$|NO_TIMESTAMP$"),
    "partition": re.compile(rb"Partition:\d+$"),
    "offset": re.compile(rb"Offset:\d+$"),
    "delivery": re.compile(rb"Delivery:"),
    "epoch": re.compile(rb"Epoch:"),
}
_HEADERS = re.compile(rb"NO_HEADERS$|[^,:]+:[^,]*(?:,[^,:]+:[^,]*)*$")
NOISE = re.compile(rb"Processed a total of \d+ messages$")

Columns = tuple[str, ...]


def labelled_columns(lines: list[bytes], separator: bytes) -> Columns | None:
    """Names of the columns of sampled lines; None if they carry no labels, or differ.

    What follows the labels is headers, key, value; key, value; or the value alone. Kafka 2.5 and 2.6
    printed a bare partition after the value.
    """
    lines = [line for line in lines if not NOISE.match(line)]
    labels = _labels_of(lines[0].split(separator)) if lines else ()
    if not labels:  # as in nearly every file: the other lines need not be looked at
        return None
    rows = [line.split(separator) for line in lines]
    if any(_labels_of(row) != labels for row in rows):
        return None
    tails = [row[len(labels) :] for row in rows]
    [(width, _)] = Counter(map(len, tails)).most_common(1)
    columns = _tail_columns([tail for tail in tails if len(tail) == width], width, "partition" in labels)
    return None if columns is None else labels + columns


def refuse_labels(path: str, lines: list[bytes], separators: list[str]) -> None:
    """Raise InputError for lines with labels, which differ, or behind which nobody knows the columns."""
    first = next((number for number, line in enumerate(lines) if line.strip()), len(lines))
    for separator in map(str.encode, separators):
        if first == len(lines) or not _has_labels(lines[first], separator):
            continue
        labels = _labels_of(lines[first].split(separator))
        for number, line in enumerate(lines[first:], first + 1):
            if line.strip() and not NOISE.match(line) and _labels_of(line.split(separator)) != labels:
                raise InputError(f"{path}:{number}: {UNLABELLED}", hint=UNLABELLED_HINT)
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
    return any(label.match(piece) for piece in line.split(separator) for label in LABELS.values())


def _labels_of(row: list[bytes]) -> Columns:
    """The labelled pieces that a line begins with; each kind once and in Kafka's order."""
    labels: list[str] = []
    kinds = list(LABELS)
    for piece in row:
        kind = next((kind for kind in kinds if LABELS[kind].match(piece)), None)
        if kind is None:
            break
        labels.append(kind)
        kinds = kinds[kinds.index(kind) + 1 :]
    return tuple(labels)


def _tail_columns(rows: list[list[bytes]], width: int, has_partition: bool) -> Columns | None:
    """Names of the columns after the labelled ones; None if they cannot be recognised."""
    full: Columns = ("headers", "key", "value")
    if width == len(full):
        if all(_HEADERS.match(cells[0]) for cells in rows):
            return full
        is_old = not has_partition and all(cells[-1].isdigit() for cells in rows)
        return ("key", "value", "partition") if is_old else None
    if width == len(full[1:]):
        return full[::2] if any(cells[0] == b"NO_HEADERS" for cells in rows) else full[1:]
    return full[2:] if width == 1 else None
