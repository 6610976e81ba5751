"""``kcompact compact --format broker-log`` beside what the broker logged about the same round."""

from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Run
from golden_cases import golden_cases

pytestmark = pytest.mark.usefixtures("spark")


def test_the_round_is_told_in_the_brokers_words(tmp_path: Path, kcompact: Callable[..., Run]) -> None:
    [case] = [case for case in golden_cases() if case.name == "w15-unkeyed"]
    run = kcompact(
        "compact",
        case.path("before", "jsonl"),
        *("-o", tmp_path / "out.jsonl", "--format", "broker-log", "--null-keys", "drop"),
        *("--segments", case.path("before", "segments"), "--batches", case.path("before", "batches")),
        *("--topic-config", case.folder / "topic.properties", "--now", case.rounds(0)[0].now_ms),
    )
    assert run.exit_code == 0
    broker = (case.folder / "cleaner.log").read_text()
    lines = run.stdout.splitlines()
    assert lines[0] == "INFO [kafka-log-cleaner-thread-0]: "
    assert len(lines) == 7
    assert [line for line in lines if line not in broker] == []
