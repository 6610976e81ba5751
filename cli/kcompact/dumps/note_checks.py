"""Checks of an index pass's notes: errors that stop a run, and notes for the user."""

import shlex
from collections.abc import Callable, Collection, Iterable, Mapping

from kcompact.broker.log_names import LogName
from kcompact.counted import counted
from kcompact.dumps.dialects.dialect import DATA_ROLES, DataRole
from kcompact.dumps.doubts import doubt_about
from kcompact.dumps.dump import Dump
from kcompact.dumps.field_checks import (
    ask_whose_line_ends,
    ask_whose_quotes,
    check_fields,
    check_kinds_of_keys,
    check_tables,
    refuse_newest_first,
)
from kcompact.dumps.files.at_hand import file_at_hand
from kcompact.dumps.files.sources import STDIN
from kcompact.dumps.files.unreadable import (
    UnreadableFile,
    described,
    refuse,
    refuse_untrue_name,
    require_logs_left_out,
)
from kcompact.dumps.layouts import LAYOUTS
from kcompact.dumps.null_texts import refuse_null_texts
from kcompact.dumps.options import Aborts
from kcompact.dumps.records.framed import FramedLayout, line_number
from kcompact.dumps.records.layout import DumpFile, Reject, Split, SplitNotes
from kcompact.dumps.remarks import remarks_on, together
from kcompact.errors import InputError
from kcompact.storage.object_stores import is_address

_MOST_NAMED = 12
_WITHOUT_LOOPS = (
    "numba is installed, but what it compiles cannot be loaded: large dumps are read several times slower"
    " (python -c 'import numba' may tell why)"
)


def notes_by_file(
    dump: Dump, splits: Iterable[Split], notes: Mapping[int, SplitNotes]
) -> dict[int, SplitNotes]:
    """The notes of each file, added up from those of its splits (by split id)."""
    parts: dict[int, list[SplitNotes]] = {file.file_id: [] for file in dump.files}
    for split in sorted(splits, key=lambda split: split.split_id):
        if split.split_id in notes:
            parts[split.file_id].append(notes[split.split_id])
    return {file_id: of_file[0] if len(of_file) == 1 else _sum(of_file) for file_id, of_file in parts.items()}


def _sum(parts: Iterable[SplitNotes]) -> SplitNotes:
    total = SplitNotes()
    for part in parts:
        total.logs |= part.logs
        total.left_out |= part.left_out
        total.rejects += part.rejects
        for name, count in part.counts.items():
            total.count(name, count)
        for role, count in part.fields_seen.items():
            total.see(role, count)
        for name, examples in part.examples.items():
            total.examples.setdefault(name, []).extend(examples)
        for topic, tables in part.tables.items():
            total.tables.setdefault(topic, []).extend(tables)
        total.key_type = total.key_type or part.key_type
    return total


def check_notes(dump: Dump, by_file: Mapping[int, SplitNotes]) -> list[str]:
    """Check the notes of all files (``notes_by_file``) together; return what the user should know.

    Raises InputError, naming file and line, for records that cannot be read, fields that were not
    exported, keys that were damaged by the export.
    """
    refuse_rejects(dump, by_file)
    return _remarks(dump, by_file)


def look_over(dump: Dump, by_file: Mapping[int, SplitNotes]) -> tuple[list[str], list[str]]:
    """As ``check_notes``, for commands that only look: remarks, and problems that stop other commands.

    Raises InputError for records that cannot be read.
    """
    refuse_rejects(dump, by_file)
    remarks: list[str] = []
    problems = as_problems(lambda: remarks.extend(_remarks(dump, by_file)))
    return remarks, problems


def _remarks(dump: Dump, by_file: Mapping[int, SplitNotes]) -> list[str]:
    """The remarks on a dump. Raises InputError where fields are missing, or keys were damaged."""
    check_fields(dump, by_file)
    check_tables(dump, by_file)
    mixed = check_kinds_of_keys(dump, by_file)
    aborts = _ask_for_batches(dump, by_file)
    for file in dump.files:
        _check_lossy_keys(file, by_file[file.file_id])
        ask_whose_line_ends(file, by_file[file.file_id])
        refuse_newest_first(file, by_file[file.file_id])
        if dump.options.dialect is None:
            ask_whose_quotes(file, by_file[file.file_id])
    texts = [
        (file.path, text)
        for file in dump.files
        for text in remarks_on(file, by_file[file.file_id], dump.options)
    ]
    doubts = [
        (file.path, doubt.text)
        for role in DATA_ROLES
        for file in dump.files
        if (doubt := doubt_about(file, by_file[file.file_id], role)) is not None
    ]
    is_slow = any(notes.counts.get("read_without_loops") for notes in by_file.values())
    slow = [_WITHOUT_LOOPS] if is_slow else []
    return slow + aborts + mixed + together(texts + doubts)


