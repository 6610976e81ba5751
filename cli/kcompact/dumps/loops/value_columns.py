"""The columns after INDEX_SCHEMA for records that a loop has read."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from kcompact.dumps.dialects.dialect import Dialect
from kcompact.dumps.json.canonical_json import values_as_compared
from kcompact.dumps.loops import columns as c
from kcompact.dumps.loops.hash_loops import hash_ranges
from kcompact.dumps.loops.scanned_rows import Misfit, ScannedRows
from kcompact.dumps.loops.windows import Window
from kcompact.dumps.records.content_hashes import ABSENT, hashes_as_column, secret_words, value_hashes
from kcompact.dumps.records.encodings import ENCODINGS
from kcompact.dumps.records.headers import Headers
from kcompact.dumps.records.indexing import CONTENT_EXTRA, headers_log_bytes, lengths_of, log_bytes_of
from kcompact.dumps.records.layout import DumpFile, SplitToIndex
from kcompact.dumps.records.record import (
    INDEX_SCHEMA,
    VALUE_EMPTY,
    VALUE_NULL,
    VALUE_PRESENT,
    headers_hash,
    index_schema,
)

SPELT = frozenset({"text", "json"})
"""Encodings in which a value's text is the value itself."""

KIND_EXTRA = frozenset({"value_kind", "is_debezium_delete"})
"""Columns of EXTRA_FIELDS that are the same for nearly all records; the reference reads the other records."""


def means_itself(file: DumpFile) -> bool:
    """Whether a loop can read the records of this text file, each by itself, without further rules.

    Records without offsets can be read by a loop if all records of the file are asked for.
    """
    dialect: Dialect = file.dialect
    odd = dialect.offset is None and not file.wants_all
    odd = odd or dialect.null_word or dialect.listed or dialect.doubles
    odd = odd or dialect.empty_as_null or dialect.has_markers
    odd = odd or dialect.reads_values
    encodings = {dialect.key.encoding, dialect.value.encoding}
    odd = odd or (dialect.null_literal is not None and encodings != {"text"})
    odd = odd or "numbers" in encodings
    return not odd and dialect.timestamp_unit in {"ms", "us", "ns", "s", "auto"}


def added_columns(
    extra: frozenset[str],
    lengths: Callable[[], np.ndarray],
    contents: Callable[[frozenset[str]], dict[str, pa.Array]],
) -> list[pa.Array]:
    """The columns of ``extra``, which are of KIND_EXTRA and CONTENT_EXTRA, in the order of the schema.

    ``lengths`` gives the lengths of values, ABSENT for null, ``contents`` columns of CONTENT_EXTRA by name.
    """
    columns = {}
    if extra & KIND_EXTRA:
        columns["value_kind"] = _kinds(lengths())
        columns["is_debezium_delete"] = pa.array(np.zeros(len(columns["value_kind"]), bool))
    if names := extra & CONTENT_EXTRA:
        columns |= contents(names)
    return [columns[name] for name in index_schema(extra).names[len(INDEX_SCHEMA) :]]


def _kinds(lengths: np.ndarray) -> pa.Array:
    kinds = np.full(len(lengths), VALUE_PRESENT, np.int8)
    kinds[lengths < 0] = VALUE_NULL
    kinds[lengths == 0] = VALUE_EMPTY
    return pa.array(kinds)


def contents_of(
    names: frozenset[str],
    keys: pa.Array,
    texts: np.ndarray,
    starts: np.ndarray,
    lengths: np.ndarray,
    headers: pa.Array,
    read_headers: Callable[[bytes], Headers],
    part: SplitToIndex,
) -> dict[str, pa.Array]:
    """Columns of CONTENT_EXTRA by name, for records of which none is a control record. Raises Misfit.

    ``starts`` and ``lengths`` (ABSENT: null) are of the values in ``texts``; ``headers`` are as the format
    spells them, null for none.
    """
    distinct, which = _distinct_headers(headers, read_headers)
    columns = {"is_control": pa.array(np.zeros(len(keys), bool))}
    if "log_bytes" in names:
        sizes = np.array([headers_log_bytes(each) for each in distinct], np.int64)
        columns["log_bytes"] = log_bytes_of(lengths_of(keys), lengths, sizes[which])
    if "headers_hash" in names:
        hashes = pa.array([headers_hash(each) for each in distinct], pa.binary())
        columns["headers_hash"] = hashes.take(pa.array(which))
    if "value_hash" in names:
        columns["value_hash"] = _value_hashes(texts, starts, lengths, part)
    return columns


