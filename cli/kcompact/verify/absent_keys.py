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
    """Keys that should be gone from a dump; ``before_name`` are dumps that may show where they were."""

    keys: tuple[bytes, ...]
    logs: dict[int, Log]
    before_name: tuple[str, ...]
    after_name: str
    now_ms: int = 0
    sha256: dict[str, str] = field(default_factory=dict)  # of the input files


def verify_absent(pairs: Pairs, question: AbsentQuestion) -> Outcome:
    """Look every key up in all logs of both dumps."""
    keys = tuple(dict.fromkeys(question.keys))
    last: dict[_Kind, int] = {}
    for part in pairs.ask(lambda share: _last_offsets(share, keys)):
        last |= part
    by_key: dict[bytes, list[KeyEvidence]] = {}
    for key, log_id in dict.fromkeys((kind.key, kind.log_id) for kind in last):
        by_key.setdefault(key, []).append(_evidence(key, log_id, last, question.logs))
    evidence = tuple(_in_order(question.keys, by_key))
    counts = Counter(str(entry.verdict) for entry in evidence)
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
        findings=tuple(_finding(entry) for entry in evidence if not entry.verdict.is_gone),
        facts={verdict.value: counts[verdict.value] for verdict in KeyVerdict},
        evidence=evidence,
        sha256=question.sha256,
    )


_WRONG = (KeyVerdict.PRESENT, KeyVerdict.VALUE_LEFT)


class _Kind(NamedTuple):
    """Records of one key in one log of one dump: its values, or its tombstones."""

    key: bytes
    log_id: int
    in_after: bool
    is_tombstone: bool


def _last_offsets(share: Share, keys: tuple[bytes, ...]) -> dict[_Kind, int]:
    """The last offset of each kind of record that some keys have in a share (AFTER alone counts once)."""
    array = pa.array(keys, pa.binary())
    offsets: dict[_Kind, int] = {}
    for in_after, rows in ((False, share[0]), (True, share[1])):
        key_rows = rows.filter(pc.and_(pc.is_in(rows["key"], value_set=array), pc.invert(rows["is_control"])))
        groups = key_rows.group_by(["key", "log_id", "is_tombstone"]).aggregate([("offset", "max")])
        for row in groups.to_pylist():
            kind = _Kind(row["key"], row["log_id"], in_after, row["is_tombstone"])
            offsets[kind] = row["offset_max"]
    return offsets


def _evidence(key: bytes, log_id: int, last: Mapping[_Kind, int], logs: Mapping[int, Log]) -> KeyEvidence:
    value_before, value_after = (last.get(_Kind(key, log_id, after, False)) for after in (False, True))
    tombstone_before, tombstone_after = (last.get(_Kind(key, log_id, after, True)) for after in (False, True))
    if value_after is not None:
        ends_deleted = tombstone_after is not None and tombstone_after > value_after
        verdict = KeyVerdict.VALUE_LEFT if ends_deleted else KeyVerdict.PRESENT
    else:
        verdict = KeyVerdict.ABSENT if tombstone_after is None else KeyVerdict.TOMBSTONE_ONLY
    topic, partition = logs[log_id]
    return KeyEvidence(
        key=key,
        topic=topic,
        partition=partition,
        last_value_offset=_latest(value_before, value_after),
        tombstone_offset=_latest(tombstone_before, tombstone_after),
        value_left_offset=value_after,
        verdict=verdict,
    )


def _latest(*offsets: int | None) -> int | None:
    return max((offset for offset in offsets if offset is not None), default=None)


def _in_order(keys: Iterable[bytes], by_key: dict[bytes, list[KeyEvidence]]) -> Iterable[KeyEvidence]:
    for key in dict.fromkeys(keys):
        never = [KeyEvidence(key, KeyVerdict.ABSENT)]
        yield from sorted(by_key.get(key, never), key=lambda entry: (entry.topic or "", entry.partition or 0))


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
