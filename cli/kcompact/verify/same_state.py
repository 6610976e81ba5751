"""Compare two dumps by the state they hold: the latest live value of every key, whatever the offsets."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kcompact.arrays import Flags
from kcompact.broker.log_names import LogName
from kcompact.counted import counted
from kcompact.rules.lookups import values_of_logs
from kcompact.verify.check import Check, Row, Severity
from kcompact.verify.classification.remedies import DOUBTED_REMEDY
from kcompact.verify.outcome import Tally, VerifyFinding, VerifyOutcome
from kcompact.verify.rows.pairs import Pairs, Share


@dataclass(frozen=True)
class StateColumns:
    """The keys of a share as flags, one per key: where they live, and how their values compare."""

    a_lives: Flags
    b_lives: Flags
    a_is_deleted: Flags
    in_a: Flags
    is_equal: Flags
    is_old_value: Flags  # B's value is one that the key had in A
    is_in_several_logs: Flags  # of one dump


def _instead(state: Row) -> str:
    if state["b_offset"] is None:
        return "no record of this key in B"
    return f"the key deleted by the tombstone at {state['b_place']}"


STATE_CHECKS: tuple[Check[StateColumns], ...] = (
    Check(
        "missing-key",
        finds=lambda keys: keys.a_lives & ~keys.b_lives,
        expected="A's value, of {a_place}",
        actual=_instead,
    ),
    Check(
        "stale-value",
        finds=lambda keys: keys.a_lives & keys.b_lives & ~keys.is_equal & keys.is_old_value,
        expected="A's value, of {a_place}",
        actual="an older value of A's, at {b_place}",
    ),
    Check(
        "different-value",
        finds=lambda keys: keys.a_lives & keys.b_lives & ~keys.is_equal & ~keys.is_old_value,
        expected="A's value, of {a_place}",
        actual="another value, at {b_place}",
    ),
    Check(
        "key-resurrected",
        finds=lambda keys: keys.b_lives & keys.a_is_deleted,
        expected="the key deleted, by the tombstone at {a_place}",
        actual="a value at {b_place}",
    ),
    Check(
        "unexpected-key",
        finds=lambda keys: keys.b_lives & ~keys.in_a,
        expected="no record of this key",
        actual="a value at {b_place}",
    ),
)
"""Checks of one row of ``compared_keys``, with ``a_place`` and ``b_place``."""


@dataclass(frozen=True)
class StateQuestion:
    """Two dumps, called A and B. ``logs_a`` and ``logs_b`` are their logs by log id."""

    logs_a: dict[int, LogName]
    logs_b: dict[int, LogName]
    names: tuple[tuple[str, ...], str]
    ignore_partitions: bool = False
    now_ms: int = 0
    max_findings: int = 100
    values_are_doubted: bool = False  # a tool may have written equal values differently

    def severity_of(self, check: Check["StateColumns"]) -> Severity:
        """The severity of a check's findings."""
        is_doubted = self.values_are_doubted and check.name == "different-value"
        return Severity.UNDECIDED if is_doubted else Severity.FINDING

    @property
    def topics(self) -> list[list[str]]:
        """The topics of A and of B."""
        return [sorted({topic for topic, _ in logs.values()}) for logs in (self.logs_a, self.logs_b)]

    @property
    def spaces(self) -> list[dict[int, int]]:
        """For A and for B, the number of each log's space by log id. Keys are compared within a space.

        A space is a topic's partition, or all its partitions if these are ignored. Two dumps of one topic
        each are compared whatever their topics are called: a restored or mirrored topic often has another
        name.
        """
        is_single = all(len(topics) == 1 for topics in self.topics)
        names = [
            {
                log_id: ("" if is_single else topic, None if self.ignore_partitions else str(partition))
                for log_id, (topic, partition) in logs.items()
            }
            for logs in (self.logs_a, self.logs_b)
        ]
        number = {name: at for at, name in enumerate(sorted({*names[0].values(), *names[1].values()}))}
        return [{log_id: number[name] for log_id, name in of_dump.items()} for of_dump in names]


