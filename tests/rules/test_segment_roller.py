import random

import numpy as np
import pytest

from broker_log import Config, ModelBatch
from broker_model import roll
from golden_cases import GOLDEN
from kcompact.broker.batch_lists import read_batches
from kcompact.broker.log_names import LogName
from kcompact.broker.segment_lists import read_segments
from kcompact.digits import LONG_MAX
from kcompact.rules.files.segment_roller import Appends, Roller, RollSettings, roll_settings
from kcompact.rules.policy import Policy

OPEN = {"limit_ms": 10**15, "segment_index_bytes": 10_485_760, "index_interval_bytes": 4096}


def bases(settings: RollSettings, rows: list[tuple[int, int, int]], pieces: int = 1) -> list[int]:
    """Base offsets of the segments of (offset, timestamp, bytes) rows that are fed in some pieces."""
    table = np.array(rows, np.int64).reshape(-1, 3)
    roller = Roller(settings)
    offsets: list[int] = []
    for part in np.array_split(table, pieces):
        appends = Appends(part[:, 0], part[:, 1], part[:, 2])
        offsets += [int(appends.offsets[start]) for start in roller.starts(appends)]
    return offsets


def test_a_segment_ends_before_the_append_that_would_exceed_its_size() -> None:
    rows = [(0, 1, 40), (1, 1, 60), (2, 1, 1), (3, 1, 200), (4, 1, 1)]
    assert bases(RollSettings(segment_bytes=100, **OPEN), rows) == [0, 2, 3, 4]


def test_a_segment_ends_when_timestamps_lie_too_far_apart() -> None:
    settings = RollSettings(10**9, 1000, 10_485_760, 4096)
    assert bases(settings, [(0, 5000, 9), (1, 6000, 9), (2, 6001, 9), (9, 5000, 9), (10, 7002, 9)]) == [
        0,
        2,
        10,
    ]


def test_without_a_timestamp_in_its_first_append_a_segment_does_not_end_by_age() -> None:
    settings = RollSettings(10**9, 1000, 10_485_760, 4096)
    assert bases(settings, [(0, -1, 9), (1, 10**12, 9)]) == [0]


def test_offsets_in_a_segment_span_at_most_31_bits() -> None:
    settings = RollSettings(10**9, 1000, 10_485_760, 4096)
    assert bases(settings, [(7, 0, 9), (7 + 2**31 - 1, 0, 9), (7 + 2**31, 0, 9)]) == [7, 7 + 2**31]


def test_max_compaction_lag_limits_the_age_of_compacted_topics_only() -> None:
    policy = Policy(segment_ms=5000, max_compaction_lag_ms=300)
    assert roll_settings(policy).limit_ms == 300
    deleting = Policy(cleanup_policy=frozenset({"delete"}), segment_ms=5000, max_compaction_lag_ms=300)
    assert roll_settings(deleting).limit_ms == 5000


@pytest.mark.parametrize("seed", range(40))
def test_rolling_in_pieces_agrees_with_the_model(seed: int) -> None:
    chance = random.Random(seed)
    config = Config(
        segment_bytes=chance.choice([50, 500, 5000]),
        segment_ms=chance.choice([100, 3000, 10**12]),
        segment_index_bytes=chance.choice([30, 60, 10_485_760]),
        index_interval_bytes=chance.choice([0, 100, 4096]),
    )
    settings = RollSettings(
        config.segment_bytes, config.segment_ms, config.segment_index_bytes, config.index_interval_bytes
    )
    rows, offset, time_ms = [], 0, 1000
    for _ in range(300):
        offset += chance.choice([1, 1, 1, 7])
        time_ms += chance.choice([0, 10, 10, 900, -500])
        rows.append((offset, chance.choice([time_ms, time_ms, time_ms, -1]), chance.randrange(1, 60)))
    expected = roll((ModelBatch(o, o, size_bytes=b, max_timestamp_ms=t) for o, t, b in rows), config)
    assert bases(settings, rows, chance.randrange(1, 20)) == [s.base_offset for s in expected]


@pytest.mark.parametrize(
    ("case", "topic", "policy"),
    [
        ("w01-upserts", "w01", Policy(segment_ms=600_000)),
        ("w06-min-compaction-lag", "w06", Policy(segment_bytes=2400, segment_ms=LONG_MAX)),
        ("w24-future-timestamp", "w24", Policy(segment_bytes=1500, segment_ms=LONG_MAX)),
        (
            *("w30-index-limits", "w30"),
            Policy(segment_index_bytes=400, index_interval_bytes=0, segment_ms=LONG_MAX),
        ),
    ],
)
def test_a_broker_s_own_segments_are_found_again(case: str, topic: str, policy: Policy) -> None:
    folder, log = GOLDEN / case, LogName(topic, 0)
    batches = read_batches(str(folder / "before.batches")).by_log[log]
    columns = [(part.base_offset, part.max_timestamp_ms, part.size_bytes) for part in batches.parts()]
    rows = [row for part in columns for row in zip(*map(np.ndarray.tolist, part), strict=True)]
    segments = read_segments(str(folder / "before.segments")).by_log[log]
    assert bases(roll_settings(policy), rows) == [segment.base_offset for segment in segments]
