"""Inputs of ``verify``: its dumps, the state beside them, lists of keys, digests of files."""

import base64
import binascii
import codecs
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from kcompact.broker.log_names import LogName
from kcompact.broker.state.cleaner_state import CleanerState
from kcompact.broker.state.state_of_dump import state_that_counts
from kcompact.broker.state.state_output import output_file
from kcompact.commands.incoming.opening import Workplaces, shared_files
from kcompact.commands.incoming.state_files import outputs_among
from kcompact.dumps.dump import Dump
from kcompact.dumps.field_checks import has_structured_keys
from kcompact.dumps.files.at_hand import sha256_of, spool_folder
from kcompact.dumps.files.containers import is_plain_path, lasting_path, open_plain
from kcompact.dumps.files.filters import refuse_unmatched
from kcompact.dumps.files.stored import is_without_parts
from kcompact.dumps.json.canonical_json import as_compared, is_spelt_variously
from kcompact.dumps.options import Aborts, ReadOptions
from kcompact.dumps.records.layout import DumpFile
from kcompact.errors import InputError, NoRecordsError
from kcompact.storage.object_stores import is_address
from kcompact.verify.outcome import VerifyOutcome
from kcompact.verify.rows.disorder import LargestBefore
from kcompact.verify.rows.dump_rows import DumpRows
from kcompact.verify.rows.indexed import Indexed

_BASE64 = b"base64:"


@dataclass(frozen=True)
class Inputs:
    """The dumps of one verification after reading. ``before`` None: there is only AFTER."""

    rows: DumpRows
    before: Indexed | None
    after: Indexed
    committed: Indexed | None
    dumps: tuple[Dump | None, Dump | None]  # BEFORE, AFTER
    places: Workplaces

    @property
    def reference(self) -> Indexed:
        """The dump with whose records AFTER is compared."""
        return self.before or self.after

    @property
    def logs(self) -> dict[int, LogName]:
        """Logs of both dumps."""
        return {**(self.before.logs if self.before else {}), **self.after.logs}

    @property
    def earlier(self) -> tuple[LargestBefore, LargestBefore] | None:
        """As ``Pairs.in_order`` takes it; None: both dumps are in order."""
        is_in_order = self.reference.is_in_order and self.after.is_in_order
        return None if is_in_order else (self.reference.earlier, self.after.earlier)

    @property
    def has_parsed_values(self) -> bool:
        """Whether one of the compared dumps has values as JSON, which does not show how they were spelt."""
        return self.reference.has_parsed_values or self.after.has_parsed_values


_OF_VALUES = {"changed-record", "different-value", "stale-value"}  # checks that compare values
_BY_JSON = "values that a dump has as JSON, not as their text, are compared by what they say, however spelt"


def compared(inputs: Inputs, ask: Callable[[Inputs], VerifyOutcome]) -> VerifyOutcome:
    """The answer that ``ask`` gives.

    If values differ, and a dump does not show how its values were spelt, all are read again as JSON.
    """
    outcome = ask(inputs)
    if not inputs.has_parsed_values or _OF_VALUES.isdisjoint(tally.check for tally in outcome.tallies):
        return outcome
    by_json = ask(replace(inputs, rows=inputs.rows.with_values_as_json()))
    is_same = by_json.tallies == outcome.tallies
    return outcome if is_same else replace(by_json, assumed=(*by_json.assumed, _BY_JSON))


def state_beside_pair(
    place: str, states: tuple[CleanerState, ...], before: Dump | None, after: Dump | None, places: Workplaces
) -> tuple[CleanerState, bool | None, frozenset[str]]:
    """The state of AFTER or of BEFORE, whose it is, and the paths of its output's files.

    True: AFTER's, left by the cleaning that made it. False: BEFORE's, left by an earlier cleaning. None: the
    state names no output, as if its checkpoint was copied from a broker. Raises InputError if the state
    belongs to neither dump.
    """
    for dump, is_end in ((after, True), (before, False)):
        outputs = outputs_among(dump.files, states, places) if dump else {}
        state = state_that_counts(states, outputs)
        if not state.files:
            return state, None, frozenset()
        digests = {file.sha256 for file in state.files}
        own = {path: file for path, file in outputs.items() if file.sha256 in digests}
        if digests == {file.sha256 for file in own.values()}:
            return state, is_end, frozenset(own)
    names = ", ".join(file.name for file in states[0].files or ())
    raise InputError(
        f"{place}: this state belongs to {names}, and neither BEFORE nor AFTER is that dump unchanged",
        hint="give the state folder of the run that made AFTER, or leave --state out",
    )


def open_after(places: Workplaces, path: str, options: ReadOptions) -> Dump | None:
    """Open AFTER; None where it is empty: a compaction may leave nothing at all. Raises InputError."""
    if is_address(path) and is_without_parts(path):
        return None
    try:
        aborts = Aborts.GIVEN if options.aborts is Aborts.UNKNOWN else options.aborts  # asked for BEFORE
        return places.open([path], replace(options, may_be_converted=True, aborts=aborts))
    except NoRecordsError:
        return None


