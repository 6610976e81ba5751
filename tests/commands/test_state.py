"""``--state`` over several runs: each goes on where the last one ended, as one broker would."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from conftest import Run
from dump_log_text import Logged, write_dump_log
from golden_cases import GoldenCase, Log, golden_cases
from golden_options import options_of
from kcompact.broker.state.known_records import RECORDS_PER_LOG, rank
from nights import LINES, NOW_MS, expected, now_ms

pytestmark = pytest.mark.usefixtures("spark")

ORDERS = Path(__file__).parents[2] / "samples" / "orders.jsonl"
CASES = {case.name: case for case in golden_cases()}
Kcompact = Callable[..., Run]


def record_line(offset: int, key: str, payload: str | None, partition: int = 0) -> str:
    """A record as kcat tells it."""
    place = {"topic": "t", "partition": partition, "offset": offset, "tstype": "create", "ts": NOW_MS}
    return json.dumps({**place, "broker": 1, "key": key, "payload": payload}) + "\n"


def by_log(lines: list[str], logs: list[Log]) -> dict[Log, list[int]]:
    offsets_by_log: dict[Log, list[int]] = {log: [] for log in logs}
    for line in lines:
        record = json.loads(line)
        offsets_by_log[record["topic"], record["partition"]].append(record["offset"])
    return {log: sorted(offsets) for log, offsets in offsets_by_log.items()}


def new_lines(case: GoldenCase, number: int, known: dict[Log, list[int]], scratch: Path) -> list[str]:
    """What was produced since the last run: lines of the next dump that the last output does not hold."""
    lines = case.dump_path(case.pairs[number][0], scratch).read_text().splitlines()
    unseen = []
    for line in lines:
        record = json.loads(line)
        if record["offset"] not in known.get((record["topic"], record["partition"]), []):
            unseen.append(line)
    return unseen


@pytest.mark.parametrize(
    "name",
    [
        "w05-two-stage-deletion",  # horizons come from the state alone
        "w12-incremental",
        "w22-full-map-tombstones",
        "w31-horizon-stays",
    ],
)
def test_runs_in_a_row_leave_what_one_broker_left(name: str, kcompact: Kcompact, tmp_path: Path) -> None:
    case = CASES[name]
    state, last = tmp_path / "state", None
    known: dict[Log, list[int]] = {}
    for number, (_, after) in enumerate(case.pairs):
        fresh = tmp_path / f"new-{number}.jsonl"
        fresh.write_text("".join(f"{line}\n" for line in new_lines(case, number, known, tmp_path)))
        inputs = [path for path in (last, fresh) if path and path.stat().st_size]
        last = tmp_path / f"compacted-{number}.jsonl"
        options = [*options_of(case, number, tmp_path), "--respect-dirty-ratio", "--null-keys", "drop"]
        run = kcompact("compact", *inputs, "--state", state, "-o", last, *options)

        assert run.exit_code == 0, run.stderr
        known = by_log(last.read_text().splitlines(), case.logs)
        assert known == case.offsets(after)
        entries = (state / "cleaner-offset-checkpoint").read_text().splitlines()[2:]
        assert sorted(entries) == sorted(f"{t} {p} {at}" for (t, p), at in case.checkpoint(after).items())


def test_next_week_goes_on_where_this_week_ended(kcompact: Kcompact, tmp_path: Path) -> None:
    """Two halves with a state leave what the whole leaves at once; the state knows each log's end."""
    lines = ORDERS.read_text().splitlines(keepends=True)
    (tmp_path / "one.jsonl").write_text("".join(lines[:300]))
    (tmp_path / "two.jsonl").write_text("".join(lines[300:]))
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    state = tmp_path / "state"
    for inputs, output in (([tmp_path / "one.jsonl"], first), ([first, tmp_path / "two.jsonl"], second)):
        run = kcompact("compact", *inputs, "--state", state, "-o", output)
        assert run.exit_code == 0, run.stderr
    assert kcompact("compact", ORDERS, "-o", tmp_path / "whole.jsonl").exit_code == 0
    whole = (tmp_path / "whole.jsonl").read_text().splitlines()
    assert sorted(second.read_text().splitlines()) == sorted(whole)
    dirtiness = kcompact("dirty-ratio", second, "--state", state, "--format", "json")
    for log in json.loads(dirtiness.stdout)["logs"]:
        assert (log["binding_limit"], log["estimate"]) == ("nothing dirty", None)


def compact_on(day: int, kcompact: Kcompact, state: Path, output: Path, *inputs: Path) -> Run:
    return kcompact("compact", *inputs, "--state", state, "-o", output, "--overwrite", "--now", now_ms(day))


@pytest.mark.parametrize("as_one_file", [False, True], ids=["beside its output", "alone"])
def test_a_full_dump_every_day_leaves_what_new_records_every_day_leave(
    as_one_file: bool, kcompact: Kcompact, tmp_path: Path
) -> None:
    """One line for cron, the same every night. Deleted keys do not come back when tombstones have gone."""
    days = [LINES[:200], LINES[200:400], LINES[400:]]
    full, new = tmp_path / "full.jsonl", tmp_path / "new.jsonl"
    of_full, of_new = tmp_path / "of-full.jsonl", tmp_path / "of-new.jsonl"
    for day, lines in enumerate(days):
        full.write_text("".join(line for lines in days[: day + 1] for line in lines))
        new.write_text("".join(lines))
        inputs = [full] if as_one_file or not day else [of_full, full]
        again = compact_on(day, kcompact, tmp_path / "full.state", of_full, *inputs)
        step = compact_on(day, kcompact, tmp_path / "new.state", of_new, *([of_new, new] if day else [new]))
        assert (again.exit_code, step.exit_code) == (0, 0), again.stderr + step.stderr
        left = sorted(of_full.read_text().splitlines(keepends=True))
        assert left == sorted(of_new.read_text().splitlines(keepends=True))
        assert left == expected(days[: day + 1])
        assert ("a full dump again, so cleaned from the start" in again.stderr) is bool(day)
        for name in ("cleaner-offset-checkpoint", "delete-horizons"):
            assert (tmp_path / "full.state" / name).read_bytes() == (
                tmp_path / "new.state" / name
            ).read_bytes()


