"""The cases of ``tests/cases``: every round through the broker model and through the engine, every range."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

import log_frames
from broker_log import ModelBatch, ModelLog, Range
from broker_model import byte_sums, cleanable_range, compaction_delay
from broker_rounds import clean_round
from case_files import Case, Step, append, names_of, offsets_of, read_cases, value_of
from kcompact.digits import LONG_MAX
from kcompact.dumps.records.record import Record
from kcompact.rules.files.segments import SegmentState
from kcompact.rules.policy import Policy
from kcompact.rules.range import log_bounds, segmented_range
from kcompact.rules.ratio import segmented_ratio
from kcompact.rules.verdicts import Verdict
from log_frames import log_id
from model_context import contexts_of
from small_maps import with_map_of

CASES = read_cases()
HOUR_MS = 3_600_000

NOT_EXPRESSIBLE = {
    "B13": "L13: message formats v0 and v1 are older than any dump says; every batch counts as v2",
    "B14": "L13: as B13",
    "H04": "L14: needs a partition to vanish from a broker; entries of logs not in the dump are kept",
    "I16": "L14: record timestamps are not usable, so all hangs on file times changed between two turns",
}
"""Cases that no dump can carry, by the loss that forbids them."""

ELSEWHERE = {
    "G04 G07 G08": "test_segment_rules.py: sums and resets of a fixture of numbered records",
    "H02": "tests/verify/test_state.py: equal states",
    "I01 I02 I04 I05 I07 I08": "test_segment_rules.py: grouping, on numbers alone",
    "I11 I13 I14": "test_segment_rules.py: retention, on numbers alone",
    "K01": "tests/broker_files/test_checkpoint.py: checkpoint files",
    "L01": "test_segment_rules.py: size of the offset map",
}
"""Cases that are no logs with rounds, and where they are tested."""

ALL = """
A01 A02 A04 A05 A07 A08 A10 B01 B02 B03 B04 B05 B07 B08 B10 B11 B13 B14 B15 C01 C02 C03 C04 C05
D01 D02 D03 D04 D05 D07 D08 D09 D10 D11 E01 E02 E04 F01 F02 F04 F05 F06 F07 F08 F10 F11 F13 F14 F16 F17
G01 G02 G03 G04 G05 G07 G08 H01 H02 H04 I01 I02 I04 I05 I07 I08 I09 I10 I11 I13 I14 I16
J01 J02 J03 J04 J05 J07 J08 J09 J10 J11 J13 J14 J15 K01 L01
"""


@dataclass(frozen=True)
class Played:
    """A round of a case: the log before it, and what is expected of it."""

    name: str
    before: ModelLog
    after: ModelLog
    case: Case
    step: Step
    next_offset: int


def _copy(log: ModelLog) -> ModelLog:
    segments = [replace(s, batches=[b.copy() for b in s.batches]) for s in log.segments]
    return replace(log, segments=segments)


def _play(case: Case) -> list[Played]:
    log, played = case.open(), []
    for i, step in enumerate(case.steps):
        if step.kind == "add":
            append(log, step.text)
        elif step.kind == "P":
            log.checkpoint = int(step.given["dirty"])
            log.last_stable = int(step.given.get("uncleanable", log.log_end))
            before = _copy(log)
            stats = clean_round(log, case.config, step.now_ms, cleanable_range(log, case.config, step.now_ms))
            played.append(Played(f"{case.name}-{i}", before, _copy(log), case, step, stats.next_offset))
            log.last_stable = log.log_end
    return played


ROUNDS = [played for case in CASES for played in _play(case)]


@pytest.mark.parametrize("played", ROUNDS, ids=lambda played: played.name)
def test_model_leaves_what_is_expected(played: Played) -> None:
    expected, log = played.step.expected, played.after
    batches = list(log.batches())
    assert played.next_offset == int(expected["next"])
    assert sorted(r.offset for b in batches for r in b.records) == offsets_of(expected["keep"])
    markers = [f"{(b.marker or '?')[0]}{b.last_offset}" for b in batches if b.is_control]
    if "markers" in expected or markers:
        assert markers == names_of(expected.get("markers", "[]"))
    empty = [b.last_offset for b in batches if not b.records and not b.is_control]
    if "emptyBatchesLast" in expected or empty:
        assert empty == value_of(expected.get("emptyBatchesLast", "[]"))
    if "horizons" in expected:
        assert _horizons(batches) == value_of(expected["horizons"])
    if "segmentBases" in expected:
        assert [s.base_offset for s in log.segments] == value_of(expected["segmentBases"])
        assert [s.size_bytes for s in log.segments] == value_of(expected["sizes"])


def _horizons(batches: list[ModelBatch]) -> dict[int, int]:
    horizons = {}
    for batch in batches:
        stamped = [r.offset for r in batch.records if r.value is None] or [batch.last_offset]
        if batch.delete_horizon_ms is not None:
            horizons |= dict.fromkeys(stamped, batch.delete_horizon_ms)
    return horizons


def test_every_case_is_accounted_for_once() -> None:
    tested = {case.name[:3] for case in CASES}
    elsewhere = {name for names in ELSEWHERE for name in names.split()}
    assert len(ALL.split()) == 87
    assert sorted([*tested, *elsewhere, *NOT_EXPRESSIBLE]) == sorted(ALL.split())


# --- the engine: all rounds of all cases in one DataFrame ---------------------------------------------------


def _policy(played: Played) -> Policy:
    config = played.case.config
    policy = Policy(
        delete_retention_ms=config.delete_retention_ms,
        segment_bytes=config.segment_bytes,
        producer_id_expiration_ms=LONG_MAX,
        null_keys="drop",
        now_ms=played.step.now_ms,
    )
    return with_map_of(config.offset_map_limit, policy)


def _needs_batches(log: ModelLog) -> bool:
    """Whether records alone cannot tell what happens: producers, horizons, larger batches (L8 to L11)."""
    return any(
        b.producer_id >= 0 or b.delete_horizon_ms is not None or len(b.records) != 1 for b in log.batches()
    )


@pytest.fixture(scope="module")
def cleaned() -> Any:
    logs: dict[int, list[Record]] = {}
    contexts, policies = {}, {}
    for played in ROUNDS:
        for with_batches in (True, False):
            if with_batches or not _needs_batches(played.before):
                name = log_id(played.name, with_batches)
                logs[name] = [r for b in played.before.batches() for r in b.records]
                contexts[name] = contexts_of(
                    played.before, with_batches=with_batches, is_forced=played.step.is_forced
                )
                policies[name] = _policy(played)
    result = log_frames.cleaned(logs, contexts, policies)
    kept: dict[int, list[int]] = {name: [] for name in logs}
    for row in log_frames.retained(result):
        kept[row["log_id"]].append(row["offset"])
    return result, kept


@pytest.mark.parametrize("played", ROUNDS, ids=lambda played: played.name)
@pytest.mark.parametrize("with_batches", [True, False], ids=["batches", "records"])
def test_engine_leaves_what_is_expected(cleaned: Any, played: Played, *, with_batches: bool) -> None:
    result, kept = cleaned
    name = log_id(played.name, with_batches)
    if name not in kept:
        assert _needs_batches(played.before)
        return
    expected, log = played.step.expected, result.logs[name]
    assert sorted(kept[name]) == offsets_of(expected["keep"])
    [done] = log.rounds
    assert done.span.next_offset == int(expected["next"])
    figures = {
        "messagesRead": done.counts.messages_read,
        "messagesWritten": done.counts.messages_written,
        "invalid": done.counts.removed[Verdict.KEYLESS],
        "mapSize": done.map_entries,
        "bytesRead": done.sizes.bytes_read,
        "bytesWritten": done.sizes.bytes_written,
    }
    assert {k: v for k, v in figures.items() if k in expected} == {
        k: int(expected[k]) for k in figures if k in expected
    }
    segments = [(s.base_offset, s.size_bytes) for s in log.segments]
    assert segments == [(s.base_offset, s.size_bytes) for s in played.after.segments]


# --- ranges and sums ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Question:
    """A question of a case, and the log it is about."""

    name: str
    log: ModelLog
    step: Step


def _questions(case: Case) -> list[Question]:
    log, questions = case.open(), []
    for i, step in enumerate(case.steps):
        if step.kind == "add":
            append(log, step.text)
        elif step.kind == "P":
            log.last_stable = int(step.given.get("uncleanable", log.log_end))
            clean_round(log, case.config, step.now_ms, cleanable_range(log, case.config, step.now_ms))
        else:
            questions.append(Question(f"{case.name}-{i}", _with_offsets(_copy(log), step), step))
    return questions


def _with_offsets(log: ModelLog, step: Step) -> ModelLog:
    checkpoint = step.given.get("ckpt", "none")
    log.checkpoint = None if checkpoint == "none" else int(checkpoint)
    log.log_start = int(step.given.get("logStart", 0))
    log.log_end = int(step.given.get("LEO", log.log_end))
    log.last_stable = int(step.given.get("LSO", log.log_end))
    return log


QUESTIONS = [question for case in CASES for question in _questions(case)]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_ranges_and_sums(question: Question) -> None:
    step, log = question.step, question.log
    lag_ms = int(step.given.get("minLag", HOUR_MS))
    policy = Policy(min_compaction_lag_ms=lag_ms, max_compaction_lag_ms=HOUR_MS * 6, now_ms=step.now_ms)
    config = replace(CASES[0].config, min_compaction_lag_ms=lag_ms, max_compaction_lag_ms=HOUR_MS * 6)
    model = cleanable_range(log, config, step.now_ms)
    clean_bytes, cleanable_bytes = byte_sums(log, model)
    delay_ms = compaction_delay(log, config, model.first_dirty, step.now_ms)
    _check(step, model, {"cleanBytes": clean_bytes, "cleanableBytes": cleanable_bytes}, delay_ms)

    states = [_state(log, i) for i in range(len(log.segments))]
    bounds = log_bounds(contexts_of(log, with_batches=False), 0, log.log_end)
    cleanable = segmented_range(states, bounds, log.checkpoint, policy)
    assert cleanable.first_uncleanable_offset == model.bound
    assert (cleanable.first_dirty_offset, cleanable.checkpoint_reset) == (model.first_dirty, model.reset)
    ratio = segmented_ratio(states, cleanable, policy)
    assert (ratio.clean_bytes, ratio.cleanable_bytes) == (clean_bytes, cleanable_bytes)
    assert ratio.compaction_delay_ms == delay_ms
    if "ratio" in step.expected:
        assert ratio.ratio == pytest.approx(float(step.expected["ratio"]), abs=1e-6)


def _check(step: Step, cleanable: Range, sums: dict[str, int], delay_ms: int) -> None:
    figures: dict[str, object] = {
        "firstDirty": cleanable.first_dirty,
        "firstUncleanableDirty": cleanable.first_uncleanable,
        "LogToClean.firstUncleanable": cleanable.bound,
        "maxCompactionDelay": delay_ms,
        **sums,
    }
    for name, value in figures.items():
        if name in step.expected:
            assert value == int(step.expected[name]), name
    if "resetCheckpoint" in step.expected:
        assert cleanable.reset == (step.expected["resetCheckpoint"] == "yes")


def _state(log: ModelLog, i: int) -> SegmentState:
    segment = log.segments[i]
    first_ms = segment.batches[0].max_timestamp_ms if segment.batches else -1
    newest_ms = max((b.max_timestamp_ms for b in segment.batches), default=-1)
    return SegmentState(segment.base_offset, segment.size_bytes, newest_ms, first_ms, segment.mtime_ms)