def _ask_for_batches(dump: Dump, by_file: Mapping[int, SplitNotes]) -> list[str]:
    """Raise InputError for abort markers of kafka-dump-log if nothing says whose data they abort.

    Aborted records would count as committed, and supersede records that consumers see. If the command accepts
    that (``Aborts.COUNTED``), return a note instead.
    """
    count = sum(notes.counts.get("abort_markers", 0) for notes in by_file.values())
    markers = counted(count, "abort marker")
    if dump.options.aborts is Aborts.GIVEN or not count:
        return []
    if dump.options.aborts is Aborts.COUNTED:
        return [f"{markers}: aborted records count as committed here"]
    paths = [file.path for file in dump.files if file.layout == "dump_log"]
    raise InputError(
        f"{paths[0]}: {markers}: only its lines about batches say which records were aborted",
        hint="let kcompact read these lines, too (the last segment of each log then stays as it is, as a"
        f" broker leaves it): {_named_batches(paths)}",
    )


def _named_batches(paths: list[str]) -> str:
    """The options by which kcompact reads the lines about batches in the files of a dump."""
    if any(path == STDIN or is_address(path) for path in paths):
        return "--batches FILE for a copy of each file of the dump on this machine"
    named = " ".join(f"--batches {shlex.quote(path)}" for path in paths[:_MOST_NAMED])
    return named + (f", and so on for each of the {len(paths)} files" if len(paths) > _MOST_NAMED else "")


def as_problems(check: Callable[..., object], *arguments: object) -> list[str]:
    """The InputError that a check raises, as text, for commands that only look; empty if it raises none."""
    try:
        check(*arguments)
    except InputError as problem:
        hint = f" ({problem.hint})" if problem.hint else ""
        return [f"{problem.message}{hint}"]
    return []


def refuse_rejects(dump: Dump, by_file: Mapping[int, SplitNotes]) -> None:
    """Raise InputError for the first record that cannot be read of each file.

    With ``--keep-going`` it is a LeavingOutError: for such files, then for the logs of files left out.
    """
    logs = _logs_of_files(by_file)
    rejecting = []
    for file in dump.files:
        for reject in by_file[file.file_id].rejects[:1]:
            error = rejected(file, reject)
            if dump.options.keep_going:
                refuse_untrue_name(file.path, error, logs[file.file_id])
            rejecting.append(UnreadableFile((file.path,), error))
    if rejecting:
        is_all = len(rejecting) == len(dump.files)
        raise refuse(rejecting, keep_going=dump.options.keep_going, is_all=is_all)
    if dump.left_out.files:
        require_logs_left_out(dump.left_out, {dump.files[i].path: of_file for i, of_file in logs.items()})
        every_log = set().union(*logs.values())
        if every_log and all(dump.left_out.holds(*log) for log in every_log):
            raise InputError(
                f"--keep-going leaves out every log that can be read: {described(dump.left_out)}",
                hint="repair the files that cannot be read",
            )


def files_left_out(dump: Dump, by_file: Mapping[int, SplitNotes]) -> frozenset[int]:
    """The ids of files all of whose records are of logs that ``--keep-going`` leaves out."""
    if not dump.left_out.files:
        return frozenset()
    return frozenset(
        file_id
        for file_id, of_file in _logs_of_files(by_file).items()
        if of_file and all(dump.left_out.holds(*log) for log in of_file)
    )


def _logs_of_files(by_file: Mapping[int, SplitNotes]) -> dict[int, set[LogName]]:
    """The logs that each file holds records of, asked for or not."""
    return {file_id: {*notes.logs.values(), *notes.left_out} for file_id, notes in by_file.items()}