@pytest.mark.slow  # 12 runs
def test_a_state_remembers_the_rounds_of_one_retention_alone(kcompact: Kcompact, tmp_path: Path) -> None:
    """A tombstone each night, retained for two and a half: it stays for three nights."""
    state, last, hour = tmp_path / "state", None, 3_600_000
    for night in range(12):
        fresh, output = tmp_path / f"new-{night}.jsonl", tmp_path / f"out-{night}.jsonl"
        fresh.write_text(record_line(night, f"k{night}", None))
        clock = ("--now", NOW_MS + night * 24 * hour, "--delete-retention-ms", 60 * hour)
        run = kcompact(
            "compact", *[path for path in (last, fresh) if path], "--state", state, "-o", output, *clock
        )
        assert run.exit_code == 0, run.stderr
        left = [json.loads(line)["offset"] for line in output.read_text().splitlines()]
        assert left == list(range(max(0, night - 2), night + 1))
        last = output
    horizons = (state / "delete-horizons").read_text().splitlines()
    ends_with_night = [(end, NOW_MS + (night * 24 + 60) * hour) for end, night in ((9, 8), (10, 9), (11, 10))]
    ends_with_night.append((12, NOW_MS + (11 * 24 + 60) * hour))
    assert horizons == [f"t 0 {end} {horizon_ms}" for end, horizon_ms in ends_with_night]


DAYS = [
    [(0, "a", "1"), (1, "b", "1")],
    [(2, "a", None), (3, "b", "2")],
    [(4, "c", "1")],
    [(5, "d", "1")],
]
NAMES = ("topic", "partition", "offset", "timestamp", "key", "value")


