"""The broker model predicts what the broker did in every golden case."""

import pytest

from broker_log import ModelBatch, ModelLog, Round
from broker_model import turn
from golden_cases import GoldenCase, Log, LoggedRound, golden_cases
from golden_model import config_of, model_log
from packed_batches import ListedBatch

PAIRS = [(case, i) for case in golden_cases() for i in range(len(case.pairs))]
IDS = [f"{case.name}-{case.pairs[i][1]}" for case, i in PAIRS]

# 70 records below the log start lie on disk, where no consumer can see their keys: two of them stayed.
UNSEEN_WRITTEN = {("w18b-log-start-beyond-checkpoint", 1): 2}


def run(case: GoldenCase, i: int, log: Log) -> tuple[ModelLog, list[Round], list[LoggedRound]]:
    after = case.pairs[i][1]
    logged = [r for r in case.rounds(i) if r.log == log]
    now_ms = logged[0].now_ms if logged else case.facts["stages"][after]["takenAtMs"]
    config = config_of(case.configs(i, log[0]), offset_map_limit=case.offset_map_limit)
    model = model_log(case, i, log)
    return model, turn(model, config, now_ms), logged


@pytest.mark.everyday(16)
@pytest.mark.parametrize(("case", "i"), PAIRS, ids=IDS)
def test_model_predicts_offsets_checkpoint_and_segments(case: GoldenCase, i: int) -> None:
    after = case.pairs[i][1]
    offsets, checkpoint = case.offsets(after), case.checkpoint(after)
    for log in case.logs:
        model, _, _ = run(case, i, log)
        stage = case.stage_log(after, log)
        kept = [r.offset for b in model.batches() for r in b.records if r.offset >= model.log_start]
        assert kept == offsets[log]
        assert model.checkpoint == checkpoint.get(log)
        assert model.log_start == stage.log_start_offset
        assert [s.base_offset for s in model.segments] == [s.base_offset for s in stage.segments]


@pytest.mark.everyday(16)
@pytest.mark.parametrize(("case", "i"), PAIRS, ids=IDS)
def test_model_predicts_what_was_logged(case: GoldenCase, i: int) -> None:
    for log in case.logs:
        _, rounds, logged = run(case, i, log)
        assert len(rounds) == len(logged)
        for predicted, broker in zip(rounds, logged, strict=True):
            assert predicted.first_dirty == broker.first_dirty_offset
            assert predicted.next_offset == broker.next_dirty_offset
            assert predicted.messages_read == broker.messages_read
            unseen = UNSEEN_WRITTEN.get((case.name, i), 0)
            assert predicted.messages_written + unseen == broker.messages_written
            assert predicted.invalid == broker.invalid_messages_read


@pytest.mark.everyday(16)
@pytest.mark.parametrize(("case", "i"), PAIRS, ids=IDS)
def test_model_predicts_batches(case: GoldenCase, i: int) -> None:
    table = case.batches(case.pairs[i][1])
    if table is None:
        return
    for log in case.logs:
        model, _, _ = run(case, i, log)
        predicted = [_seen(b, len(b.records) + (1 if b.marker else 0)) for b in model.batches()]
        unseen = {b.base_offset for b in table[log]} - {b.base_offset for b in model.batches()}
        assert predicted == [_seen(b, b.record_count) for b in table[log] if b.base_offset not in unseen]
        assert len(unseen) == UNSEEN_WRITTEN.get((case.name, i), 0)


def _seen(batch: ModelBatch | ListedBatch, records: int) -> tuple[int, int, int, int | None, int | None]:
    size = batch.size_bytes if batch.codec == "none" else None
    return batch.base_offset, batch.last_offset, records, batch.delete_horizon_ms, size
