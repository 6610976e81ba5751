"""CSV with a header line: who wrote it, as far as that tells what a cell with nothing in it means."""

import re
from dataclasses import replace

from kcompact.dumps.dialects.dialect import CSV_DOUBTS, DATA_ROLES, QUOTING, Dialect, forms
from kcompact.dumps.dialects.sampled_values import Row, texts_among, values_at
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.records.shown import shown
from kcompact.dumps.text.csv_quoting import freely_quoted
from kcompact.dumps.writers.text_writers import COLUMNS

_IN_NO_UTF8 = re.compile(r"[ -~\t\r\n]*[\udc80-\udcff][ -~\t\r\n\udc80-\udcff]*")
_DOUBLED_QUOTES = re.compile(r'""\w')  # of no JSON: there it is an empty text that stands before no letter
_PAIRS_OF_QUOTES = re.compile(r'(?:[^"]|"")*+')
_OWN_HEADER = ",".join(COLUMNS).encode()
_OWN_ROW = re.compile(rb'"[^"]*+",\d')


def is_own(header: bytes, lines: list[bytes]) -> bool:
    """Whether kcompact wrote it, which quotes every text: pandas and others copy the header line alone."""
    return header == _OWN_HEADER and all(map(_OWN_ROW.match, lines[:1]))


def without_doubts(dialect: Dialect) -> Dialect:
    """Of CSV that kcompact wrote."""
    key, value = (replace(part, doubtful=forms()) for part in (dialect.key, dialect.value))
    return replace(dialect, key=key, value=value, sure=True)


def judged_by_texts(dialect: Dialect, sample: list[Row], options: ReadOptions) -> Dialect:
    """With what sampled texts tell: the doubts of any CSV, and a note on letters that are no UTF-8.

    A blank in the times of Spark's columns tells that pandas may have written them.
    """
    times = texts_among(values_at(sample, dialect.timestamp))
    is_of_json = "csv_lines" not in dialect.layouts  # such as plain-base64, which the user names
    if is_of_json or (dialect.name == "spark-csv" and any(" " in time for time in times)):
        answers = {"key": options.missing_key, "value": options.tombstone}
        # Of bytes as Python prints them, b'' is empty, and nothing null.
        for role in DATA_ROLES:
            if dialect.of(role).encoding in {"text", "base64"} and not answers[role]:
                dialect = dialect.with_data(role, replace(dialect.of(role), **CSV_DOUBTS))
    notes = _notes_on_letters(dialect, sample) + _notes_on_doubled_quotes(dialect, sample)
    return replace(dialect, notes=dialect.notes + notes)


def _notes_on_letters(dialect: Dialect, sample: list[Row]) -> tuple[str, ...]:
    """A note on keys and values of letters that are no UTF-8, as Excel saves CSV in Western Europe."""
    texts = texts_among(
        value for part in (dialect.key, dialect.value) for value in values_at(sample, part.place)
    )
    foreign = next(filter(_IN_NO_UTF8.fullmatch, texts), None)
    if foreign is None or dialect.key.encoding != "text":
        return ()
    letters = shown(foreign.encode("utf-8", "surrogateescape").decode("cp1252", "replace"))
    as_bytes = (
        f"some text is no UTF-8, and is taken as bytes: if it is to be {letters}, convert the file first"
    )
    return (f"{as_bytes}: iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW",)


def _notes_on_doubled_quotes(dialect: Dialect, sample: list[Row]) -> tuple[str, ...]:
    """A note on texts in which all quotes are doubled, as R's readr doubles those of cells without quotes."""
    texts = texts_among(
        value for part in (dialect.key, dialect.value) for value in values_at(sample, part.place)
    )
    quoting = {text for text in texts if '"' in text}
    doubled = min(filter(_DOUBLED_QUOTES.search, quoting), default=None)
    if doubled is None or not all(map(_PAIRS_OF_QUOTES.fullmatch, quoting)):
        return ()
    as_text = f"all quotes are doubled, as in {shown(doubled)}, and are taken as text"
    return (f"{as_text}: if it is write_tsv of R's readr that doubles them, give it quote = 'needed'",)


def quotes_all(dialect: Dialect, sample: list[Row], lines: list[bytes], delimiter: str) -> bool:
    """Whether ``""`` may be null: a sample shows no other null, and cells that need no quotes have them."""
    is_needless = any(map(freely_quoted(delimiter.encode()).search, lines))
    nulls = (row.get(part.place or "", "") is None for row in sample for part in (dialect.key, dialect.value))
    return dialect.key.settled_by == QUOTING and is_needless and not any(nulls)
