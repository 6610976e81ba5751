"""What wrote CSV with a header line, as far as it tells what a cell with nothing in it means."""

import re
from dataclasses import replace

from kcompact.dumps.detect.sampled_values import Row, texts_among, values_at
from kcompact.dumps.dialects.dialect import CSV_DOUBTS, QUOTING, Dialect
from kcompact.dumps.text.csv_quoting import freely_quoted
from kcompact.dumps.writers.text_writers import COLUMNS

_OWN_HEADER = ",".join(COLUMNS).encode()
_OWN_ROW = re.compile(rb'"[^"]*+",\d')


def is_own(header: bytes, lines: list[bytes]) -> bool:
    """Whether kcompact wrote it, which quotes every text: pandas and others copy the header line alone."""
    return header == _OWN_HEADER and all(map(_OWN_ROW.match, lines[:1]))


def with_doubts_of_csv(dialect: Dialect, sample: list[Row]) -> Dialect:
    """With the doubts of any CSV where pandas may have written Spark's columns: a blank is in its times."""
    times = texts_among(values_at(sample, dialect.timestamp))
    if dialect.name != "spark-csv" or not any(" " in time for time in times):
        return dialect
    return replace(dialect, **CSV_DOUBTS)


def quotes_all(dialect: Dialect, sample: list[Row], lines: list[bytes], delimiter: str) -> bool:
    """Whether ``""`` may be null: a sample shows no other null, and cells that need no quotes have them."""
    is_needless = any(map(freely_quoted(delimiter.encode()).search, lines))
    nulls = (row.get(name or "", "") is None for row in sample for name in (dialect.key, dialect.value))
    return dialect.key_settled_by == QUOTING and is_needless and not any(nulls)
