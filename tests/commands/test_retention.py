"""``compact,delete`` through the command line: retention and cleaning in turns, as a broker does them."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Run
from dump_files import kcat_offsets, write_kcat
from records import record

pytestmark = pytest.mark.usefixtures("spark")
Cli = Callable[..., Run]

OLD_MS, YOUNG_MS, NOW_MS = 1_759_000_000_000, 1_761_000_000_000, 1_760_000_000_000
CONFIGS = """cleanup.policy=compact,delete
retention.bytes=210
retention.ms=-1
min.compaction.lag.ms=3600000
min.cleanable.dirty.ratio=0
"""
DIRTIEST = [record("k", str(n), offset=n, topic="a", timestamp_ms=OLD_MS) for n in range(3)]
RETAINED = [
    record("young", "1", offset=0, topic="b", timestamp_ms=YOUNG_MS),
    record("k0", "1", offset=1, topic="b", timestamp_ms=OLD_MS),
    record("k0", "2", offset=2, topic="b", timestamp_ms=OLD_MS),
    record("k1", "3", offset=3, topic="b", timestamp_ms=OLD_MS),
]


@pytest.mark.parametrize(("lost", "exit_code"), [((), 0), ((3,), 1), ((2,), 1)])
def test_a_young_segment_that_retention_took_first_holds_no_round_up(
    lost: tuple[int, ...], exit_code: int, tmp_path: Path, kcompact: Cli
) -> None:
    """Topic a is the dirtiest log, so b's first segment goes before b is cleaned, and its lag with it."""
    dump, out = write_kcat(tmp_path / "d.jsonl", [*DIRTIEST, *RETAINED]), tmp_path / "out.jsonl"
    configs, segments = tmp_path / "b.properties", tmp_path / "segments"
    configs.write_text(CONFIGS)
    segments.write_text("a 0 0 140\na 0 2 70\nb 0 0 500\nb 0 1 140\nb 0 3 70\n")
    told = ("--segments", segments, "--topic-config", f"b={configs}", "--now", NOW_MS)

    assert kcompact("compact", dump, *told, "-o", out).exit_code == 0

    offsets = [offset for topic, _, offset in kcat_offsets(out) if topic == "b"]
    assert offsets == [2, 3]
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    after = tmp_path / "after.jsonl"
    kept = [line for line in lines if line["topic"] == "a" or line["offset"] not in lost]
    after.write_text("".join(json.dumps(line) + "\n" for line in kept))
    told = (*told, "--log-start-offset", "b-0=0", "--log-end-offset", "b-0=4")
    assert kcompact("verify", dump, after, *told).exit_code == exit_code


def test_a_segment_that_cleaning_emptied_holds_no_round_up_by_its_file_s_age(
    tmp_path: Path, kcompact: Cli
) -> None:
    records = [record(key, "1", offset=n, topic="b", timestamp_ms=OLD_MS) for n, key in enumerate("kkz")]
    dump, out = write_kcat(tmp_path / "d.jsonl", records), tmp_path / "out.jsonl"
    segments = tmp_path / "segments"
    segments.write_text("".join(f"b 0 {offset} 70 {NOW_MS}\n" for offset in range(3)))
    limits = ("--cleanup-policy=compact,delete", "--retention-bytes=1GiB", "--retention-ms=-1")
    told = ("--segments", segments, *limits, "--min-compaction-lag-ms=1h", "--now", NOW_MS)

    assert kcompact("compact", dump, *told, "-o", out).exit_code == 0

    assert [offset for _, _, offset in kcat_offsets(out)] == [1, 2]
    assert kcompact("verify", dump, out, *told).exit_code == 0


def test_a_log_of_which_nothing_is_kept_has_no_kept_offsets(tmp_path: Path, kcompact: Cli) -> None:
    dump, out = write_kcat(tmp_path / "d.jsonl", DIRTIEST), tmp_path / "out.jsonl"
    limits = ("--cleanup-policy=delete", "--retention-ms=0", "--now", NOW_MS)

    assert kcompact("compact", dump, "-o", out, *limits).exit_code == 0

    (log,) = json.loads((tmp_path / "out.report" / "report.json").read_text())["logs"]
    assert (log["kept"], log["first_kept_offset"], log["last_kept_offset"]) == (0, None, None)
