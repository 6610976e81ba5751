"""The model of what goes through the shuffle, compared with the stages themselves, and its table."""

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from kcompact.compact import pipeline
from kcompact.engine.passes import index_pass

ROOT = Path(__file__).parents[1]
RECORDS, KEYS = 100_000, 20_000


@pytest.fixture(scope="module")
def shuffle() -> ModuleType:
    spec = importlib.util.spec_from_file_location("shuffle_bench", ROOT / "bench" / "shuffle.py")
    assert spec is not None and spec.loader is not None  # noqa: PT018  for the types alone
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("key_bytes", [8, 200])
def test_the_model_tells_what_the_stages_send(key_bytes: int, shuffle: ModuleType) -> None:
    met = shuffle.keys_met(RECORDS / 4, KEYS)
    work = shuffle.Workload(4, 2, KEYS, met, key_bytes)

    measured = shuffle.measured_bytes(RECORDS, work)

    assert measured == pytest.approx(shuffle.shuffled_bytes(work), rel=0.05)


def test_the_model_cuts_and_merges_as_the_program_does(shuffle: ModuleType) -> None:
    assert shuffle._LARGEST_SPLIT_BYTES == index_pass.LARGEST_SPLIT_BYTES
    assert shuffle._DUMP_BYTES_PER_MERGE_TASK == pipeline.DUMP_BYTES_PER_MERGE_TASK
    assert shuffle._MOST_MERGE_TASKS == pipeline.MOST_MERGE_TASKS


def test_the_page_shows_what_the_model_says(shuffle: ModuleType) -> None:
    page = (ROOT / "docs" / "ten-terabytes.md").read_text()
    assert "\n".join(shuffle.ten_terabyte_rows()) in page


def test_the_page_reckons_with_the_cpu_time_that_is_published() -> None:
    matches = json.loads((ROOT / "bench" / "results.json").read_text())["matches"]
    (large,) = (match for match in matches if match["name"] == "large")
    published = large["contestants"]["kcompact"]["cpu_s"] / (large["dump_bytes"] / 1e9)
    page = (ROOT / "docs" / "ten-terabytes.md").read_text()
    pattern = r"([\d.]+) CPU seconds a GB,.* ([\d.]+) core hours .* ([\d.]+) minutes on 64 cores"
    seconds, hours, minutes = map(float, re.findall(pattern, " ".join(page.split()))[0])
    assert seconds == pytest.approx(published, rel=0.2)
    assert hours == pytest.approx(seconds * 10_000 / 3600, rel=0.1)
    assert minutes == pytest.approx(hours * 60 / 64, rel=0.1)