def write_records(path: Path, records: list[tuple[int, int, str, str | None]]) -> Path:
    """Records of a topic: partition, offset, key and value."""
    rows = (
        dict(zip(NAMES, ("t", partition, offset, 1000, key, value), strict=True))
        for partition, offset, key, value in records
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def after_three_days(kcompact: Kcompact, folder: Path) -> tuple[list[Path], Callable[..., Run]]:
    """The files of four days, and a run on any of them after three; the tombstone of ``a`` has gone then."""
    days, output = [folder / f"day{number}.jsonl" for number in range(4)], folder / "out.jsonl"
    for path, records in zip(days, DAYS, strict=True):
        write_records(path, [(0, *record) for record in records])

    def run(now: int, *inputs: Path) -> Run:
        options = ("--state", folder / "state", "--overwrite", "--delete-retention-ms", 10, "--now", now)
        return kcompact("compact", *inputs, "-o", output, *options)

    for number in range(3):
        assert run(2000 + 1000 * number, *([output] if number else []), days[number]).exit_code == 0
    assert [json.loads(line)["key"] for line in output.read_text().splitlines()] == ["b", "c"]
    return days, run


@pytest.mark.parametrize("old_days", [[0], [0, 2], [1]], ids=["the first", "two of three", "the second"])
def test_some_old_days_beside_the_last_output_are_refused(
    old_days: list[int], kcompact: Kcompact, tmp_path: Path
) -> None:
    """As by a pattern that matches more than the new file: what was deleted would come back."""
    days, run = after_three_days(kcompact, tmp_path)
    before = (tmp_path / "out.jsonl").read_bytes()
    refused = run(5000, tmp_path / "out.jsonl", *(days[day] for day in old_days), days[3])
    assert (refused.exit_code, (tmp_path / "out.jsonl").read_bytes()) == (2, before)
    assert f"leave {days[old_days[0]]} out" in refused.stderr


@pytest.mark.parametrize("with_output", [True, False], ids=["beside the last output", "alone"])
def test_an_old_day_is_refused_though_what_was_read_last_left_nothing(
    with_output: bool, kcompact: Kcompact, tmp_path: Path
) -> None:
    """The key that a dropped tombstone deleted would come back; the records that are left are all there."""
    first = write_records(tmp_path / "1.jsonl", [(0, 0, "a", "1"), (0, 1, "b", "1")])
    second = write_records(tmp_path / "2.jsonl", [(0, 2, "a", None)])
    output, options = tmp_path / "out.jsonl", ("--state", tmp_path / "state", "--drop-tombstones")
    assert kcompact("compact", first, *options, "-o", tmp_path / "before.jsonl").exit_code == 0
    assert kcompact("compact", tmp_path / "before.jsonl", second, *options, "-o", output).exit_code == 0
    inputs = [output, first] if with_output else [first]
    refused = kcompact("compact", *inputs, *options, "-o", tmp_path / "next.jsonl")
    assert refused.exit_code == 2, refused.stderr
    run = kcompact("compact", output, *options, "-o", tmp_path / "next.jsonl")
    assert run.exit_code == 0, run.stderr
    assert [json.loads(line)["key"] for line in (tmp_path / "next.jsonl").read_text().splitlines()] == ["b"]


def test_of_an_older_output_only_the_logs_that_are_needed_are_taken(
    kcompact: Kcompact, tmp_path: Path
) -> None:
    """A run left out partitions: the next one asks for the last output that holds them."""
    first = write_records(tmp_path / "1.jsonl", [(0, 0, "a", "1"), (1, 0, "x", "1"), (2, 0, "y", "1")])
    second = write_records(tmp_path / "2.jsonl", [(0, 1, "b", "1")])
    third = write_records(tmp_path / "3.jsonl", [(0, 2, "c", "1"), (1, 1, "z", "1"), (2, 1, "w", "1")])
    outputs = [tmp_path / f"out{number}.jsonl" for number in range(4)]
    state = ("--state", tmp_path / "state")
    assert kcompact("compact", first, *state, "-o", outputs[0]).exit_code == 0
    assert kcompact("compact", outputs[0], second, *state, "--partitions", 0, "-o", outputs[1]).exit_code == 0
    refused = kcompact("compact", outputs[1], outputs[0], third, *state, "-o", outputs[3])
    assert refused.exit_code == 2
    remedy = f"kcompact compact {outputs[0]} --topic t --partitions 1,2 -o FILE"
    assert f"of {outputs[0]} only t-1, t-2 are needed" in refused.stderr
    assert remedy in refused.stderr
    assert kcompact(*remedy.replace("FILE", str(outputs[2])).split()[1:]).exit_code == 0
    run = kcompact("compact", outputs[1], outputs[2], third, *state, "-o", outputs[3])
    assert run.exit_code == 0, run.stderr
    rows = map(json.loads, outputs[3].read_text().splitlines())
    assert sorted((row["partition"], row["key"]) for row in rows) == [
        (0, "a"),
        (0, "b"),
        (0, "c"),
        (1, "x"),
        (1, "z"),
        (2, "w"),
        (2, "y"),
    ]


def test_a_full_dump_in_files_whose_boundary_was_cleaned_since_is_taken(
    kcompact: Kcompact, tmp_path: Path
) -> None:
    """The record that the state knows as the last of its key was superseded by one of the second file."""
    first = write_records(tmp_path / "1.jsonl", [(0, 0, "a", "1"), (0, 1, "b", "1"), (0, 2, "c", "1")])
    state = ("--state", tmp_path / "state")
    assert kcompact("compact", first, *state, "-o", tmp_path / "out.jsonl").exit_code == 0
    parts = [
        write_records(tmp_path / "f1.jsonl", [(0, 0, "a", "1"), (0, 1, "b", "1")]),
        write_records(tmp_path / "f2.jsonl", [(0, 3, "c", "2"), (0, 4, "d", "1")]),
    ]
    run = kcompact("compact", tmp_path / "out.jsonl", *parts, *state, "-o", tmp_path / "next.jsonl")
    assert run.exit_code == 0, run.stderr
    kept = map(json.loads, (tmp_path / "next.jsonl").read_text().splitlines())
    assert sorted(row["offset"] for row in kept) == [0, 1, 3, 4]


def test_a_day_of_which_all_is_the_last_output_counts_as_both(kcompact: Kcompact, tmp_path: Path) -> None:
    texts = [[(0, 0, "a", "1"), (0, 1, "b", "1")], [(0, 2, "a", "2"), (0, 3, "b", "2")], [(0, 4, "a", "3")]]
    days = [write_records(tmp_path / f"d{number}.jsonl", records) for number, records in enumerate(texts)]
    output, state = tmp_path / "out.jsonl", ("--state", tmp_path / "state")
    assert kcompact("compact", *days[:2], *state, "-o", output).exit_code == 0
    assert output.read_bytes() == days[1].read_bytes()
    part = write_records(tmp_path / "part.jsonl", texts[0][:1])
    refused = kcompact("compact", output, part, *state, "-o", tmp_path / "no.jsonl")
    assert refused.exit_code == 2, refused.stderr  # offset 1 is nowhere
    run = kcompact("compact", *days, *state, "-o", tmp_path / "next.jsonl")
    assert run.exit_code == 0, run.stderr
    kept = map(json.loads, (tmp_path / "next.jsonl").read_text().splitlines())
    assert [(row["offset"], row["key"]) for row in kept] == [(3, "b"), (4, "a")]


@pytest.mark.parametrize("first_day", range(4))
def test_all_days_from_one_on_beside_the_last_output_are_taken(
    first_day: int, kcompact: Kcompact, tmp_path: Path
) -> None:
    days, run = after_three_days(kcompact, tmp_path)
    assert run(5000, tmp_path / "out.jsonl", *days[first_day:]).exit_code == 0
    kept = (tmp_path / "out.jsonl").read_text().splitlines()
    assert [json.loads(line)["key"] for line in kept] == ["b", "c", "d"]


@pytest.mark.parametrize(
    ("options", "checkpoint"),
    [
        (["--min-compaction-lag-ms", "3650d"], []),
        (["--segment-bytes", "1GiB"], []),
        (["--respect-dirty-ratio", "--min-cleanable-dirty-ratio", "1.0"], []),
        (["--last-stable-offset", "t-0=1"], ["t 0 1"]),
    ],
    ids=["lag", "active segment", "ratio", "open transaction"],
)
def test_the_checkpoint_says_how_far_a_full_dump_was_cleaned_this_time(
    options: list[str], checkpoint: list[str], kcompact: Kcompact, tmp_path: Path
) -> None:
    """Else the next round passes over what came back with the dump, and a deleted key lives once more."""
    state, dump, new = tmp_path / "state", tmp_path / "dump.jsonl", tmp_path / "new.jsonl"
    outputs = [tmp_path / f"{day}.jsonl" for day in range(3)]
    dump.write_text(record_line(0, "a", "deleted") + record_line(1, "b", "1") + record_line(2, "a", None))
    new.write_text(record_line(4, "d", "1"))
    assert compact_on(0, kcompact, state, outputs[0], dump).exit_code == 0
    dump.write_text(dump.read_text() + record_line(3, "c", "1"))
    run = kcompact("compact", dump, "--state", state, "-o", outputs[1], "--now", now_ms(0), *options)
    assert run.exit_code == 0, run.stderr
    assert outputs[1].read_text() == dump.read_text()
    assert (state / "cleaner-offset-checkpoint").read_text().splitlines()[2:] == checkpoint
    decided = "--last-stable-offset", "t-0=5", "--now", now_ms(1)
    run = kcompact("compact", outputs[1], new, "--state", state, "-o", outputs[2], *decided)
    assert run.exit_code == 0, run.stderr
    assert outputs[2].read_text() == record_line(1, "b", "1") + record_line(3, "c", "1") + record_line(
        4, "d", "1"
    )


def test_how_dirty_a_full_dump_is_counts_from_its_start(kcompact: Kcompact, tmp_path: Path) -> None:
    """As the next run would clean it; beside the last output alone there is nothing to clean."""
    state, output, dump = tmp_path / "state", tmp_path / "out.jsonl", tmp_path / "dump.jsonl"
    dump.write_text("".join(LINES[:300]))
    assert compact_on(0, kcompact, state, output, dump).exit_code == 0
    dump.write_text("".join(LINES))
    for inputs, ratio in (([dump], 1.0), ([output, dump], 1.0), ([output], 0.0)):
        run = kcompact("dirty-ratio", *inputs, "--state", state, "--format", "json", "--now", NOW_MS)
        assert run.exit_code == 0, run.stderr
        report = json.loads(run.stdout)
        assert [log["dirty_ratio"] for log in report["logs"]] == [ratio] * 3
        assert any("a full dump again" in note for note in report["notes"]) is bool(ratio)


def test_a_dump_that_a_broker_has_compacted_since_is_the_same_log(kcompact: Kcompact, tmp_path: Path) -> None:
    """Superseded records have gone from it, and the tombstones that were in the dump before."""
    state, output, dump = tmp_path / "state", tmp_path / "out.jsonl", tmp_path / "dump.jsonl"
    dump.write_text("".join(LINES[:300]))
    assert compact_on(0, kcompact, state, output, dump).exit_code == 0
    left = expected([LINES[:300], LINES[300:]])
    dump.write_text("".join(left))
    run = compact_on(1, kcompact, state, output, dump)
    assert run.exit_code == 0, run.stderr
    assert sorted(output.read_text().splitlines(keepends=True)) == left


def with_shifted_offsets(lines: list[str]) -> list[str]:
    return [
        json.dumps({**json.loads(line), "offset": json.loads(line)["offset"] + 1}) + "\n" for line in lines
    ]


def with_later_timestamps(lines: list[str]) -> list[str]:
    return [json.dumps({**record, "ts": record["ts"] + 1}) + "\n" for record in map(json.loads, lines)]


def without_a_partition(lines: list[str]) -> list[str]:
    return [line for line in lines if json.loads(line)["partition"] != 1]


def without_the_beginning(lines: list[str]) -> list[str]:
    return lines[280:]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (with_shifted_offsets, "the state knows another key"),
        (with_later_timestamps, "the state knows the timestamp 1"),
        (without_a_partition, "has no record of orders-1, which the state knows; if retention"),
        (without_the_beginning, "which the state knows as the latest of its key"),
    ],
)
def test_a_full_dump_that_is_another_log_is_refused_in_a_sentence(
    change: Callable[[list[str]], list[str]], sentence: str, kcompact: Kcompact, tmp_path: Path
) -> None:
    state, output, dump = tmp_path / "state", tmp_path / "out.jsonl", tmp_path / "dump.jsonl"
    dump.write_text("".join(LINES[:300]))
    assert compact_on(0, kcompact, state, output, dump).exit_code == 0
    before = {path: path.read_bytes() for path in [output, *state.iterdir()]}
    dump.write_text("".join(change(LINES)))
    run = compact_on(1, kcompact, state, output, dump)
    assert run.exit_code == 2
    assert sentence in run.stderr
    assert {path: path.read_bytes() for path in [output, *state.iterdir()]} == before


