"""``kcompact dirty-ratio`` from the command line; golden cases say what a broker did with the same logs."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from golden_cases import GoldenCase, golden_cases
from golden_options import options_of, write_checkpoint

pytestmark = pytest.mark.usefixtures("spark")

ORDERS = Path(__file__).parents[2] / "samples" / "orders.jsonl"
CASES = {case.name: case for case in golden_cases()}
Kcompact = Callable[..., Any]


def options(case: GoldenCase, scratch: Path) -> list[str]:
    """All that the broker knew before the first pair's rounds."""
    arguments = options_of(case, 0, scratch)
    if write_checkpoint(case, 0, scratch / "checkpoint"):
        arguments.append(f"--checkpoint={scratch / 'checkpoint'}")
    return arguments


def judged(case: GoldenCase, kcompact: Kcompact, scratch: Path) -> dict[str, Any]:
    dump = case.dump_path(case.pairs[0][0], scratch)
    run = kcompact("dirty-ratio", dump, *options(case, scratch), "--format", "json")
    assert run.exit_code == 0, run.stderr
    return {f"{log['topic']}-{log['partition']}": log for log in json.loads(run.stdout)["logs"]}


@pytest.mark.parametrize(
    "name",
    [
        "w06-min-compaction-lag",
        "w10-transactions",
        "w14-dirty-ratio",
        "w16-active-segment",
        "w17-max-compaction-lag",
        "w18b-log-start-beyond-checkpoint",
        "w23-threshold-one",
        "w24-future-timestamp",
        "w33-choice",
        "w34-delayed-but-uncleanable",
    ],
)
def test_what_a_broker_cleaned_is_eligible_and_taken_in_its_order(
    name: str, kcompact: Kcompact, tmp_path: Path
) -> None:
    case = CASES[name]
    logs = judged(case, kcompact, tmp_path)
    cleaned = {
        f"{cleaning_round.log[0]}-{cleaning_round.log[1]}": cleaning_round
        for cleaning_round in case.rounds(0)
    }
    assert [log for log, facts in logs.items() if facts["eligible"]] == list(cleaned)
    for log, cleaning_round in cleaned.items():
        assert logs[log]["first_dirty_offset"] == cleaning_round.first_dirty_offset
        assert logs[log]["first_uncleanable_offset"] == cleaning_round.next_dirty_offset


def test_the_ratio_is_the_broker_s_just_below_just_above_and_at_the_threshold(
    kcompact: Kcompact, tmp_path: Path
) -> None:
    case = CASES["w14-dirty-ratio"]
    logs = judged(case, kcompact, tmp_path)
    for topic, facts in case.facts["ratios"].items():
        log = logs[f"{topic}-0"]
        assert log["dirty_ratio"] == facts["ratio"]
        assert (log["clean_bytes"], log["cleanable_bytes"]) == (
            facts["cleanBytes"],
            facts["cleanableBytes"],
        )
        assert log["binding_limit"] == "ratio"
        assert log["estimate"] is None


def test_the_filthiest_log_comes_first_and_the_maximum_lag_gives_no_precedence(
    kcompact: Kcompact, tmp_path: Path
) -> None:
    case = CASES["w33-choice"]
    logs = judged(case, kcompact, tmp_path)
    assert {log: facts["dirty_ratio"] for log, facts in logs.items()} == {
        f"{topic}-0": ratio for topic, ratio in case.facts["ratios"].items()
    }
    assert list(logs) == ["w33-high-0", "w33-low-0", "w33-forced-0"]
    assert logs["w33-forced-0"]["binding_limit"] == "maximum lag"


@pytest.mark.parametrize(
    ("name", "binding_limit"),
    [
        ("w16-active-segment", "active segment"),
        ("w23-threshold-one", "ratio"),
        ("w34-delayed-but-uncleanable", "minimum lag"),
    ],
)
def test_what_keeps_a_log_from_being_cleaned_is_named(
    name: str, binding_limit: str, kcompact: Kcompact, tmp_path: Path
) -> None:
    logs = judged(CASES[name], kcompact, tmp_path).values()
    [uncleaned] = [log for log in logs if not log["eligible"]]
    assert uncleaned["binding_limit"] == binding_limit
    assert uncleaned["smallest_change"] is not None


