"""Notes and questions about keys and values whose text most likely stands for null."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from shlex import quote

from kcompact.counted import counted
from kcompact.dumps.count_names import ComposedName
from kcompact.dumps.dialects.dialect import DATA_ROLES, QUOTING, DataRole, Dialect
from kcompact.dumps.dialects.paths import path_of
from kcompact.dumps.dialects.sampled_values import Row, texts_among, values_at
from kcompact.dumps.dialects.unexported import is_size
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.records.layout import DumpFile, SplitNotes
from kcompact.dumps.records.shown import by_jq, in_jq
from kcompact.dumps.text.csv_reader import NULL_TEXTS, NULLS_OF_DATABASES
from kcompact.errors import InputError


@dataclass(frozen=True)
class NullText:
    """How many keys or values (``role``) of a file are a text that programs write for null."""

    role: str
    text: str
    count: int

    @property
    def option(self) -> str:
        """The option that reads it as null, as typed in a shell."""
        return f"--tombstone {quote(f'literal:{self.text}')}"

    def of(self, file: DumpFile) -> str:
        """The sentence that notes and errors begin with."""
        as_one = ", and all of them count as one key" if self.role == "key" and self.count > 1 else ""
        verb = "is" if self.count == 1 else "are"
        units = counted(self.count, self.role)
        return f"{file.path}: {units} {verb} the text {self.text}, which tools write for null{as_one}"


def notes_on_null_keys(dialect: Dialect, sample: list[Row]) -> tuple[str, ...]:
    """Notes on sampled keys of JSON that are a word by which programs write null, such as ``undefined``.

    Not for CSV, where such cells are counted while all records are read.
    """
    words = [text for text in NULL_TEXTS.values() if text != dialect.null_literal]
    is_of_tool = dialect.null_literal is not None and len(words) == len(NULL_TEXTS)
    if dialect.layouts == ("csv_lines",) or dialect.key.encoding != "text" or is_of_tool:
        return ()
    counts = Counter(texts_among(values_at(sample, dialect.key.place)))
    as_one = "which tools write for null, and all of them count as one key: if it is null, --tombstone"
    return tuple(
        f"several keys of the first records are the text {text}, {as_one} {quote(f'literal:{text}')}"
        " reads it as null, in keys and values alike"  # without a count, so that files have the same note
        for text in words
        if counts[text] > 1
    )


def notes_on_null_values(dialect: Dialect, sample: list[Row]) -> tuple[str, ...]:
    """Notes on sampled values that may stand for null: such words, and empty values.

    Only where the tool is not known and no sampled value is null.
    """
    is_open = not (dialect.sure or dialect.null_literal) and dialect.value.encoding in ("text", "base64")
    values = [*values_at(sample, dialect.value.place)] if is_open else []
    if None in values or len(values) < len(sample):
        return ()
    counts = Counter(value for value in values if isinstance(value, str))
    names = [dialect.value.error or "", *(name for row in sample[:1] for name in row)]
    is_sized = any(is_size(name, "value") for name in names)  # a size says whether an empty value is null
    words = NULL_TEXTS.values() if dialect.value.encoding == "text" else ()
    forms = ({} if is_sized else {"": "empty"}) | {text: f"the text {text}" for text in words}
    options = {"": "empty"} | {text: quote(f"literal:{text}") for text in NULL_TEXTS.values()}
    return tuple(
        f"several values of the first records are {form}, and none is null: if the tool writes that for a"
        f" tombstone, --tombstone {options[text]} reads it as one"
        for text, form in forms.items()
        if counts[text] > 1
    )


def notes_on_nothing(dialect: Dialect, sample: list[Row]) -> tuple[str, ...]:
    """Notes on keys and values that are ``{}`` beside texts or ``[]`` beside arrays of bytes, and never null.

    R's jsonlite writes NULL like this, and so do programs with Rust's ``unwrap_or_default()``. Gson writes
    an empty Optional of Java 8 as ``{}``, and others as ``{"value": ...}``.
    """
    notes = []
    for role in DATA_ROLES if not dialect.sure else ():
        part, values = dialect.of(role), [*values_at(sample, dialect.of(role).place)]
        nothing: list[int] | dict[str, int] = [] if part.encoding == "numbers" else {}
        is_open = part.encoding in ("text", "json", "numbers") and len(values) == len(sample)
        others = [value for value in values if value != nothing and not isinstance(value, list | str)]
        is_open = is_open and all(isinstance(value, dict) and [*value] == ["value"] for value in others)
        if is_open and values.count(nothing) > 1:
            at, to_null = in_jq(path_of(str(part.place))), f"if . == {nothing} then null else . end"
            program = f'if type == "array" then .[] else . end | {at} |= ({to_null})'
            as_one = ", so they count as one key" if role == "key" else ""
            notes.append(
                f"several {role}s of the first records are {nothing}{as_one}, and none is null: if the tool"
                f" writes that for null: {by_jq(program)}"
            )
    return tuple(notes)


def notes_on_null_texts(file: DumpFile, notes: SplitNotes, options: ReadOptions) -> list[str]:
    """Notes on texts that most likely stand for null, unless the user or another field says what they are."""
    is_beside = _has_nothing_for_null(file, notes)
    empty = [] if file.dialect.value.settled_by != QUOTING else _notes_on_empty_cells(file, notes, options)
    also = "; where a cell with nothing in it is null, too, --tombstone {}"
    return empty + [
        f"{null.of(file)}: if it is null, {null.option} reads it as null, in keys and values alike"
        + (also.format(quote(f"missing,literal:{null.text}")) if is_beside else "")
        for null in likely_nulls(file, notes, options)
    ]


def _notes_on_empty_cells(file: DumpFile, notes: SplitNotes, options: ReadOptions) -> list[str]:
    """Notes on ``""`` where some rows have no quotes, and nothing is null: csv-stringify may mean either.

    Where every row has quotes, ``doubt_about`` asks the user.
    """
    count, is_null = notes.counts.get, _has_nothing_for_null(file, notes)
    if is_null or count("missing_key") or notes.fields_seen.get("record", 0) <= count("quoted_cells", 0):
        return []
    of_keys = "no key, all of these count as one key: export JSON"
    answers = {"key": of_keys, "value": "a tombstone, --tombstone empty reads it as one"}
    return [
        f"{file.path}: {counted(empty, 'record')} with an empty {role}, and no {role} is null: if the tool"
        f" writes that for {answer}"
        for role, answer in answers.items()
        if (empty := count(ComposedName(f"empty_{role}"), 0)) > 1 and (role == "key" or not options.tombstone)
    ]


def refuse_null_texts(
    file: DumpFile,
    notes: SplitNotes,
    options: ReadOptions,
    all_notes: Iterable[SplitNotes],
    *,
    asked: str,
    depends: str,
    nothing_is_null_beside: bool = False,
) -> None:
    """Raise InputError for keys or values (the role ``asked``) that are a text that databases write for null.

    Nothing is asked if the user, or the known tool, says which text is null. ``depends`` names the result
    that depends on it. ``all_notes`` are those of all files: one option answers for all of them.
    ``nothing_is_null_beside`` as in ``doubt_about``.
    """
    dialect = file.dialect
    is_known = dialect.null_literal is not None and "literal" not in dialect.value.doubtful
    if options.tombstone is not None or is_known:
        return
    for null in likely_nulls(file, notes, options):
        if null.role == asked and null.text in NULLS_OF_DATABASES.values():
            raise InputError(
                f"{null.of(file)}, and {depends} depends on whether it is one",
                hint=_answers_beside(null)
                if nothing_is_null_beside
                else _answers(null, dialect.null_literal, all_notes),
            )


def _answers_beside(null: NullText) -> str:
    """The options for each way to read the text, where a missing value is a tombstone in another dump."""
    both = quote(f"missing,literal:{null.text}")
    return (
        f"--tombstone {both} where it is null, in keys and values alike; --tombstone missing where it is text"
    )


def _answers(null: NullText, null_literal: str | None, all_notes: Iterable[SplitNotes]) -> str:
    """The options for each way to read the text, with all else that may be null in the dump."""
    counts = [notes.counts for notes in all_notes]
    answers = [f"{null.option} where it is null, in keys and values alike"]
    if any(count.get("missing_value") for count in counts):
        both = quote(f"missing,literal:{null.text}")
        answers += [
            f"--tombstone {both} where a cell with nothing in it is null, too",
            "--tombstone missing where only such a cell is",
        ]
    elif any(count.get("empty_value") for count in counts):
        answers.append("--tombstone empty where only a cell with nothing between quotes is")
    as_read = "none" if null_literal is None else quote(f"literal:{null_literal}")
    others = "it is text" if len(answers) == 1 else "neither is"
    return "; ".join([*answers, f"--tombstone {as_read} where {others}"])


def likely_nulls(file: DumpFile, notes: SplitNotes, options: ReadOptions) -> list[NullText]:
    """Keys and values whose text is most likely a null."""
    if options.tombstone is not None and "literal:" not in options.tombstone:
        return []
    # A tool that writes nothing for null, and something else for empty text, may well mean the word itself.
    is_told = not file.dialect.value.doubtful or bool(notes.counts.get("empty_value"))
    is_told = is_told and _has_nothing_for_null(file, notes)
    return [
        NullText(role, text, count)
        for role in _text_roles(file)
        for name, text in NULL_TEXTS.items()
        if text != file.dialect.null_literal  # which is read as null, or is text in quotes
        and (count := notes.counts.get(ComposedName(f"{name}_{role}")))
        and (name in NULLS_OF_DATABASES or not is_told)
    ]


def _text_roles(file: DumpFile) -> list[DataRole]:
    """Keys or values if they are text, and no column beside them (size, encoding) says whether they are null.

    A column of encodings says so only in kcompact's own CSV, in which nothing is in doubt.
    """
    dialect, columns = file.dialect, getattr(file.shape, "columns", ())
    markers = () if dialect.value.doubtful else (dialect.key.marker, dialect.value.marker)
    return [
        role
        for role in reversed(DATA_ROLES)
        if dialect.of(role).encoding == "text"
        and {*markers, dialect.of(role).size}.isdisjoint(columns)
        and not (role == "key" and dialect.key_fields)
    ]


def _has_nothing_for_null(file: DumpFile, notes: SplitNotes) -> bool:
    """Whether there are missing values, and these are read as null."""
    return "missing" in file.dialect.value.nulls and bool(notes.counts.get("missing_value"))