@pytest.mark.parametrize(
    ("option", "cut_off", "code"),
    [("--partitions=0", "", 0), ("--keep-going", "{", 1)],
    ids=["option", "damage"],
)
def test_of_a_full_dump_a_log_that_the_run_leaves_out_is_not_asked_for(
    option: str, cut_off: str, code: int, kcompact: Kcompact, tmp_path: Path
) -> None:
    """Its checkpoint stays, and a later full dump brings it back."""
    state, dump = tmp_path / "state", tmp_path / "dump"
    outputs = [tmp_path / f"{day}.jsonl" for day in range(3)]
    first, second = record_line(0, "a", "1"), record_line(1, "a", "2")
    other = record_line(0, "x", "1", partition=1)
    dump.mkdir()
    (dump / "t-0.jsonl").write_text(first)
    (dump / "t-1.jsonl").write_text(other)
    assert compact_on(0, kcompact, state, outputs[0], dump).exit_code == 0
    (dump / "t-0.jsonl").write_text(first + second)
    (dump / "t-1.jsonl").write_text(other + cut_off)
    assert kcompact("dirty-ratio", dump, "--state", state, option).exit_code == code
    run = kcompact("compact", dump, "--state", state, "-o", outputs[1], option)
    assert run.exit_code == code, run.stderr
    assert outputs[1].read_text() == second
    assert (state / "cleaner-offset-checkpoint").read_text().splitlines()[2:] == ["t 0 2", "t 1 1"]
    (dump / "t-1.jsonl").write_text(other)
    run = compact_on(1, kcompact, state, outputs[2], dump)
    assert run.exit_code == 0, run.stderr
    assert outputs[2].read_text() == second + other


@pytest.mark.parametrize("command", ["compact", "dirty-ratio"])
def test_a_full_dump_of_a_log_that_starts_later_now_is_taken_once_that_is_said(
    command: str, kcompact: Kcompact, tmp_path: Path
) -> None:
    """Retention or DeleteRecords has moved its start since; what is lacking behind that is refused still."""
    state, old, new = tmp_path / "state", tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    old.write_text("".join(record_line(offset, f"k{offset}", "1") for offset in range(6)))
    new.write_text("".join(record_line(offset, f"k{offset}", "1") for offset in range(4, 9)))
    assert compact_on(0, kcompact, state, tmp_path / "out.jsonl", old).exit_code == 0
    output = ["-o", tmp_path / "next.jsonl"] if command == "compact" else []
    for start in ([], ["--log-start-offset", "t-0=3"]):
        run = kcompact(command, new, "--state", state, *output, *start)
        assert run.exit_code == 2
        assert f"it lacks t-0 offset {3 if start else 0}" in run.stderr
        assert "or the log starts after it now (--log-start-offset)" in run.stderr
    run = kcompact(command, new, "--state", state, *output, "--log-start-offset", "t-0=4")
    assert run.exit_code == 0, run.stderr
    if output:
        assert (tmp_path / "next.jsonl").read_text() == new.read_text()


@pytest.mark.parametrize("options", [[], ["--log-end-offset", "t-0=9"]], ids=["by key", "by record"])
def test_a_log_that_the_last_run_left_out_is_given_anew_or_the_run_refused(
    options: list[str], kcompact: Kcompact, tmp_path: Path
) -> None:
    """The state knows its records, which the output of that run does not hold."""
    state, old, new = tmp_path / "state", tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    outputs = [tmp_path / f"{day}.jsonl" for day in range(4)]
    old.write_text(record_line(0, "a", "1") + record_line(0, "x", "only here", 1))
    new.write_text(record_line(1, "a", "2") + record_line(1, "y", "1", 1))
    assert compact_on(0, kcompact, state, outputs[0], old).exit_code == 0
    part = kcompact("compact", outputs[0], new, "--state", state, "-o", outputs[1], "--partitions", "0")
    assert part.exit_code == 0, part.stderr
    before = {path.name: path.read_bytes() for path in state.iterdir()}
    for command in (["compact", "-o", outputs[2]], ["dirty-ratio"]):
        run = kcompact(*command, outputs[1], new, "--state", state, *options)
        assert run.exit_code == 2
        assert "the last run left out t-1, so its output has no record of it" in run.stderr
        assert "it lacks t-1 offset 0" in run.stderr
        assert "give the last output that holds t-1 as well, or a full dump" in run.stderr
    assert not outputs[2].exists()
    assert {path.name: path.read_bytes() for path in state.iterdir()} == before
    run = kcompact("compact", *outputs[:2], new, "--state", state, "-o", outputs[2], *options)
    assert run.exit_code == 0, run.stderr
    left = [record_line(1, "a", "2"), record_line(0, "x", "only here", 1), record_line(1, "y", "1", 1)]
    assert sorted(outputs[2].read_text().splitlines(keepends=True)) == sorted(left)
    run = compact_on(1, kcompact, state, outputs[3], outputs[2])
    assert run.exit_code == 0, run.stderr
    assert sorted(outputs[3].read_text().splitlines(keepends=True)) == sorted(left)


