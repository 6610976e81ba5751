"""Signs of who wrote CSV with a header line, as far as these tell how to read a cell without content."""

import re
from collections.abc import Iterator
from dataclasses import replace

from kcompact.dumps.dialects.dialect import CSV_DOUBTS, DATA_ROLES, QUOTING, Dialect, forms
from kcompact.dumps.dialects.sampled_values import Row, texts_among, values_at
from kcompact.dumps.json.json_text import reads_as_json
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.records.shown import shown
from kcompact.dumps.text.csv_quoting import freely_quoted
from kcompact.dumps.writers.text_writers import COLUMNS

_IN_NO_UTF8 = re.compile(r"[ -~\t\r\n]*[\udc80-\udcff][ -~\t\r\n\udc80-\udcff]*")
_DOUBLED_QUOTES = re.compile(r'""\w')  # never in JSON: no letter follows an empty text there
_PAIRS_OF_QUOTES = re.compile(r'(?:[^"]|"")*+')
_PAIRS_OF_BACKSLASHES = re.compile(r"(?:[^\\]|\\\\)*+")
_OWN_HEADER = ",".join(COLUMNS).encode()
_OWN_ROW = re.compile(rb'"[^"]*+",\d')


def is_own(header: bytes, lines: list[bytes]) -> bool:
    """Whether kcompact wrote the CSV. pandas and others may copy its header line, but not its quotes."""
    return header == _OWN_HEADER and all(map(_OWN_ROW.match, lines[:1]))


def without_doubts(dialect: Dialect) -> Dialect:
    """The dialect for CSV that kcompact wrote, in which no null is in doubt."""
    key, value = (replace(part, doubtful=forms()) for part in (dialect.key, dialect.value))
    return replace(dialect, key=key, value=value, sure=True)


def judged_by_texts(dialect: Dialect, sample: list[Row], options: ReadOptions) -> Dialect:
    """The dialect with the doubts and notes that follow from sampled texts.

    A blank within a timestamp shows that pandas, not Spark, may have written Spark's columns: the doubts of
    any CSV then apply.
    """
    times = texts_among(values_at(sample, dialect.timestamp))
    is_of_json = "csv_lines" not in dialect.layouts  # such as plain-base64, which the user names
    if is_of_json or (dialect.name == "spark-csv" and any(" " in time for time in times)):
        answers = {"key": options.missing_key, "value": options.tombstone}
        # Not for bytes as Python prints them: b'' is empty, and a cell without content is null.
        for role in DATA_ROLES:
            if dialect.of(role).encoding in {"text", "base64"} and not answers[role]:
                dialect = dialect.with_data(role, replace(dialect.of(role), **CSV_DOUBTS))
    notes = _notes_on_letters(dialect, sample) + _notes_on_doubled_quotes(dialect, sample)
    notes += _notes_on_doubled_backslashes(dialect, sample)
    return replace(dialect, notes=dialect.notes + notes)


def _notes_on_letters(dialect: Dialect, sample: list[Row]) -> tuple[str, ...]:
    """A note on keys and values of letters that are no UTF-8, as Excel saves CSV in Western Europe."""
    foreign = next(filter(_IN_NO_UTF8.fullmatch, _texts(dialect, sample)), None)
    if foreign is None or dialect.key.encoding != "text":
        return ()
    letters = shown(foreign.encode("utf-8", "surrogateescape").decode("cp1252", "replace"))
    as_bytes = (
        f"some text is no UTF-8, and is taken as bytes: if it is to be {letters}, convert the file first"
    )
    return (f"{as_bytes}: iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW",)


def _notes_on_doubled_quotes(dialect: Dialect, sample: list[Row]) -> tuple[str, ...]:
    """A note on texts in which all quotes are doubled, as R's readr writes them in cells without quotes."""
    quoting = {text for text in _texts(dialect, sample) if '"' in text}
    doubled = min(filter(_DOUBLED_QUOTES.search, quoting), default=None)
    if doubled is None or not all(map(_PAIRS_OF_QUOTES.fullmatch, quoting)):
        return ()
    as_text = f"all quotes are doubled, as in {shown(doubled)}, and are taken as text"
    return (f"{as_text}: if it is write_tsv of R's readr that doubles them, give it quote = 'needed'",)


def _notes_on_doubled_backslashes(dialect: Dialect, sample: list[Row]) -> tuple[str, ...]:
    """A note on texts in which all backslashes are doubled, as with an escape character and doubled quotes.

    JSON doubles its own; quotes behind them break it where it was doubled once more.
    """
    escaping = {text for text in _texts(dialect, sample) if "\\" in text}
    doubled = min(
        (text for text in escaping if not reads_as_json(text.encode("utf-8", "surrogateescape"))),
        default=None,
    )
    is_open = dialect.key.encoding == "text" and dialect.quoting == "rfc4180"
    if not is_open or doubled is None or not all(map(_PAIRS_OF_BACKSLASHES.fullmatch, escaping)):
        return ()
    as_text = f"all backslashes are doubled, as in {shown(doubled)}, and are taken as text"
    return (f"{as_text}: if it is pandas or Python's csv that doubles them, write it without escapechar",)


def _texts(dialect: Dialect, sample: list[Row]) -> Iterator[str]:
    """The texts of keys and values."""
    parts = (dialect.key, dialect.value)
    return texts_among(value for part in parts for value in values_at(sample, part.place))


def quotes_all(dialect: Dialect, sample: list[Row], lines: list[bytes], delimiter: str) -> bool:
    """Whether ``""`` may mean null: no sampled cell is null, and cells that need no quotes have them."""
    is_needless = any(map(freely_quoted(delimiter.encode()).search, lines))
    nulls = (row.get(part.place or "", "") is None for row in sample for part in (dialect.key, dialect.value))
    return dialect.key.settled_by == QUOTING and is_needless and not any(nulls)