def refuse_doubts(
    dump: Dump,
    by_file: Mapping[int, SplitNotes],
    reasons: Mapping[DataRole, str],
    *,
    any_quote_tells: bool = False,
    nothing_is_null_beside: bool = False,
) -> None:
    """Raise InputError if a result depends on whether keys or values in doubt are null or empty.

    ``reasons`` names for "value" (tombstone or empty value?) and "key" (no key or empty key?) what depends on
    it: ``{"value": "--drop-tombstones"}``. A role that is not in it does not matter this time.
    ``any_quote_tells`` (where no record is removed because of it) and ``nothing_is_null_beside`` as in
    ``doubt_about``.
    """
    for role, reason in reasons.items():
        for file in dump.files:
            doubt = doubt_about(
                file,
                by_file[file.file_id],
                role,
                any_quote_tells=any_quote_tells,
                nothing_is_null_beside=nothing_is_null_beside,
            )
            if doubt is not None:
                # Asked first: the option that answers it may settle the doubt, too, but not vice versa.
                notes, every = by_file[file.file_id], by_file.values()
                refuse_null_texts(file, notes, dump.options, every, asked=role, depends=reason)
                raise InputError(f"{doubt.text}, and {reason} depends on which it is", hint=doubt.hint)


def refuse_likely_nulls(dump: Dump, by_file: Mapping[int, SplitNotes], converted: Collection[int]) -> None:
    """Raise InputError for keys whose text most likely stands for null: all of them would count as one key.

    Likewise for values, in files that are ``converted`` (by id): a copied record is as open to doubt as it
    was in the dump, a converted one states either null or text.
    """
    every = by_file.values()
    for file in dump.files:
        notes = by_file[file.file_id]
        refuse_null_texts(file, notes, dump.options, every, asked="key", depends="which records stay")
    for file in dump.files:
        notes = by_file[file.file_id]
        if file.file_id in converted:
            # Asked first, as the option that answers the question below would answer this one, too.
            refuse_null_texts(file, notes, dump.options, every, asked="value", depends="the output")
            doubt = doubt_about(file, notes, "value")
            if doubt is not None and doubt.is_likely_misread:
                raise InputError(f"{doubt.text}, and the output depends on which it is", hint=doubt.hint)


def rejected(file: DumpFile, reject: Reject) -> InputError:
    """The error for a record that cannot be read; the file is read up to it to count lines."""
    if file.layout == "side_files":
        return InputError(reject.reason, hint=reject.hint)  # the reason names which of the files it is
    at = place_of(file, reject.position)
    return InputError(f"{at}: {reject.reason}", hint=reject.hint)


def place_of(file: DumpFile, position: int) -> str:
    """A record's place in messages: file and line, or as the layout says where there are no lines."""
    layout = LAYOUTS[file.layout]
    if not isinstance(layout, FramedLayout):
        return f"{file.path}: {layout.place(position)}"
    with file_at_hand(file) as file_on_disk:
        return f"{file.path}:{line_number(file_on_disk.data_path, position)}"


def _check_lossy_keys(file: DumpFile, notes: SplitNotes) -> None:
    rounded = notes.counts.get("rounded_keys", 0)
    if rounded:
        raise InputError(
            f"{file.path}: {rounded:,} keys hold numbers that {file.dialect.short_tool} may have rounded:"
            f" different keys may look alike ({'; '.join(notes.examples['rounded_keys'][:3])})",
            hint="export again without decoding: kcat -J, or kaf --output json-each-row",
        )
    respelt = notes.counts.get("respelt_keys", 0)
    if respelt:
        raise InputError(
            f"{file.path}: {counted(respelt, 'key')} {'has' if respelt == 1 else 'have'} another size than in"
            f" Kafka: Redpanda Console writes 7 for 007, so different keys may look alike"
            f" ({'; '.join(notes.examples['respelt_keys'][:3])})",
            hint="export with rpk topic consume or kcat -J, or save them again with raw data included",
        )
    count = notes.counts.get("lossy_keys", 0)
    if count:
        examples = "; ".join(notes.examples.get("lossy_keys", [])[:3])
        raise InputError(
            f"{file.path}: {counted(count, 'key')} with U+FFFD, which stands for bytes that were"
            f" lost when the dump was written: different keys may look alike ({examples})",
            hint="export the keys without loss: kcat -J, or as base64 or hex"
            " (rpk -f with %k{base64}, kt -encodekey=base64, kafkactl --key-encoding=base64)",
        )