def test_what_was_undecided_is_not_taken_for_committed_by_the_next_run(
    kcompact: Kcompact, tmp_path: Path
) -> None:
    state, old, new = tmp_path / "state", tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    outputs = [tmp_path / f"{day}.jsonl" for day in range(3)]
    old.write_text(record_line(0, "a", "1") + record_line(1, "a", "2") + record_line(2, "a", "undecided"))
    new.write_text(record_line(4, "b", "1"))
    first = kcompact("compact", old, "--state", state, "-o", outputs[0], "--last-stable-offset", "t-0=2")
    assert first.exit_code == 0, first.stderr
    for command in (["compact", "-o", outputs[1]], ["dirty-ratio"]):
        run = kcompact(*command, outputs[0], new, "--state", state)
        assert run.exit_code == 2
        assert "transactions of t-0 were undecided from offset 2 on" in run.stderr
    assert not outputs[1].exists()
    last_stable = "--last-stable-offset", "t-0=2"
    run = kcompact("compact", outputs[0], new, "--state", state, "-o", outputs[1], *last_stable)
    assert (run.exit_code, outputs[1].read_text()) == (0, outputs[0].read_text() + new.read_text())
    last_stable = "--last-stable-offset", "t-0=5"  # it has committed
    run = kcompact("compact", outputs[1], "--state", state, "-o", outputs[2], *last_stable)
    assert run.exit_code == 0, run.stderr
    assert [json.loads(line)["offset"] for line in outputs[2].read_text().splitlines()] == [2, 4]
    run = kcompact("compact", outputs[2], "--state", state, "-o", outputs[1], "--overwrite")
    assert run.exit_code == 0, run.stderr


@pytest.mark.parametrize("told", ["nothing", "the new window"])
def test_aborted_data_that_no_round_has_reached_is_remembered(
    told: str, kcompact: Kcompact, tmp_path: Path
) -> None:
    """Offset 2 is in the active segment of the first run; the second is told of nothing, or of new data."""
    state, old, new = tmp_path / "state", tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    outputs = [tmp_path / f"{day}.jsonl" for day in range(3)]
    segments, aborted = tmp_path / "segments", [tmp_path / f"aborted-{day}" for day in range(2)]
    old.write_text("".join(record_line(n, "a", v) for n, v in [(0, "1"), (1, "2"), (2, "aborted"), (4, "3")]))
    old.write_text(old.read_text() + record_line(5, "b", "1") + record_line(6, "b", None))
    new.write_text(record_line(8, "c", "1") + record_line(9, "c", "2"))
    segments.write_text("t 0 0 300\nt 0 2 300\n")
    aborted[0].write_text("t 0 2 2\nt 0 4 4\nt 0 6 6\n")
    aborted[1].write_text("t 0 9 9\n")
    options = ["--aborted", aborted[0], "--segments", segments]
    run = kcompact("compact", old, "--state", state, "-o", outputs[0], *options)
    assert run.exit_code == 0, run.stderr
    options = [] if told == "nothing" else ["--aborted", aborted[1]]
    run = kcompact("compact", outputs[0], new, "--state", state, "-o", outputs[1], *options)
    assert run.exit_code == 0, run.stderr
    left = [json.loads(line)["offset"] for line in outputs[1].read_text().splitlines()]
    assert left == [1, 5, 9 if told == "nothing" else 8]
    assert json.loads((state / "output.json").read_text())["aborted"] == [["t", 0, []]]
    run = kcompact("compact", outputs[1], "--state", state, "-o", outputs[2])
    assert (run.exit_code, outputs[2].read_text()) == (0, outputs[1].read_text())


@pytest.mark.parametrize("option", ["--aborted", "--batches", "--read-committed"])
def test_aborted_data_does_not_come_back_with_a_full_dump_about_which_nothing_is_told(
    option: str, kcompact: Kcompact, tmp_path: Path
) -> None:
    """Offset 2 would supersede offset 1, which is what readers of committed data see."""
    records = [Logged(0, "a=0"), Logged(1, "a=1")]
    aborted = [Logged(2, "a=2", producer=7), Logged(3, "ABORT", producer=7)]
    later = [Logged(4, "b=4"), Logged(5, "c=5")]
    state, out = ("--state", tmp_path / "state"), tmp_path / "out.jsonl"
    outputs = [tmp_path / f"night-{number}.jsonl" for number in range(2)]
    lines = [record_line(n, k, str(n)) for n, k in enumerate("aaa-bc") if k != "-"]
    first, full, new = tmp_path / "first.jsonl", tmp_path / "full.jsonl", tmp_path / "new.jsonl"
    first.write_text("".join(lines[:3]))
    full.write_text("".join(lines))
    new.write_text("".join(lines[3:]))
    (tmp_path / "aborted").write_text("t 0 2 2\n")
    (tmp_path / "committed.jsonl").write_text("".join([*lines[:2], *lines[3:]]))
    write_dump_log(tmp_path / "log.txt", {0: records, 2: aborted, 4: later})
    sources = {"--aborted": "aborted", "--batches": "log.txt", "--read-committed": "committed.jsonl"}
    telling = (option, tmp_path / sources[option])

    run = kcompact("compact", first, *state, *telling, "-o", outputs[0])
    assert run.exit_code == 0, run.stderr
    run = kcompact("compact", outputs[0], new, *state, "-o", outputs[1])  # it forgets nothing
    assert run.exit_code == 0, run.stderr

    for command in (["compact", "-o", out], ["dirty-ratio"]):
        run = kcompact(*command, full, *state)
        assert run.exit_code == 2
        assert "earlier runs removed aborted data of t-0 below offset 3" in run.stderr
    assert not out.exists()
    run = kcompact("compact", full, *state, *telling, "-o", out)
    assert run.exit_code == 0, run.stderr
    assert [json.loads(line)["offset"] for line in out.read_text().splitlines()] == [1, 4, 5]


def test_a_full_dump_from_after_the_aborted_data_needs_no_telling(kcompact: Kcompact, tmp_path: Path) -> None:
    """Retention has taken it; nor is a log asked about of which no round removed any."""
    state, out = ("--state", tmp_path / "state"), tmp_path / "out.jsonl"
    lines = [record_line(n, key, str(n), part) for part in (0, 1) for n, key in enumerate("aabc")]
    first, full = tmp_path / "first.jsonl", tmp_path / "full.jsonl"
    first.write_text("".join(lines))
    full.write_text("".join([*lines[2:], record_line(9, "d", "9")]))
    (tmp_path / "aborted").write_text("t 0 1 1\n")
    run = kcompact("compact", first, *state, "--aborted", tmp_path / "aborted", "-o", tmp_path / "l.jsonl")
    assert run.exit_code == 0, run.stderr

    run = kcompact("compact", full, *state, "--log-start-offset", "t-0=2", "-o", out)

    assert run.exit_code == 0, run.stderr
    left = [(row["partition"], row["offset"]) for row in map(json.loads, out.read_text().splitlines())]
    assert left == [(0, 2), (0, 3), (1, 1), (1, 2), (1, 3), (0, 9)]


