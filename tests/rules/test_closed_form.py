"""The closed form of all rounds equals the literal procedure, round by round, on random logs (no Spark)."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcompact.dumps.records.record import Record
from kcompact.rules.rounds import MapScan, ScanLimits, spans_of
from kcompact.rules.verdicts import NEVER, UNKNOWN_HORIZON_MS, Rounds, Rows, Verdict, decide
from oracle import Cleaned, Settings, clean

T = ("t", 0)
NOW_MS = 1000

KEYS = st.sampled_from([None, b"", b"a", b"b", b"c", b"d", b"e"])
VALUES = st.sampled_from([None, b"", b"1"])
RECORDS = st.lists(st.tuples(st.integers(1, 3), KEYS, VALUES), min_size=1, max_size=40)


@st.composite
def logs(draw: st.DrawFn) -> list[Record]:
    """One log with gaps, tombstones and records without key."""
    offset, records = draw(st.integers(0, 5)) - 1, []
    for step, key, value in draw(RECORDS):
        offset += step
        records.append(Record("t", 0, offset, 1000, key, value))
    return records


def rows_of(records: list[Record], first_dirty: int, horizons: dict[int, int]) -> tuple[Rows, np.ndarray]:
    """The index of one log with its offset map, computed from the end as plainly as can be."""
    n = len(records)
    superseded, previous = np.full(n, NEVER), np.full(n, -1)
    latest: dict[bytes, int] = {}
    for i in range(n - 1, -1, -1):
        key = records[i].key
        if key is not None:
            superseded[i] = latest.get(key, NEVER)
            if records[i].offset >= first_dirty:
                latest[key] = records[i].offset
            previous[i] = max((r.offset for r in records[:i] if r.key == key), default=-1)
    false = np.zeros(n, np.bool_)
    before = [next((r for r in reversed(records[:i]) if r.key == records[i].key), None) for i in range(n)]
    follows_value = np.array([r is not None and r.value is not None for r in before])
    offsets, tombstones = np.array([r.offset for r in records]), np.array([r.value is None for r in records])
    return Rows(
        offsets,
        np.array([r.key is not None for r in records]),
        tombstones,
        false,
        false,
        false,
        superseded,
        np.array([horizons.get(r.offset, UNKNOWN_HORIZON_MS) for r in records]),
        tombstones & follows_value & (offsets < first_dirty),
    ), previous


def literal(
    records: list[Record], settings: Settings, first_dirty: int, horizons: dict[int, int], rounds: int | None
) -> tuple[dict[int, tuple[str, int]], list[int]]:
    """Each record's verdict and round, and every round's next, from the oracle called again and again."""
    fates = {record.offset: ("retained", 0) for record in records}
    left, checkpoint, nexts = records, first_dirty, []
    known = {(T, offset): ms for offset, ms in horizons.items()}
    while left and (rounds is None or len(nexts) < rounds):
        # The last round's log end is the whole dump's, even if its last record has gone.
        bound = records[-1].offset + 1
        result: Cleaned = clean(left, replace(settings, bound=bound), {T: checkpoint}, known)
        if result.checkpoint[T] == checkpoint:
            break
        nexts.append(result.checkpoint[T])
        for (_, offset), verdict in result.verdicts.items():
            if verdict != "retained":
                fates[offset] = (verdict, len(nexts))
        left, checkpoint, known = result.retained, result.checkpoint[T], result.horizons
    return fates, nexts


@dataclass(frozen=True)
class Setup:
    """One run's settings."""

    dirty: int
    limit: int | None
    rounds: int | None
    retention_ms: int
    known: dict[int, int]  # delete horizons
    drop_tombstones: bool
    keep_keyless: bool


SETUPS = st.builds(
    Setup,
    dirty=st.integers(0, 60),
    limit=st.one_of(st.none(), st.integers(1, 5)),
    rounds=st.one_of(st.none(), st.integers(1, 4)),
    retention_ms=st.sampled_from([0, 500, 2**63 - 1]),
    known=st.dictionaries(st.integers(0, 60), st.sampled_from([500, 1000, 1001, 5000]), max_size=8),
    drop_tombstones=st.booleans(),
    keep_keyless=st.booleans(),
)


@pytest.mark.slow
@settings(max_examples=600)
@given(records=logs(), setup=SETUPS)
def test_closed_form_is_the_literal_procedure(records: list[Record], setup: Setup) -> None:
    first_dirty = min(setup.dirty, records[-1].offset)
    tombstones = {r.offset for r in records if r.value is None}
    horizons = {offset: ms for offset, ms in setup.known.items() if offset in tombstones}
    rows, previous = rows_of(records, first_dirty, horizons)
    limits = ScanLimits(first_dirty, records[-1].offset + 1, setup.limit or NEVER, setup.rounds)
    scan = MapScan(limits)
    middle = len(records) // 2  # in two chunks
    for part in (slice(0, middle), slice(middle, None)):
        scan.feed(rows.offset[part], previous[part], rows.has_key[part], rows.is_aborted[part])
    spans = spans_of(limits, scan, None)
    horizon_ms = NOW_MS + setup.retention_ms
    decision = decide(
        rows,
        Rounds(
            np.array([span.next_offset for span in spans]),
            np.array([span.rewritten_end_offset for span in spans]),
            NOW_MS,
            horizon_ms if horizon_ms < 2**63 else None,
            setup.drop_tombstones,
            setup.keep_keyless,
        ),
    )
    plain = Settings(
        NOW_MS,
        setup.retention_ms,
        setup.limit,
        drop_tombstones=setup.drop_tombstones,
        null_keys="keep" if setup.keep_keyless else "drop",
    )
    fates, nexts = literal(records, plain, first_dirty, horizons, setup.rounds)
    closed_fates = {
        int(offset): (Verdict(int(verdict)).name.lower(), int(number))
        for offset, verdict, number in zip(rows.offset, decision.verdict, decision.round, strict=True)
    }
    assert closed_fates == fates
    assert [span.next_offset for span in spans] == nexts