def refuse_after_in_before(before: Dump, after: Dump) -> None:
    """Raise InputError if BEFORE's folder, glob or list includes files of AFTER, unless both are the same.

    Only paths are compared: unchanged files of two dumps may be links to the same file.
    """
    shared = shared_files(before, after)
    if shared and not len(shared) == len(before.files) == len(after.files):
        raise InputError(
            f"{shared[0]} of AFTER is among the files of BEFORE, too: no record that it alone has could be"
            " told from BEFORE's",
            hint="name the files of BEFORE one by one, or move AFTER out of its folder",
        )


def refuse_unmatched_by_any(options: ReadOptions, dumps: Iterable[Indexed | None]) -> None:
    """Raise InputError for filters that match no dump. If they match one dump, the lack is a finding.

    Also raise it if ``--topic`` leaves nothing of a dump, and a topic is known only from a file's name:
    dumps of one topic each are compared even if the names differ.
    """
    present_dumps = [dump for dump in dumps if dump is not None]
    logs = {log for dump in present_dumps for log in dump.logs.values()}
    refuse_unmatched(options, logs, {log for dump in present_dumps for log in dump.left_out})
    for dump in present_dumps if any(dump.is_named_by_file for dump in present_dumps) else ():
        topics = {topic for topic, _ in dump.left_out}
        if options.topics and not dump.logs and len(topics) == 1:
            raise InputError(
                f"--topic leaves out all records of one of the dumps: they are of {topics.pop()}, as far as"
                " records or names of files tell",
                hint="leave --topic out where each dump holds one topic; else put the files whose records do"
                " not say their topic below a folder such as topic=NAME/",
            )


def read_keys(path: str) -> tuple[list[bytes], str]:
    """The keys of a file (a line is a key as text, or ``base64:`` and bytes), and its SHA-256.

    The file may be packed, or standard input (``-``). With a byte order mark it is UTF-8 or UTF-16; other
    bytes are taken as they are. Raises InputError.
    """
    try:
        with spool_folder() as spool:
            lasting = lasting_path(path, spool)
            sha256 = output_file(Path(lasting)).sha256
            with open_plain(lasting) as file:
                data = file.read()
        if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            data = data.decode("utf-16").encode()
        lines = data.removeprefix(codecs.BOM_UTF8).splitlines()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except UnicodeError as error:
        raise InputError(f"{path}: not UTF-16 text, although its byte order mark says so") from error
    keys = [_key(line, path, number) for number, line in enumerate(lines, start=1) if line]
    if not keys:
        raise InputError(f"{path}: no keys in this file", hint="write one key per line")
    return keys, sha256


def asked_keys(keys: list[bytes], options: ReadOptions, dumps: Iterable[Dump | None]) -> tuple[bytes, ...]:
    """The keys that the user asks for, in the form in which keys of the dumps are compared.

    Raises InputError for keys that the dumps may spell otherwise. If a tool has parsed a key, the dump has it
    as that tool spells it: looked for as Kafka has it, the key would seem to be gone.
    """
    files = [file for dump in dumps if dump for file in dump.files]
    parsed = next((file.path for file in files if file.dialect.key.encoding == "json"), None)
    if parsed and not options.canonical_keys and any(map(is_spelt_variously, keys)):
        raise InputError(
            f"{parsed}: its keys are JSON values, whose spelling need not be that of Kafka's keys",
            hint="compare keys by their values: --canonical-keys",
        )
    structured = next((file.path for file in files if has_structured_keys(file)), None)
    if structured and any(key[:1] in {b"{", b"["} and is_spelt_variously(key) for key in keys):
        raise InputError(
            f"{structured}: its keys are records, arrays or maps of Avro, compared by their encoded bytes:"
            " asked for as JSON, each would seem to be gone",
            hint="name keys by these bytes in base64 (after base64: in a file of keys); inspect --offset"
            " LOG=OFFSET follows the key of a record that is there",
        )
    return tuple(as_compared(keys, options))


def _key(line: bytes, path: str, number: int) -> bytes:
    if not line.startswith(_BASE64):
        return line
    try:
        return base64.b64decode(line.removeprefix(_BASE64), validate=True)
    except binascii.Error as error:
        raise InputError(f"{path}:{number}: not base64 after 'base64:'") from error


def sha256_of_dumps(dumps: Iterable[Dump | None], places: Workplaces) -> dict[str, str]:
    """The SHA-256 of each file, by its path, computed where the dumps are read."""
    files = [file for dump in dumps if dump for file in dump.files]
    return dict(places.run(len(files), lambda number: _named_digest(files[number])))


def _named_digest(file: DumpFile) -> tuple[str, str]:
    is_lost = bool(file.container) and not is_address(file.path) and not is_plain_path(file.path)
    return f"{file.path} (unpacked)" if is_lost else file.path, sha256_of(file)
