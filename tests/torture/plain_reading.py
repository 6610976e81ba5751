"""Reading dumps with nothing but the standard library and fastavro, strictly: the oracle of mangled ones."""

import csv
import io
import json
from typing import Any, NamedTuple

import fastavro


class Unsure:
    """A part of a record that needs rules to be read, which an oracle does not have."""


UNSURE: Any = Unsure()


class Seen(NamedTuple):
    """One record, as far as it says itself what it is; UNSURE for what takes rules to tell."""

    topic: Any
    partition: Any
    offset: Any
    key: Any
    value: Any

    def agrees(self, other: tuple[Any, ...]) -> bool:
        """Whether another reading says the same where both are sure."""
        return all(mine is UNSURE or mine == theirs for mine, theirs in zip(self, other, strict=True))

    @property
    def is_sure(self) -> bool:
        return UNSURE not in self


class UnreadableError(ValueError):
    """No reading of these bytes can be right."""


def plain_reading(data: bytes, layout: str) -> list[Seen] | None:
    """All records, in order; None where only rules can tell. Raises UnreadableError.

    Where some keys are JSON of another type than text, how text is told from them is a rule.
    """
    found = _READERS[layout](data)
    if found and layout.startswith("json") and any(one.key is UNSURE for one in found):
        return [one._replace(key=UNSURE) for one in found]
    return found


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableError(str(error)) from error


def _lines(data: bytes) -> list[Seen] | None:
    if not data.lstrip(b"\r\n\t ").startswith(b"{"):
        return None
    lines = [line for line in data.split(b"\n") if line.strip() and not line.startswith(b"%")]
    try:
        return [_of_object(_json(line.decode("utf-8", "surrogateescape"))) for line in lines]
    except UnreadableError:
        return _objects(data)  # a line end between two fields


def _array(data: bytes) -> list[Seen] | None:
    text = data.decode("utf-8", "surrogateescape").strip()
    if not text.startswith("["):
        return None
    found: list[Seen] = []
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):  # several arrays may follow each other
        try:
            array, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            raise UnreadableError(str(error)) from error
        if not isinstance(array, list):
            raise UnreadableError("no array")
        found += [_of_object(item) for item in (array[:-1] if array and array[-1] is None else array)]
        at += len(text[at:]) - len(text[at:].lstrip())
    return found


def _objects(data: bytes) -> list[Seen] | None:
    text = data.decode("utf-8", "surrogateescape")
    if not text.lstrip().startswith("{") or "%" in text or "\0" in text or "\x1e" in text:
        return None
    found, decoder, at = [], json.JSONDecoder(), 0
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            raise UnreadableError(str(error)) from error
        found.append(_of_object(value))
    return found


def _of_object(value: Any) -> Seen:
    if not isinstance(value, dict):
        raise UnreadableError("no record")
    if type(value.get("topic")) not in (str, int, type(None)):
        raise UnreadableError("no topic")
    places = [_number(value.get(name, UNSURE)) for name in ("partition", "offset")]
    topic = value.get("topic", UNSURE)
    return Seen(
        topic if isinstance(topic, str) else UNSURE,
        *places,
        *(_bytes(value.get(name, UNSURE)) for name in ("key", "value")),
    )


def _number(value: Any) -> Any:
    if isinstance(value, dict | list | bool | float):
        raise UnreadableError("no number")
    return value if type(value) is int else UNSURE


def _bytes(value: Any) -> Any:
    if value is None:
        return None
    if not isinstance(value, str):
        return UNSURE
    try:
        return value.encode()
    except UnicodeEncodeError:  # bytes that are no UTF-8, or an escape that is half a character
        return UNSURE


def _csv(data: bytes) -> list[Seen] | None:
    text = data.decode("utf-8", "surrogateescape")
    header = "topic,partition,offset,timestamp,key,value"
    if not text.startswith(header + "\n") or "\r" in text or "\0" in text:
        return None
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    found = []
    try:
        for row in list(rows)[1:]:
            if len(row) not in (0, 6):
                raise UnreadableError("columns")
            if row:
                found.append(_of_cells(row))
    except csv.Error as error:
        raise UnreadableError(str(error)) from error
    return found


def _of_cells(row: list[str]) -> Seen:
    topic, partition, offset, _, key, value = row
    numbers = [
        int(cell) if cell.isascii() and cell.isdigit() and len(cell) < 100 else UNSURE
        for cell in (partition, offset)
    ]
    texts = [cell.encode("utf-8", "surrogateescape") if cell else UNSURE for cell in (key, value)]
    return Seen(topic or UNSURE, *numbers, *texts)


def _avro(data: bytes) -> list[Seen] | None:
    try:
        reader = fastavro.reader(io.BytesIO(data), handle_unicode_errors="surrogateescape")
        rows = list(reader)
    except Exception as error:  # whatever it raises on damage
        raise UnreadableError(str(error)) from error
    return [Seen(*(row.get(name, UNSURE) for name in Seen._fields)) for row in rows]


_READERS = {
    "json_lines": _lines,
    "json_array": _array,
    "json_objects": _objects,
    "csv_lines": _csv,
    "avro": _avro,
}
