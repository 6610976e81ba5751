"""The golden data is complete and is read as the broker wrote it."""

import hashlib
import json

import pytest

from golden_cases import GOLDEN, GoldenCase, golden_cases, w08b_dump

CASES = golden_cases()


def test_index_names_every_folder() -> None:
    folders = {path.name for path in GOLDEN.iterdir() if path.is_dir()} - {"checkpoint-files"}
    assert {case.name for case in CASES} == folders


def test_generated_dump_is_the_brokers() -> None:
    facts = json.loads((GOLDEN / "w08b-smallest-buffer" / "facts.json").read_text())
    assert hashlib.sha256(w08b_dump(set(range(84_000)))).hexdigest() == facts["sha256"]["before.jsonl"]
    left = set(range(10_000, 84_000))
    assert hashlib.sha256(w08b_dump(left)).hexdigest() == facts["sha256"]["after-2.jsonl"]


@pytest.mark.everyday(10)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_stages_agree_with_their_segments(case: GoldenCase) -> None:
    for stage in {stage for pair in case.pairs for stage in pair}:
        for log, offsets in case.offsets(stage).items():
            stage_log = case.stage_log(stage, log)
            assert all(stage_log.log_start_offset <= offset < stage_log.log_end_offset for offset in offsets)
            batches = (case.batches(stage) or {}).get(log)
            if batches is not None:
                sizes = {segment.base_offset: segment.size_bytes for segment in stage_log.segments}
                for batch in batches:
                    sizes[batch.segment_base_offset or 0] -= batch.size_bytes
                assert set(sizes.values()) == {0}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_logged_round_belongs_to_one_pair(case: GoldenCase) -> None:
    logged_rounds = [logged for index in range(len(case.pairs)) for logged in case.rounds(index)]
    unseen = 3 if case.name in {"w14-dirty-ratio", "w26-odd-checkpoints", "w33-choice"} else 0
    unseen = 2 if case.name == "w17-max-compaction-lag" else unseen  # a first round, not dumped
    assert len(logged_rounds) == len(case.facts.get("rounds", [])) - unseen
