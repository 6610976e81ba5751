"""The rounds of ``compact`` beside the lines that a real broker logged about the same rounds."""

import re
from typing import Any

import pytest

from broker_model import turn
from golden_cases import GoldenCase, golden_cases
from golden_model import config_of, model_log
from kcompact.compact.totals import LogOutcome
from kcompact.report.compact.compaction_broker_log import render_broker_log
from kcompact.report.compact.compaction_report import CompactionReport

# Rounds whose bytes a model of plain batches cannot tell: compressed batches, records that nobody can dump.
NOT_TOLD = ("w09", "w18")
CASES = [case for case in golden_cases() if not case.name.startswith(NOT_TOLD)]

_BLOCK = re.compile(r"(INFO \[kafka-log-cleaner-thread-\d+\]: \n(?:\t.*\n)+)")
_TIMED = re.compile(r"\t.* (?:seconds|total time).*\n")
_INVALID = re.compile(
    r"(WARN \[kafka-log-cleaner-thread-\d+\]: \tFound \d+ invalid messages during compaction\.)"
)


def logged_by_the_broker(case: GoldenCase) -> list[str]:
    """Blocks (and warnings about records without key) of the rounds that were dumped, without timed lines."""
    text = (case.folder / "cleaner.log").read_text()
    matches = re.findall(f"{_BLOCK.pattern}|{_INVALID.pattern}", text)
    return [_TIMED.sub("", block) or f"{warning}\n" for block, warning in matches]


def rendered(case: GoldenCase, i: int) -> str:
    logs = []
    for topic, partition in case.logs:
        logged = [
            cleaning_round for cleaning_round in case.rounds(i) if cleaning_round.log == (topic, partition)
        ]
        if not logged:
            continue
        config = config_of(case.configs(i, topic), offset_map_limit=case.offset_map_limit)
        rounds = turn(model_log(case, i, (topic, partition)), config, logged[0].now_ms)
        slots = case.facts["map"]["slots"] if "map" in case.facts else None
        log = LogOutcome(1, topic, partition)
        log.rounds = [_figures(cleaning_round, slots) for cleaning_round in rounds]
        logs.append(log)
    return render_broker_log(CompactionReport(logs, [], [], {}, []))


def _figures(cleaning_round: Any, slots: int | None) -> dict[str, Any]:
    return {
        "first_dirty_offset": cleaning_round.first_dirty,
        "next_dirty_offset": cleaning_round.next_offset,
        "map_entries": cleaning_round.map_entries,
        "buffer_utilization": cleaning_round.map_entries / slots if slots else None,
        "messages_read": cleaning_round.messages_read,
        "messages_written": cleaning_round.messages_written,
        "invalid_messages_read": cleaning_round.invalid,
        "bytes_read": cleaning_round.bytes_read,
        "bytes_written": cleaning_round.bytes_written,
    }


@pytest.mark.everyday(10)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_line_is_the_brokers(case: GoldenCase) -> None:
    text = "".join(rendered(case, i) for i in range(len(case.pairs)))
    matches = re.findall(f"{_BLOCK.pattern}|{_INVALID.pattern}", text)
    blocks = [block or f"{warning}\n" for block, warning in matches]
    broker = logged_by_the_broker(case)
    assert set(blocks) <= set(broker)
    assert len(blocks) == len(text and re.findall(r"cleaned log|Found \d", text))


def test_sizes_have_thousands_separators_and_halves_go_up() -> None:
    log = LogOutcome(1, "orders", 0)
    figures = _figures_of(messages_read=1_000_000, bytes_read=104_857_600)
    log.rounds = [
        figures | {"messages_written": 400_000, "bytes_written": 41_943_040, "buffer_utilization": 0.1225}
    ]
    assert render_broker_log(CompactionReport([log], [], [], {}, [])) == (
        "INFO [kafka-log-cleaner-thread-0]: \n"
        "\tLog cleaner thread 0 cleaned log orders-0 (dirty section = [0, 9])\n"
        "\tBuffer utilization: 12.3%\n"
        "\tStart size: 100.0 MB (1,000,000 messages)\n"
        "\tEnd size: 40.0 MB (400,000 messages)\n"
        "\t60.0% size reduction (60.0% fewer messages)\n"
    )


def test_a_round_that_read_only_aborted_data() -> None:
    log = LogOutcome(1, "orders", 0)
    log.rounds = [_figures_of(messages_read=0, bytes_read=100)]
    assert "\t100.0% size reduction (NaN% fewer messages)\n" in render_broker_log(
        CompactionReport([log], [], [], {}, [])
    )


def _figures_of(messages_read: int, bytes_read: int) -> dict[str, Any]:
    return {
        "first_dirty_offset": 0,
        "next_dirty_offset": 9,
        "map_entries": 3,
        "buffer_utilization": None,
        "messages_read": messages_read,
        "messages_written": 0,
        "invalid_messages_read": 0,
        "bytes_read": bytes_read,
        "bytes_written": 0,
    }