def test_the_broker_log_says_what_the_broker_said(kcompact: Kcompact, tmp_path: Path) -> None:
    case = CASES["w33-choice"]
    dump = case.path("before", "jsonl")
    run = kcompact("dirty-ratio", dump, *options(case, tmp_path), "--format", "broker-log")
    broker_log = (case.folder / "cleaner.log").read_text()
    ours = run.stdout.splitlines()
    assert len(ours) == 4
    for line in ours[:3]:  # which segments of which log, and in which offset range
        assert line.removeprefix("INFO ") in broker_log
    assert "\tCleanable partitions: 3, Delayed partitions: 1, max delay: 951293" in ours[3]


def test_a_checkpoint_that_a_broker_resets_is_told_in_its_words(kcompact: Kcompact, tmp_path: Path) -> None:
    case = CASES["w26-odd-checkpoints"]
    dump = case.path(case.pairs[0][0], "jsonl")
    run = kcompact("dirty-ratio", dump, *options(case, tmp_path), "--format", "broker-log")
    [reset] = [line for line in run.stdout.splitlines() if line.startswith("WARN ")]
    assert reset in (case.folder / "cleaner.log").read_text()


def test_without_a_checkpoint_both_figures_are_given(kcompact: Kcompact) -> None:
    run = kcompact("dirty-ratio", ORDERS, "--format", "json")
    logs = json.loads(run.stdout)["logs"]
    assert len(logs) == 3
    for log in logs:
        assert (log["dirty_ratio"], log["clean_bytes"], log["checkpoint_offset"]) == (1.0, 0, None)
        assert 0 < log["estimate"]["dirty_ratio"] < 1


def test_what_would_go_is_what_compact_removes(kcompact: Kcompact) -> None:
    dirty_logs = json.loads(kcompact("dirty-ratio", ORDERS, "--format", "json").stdout)["logs"]
    compacted_logs = json.loads(kcompact("compact", ORDERS, "--dry-run", "--format", "json").stdout)["logs"]
    removed = {log["partition"]: log["records"] - log["kept"] for log in compacted_logs}
    assert {log["partition"]: log["gain"]["removable_records"] for log in dirty_logs} == removed


def test_a_row_of_a_list_is_what_its_value_alone_gives(kcompact: Kcompact) -> None:
    run = kcompact("dirty-ratio", ORDERS, "--segment-bytes", "2KiB,1GiB", "--format", "json")
    alone = kcompact("dirty-ratio", ORDERS, "--segment-bytes", "2KiB", "--format", "json")
    expected = {log["partition"]: log for log in json.loads(alone.stdout)["logs"]}
    for log in json.loads(run.stdout)["logs"]:
        small, large = log["what_if"]
        assert (small["configs"], large["configs"]) == ({"segment.bytes": "2KiB"}, {"segment.bytes": "1GiB"})
        assert small["gain"] == expected[log["partition"]]["gain"]
        assert small["cleanable_bytes"] == expected[log["partition"]]["cleanable_bytes"] > 0
        assert small["uncleanable_bytes"] <= 2048
        assert (large["cleanable_bytes"], large["binding_limit"]) == (0, "active segment")
        assert log["cleanable_bytes"] == small["cleanable_bytes"] + small["uncleanable_bytes"]
    assert run.stderr.count("--segment-bytes below 1048576: brokers since Kafka 4.1") == 1


def test_a_small_dedupe_buffer_needs_more_rounds(kcompact: Kcompact, tmp_path: Path) -> None:
    case = CASES["w08b-smallest-buffer"]
    dump = case.dump_path("before", tmp_path)
    sizes = "1048577,2MiB,128MiB"
    run = kcompact("dirty-ratio", dump, "--log-cleaner-dedupe-buffer-size", sizes, "--format", "json")
    [log] = json.loads(run.stdout)["logs"]
    gains = [row["gain"] for row in log["what_if"]]
    assert [gain["map_limit"] for gain in gains] == [39321, 78642, 5033164]
    assert [gain["map_entries"] for gain in gains] == [case.facts["distinctKeys"]] * 3
    assert [gain["rounds"] for gain in gains] == [3, 1, 1]
    assert log["gain"]["dedupe_buffer_bytes_for_one_round"] <= 2 << 20