@pytest.mark.parametrize(
    "options",
    [["--canonical-keys"], ["--key-field", "id,region"], ["--fields", "key=payload"]],
    ids=["canonical keys", "fields of the value", "another field"],
)
def test_keys_are_read_as_they_were_when_the_state_was_written(
    options: list[str], kcompact: Kcompact, tmp_path: Path
) -> None:
    """Whatever is clean by the checkpoint may hold several records of what is one key now."""
    state, old, new = tmp_path / "state", tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    outputs = [tmp_path / f"{day}.jsonl" for day in range(2)]
    row = json.dumps({"id": 1, "region": "eu"})
    old.write_text(record_line(0, '{"id":1}', row) + record_line(1, '{"id": 1}', row))
    new.write_text(old.read_text() + record_line(2, "y", row))
    assert compact_on(0, kcompact, state, outputs[0], old).exit_code == 0
    for command, inputs in ((["compact", "-o", outputs[1]], [outputs[0], new]), (["dirty-ratio"], [new])):
        run = kcompact(*command, *inputs, "--state", state, *options)
        assert run.exit_code == 2
        assert "keys were read with no option when this state was written" in run.stderr
        assert f"and with {' '.join(options)} now" in run.stderr
        assert "give the same options for keys, or start a new --state folder" in run.stderr
    for inputs in ([outputs[0], new], [outputs[1]]):  # with a new state
        line = ["compact", *inputs, "--state", tmp_path / "anew", "-o", outputs[1], "--overwrite"]
        run = kcompact(*line, *options)
        assert run.exit_code == 0, run.stderr
        assert len(outputs[1].read_text().splitlines()) == (2 if options == ["--canonical-keys"] else 1)


def test_runs_on_one_log_alone_go_on_though_the_state_knows_others(
    kcompact: Kcompact, tmp_path: Path
) -> None:
    state, old, new = tmp_path / "state", tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    outputs = [tmp_path / f"{day}.jsonl" for day in range(3)]
    old.write_text(record_line(0, "a", "1") + record_line(0, "x", "1", 1))
    assert compact_on(0, kcompact, state, outputs[0], old).exit_code == 0
    for day in (1, 2):
        new.write_text(record_line(day, "a", "2") + record_line(day, "y", "1", 1))
        inputs = [outputs[day - 1], new, "--partitions", "0"]
        run = kcompact("compact", *inputs, "--state", state, "-o", outputs[day])
        assert run.exit_code == 0, run.stderr
        assert outputs[day].read_text() == record_line(day, "a", "2")


def csv_line(offset: int, key: str, value: str) -> str:
    return f"topic,partition,offset,timestamp,key,value\nt,0,{offset},{NOW_MS},{key},{value}\n"


@pytest.mark.parametrize("as_folder", [True, False], ids=["a folder", "files with records"])
@pytest.mark.parametrize("dump_of", [record_line, csv_line], ids=["no bytes", "a header line"])
def test_a_file_of_which_no_record_is_left_need_not_be_given_again(
    dump_of: Callable[[int, str, str], str], as_folder: bool, kcompact: Kcompact, tmp_path: Path
) -> None:
    state, outputs = tmp_path / "state", [tmp_path / f"out-{night}" for night in range(3)]
    (tmp_path / "new-0").mkdir()
    for offset in range(2):
        (tmp_path / "new-0" / f"{offset}.txt").write_text(dump_of(offset, "a", str(offset)))
    run = kcompact("compact", tmp_path / "new-0", "--state", state, "-o", f"{outputs[0]}/")
    assert run.exit_code == 0, run.stderr
    assert str(NOW_MS) not in (outputs[0] / "0.txt").read_text()
    for night in (1, 2):
        new = tmp_path / f"new-{night}.txt"
        new.write_text(dump_of(night + 1, "b", str(night)))
        inputs = [path for path in outputs[night - 1].iterdir() if str(NOW_MS) in path.read_text()]
        if as_folder:
            inputs = [outputs[night - 1]]
        run = kcompact("compact", *inputs, new, "--state", state, "-o", f"{outputs[night]}/")
        assert run.exit_code == 0, run.stderr
    left = [path.read_text() for path in sorted(outputs[2].iterdir()) if str(NOW_MS) in path.read_text()]
    assert left == [dump_of(1, "a", "1"), dump_of(3, "b", "2")]


@pytest.mark.parametrize("command", ["compact", "dirty-ratio"])
def test_new_records_without_the_state_s_output_are_refused_and_nothing_is_written(
    command: str, kcompact: Kcompact, tmp_path: Path
) -> None:
    state, first, new = tmp_path / "state", tmp_path / "first.jsonl", tmp_path / "new.jsonl"
    (tmp_path / "old.jsonl").write_text("".join(LINES[:300]))
    new.write_text("".join(LINES[300:]))
    assert kcompact("compact", tmp_path / "old.jsonl", "--state", state, "-o", first).exit_code == 0
    remembered = {path.name: path.read_bytes() for path in state.iterdir()}
    output = ["-o", tmp_path / "second.jsonl"] if command == "compact" else []
    run = kcompact(command, new, "--state", state, *output)
    assert run.exit_code == 2
    assert "this state belongs to first.jsonl" in run.stderr
    assert "it is not among the inputs" in run.stderr
    assert "give first.jsonl as the last run left it, together with the new records" in run.stderr
    assert "start a new --state folder only where the inputs hold all records" in run.stderr
    assert "nothing is lost" not in run.stderr
    assert not (tmp_path / "second.jsonl").exists()
    assert {path.name: path.read_bytes() for path in state.iterdir()} == remembered


def test_a_changed_output_is_explained(kcompact: Kcompact, tmp_path: Path) -> None:
    """As after a run that died between writing its dump and its state."""
    state, first = tmp_path / "state", tmp_path / "first.jsonl"
    assert kcompact("compact", ORDERS, "--state", state, "-o", first).exit_code == 0
    first.write_text("".join(first.read_text().splitlines(keepends=True)[1:]))
    run = kcompact("compact", first, "--state", state, "-o", tmp_path / "second.jsonl")
    assert run.exit_code == 2
    assert "perhaps a run died between writing the dump and the state" in run.stderr