def _value_hashes(texts: np.ndarray, starts: np.ndarray, lengths: np.ndarray, part: SplitToIndex) -> pa.Array:
    secret, ends = part.hash_secret, starts + lengths
    if part.values_as_json:
        spelt, spans = texts.tobytes(), zip(starts.tolist(), ends.tolist(), strict=True)
        values = [spelt[start:end] if end >= start else None for start, end in spans]
        return value_hashes(values_as_compared(values), secret)
    words = np.empty((len(starts), 2), np.uint64)
    hash_ranges(texts, starts, lengths, secret_words(secret), words)
    return hashes_as_column(words, lengths, lambda at: texts[starts[at] : ends[at]].data, secret)


def _distinct_headers(
    spelt: pa.Array, read_headers: Callable[[bytes], Headers]
) -> tuple[list[Headers], np.ndarray]:
    """The distinct headers, and the index among them of each record's headers. Raises Misfit."""
    if spelt.null_count == len(spelt):
        return [()], np.zeros(len(spelt), np.int32)
    encoded = spelt.fill_null(b"").dictionary_encode()
    try:
        distinct = [read_headers(each) if each else () for each in encoded.dictionary.to_pylist()]
    except ValueError as error:
        raise Misfit from error
    return distinct, encoded.indices.to_numpy()


WriteTexts = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray], None]
"""A loop (data, starts, ends, escaped, out, out_ends) that writes the texts of ranges one after another."""


def texts_of(
    write: WriteTexts, window: Window, starts: np.ndarray, ends: np.ndarray, escaped: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The texts of ranges of a window, one after another: their bytes, and where each ends."""
    texts, text_ends = np.zeros(window.end, np.uint8), np.zeros(len(starts), np.int64)
    write(window.data, starts, ends, escaped, texts, text_ends)
    return texts, text_ends


def values_of(
    write: WriteTexts, window: Window, rows: ScannedRows, encoding: str, names: frozenset[str]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The values of rows of text: their bytes, where each starts, and its length. Raises Misfit.

    The bytes are left out where the columns ``names`` only need lengths.
    """
    is_null = rows.is_null("value")
    starts, ends = rows[c.VALUE_START].copy(), rows[c.VALUE_END].copy()
    ends[is_null] = starts[is_null]
    escaped = rows[c.FLAGS] & c.VALUE_ESCAPED
    if "value_hash" not in names and encoding in SPELT:
        lengths, at = ends - starts, np.flatnonzero(escaped)
        if len(at):
            _, text_ends = texts_of(write, window, starts[at], ends[at], escaped[at])
            lengths[at] = np.diff(text_ends, prepend=0)
        return np.zeros(0, np.uint8), starts, np.where(is_null, ABSENT, lengths)
    texts, text_ends = texts_of(write, window, starts, ends, escaped)
    text_starts = np.concatenate([[0], text_ends[:-1]])
    values = texts, text_starts, np.where(is_null, ABSENT, text_ends - text_starts)
    return values if encoding in SPELT else _decoded(encoding, *values)


def _decoded(
    encoding: str, texts: np.ndarray, starts: np.ndarray, lengths: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The values decoded: their bytes, where each starts, and its length (ABSENT: null). Raises Misfit."""
    decoder, spelt = ENCODINGS[encoding], texts.tobytes()
    spans = zip(starts.tolist(), lengths.tolist(), strict=True)
    try:
        values = [b"" if length < 0 else decoder(spelt[start : start + length]) for start, length in spans]
    except ValueError as error:
        raise Misfit from error
    sizes = np.array([len(value) for value in values], np.int64)
    data = np.frombuffer(b"".join(values), np.uint8)
    return data, np.cumsum(sizes) - sizes, np.where(lengths < 0, ABSENT, sizes)


def gathered(data: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> pa.Array:
    """The bytes of ranges as a binary array, null where a length is ABSENT. The starts of others ascend.

    Arrow copies the bytes: ranges and the gaps between them are elements of an array, of which every second
    one is taken.
    """
    if lengths.max(initial=ABSENT) == ABSENT:
        return pa.nulls(len(lengths), pa.binary())
    bounds = np.zeros(2 * len(starts) + 1, np.int64)
    bounds[:-1:2] = np.maximum.accumulate(np.where(lengths < 0, 0, starts))
    bounds[1::2] = bounds[:-1:2] + np.maximum(lengths, 0)
    bounds[-1] = bounds[-2] if len(starts) else 0
    buffers = [None, pa.py_buffer(bounds), pa.py_buffer(data)]
    ranges = pa.Array.from_buffers(pa.large_binary(), 2 * len(starts), buffers)
    return ranges.take(pa.array(np.arange(0, 2 * len(starts), 2), mask=lengths == ABSENT)).cast(pa.binary())