@pytest.mark.parametrize("option", ["segments", "batches"])
def test_batches_tell_segments_and_aborted_data(option: str, kcompact: Kcompact) -> None:
    case = CASES["w10-transactions"]
    [cleaning_round] = case.rounds(0)
    stable = case.stage_log("before", cleaning_round.log).last_stable_offset
    options = [f"--{option}={case.path('before', option)}", f"--last-stable-offset={stable}"]
    run = kcompact("dirty-ratio", case.path("before", "jsonl"), *options, "--format", "json")
    [log] = json.loads(run.stdout)["logs"]
    assert (log["first_dirty_offset"], log["first_uncleanable_offset"]) == (
        cleaning_round.first_dirty_offset,
        cleaning_round.next_dirty_offset,
    )
    assert (log["gain"]["aborted_records"] > 0) == (option == "batches")


def test_a_pair_of_dumps_tells_aborted_data_and_where_a_transaction_is_open(kcompact: Kcompact) -> None:
    case = CASES["w10-transactions"]
    dump, batches = case.path("before", "jsonl"), case.path("before", "batches")
    committed = case.path("before", "read_committed.jsonl")
    pair = kcompact("dirty-ratio", dump, "--read-committed", committed, "--format", "json")
    stable = case.stage_log("before", case.logs[0]).last_stable_offset
    exact = ["--last-stable-offset", stable, "--batches", batches]
    single = kcompact("dirty-ratio", dump, *exact, "--format", "json")
    [by_pair], [by_batches] = (json.loads(run.stdout)["logs"] for run in (pair, single))
    assert by_pair["binding_limit"] == "ratio"
    assert by_pair["last_stable_offset"] == stable
    # Told segments end the range earlier, at a base offset, so compare what lies below it.
    assert by_pair["gain"]["aborted_records"] >= by_batches["gain"]["aborted_records"] > 0
    assert f"from offset {stable} on, after the end of the read_committed dump" in pair.stderr


def test_a_checkpoint_behind_the_dump_raises_the_log_end_unless_that_is_told(
    kcompact: Kcompact, tmp_path: Path
) -> None:
    checkpoint = tmp_path / "checkpoint"
    checkpoint.write_text("0\n1\norders 0 5000\n")
    arguments = ("dirty-ratio", ORDERS, "--checkpoint", checkpoint, "--format", "json")
    raised = kcompact(*arguments)
    reset = kcompact(*arguments, "--log-end-offset", "orders-0=1432")
    logs = [
        next(log for log in json.loads(run.stdout)["logs"] if log["partition"] == 0)
        for run in (raised, reset)
    ]
    assert (logs[0]["log_end_offset"], logs[0]["binding_limit"]) == (5000, "nothing dirty")
    assert (logs[1]["checkpoint_reset"], logs[1]["first_dirty_offset"]) == (True, 1200)
    assert "orders-0: the checkpoint, 5000, is after the dump's end" in raised.stderr
    assert "orders-0: the checkpoint, 5000, is not between log start 1200 and log end 1432" in reset.stderr


def test_a_ratio_above_the_gate_is_a_finding(kcompact: Kcompact) -> None:
    fine = kcompact("dirty-ratio", ORDERS, "--fail-above", "1")
    gated = kcompact("dirty-ratio", ORDERS, "--fail-above", "0.99")
    assert (fine.exit_code, gated.exit_code) == (0, 1)
    assert "orders-0: dirty ratio 1.0000 is above 0.99; no checkpoint is given" in gated.stderr


def test_text_and_markdown_show_the_same_cells(kcompact: Kcompact) -> None:
    arguments = ("dirty-ratio", ORDERS, "--now", "1800000000000", "--segment-bytes", "2KiB,8KiB")
    text = kcompact(*arguments).stdout
    markdown = kcompact(*arguments, "--format", "markdown").stdout
    for shown in ("orders", "30,126", "never cleaned", "2KiB", "2027", "would go"):
        assert shown in text
        assert shown in markdown
    titles = ["Dirty ratio", "What cleaning would bring", "Tombstones", "What if"]
    assert [line for line in text.splitlines() if line in titles] == titles