def test_a_full_dump_called_as_the_last_output_is_taken_under_another_name(
    kcompact: Kcompact, tmp_path: Path
) -> None:
    dump, out = tmp_path / "in" / "orders.jsonl", tmp_path / "orders.jsonl"
    dump.parent.mkdir()
    lines = [record_line(offset, f"k{offset % 3}", f"v{offset}") for offset in range(20)]
    command = ("--state", tmp_path / "state", "-o", out, "--overwrite", "--now", NOW_MS)
    dump.write_text("".join(lines[:10]))
    assert kcompact("compact", dump, *command).exit_code == 0
    dump.write_text("".join(lines))

    refused = kcompact("compact", dump, *command)
    renamed = dump.rename(dump.with_name("full.jsonl"))
    taken = kcompact("compact", renamed, *command)

    assert (refused.exit_code, taken.exit_code) == (2, 0)
    assert f"if {dump} is a new export, give it under another name" in refused.stderr
    assert out.read_text() == "".join(lines[17:])


def test_a_clock_before_1970_leaves_a_state_that_the_next_run_reads(
    kcompact: Kcompact, tmp_path: Path
) -> None:
    """A horizon below 0 is none, as for a broker."""
    dump, out, state = tmp_path / "t.jsonl", tmp_path / "out.jsonl", tmp_path / "state"
    dump.write_text(record_line(0, "a", "1") + record_line(1, "a", None))
    early = ("--now", "0001-01-01T00:00:00Z")
    assert kcompact("compact", dump, "--state", state, "-o", out, *early).exit_code == 0
    new = tmp_path / "new.jsonl"
    new.write_text(record_line(2, "b", "1"))
    run = kcompact("compact", out, new, "--state", state, "-o", tmp_path / "next.jsonl", "--now", NOW_MS)
    assert (run.exit_code, len((tmp_path / "next.jsonl").read_text().splitlines())) == (0, 2)


@pytest.mark.parametrize("topic", ["my orders", "my\u00a0orders", "my\norders", "#orders", ""])
def test_no_state_is_written_that_the_next_run_could_not_read(
    topic: str, kcompact: Kcompact, tmp_path: Path
) -> None:
    dump, out, state = tmp_path / "dump.jsonl", tmp_path / "out.jsonl", tmp_path / "state"
    lines = record_line(0, "a", "1") + record_line(1, "a", None)
    dump.write_text(lines.replace('"topic": "t"', f'"topic": {json.dumps(topic)}'))
    run = kcompact("compact", dump, "--state", state, "-o", out)
    assert (run.exit_code, "a state cannot hold the log of a topic" in run.stderr) == (2, True)
    assert [out.exists(), (tmp_path / "out.report").exists(), state.exists()] == [False] * 3


def test_checkpoint_and_state_exclude_each_other(kcompact: Kcompact, tmp_path: Path) -> None:
    (tmp_path / "checkpoint").write_text("0\n0\n")
    run = kcompact(
        "compact", ORDERS, "--state", tmp_path / "s", "--checkpoint", tmp_path / "checkpoint", "--dry-run"
    )
    assert (run.exit_code, "exclude each other" in run.stderr) == (2, True)
    assert not (tmp_path / "s").exists()


def test_new_records_whose_topic_is_a_name_that_the_state_does_not_know_are_refused(
    kcompact: Kcompact, tmp_path: Path
) -> None:
    """Another topic's records would supersede nothing."""
    state, output = tmp_path / "state", tmp_path / "orders.compacted.csv"
    (tmp_path / "orders.csv").write_text('partition,offset,key,value\n0,0,"a","secret"\n')
    (tmp_path / "new.csv").write_text('partition,offset,key,value\n0,1,"a",\n')
    options = "--state", state, "--tombstone", "missing"
    assert kcompact("compact", tmp_path / "orders.csv", *options, "-o", output).exit_code == 0
    run = kcompact("compact", output, tmp_path / "new.csv", *options, "-o", f"{tmp_path}/next/")
    assert run.exit_code == 2
    assert "its name says new, which the state" in run.stderr
    assert "topic=orders/" in run.stderr
    (tmp_path / "topic=orders").mkdir()
    (tmp_path / "new.csv").rename(tmp_path / "topic=orders" / "new.csv")
    new = tmp_path / "topic=orders" / "new.csv"
    run = kcompact("compact", output, new, *options, "-o", tmp_path / "next.csv")
    assert run.exit_code == 0, run.stderr
    assert "secret" not in (tmp_path / "next.csv").read_text()


def test_the_output_of_the_night_before_last_is_refused(kcompact: Kcompact, tmp_path: Path) -> None:
    """With the newest records; those of last night, not all of which came again, would be lost.

    The records of last night that a choice over the whole log meets, and the last one, did come again.
    """
    offsets = range(100, 130)
    ranks = dict(zip(offsets, rank(np.array(offsets)).tolist(), strict=True))
    spread = set(sorted(offsets, key=lambda offset: ranks[offset])[:RECORDS_PER_LOG]) | {max(offsets)}
    assert not set(offsets[-RECORDS_PER_LOG:]) <= spread
    nights = [
        write_records(tmp_path / "1.jsonl", [(0, 0, "a", "1")]),
        write_records(tmp_path / "2.jsonl", [(0, offset, f"b{offset}", "1") for offset in offsets]),
        write_records(tmp_path / "3.jsonl", [(0, 200 + offset, f"b{offset}", "2") for offset in spread]),
    ]
    outputs = [tmp_path / f"out{number}.jsonl" for number in range(3)]
    state = ("--state", tmp_path / "state")
    assert kcompact("compact", nights[0], *state, "-o", outputs[0]).exit_code == 0
    assert kcompact("compact", outputs[0], nights[1], *state, "-o", outputs[1]).exit_code == 0
    refused = kcompact("compact", outputs[0], nights[2], *state, "-o", outputs[2])
    assert (refused.exit_code, outputs[2].exists()) == (2, False)
    assert "it lacks t-0 offset" in refused.stderr
    run = kcompact("compact", outputs[1], nights[2], *state, "-o", outputs[2])
    assert (run.exit_code, len(outputs[2].read_text().splitlines())) == (0, 31), run.stderr


