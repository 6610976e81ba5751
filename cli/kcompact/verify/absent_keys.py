"""Evidence that keys are gone: which records of each key a dump still holds, log by log."""

import base64
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from unicodedata import normalize

import pyarrow as pa
import pyarrow.compute as pc

from kcompact.broker.log_names import LogName
from kcompact.counted import counted
from kcompact.dumps.avro.avro_container import encode_long
from kcompact.verify.check import Severity
from kcompact.verify.outcome import KeyEvidence, KeyVerdict, Tally, VerifyFinding, VerifyOutcome
from kcompact.verify.rows.pairs import Pairs, Share


@dataclass(frozen=True)
class AbsentQuestion:
    """Keys that should be gone from a dump; ``before_name`` are dumps that may show where they were.

    ``null_hash`` is the ``value_hash`` of null, given where an event that deletes a row counts as a tombstone
    although its value may hold that row; None: no tombstone holds anything.
    """

    keys: tuple[bytes, ...]
    logs: dict[int, LogName]
    before_name: tuple[str, ...]
    after_name: str
    now_ms: int = 0
    sha256: dict[str, str] = field(default_factory=dict)  # of the input files
    null_hash: bytes | None = None


_MISSPELT = "misspelt-key"
_FRAME_BYTES = 5  # before a key that a serializer wrote with a schema registry: zero, and the schema's id
_SEVERITIES = {
    KeyVerdict.PRESENT.value: Severity.FINDING,
    KeyVerdict.VALUE_LEFT.value: Severity.FINDING,
    _MISSPELT: Severity.UNDECIDED,
}

LastOffsets = dict[tuple[bool, bool], int]
"""For one key in one log: the last offset of its records, by (is it in AFTER, is it a tombstone)."""


def verify_absent(pairs: Pairs, question: AbsentQuestion) -> VerifyOutcome:
    """Look every key up in all logs of both dumps."""
    keys = tuple(dict.fromkeys(question.keys))
    spellings = {key: _spellings(key) for key in keys}
    asked_keys = tuple({*keys}.union(*spellings.values()))
    by_key: dict[bytes, list[KeyEvidence]] = {}
    for part in pairs.ask(lambda share: _last_offsets(share, asked_keys, question.null_hash)):
        for (key, log_id), offsets in part.items():  # a key is in one share
            by_key.setdefault(key, []).append(_evidence(key, question.logs[log_id], offsets))
    evidence = tuple(
        entry
        for key in keys
        for entry in sorted(
            by_key.get(key, [KeyEvidence(key, KeyVerdict.ABSENT)]),
            key=lambda entry: (entry.topic or "", entry.partition or 0),
        )
    )
    counts = Counter(str(entry.verdict) for entry in evidence)
    unseen = [key for key in keys if key not in by_key]
    likely = _likely_keys({key: spellings[key] for key in unseen}, by_key)
    misspelt = tuple(_misspelt_keys(likely, by_key))
    counts[_MISSPELT] = len(misspelt)
    return VerifyOutcome(
        mode="absent-keys",
        before=question.before_name,
        after=question.after_name,
        now_ms=question.now_ms,
        checks=tuple(_SEVERITIES),
        tallies=tuple(
            Tally(check, severity, counts[check]) for check, severity in _SEVERITIES.items() if counts[check]
        ),
        findings=(*(_finding(entry) for entry in evidence if not entry.verdict.is_gone), *misspelt),
        facts={verdict.value: counts[verdict.value] for verdict in KeyVerdict},
        assumed=(
            *_doubts(len(unseen), sum(map(bool, likely.values())), has_before=bool(question.before_name)),
            *([] if question.null_hash is None else [_EVENTS]),
        ),
        evidence=evidence,
        sha256=question.sha256,
    )


def _spellings(key: bytes) -> set[bytes]:
    """Other spellings of a key: one of them was probably meant if no dump has the key itself.

    Without blanks and quotes around it; encoded as base64, as a dump shows keys that are no text, or decoded
    from base64 that was copied from a dump; with the length that Avro puts before a text.
    """
    spellings = {key.strip(), key.strip().strip(b"\"'"), base64.b64encode(key)}
    with suppress(ValueError):
        spellings.add(base64.b64decode(key, validate=True))
    try:
        spellings.update(text.encode() for text in _spellings_of_text(key.decode()))
        spellings.add(encode_long(len(key)) + key)  # as Avro has a text
    except UnicodeDecodeError:  # a list that an editor of Windows has written
        spellings.add(key.decode("cp1252", "replace").encode())
    return spellings - {key, b""}


def _spellings_of_text(text: str) -> Iterator[str]:
    """Spellings of a key that is text.

    As a JSON string, which keys taken from a field of the value are; with accents in another form of Unicode;
    without hidden characters; and, if it is JSON, with other blanks between its parts.
    """
    yield from (json.dumps(text, ensure_ascii=is_ascii) for is_ascii in (False, True))
    yield from (normalize(form, text) for form in ("NFC", "NFD"))
    yield "".join(filter(str.isprintable, text)).strip()
    if text.startswith(("{", "[")):
        with suppress(ValueError, RecursionError):
            value = json.loads(text)
            for separators in ((",", ":"), (", ", ": ")):
                spelt = json.dumps(value, ensure_ascii=False, separators=separators)
                yield spelt.encode(errors="replace").decode()