def test_tombstones_without_a_horizon_never_go(kcompact: Kcompact) -> None:
    """Where the clock and ``delete.retention.ms`` together are beyond 64 bits (R29)."""
    for retention_ms, told in (
        (2**63 - 1, "8 never, as delete.retention.ms is too long"),
        (0, "8 in a second"),
    ):
        options = ["--partitions", "0", "--now", "1760030000000", "--delete-retention-ms", str(retention_ms)]
        assert told in kcompact("dirty-ratio", ORDERS, *options).stdout


def test_the_report_may_go_to_a_file(kcompact: Kcompact, tmp_path: Path) -> None:
    run = kcompact("dirty-ratio", ORDERS, "--format", "json", "-o", tmp_path / "report.json")
    assert (run.exit_code, run.stdout) == (0, "")
    assert json.loads((tmp_path / "report.json").read_text())["command"] == "dirty-ratio"


def test_a_file_that_exists_is_replaced_only_if_asked(kcompact: Kcompact, tmp_path: Path) -> None:
    report = tmp_path / "report.txt"
    report.write_text("mine")
    refused = kcompact("dirty-ratio", ORDERS, "-o", report)
    assert (refused.exit_code, report.read_text()) == (2, "mine")
    assert "add --overwrite" in refused.stderr
    run = kcompact("dirty-ratio", ORDERS, "-o", report, "--overwrite")
    assert (run.exit_code, report.read_text()[:11]) == (0, "Dirty ratio")


def test_a_dump_is_never_replaced_by_its_report(kcompact: Kcompact, tmp_path: Path) -> None:
    dump = tmp_path / "orders.jsonl"
    dump.write_bytes(ORDERS.read_bytes())
    run = kcompact("dirty-ratio", dump, "-o", dump, "--overwrite")
    assert (run.exit_code, dump.read_bytes()) == (2, ORDERS.read_bytes())


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--min-cleanable-dirty-ratio", "2"], "from 0 to 1"),
        (["--min-compaction-lag-ms", "2d", "--max-compaction-lag-ms", "1d"], "exceeds"),
        (["--now", "today"], "--now: 'today' is not a moment"),
        (["--checkpoint", "missing-file"], "missing-file: cannot be read"),
        (["--state", "missing-folder"], "missing-folder: no such state folder"),
        (["--log-end-offset", "5"], "names no topic and partition, and the dump holds 3 logs"),
        (["--segments", str(CASES["w01-upserts"].path("before", "segments"))], "is about w01-0"),
    ],
)
def test_what_cannot_be_is_refused(kcompact: Kcompact, options: list[str], reason: str) -> None:
    run = kcompact("dirty-ratio", ORDERS, *options)
    assert run.exit_code == 2
    assert reason in run.stderr


def test_segments_that_start_behind_the_dump_are_asked_about(kcompact: Kcompact, tmp_path: Path) -> None:
    (tmp_path / "segments").write_text("orders 0 1300 9000\norders 0 1432 0\n")
    run = kcompact("dirty-ratio", ORDERS, "--partitions", "0", "--segments", tmp_path / "segments")
    assert run.exit_code == 0
    assert "orders-0: the dump starts at offset 1200, the segments at 1300" in run.stderr


def test_retention_that_is_given_is_said_to_change_no_figure(kcompact: Kcompact) -> None:
    policy = ("--cleanup-policy", "compact,delete", "--partitions", "0", "--now", "1760030000000")
    run = kcompact("dirty-ratio", ORDERS, *policy, "--retention-ms", "1h,20h")
    assert (run.exit_code, "--retention-ms not used" in run.stderr) == (0, True), run.stderr
    assert "not used" not in kcompact("dirty-ratio", ORDERS, *policy).stderr


def test_the_readme_shows_what_is_printed(kcompact: Kcompact, monkeypatch: pytest.MonkeyPatch) -> None:
    root = ORDERS.parents[1]
    shown = (root / "README.md").read_text().split("$ kcompact dirty-ratio ")[1].split("```")[0]
    command, _, output = shown.partition("\n")
    monkeypatch.chdir(root)
    assert kcompact("dirty-ratio", *shlex.split(command)).stdout == output