@pytest.mark.parametrize(("first", "is_noted"), [(2, False), (3, False), (4, True)])
def test_a_night_that_was_left_out_is_noted(
    first: int, is_noted: bool, kcompact: Kcompact, tmp_path: Path
) -> None:
    """Records of it cannot be told from those that a broker removed; the marker of a transaction can."""
    nights = [
        write_records(tmp_path / "1.jsonl", [(0, 0, "a", "1"), (0, 1, "b", "1")]),
        write_records(tmp_path / "2.jsonl", [(0, first, "a", "2")]),
    ]
    state = ("--state", tmp_path / "state")
    assert kcompact("compact", nights[0], *state, "-o", tmp_path / "out.jsonl").exit_code == 0
    run = kcompact("compact", tmp_path / "out.jsonl", nights[1], *state, "-o", tmp_path / "next.jsonl")
    assert run.exit_code == 0, run.stderr
    assert (f"no record of t-0 offsets 2 to {first - 1}" in run.stderr) == is_noted


@pytest.mark.parametrize("with_output", [True, False], ids=["beside the last output", "alone"])
@pytest.mark.parametrize(("end", "is_noted"), [(3, False), (4, True)])
def test_a_day_that_lacks_among_all_days_is_noted(
    end: int, is_noted: bool, with_output: bool, kcompact: Kcompact, tmp_path: Path
) -> None:
    """The tombstones of that day were dropped: nothing else tells that a key comes back."""
    first, last = [(0, 0, "c", "1"), (0, 1, "a", "1")], [(0, end, "b", "1")]
    texts = [first, [(0, offset, "a", None) for offset in range(2, end)], last]
    days = [write_records(tmp_path / f"{number}.jsonl", records) for number, records in enumerate(texts)]
    options, output = ("--state", tmp_path / "state", "--drop-tombstones"), tmp_path / "out.jsonl"
    assert kcompact("compact", *days, *options, "-o", output).exit_code == 0
    inputs = [*([output] if with_output else []), days[0], days[2]]
    run = kcompact("compact", *inputs, *options, "-o", tmp_path / "next.jsonl")
    assert run.exit_code == 0, run.stderr
    assert (f"no record of t-0 offsets 2 to {end - 1}, between its files" in run.stderr) == is_noted


@pytest.mark.parametrize(("first", "is_noted"), [(2, False), (3, False), (4, True)])
def test_a_night_that_lacks_of_a_log_that_the_last_run_left_out_is_noted(
    first: int, is_noted: bool, kcompact: Kcompact, tmp_path: Path
) -> None:
    """All that the state knows of the log was superseded: nothing else tells that records are lacking."""
    nights = [
        write_records(tmp_path / "1.jsonl", [(0, 0, "a", "1"), (1, 0, "a", "1"), (1, 1, "b", None)]),
        write_records(tmp_path / "2.jsonl", [(0, 1, "a", "2")]),
        write_records(tmp_path / "3.jsonl", [(1, first, "a", "2")]),
    ]
    outputs = [tmp_path / f"out{number}.jsonl" for number in range(3)]
    state = ("--state", tmp_path / "state")
    assert kcompact("compact", nights[0], *state, "-o", outputs[0]).exit_code == 0
    part = kcompact("compact", outputs[0], nights[1], *state, "--partitions", 0, "-o", outputs[1])
    assert part.exit_code == 0, part.stderr
    run = kcompact("compact", outputs[1], nights[2], *state, "-o", outputs[2])
    assert run.exit_code == 0, run.stderr
    assert (f"no record of t-1 offsets 2 to {first - 1}, after the last" in run.stderr) == is_noted


def test_what_the_last_run_read_and_removed_is_no_hole(kcompact: Kcompact, tmp_path: Path) -> None:
    tombstones = [(0, offset, f"k{offset}", None) for offset in range(1, 5)]
    nights = [
        write_records(tmp_path / "1.jsonl", [(0, 0, "a", "1"), *tombstones]),
        write_records(tmp_path / "2.jsonl", [(0, 5, "a", "2")]),
    ]
    state = ("--state", tmp_path / "state", "--drop-tombstones")
    assert kcompact("compact", nights[0], *state, "-o", tmp_path / "out.jsonl").exit_code == 0
    run = kcompact("compact", tmp_path / "out.jsonl", nights[1], *state, "-o", tmp_path / "next.jsonl")
    assert (run.exit_code, "no record of" in run.stderr) == (0, False), run.stderr


@pytest.mark.parametrize("options", [[], ["--aborted"]], ids=["alone", "with aborted data"])
def test_by_the_state_before_a_log_that_was_left_out_is_cleaned_from_its_start(
    options: list[str], kcompact: Kcompact, tmp_path: Path
) -> None:
    """``verify`` with a copy of the state that the last run left, as before tonight's run."""
    first = [(0, 0, "a", "1"), (1, 0, "b", "1"), (1, 1, "b", "2"), (1, 2, "c", "1")]
    nights = [
        write_records(tmp_path / "1.jsonl", first),
        write_records(tmp_path / "2.jsonl", [(0, 1, "a", "2")]),
        write_records(tmp_path / "3.jsonl", [*first[1:], (1, 3, "d", "1")]),
    ]
    (tmp_path / "aborted").write_text("t 1 2 2\n")
    told = [*options, tmp_path / "aborted"] if options else []
    outputs = [tmp_path / f"out{number}.jsonl" for number in range(3)]
    state, before = tmp_path / "state", tmp_path / "before"
    assert kcompact("compact", nights[0], "--state", state, "-o", outputs[0]).exit_code == 0
    inputs = [outputs[0], nights[1], "--partitions", 0]
    assert kcompact("compact", *inputs, "--state", state, "-o", outputs[1]).exit_code == 0
    shutil.copytree(state, before)
    run = kcompact("compact", outputs[1], nights[2], *told, "--state", state, "-o", outputs[2])
    assert run.exit_code == 0, run.stderr
    run = kcompact("verify", outputs[1], nights[2], outputs[2], *told, "--state", before)
    assert run.exit_code == 0, run.stdout


def test_by_the_state_before_a_log_that_is_dumped_once_more_is_cleaned_from_its_start(
    kcompact: Kcompact, tmp_path: Path
) -> None:
    first = [(0, 0, "a", "1"), (0, 1, "a", "2"), (0, 2, "b", "1")]
    old = write_records(tmp_path / "1.jsonl", first)
    full = write_records(tmp_path / "2.jsonl", [*first, (0, 3, "c", "1")])
    output, state, before = tmp_path / "out.jsonl", tmp_path / "state", tmp_path / "before"
    assert kcompact("compact", old, "--state", state, "-o", output).exit_code == 0
    shutil.copytree(state, before)
    run = kcompact("compact", full, output, "--state", state, "-o", f"{tmp_path}/next/")
    assert run.exit_code == 0, run.stderr
    run = kcompact("verify", full, output, tmp_path / "next", "--state", before)
    assert run.exit_code == 0, run.stdout
