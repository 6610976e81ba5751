"""Keys (with ``--canonical-keys``) and compared values in a spelling that is the same for the same JSON."""

from collections.abc import Iterable

import pyarrow as pa

from kcompact.dumps.json.json_text import canonical, reads_as_json
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.records.layout import Reject, SplitNotes
from kcompact.errors import InputError, UnreadableError

_OPENINGS = frozenset(b"0123456789-[{")


def is_spelt_variously(key: bytes) -> bool:
    """Whether a key is a JSON object, list or number, which may be spelt in several ways."""
    return bool(key) and key[0] in _OPENINGS and reads_as_json(key)


def as_compared(keys: Iterable[bytes], options: ReadOptions) -> list[bytes]:
    """The keys that a user names, spelt as keys of the dump are compared. Raises InputError."""
    if not options.canonical_keys:
        return list(keys)
    try:
        return [canonical(key) if is_spelt_variously(key) else key for key in keys]
    except UnreadableError as bad:
        raise InputError(f"a key that is asked for: {bad}", hint="leave --canonical-keys out") from bad


def values_as_compared(values: Iterable[bytes | None]) -> list[bytes | None]:
    """The values, spelt so that they are equal if their JSON is.

    Values that are no JSON, or cannot be compared as JSON, stay as they are.
    """
    return [value and _in_one_spelling(value) for value in values]


def _in_one_spelling(value: bytes) -> bytes:
    try:
        return canonical(value) if is_spelt_variously(value) else value
    except UnreadableError:
        return value


def with_canonical_keys(rows: pa.RecordBatch, notes: dict[int, SplitNotes]) -> pa.RecordBatch:
    """Index rows with JSON keys spelt so that they are equal if their JSON is; other keys stay as they are.

    ``notes`` are by split id. The rows end before a key that cannot be compared, which becomes a reject in
    the notes of its split.
    """
    keys = rows.column("key").to_pylist()
    for at, key in enumerate(keys):
        if key is None or not is_spelt_variously(key):
            continue
        try:
            keys[at] = canonical(key)
        except UnreadableError as bad:
            split_id, position = (rows.column(name)[at].as_py() for name in ("split_id", "position"))
            notes[split_id].rejects.append(Reject(position, str(bad), bad.hint))
            rows, keys = rows.slice(0, at), keys[:at]
            break
    place, field = rows.schema.get_field_index("key"), rows.schema.field("key")
    return rows.set_column(place, field, pa.array(keys, field.type))
