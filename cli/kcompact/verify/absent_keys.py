"""Evidence that keys are gone: per key and log what a dump still holds of them."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kcompact.verify.check import Severity
from kcompact.verify.outcome import Finding, KeyEvidence, KeyVerdict, Outcome, Tally
from kcompact.verify.question import Log
from kcompact.verify.rows.pairs import Pairs, Share


@dataclass(frozen=True)
class AbsentQuestion:
    """Keys that should be gone from a dump; ``before_name`` are dumps that may tell where they were."""

    keys: tuple[bytes, ...]
    logs: dict[int, Log]
    before_name: tuple[str, ...]
    after_name: str
    now_ms: int = 0
    sha256: dict[str, str] = field(default_factory=dict)  # of the input files


def verify_absent(pairs: Pairs, question: AbsentQuestion) -> Outcome:
    """Look every key up in all logs of both dumps."""
    keys = tuple(dict.fromkeys(question.keys))
    last: dict[_Seen, int] = {}
    for part in pairs.ask(lambda share: _last_offsets(share, keys)):
        last |= part
    found: dict[bytes, list[KeyEvidence]] = {}
    for key, log_id in dict.fromkeys((seen.key, seen.log_id) for seen in last):
        found.setdefault(key, []).append(_evidence(key, log_id, last, question.logs))
    evidence = tuple(_in_order(question.keys, found))
    counts = Counter(str(one.verdict) for one in evidence)
    return Outcome(
        mode="absent-keys",
        before=question.before_name,
        after=question.after_name,
        now_ms=question.now_ms,
        checks=tuple(verdict.value for verdict in _WRONG),
        tallies=tuple(
            Tally(verdict.value, Severity.FINDING, counts[verdict.value])
            for verdict in _WRONG
            if counts[verdict.value]
        ),
        findings=tuple(_finding(one) for one in evidence if not one.verdict.is_gone),
        facts={verdict.value: counts[verdict.value] for verdict in KeyVerdict},
        evidence=evidence,
        sha256=question.sha256,
    )


_WRONG = (KeyVerdict.PRESENT, KeyVerdict.VALUE_LEFT)


class _Seen(NamedTuple):
    """Records of one key in one log of one dump: its values, or its tombstones."""

    key: bytes
    log_id: int
    in_after: bool
    is_tombstone: bool


def _last_offsets(share: Share, keys: tuple[bytes, ...]) -> dict[_Seen, int]:
    """The last offset of each kind of record that some keys have in a share (AFTER alone counts once)."""
    wanted = pa.array(keys, pa.binary())
    found: dict[_Seen, int] = {}
    for in_after, rows in ((False, share[0]), (True, share[1])):
        there = rows.filter(pc.and_(pc.is_in(rows["key"], value_set=wanted), pc.invert(rows["is_control"])))
        groups = there.group_by(["key", "log_id", "is_tombstone"]).aggregate([("offset", "max")])
        for row in groups.to_pylist():
            seen = _Seen(row["key"], row["log_id"], in_after, row["is_tombstone"])
            found[seen] = row["offset_max"]
    return found


def _evidence(key: bytes, log_id: int, last: Mapping[_Seen, int], logs: Mapping[int, Log]) -> KeyEvidence:
    value, left = (last.get(_Seen(key, log_id, in_after, False)) for in_after in (False, True))
    deleted, tombstone_left = (last.get(_Seen(key, log_id, in_after, True)) for in_after in (False, True))
    if left is not None:
        ends_deleted = tombstone_left is not None and tombstone_left > left
        verdict = KeyVerdict.VALUE_LEFT if ends_deleted else KeyVerdict.PRESENT
    else:
        verdict = KeyVerdict.ABSENT if tombstone_left is None else KeyVerdict.TOMBSTONE_ONLY
    topic, partition = logs[log_id]
    return KeyEvidence(
        key=key,
        topic=topic,
        partition=partition,
        last_value_offset=_latest(value, left),
        tombstone_offset=_latest(deleted, tombstone_left),
        value_left_offset=left,
        verdict=verdict,
    )


def _latest(*offsets: int | None) -> int | None:
    return max((offset for offset in offsets if offset is not None), default=None)


def _in_order(keys: Iterable[bytes], found: dict[bytes, list[KeyEvidence]]) -> Iterable[KeyEvidence]:
    for key in dict.fromkeys(keys):
        never = [KeyEvidence(key, KeyVerdict.ABSENT)]
        yield from sorted(found.get(key, never), key=lambda one: (one.topic or "", one.partition or 0))


def _finding(evidence: KeyEvidence) -> Finding:
    deleted = evidence.verdict is KeyVerdict.VALUE_LEFT
    return Finding(
        check=evidence.verdict.value,
        severity=Severity.FINDING,
        topic=evidence.topic or "",
        partition=evidence.partition or 0,
        offset=evidence.value_left_offset,
        key=evidence.key,
        expected="no value of this key",
        found="an older value, below its tombstone" if deleted else "a value that is the key's latest record",
    )