def _likely_keys(
    spellings: Mapping[bytes, set[bytes]], by_key: Mapping[bytes, Sequence[KeyEvidence]]
) -> dict[bytes, list[bytes]]:
    """For each key that no dump holds, the keys of the dumps that were probably meant."""
    unframed: dict[bytes, list[bytes]] = {}
    for key in by_key:
        if key[:1] == b"\0":
            unframed.setdefault(key[_FRAME_BYTES:], []).append(key)
    return {
        key: sorted(others & by_key.keys())
        + [framed for spelling in (key, *others) for framed in unframed.get(spelling, ())]
        for key, others in spellings.items()
    }


def _doubts(unseen: int, misspelt: int, *, has_before: bool) -> Iterator[str]:
    """Sentences on keys that no dump holds and that may be misspelt. The keys are counted, not shown."""
    if misspelt:
        yield (
            f"keys are compared byte by byte: {counted(misspelt, 'key')} in no dump would be there"
            " without blanks, quotes or hidden characters around them, with quotes, as base64 or out of it,"
            " with other blanks in JSON, with a schema's id, or with accents in another encoding or form of"
            " Unicode"
        )
    if unseen:
        where = "in none of the dumps, nor in those before" if has_before else "in no record of the dump"
        yield f"{counted(unseen, 'key')} {where}: spelt right?"


_EVENTS = (
    "an event that deletes a row counts as a value, as it may hold the row that it deletes; kcompact compact"
    " --drop-tombstones leaves such events out"
)


def _last_offsets(
    share: Share, keys: tuple[bytes, ...], null_hash: bytes | None
) -> dict[tuple[bytes, int], LastOffsets]:
    """The last offsets by (key, log id), of the asked keys that a share has.

    Where there is no BEFORE, AFTER takes its place, too; that changes no last offset.
    """
    key_array = pa.array(keys, pa.binary())
    by_place: dict[tuple[bytes, int], LastOffsets] = {}
    for is_after, rows in enumerate(share):
        is_asked = pc.or_(pc.is_in(rows["key"], value_set=key_array), _is_framed(rows["key"], key_array))
        chosen = pc.and_(is_asked, pc.invert(rows["is_control"]))
        of_keys = rows.filter(chosen)
        if null_hash is not None:
            is_empty = pc.and_(of_keys["is_tombstone"], pc.equal(of_keys["value_hash"], null_hash))
            of_keys = of_keys.drop_columns("is_tombstone").append_column("is_tombstone", is_empty)
        groups = of_keys.group_by(["key", "log_id", "is_tombstone"])
        for row in groups.aggregate([("offset", "max")]).to_pylist():
            of_place = by_place.setdefault((row["key"], row["log_id"]), {})
            of_place[bool(is_after), row["is_tombstone"]] = row["offset_max"]
    return by_place


def _is_framed(dumped: pa.ChunkedArray, keys: pa.Array) -> pa.ChunkedArray:
    """Which dumped keys are one of ``keys`` behind the frame that a schema registry's serializer writes."""
    behind = pc.binary_replace_slice(dumped, 0, _FRAME_BYTES, b"")
    is_framed = pc.and_(pc.starts_with(dumped, "\0"), pc.is_in(behind, value_set=keys))
    return pc.fill_null(is_framed, False)


def _evidence(key: bytes, log: LogName, offsets: LastOffsets) -> KeyEvidence:
    value_after, tombstone_after = offsets.get((True, False)), offsets.get((True, True))
    if value_after is not None:
        ends_deleted = tombstone_after is not None and tombstone_after > value_after
        verdict = KeyVerdict.VALUE_LEFT if ends_deleted else KeyVerdict.PRESENT
    else:
        verdict = KeyVerdict.ABSENT if tombstone_after is None else KeyVerdict.TOMBSTONE_ONLY
    values, tombstones = (
        [offset for (_, is_tombstone), offset in offsets.items() if is_tombstone is kind]
        for kind in (False, True)
    )
    return KeyEvidence(
        key=key,
        topic=log[0],
        partition=log[1],
        last_value_offset=max(values, default=None),
        tombstone_offset=max(tombstones, default=None),
        value_left_offset=value_after,
        verdict=verdict,
    )


def _misspelt_keys(
    likely: Mapping[bytes, Sequence[bytes]], by_key: Mapping[bytes, Sequence[KeyEvidence]]
) -> Iterator[VerifyFinding]:
    """Findings for keys that no dump holds, each at a place of a probably meant key that has a value left."""
    for key, others in likely.items():
        left = [entry for other in others for entry in by_key[other] if not entry.verdict.is_gone]
        if left:
            yield VerifyFinding(
                check=_MISSPELT,
                severity=Severity.UNDECIDED,
                topic=left[0].topic or "",
                partition=left[0].partition or 0,
                offset=left[0].last_value_offset,
                key=key,
                expected="no value of a key that differs only in its spelling",
                found="a value of such a key",
            )


def _finding(evidence: KeyEvidence) -> VerifyFinding:
    deleted = evidence.verdict is KeyVerdict.VALUE_LEFT
    return VerifyFinding(
        check=evidence.verdict.value,
        severity=Severity.FINDING,
        topic=evidence.topic or "",
        partition=evidence.partition or 0,
        offset=evidence.value_left_offset,
        key=evidence.key,
        expected="no value of this key",
        found="an older value, below its tombstone" if deleted else "a value that is the key's latest record",
    )