def verify_state(pairs: Pairs, question: StateQuestion) -> VerifyOutcome:
    """Compare the latest live values of two dumps, A in the place of BEFORE and B in that of AFTER.

    Markers and records without a key hold no state. Headers and timestamps are not compared.
    """
    spaces, most = question.spaces, question.max_findings
    parts = pairs.ask(lambda share: _compare(share, spaces, most))
    counts: Counter[str] = sum((part.counts for part in parts), Counter())
    facts: Counter[str] = sum((part.facts for part in parts), Counter())
    return VerifyOutcome(
        mode="state",
        before=question.names[0],
        after=question.names[1],
        now_ms=question.now_ms,
        checks=tuple(check.name for check in STATE_CHECKS),
        tallies=tuple(
            Tally(check.name, question.severity_of(check), counts[check.name])
            for check in STATE_CHECKS
            if counts[check.name]
        ),
        findings=tuple(_findings([row for part in parts for row in part.first_rows], question)),
        assumed=tuple(_assumptions(question, facts)),
        facts={name: facts[name] for name in _FACTS},
    )


_FACTS: dict[str, Callable[[StateColumns], Flags]] = {
    "live_keys_a": lambda keys: keys.a_lives,
    "live_keys_b": lambda keys: keys.b_lives,
    "equal_keys": lambda keys: keys.a_lives & keys.b_lives & keys.is_equal,
    "keys_in_several_partitions": lambda keys: keys.is_in_several_logs,
}
_KEY = ["space", "key"]
_FINDING_ORDER = ["space", "offset", "key"]


class _Compared(NamedTuple):
    """The result for a share: findings by check, facts, and first rows of each check (named in ``check``)."""

    counts: Counter[str]
    facts: Counter[str]
    first_rows: list[dict[str, Any]]


def _compare(share: Share, spaces: Sequence[Mapping[int, int]], most: int) -> _Compared:
    rows = compared_keys(share, spaces)
    keys = _state_columns(rows)
    compared = _Compared(
        Counter(), Counter({name: int(fact(keys).sum()) for name, fact in _FACTS.items()}), []
    )
    for check in STATE_CHECKS:
        finds = check.finds(keys)
        compared.counts[check.name] = int(finds.sum())
        wrong = rows.filter(pa.array(finds)).sort_by([(name, "ascending") for name in _FINDING_ORDER])
        compared.first_rows.extend({**row, "check": check.name} for row in wrong[:most].to_pylist())
    return compared


def compared_keys(share: Share, spaces: Sequence[Mapping[int, int]]) -> pa.Table:
    """One row per space and key, with the key's last record in each dump.

    Columns ``a_...`` and ``b_...``: log_id, offset, is_tombstone, value (its hash), logs (how many have the
    key); null if the dump has no record of the key. ``is_old_value``: B's value is one that the key had in A.
    ``offset``: A's, else B's.
    """
    rows_a, rows_b = (_stateful(rows, of_logs) for rows, of_logs in zip(share, spaces, strict=True))
    both = _latest(rows_a, "a").join(_latest(rows_b, "b"), keys=_KEY, join_type="full outer")
    value = [*_KEY, "b_value"]
    old = rows_a.select([*_KEY, "value_hash"]).rename_columns(value).group_by(value).aggregate([])
    old = old.append_column("is_old_value", pa.repeat(True, old.num_rows))
    rows = both.join(old, keys=value, join_type="left outer")
    return rows.append_column("offset", pc.coalesce(rows["a_offset"], rows["b_offset"]))


def _stateful(rows: pa.Table, space_of_log: Mapping[int, int]) -> pa.Table:
    rows = rows.filter(pc.and_(pc.is_valid(rows["key"]), pc.invert(rows["is_control"])))
    space = values_of_logs(rows["log_id"].to_numpy(), space_of_log, 0)
    return rows.append_column("space", pa.array(space))


def _latest(rows: pa.Table, side: str) -> pa.Table:
    """The last record of each key, by offset; of several logs the one whose last record is youngest."""
    of_log = _last_rows(rows.sort_by("offset"), [*_KEY, "log_id"])
    youngest = [(name, "ascending") for name in ("timestamp_ms", "offset", "log_id")]
    of_key = _last_rows(of_log.drop_columns("rows").sort_by(youngest), _KEY)
    columns = ["log_id", "offset", "is_tombstone", "value_hash", "rows"]
    names = [f"{side}_{name}" for name in ("log_id", "offset", "is_tombstone", "value", "logs")]
    return of_key.select([*_KEY, *columns]).rename_columns([*_KEY, *names])


def _last_rows(rows: pa.Table, names: list[str]) -> pa.Table:
    """The last of all rows that are equal in the columns ``names``; ``rows`` is the number of such rows."""
    numbered = rows.select(names).append_column("number", pa.array(np.arange(rows.num_rows)))
    groups = numbered.group_by(names).aggregate([("number", "max"), ("number", "count")])
    return rows.take(groups["number_max"]).append_column("rows", groups["number_count"])


def _state_columns(rows: pa.Table) -> StateColumns:
    in_a, in_b = _flags(pc.is_valid(rows["a_offset"])), _flags(pc.is_valid(rows["b_offset"]))
    a_is_deleted = in_a & _flags(rows["a_is_tombstone"])
    several = pc.or_kleene(pc.greater(rows["a_logs"], 1), pc.greater(rows["b_logs"], 1))
    return StateColumns(
        a_lives=in_a & ~a_is_deleted,
        b_lives=in_b & ~_flags(rows["b_is_tombstone"]),
        a_is_deleted=a_is_deleted,
        in_a=in_a,
        is_equal=_flags(pc.equal(rows["a_value"], rows["b_value"])),
        is_old_value=_flags(rows["is_old_value"]),
        is_in_several_logs=_flags(several),
    )


def _flags(column: pa.ChunkedArray) -> Flags:
    """A column as flags; null is false."""
    flags: Flags = pc.fill_null(column, False).to_numpy()
    return flags


def _findings(rows: list[dict[str, Any]], question: StateQuestion) -> Iterator[VerifyFinding]:
    rows = sorted(rows, key=lambda row: [row[name] for name in _FINDING_ORDER])
    for check in STATE_CHECKS:
        check_rows = [row for row in rows if row["check"] == check.name]
        yield from (_finding(check, row, question) for row in check_rows[: question.max_findings])


def _finding(check: Check[StateColumns], row: Row, question: StateQuestion) -> VerifyFinding:
    places = {
        "a_place": _place(question.logs_a, row["a_log_id"], row["a_offset"]),
        "b_place": _place(question.logs_b, row["b_log_id"], row["b_offset"]),
    }
    expected, actual = check.words({**row, **places})
    in_a = row["a_offset"] is not None
    topic, partition = question.logs_a[row["a_log_id"]] if in_a else question.logs_b[row["b_log_id"]]
    return VerifyFinding(
        check=check.name,
        severity=question.severity_of(check),
        topic=topic,
        partition=partition,
        offset=row["offset"],
        key=row["key"],
        expected=expected,
        found=actual,
        remedy=DOUBTED_REMEDY if question.severity_of(check) is Severity.UNDECIDED else None,
    )


def _place(logs: dict[int, LogName], log_id: int | None, offset: int | None) -> str | None:
    return None if log_id is None else f"{logs[log_id]}@{offset}"


def _assumptions(question: StateQuestion, facts: Mapping[str, int]) -> list[str]:
    notes = []
    a, b = question.topics
    if len(a) == len(b) == 1 and a != b:
        notes.append(f"{a[0]} in A is compared with {b[0]} in B: each dump holds one topic")
    if facts["keys_in_several_partitions"]:
        notes.append(
            f"{counted(facts['keys_in_several_partitions'], 'key')} in several partitions of one dump: of"
            " these the partition with the newest record of the key counts"
        )
    return notes
