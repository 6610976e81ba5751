"""What a read_committed dump tells, and what it leaves open, through the command line."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Run
from dump_files import write_kcat
from dump_log_text import Logged, write_dump_log
from records import TIMESTAMP_MS, record

pytestmark = pytest.mark.usefixtures("spark")
Cli = Callable[..., Run]


def test_what_is_gone_behind_the_read_committed_dump_is_undecided(tmp_path: Path, kcompact: Cli) -> None:
    # Offset 2 is missing: a marker. What ended the transaction of offset 3 lies behind all records.
    committed = [record("a", "1", offset=0), record("b", "1", offset=1)]
    before = write_kcat(tmp_path / "before.jsonl", [*committed, record("a", "2", offset=3)])
    after = write_kcat(tmp_path / "after.jsonl", committed)
    command = ("verify", before, after, "--read-committed", after)

    run = kcompact(*command)

    assert (run.exit_code, run.stdout.splitlines()[1]) == (2, "nobody can tell: 1 stale-value")
    assert "give --last-stable-offset after it, if its transaction was aborted" in run.stdout
    assert kcompact(*command, "--last-stable-offset=orders-0=5").exit_code == 0


def test_verify_says_what_it_takes_for_committed_behind_the_read_committed_dump(
    tmp_path: Path, kcompact: Cli
) -> None:
    records = [record(*text, offset=at) for at, text in enumerate([("b", "1"), ("b", "2"), ("a", "1")])]
    before = write_kcat(tmp_path / "before.jsonl", [*records, record("a", "2", offset=3)])
    committed = write_kcat(tmp_path / "committed.jsonl", records)
    only_later, all_of_a = (before.read_text().splitlines(keepends=True)[at:] for at in (3, 2))
    b_2 = committed.read_text().splitlines(keepends=True)[1:2]
    after, doubt = tmp_path / "after.jsonl", "what replaced other records was committed (1 log): some of it"
    command = ("verify", before, after, "--read-committed", committed)

    after.write_text("".join([*b_2, *only_later]))
    run = kcompact(*command)

    assert run.exit_code == 0
    assert doubt in run.stdout  # a=2 may have been aborted
    assert kcompact(*command, "--last-stable-offset=orders-0=5", "--cleanup-policy=compact").exit_code == 1
    after.write_text("".join([*b_2, *all_of_a]))
    run = kcompact(*command)
    assert (run.exit_code, doubt in run.stdout) == (0, False)


def test_batches_tell_where_a_transaction_is_open_wherever_the_pair_ends(
    tmp_path: Path, kcompact: Cli
) -> None:
    records = [Logged(0, "a=1"), Logged(1, "a=2")]
    aborted = [Logged(2, "a=3", producer=7), Logged(3, "ABORT", producer=7)]
    behind = [Logged(4, "b=1", producer=7), Logged(5, "COMMIT", producer=7)]
    dump = write_dump_log(tmp_path / "d.txt", {0: [*records, *aborted], 4: behind})
    committed, out = write_dump_log(tmp_path / "committed.txt", {0: records}), tmp_path / "out.jsonl"
    options = ("--batches", dump, "--read-committed", committed)

    run = kcompact("compact", dump, *options, "-o", out)

    assert run.exit_code == 0
    assert "open transaction" not in run.stderr
    assert [json.loads(line)["offset"] for line in out.read_text().splitlines()] == [1, 4]
    single, pair = (
        json.loads(kcompact("dirty-ratio", dump, *some, "--format", "json").stdout)["logs"]
        for some in (options[:2], options)
    )
    assert pair == single
    assert pair[0]["last_stable_offset"] == 6
    assert kcompact("verify", dump, out, *options).exit_code == 0
    out.write_text(out.read_text().splitlines()[0] + "\n")  # what the batches tell is not asked about again
    run = kcompact("verify", dump, out, *options, "--cleanup-policy=compact")
    assert run.exit_code == 1


def test_a_topic_that_a_shell_would_run_is_quoted_where_an_option_is_proposed(
    tmp_path: Path, kcompact: Cli
) -> None:
    records = [record("a", "1", topic="$(id)", offset=offset) for offset in range(3)]
    dump = write_kcat(tmp_path / "dump.jsonl", records)
    committed = write_kcat(tmp_path / "committed.jsonl", records[:2])

    run = kcompact("compact", dump, "--read-committed", committed, "--dry-run")

    assert "(if it was aborted: --last-stable-offset '$(id)-0=3')" in run.stderr, run.stderr


def test_a_read_committed_dump_of_another_topic_is_refused(tmp_path: Path, kcompact: Cli) -> None:
    dump = write_kcat(tmp_path / "orders.jsonl", [record("a", "1", offset=0)])
    users = write_kcat(tmp_path / "users.jsonl", [record("a", "1", offset=0, topic="users")])
    for command in (("compact", dump), ("dirty-ratio", dump), ("verify", dump, dump)):
        run = kcompact(*command, "--read-committed", users)
        assert run.exit_code == 2
        assert "--read-committed is about users-0; the dump holds orders-0" in run.stderr


@pytest.mark.parametrize("command", ["compact", "verify", "dirty-ratio"])
@pytest.mark.parametrize("told", ["", "orders*"])
def test_a_folder_with_the_dump_itself_is_no_read_committed_dump(
    told: str, command: str, tmp_path: Path, kcompact: Cli
) -> None:
    records = [record("a", str(at), offset=at) for at in (0, 1, 3)]
    folder = tmp_path / "dumps"
    folder.mkdir()
    dump = write_kcat(folder / "orders.jsonl", records)
    write_kcat(folder / "orders.committed.jsonl", records[::2])
    after = (write_kcat(tmp_path / "after.jsonl", records[2:]),) if command == "verify" else ()
    line = (command, dump, *after, *(("-o", tmp_path / "out.jsonl") if command == "compact" else ()))

    run = kcompact(*line, "--read-committed", folder / told)

    assert (run.exit_code, run.stdout) == (2, "")
    assert f"{dump} of --read-committed is a file of the dump itself" in run.stderr
    assert kcompact(*line, "--read-committed", dump).exit_code == 0


@pytest.mark.parametrize("command", ["compact", "verify", "dirty-ratio"])
def test_a_read_committed_dump_that_begins_later_is_refused_where_no_marker_can_be(
    command: str, tmp_path: Path, kcompact: Cli
) -> None:
    records = [record(key, "1", offset=offset) for offset, key in enumerate("abc")]
    dump = write_kcat(tmp_path / "d.jsonl", records)
    later = write_kcat(tmp_path / "later.jsonl", records[2:])
    after = (write_kcat(tmp_path / "after.jsonl", records[2:]),) if command == "verify" else ()

    run = kcompact(command, dump, *after, "--read-committed", later)

    assert run.exit_code == 2
    assert "orders-0: the read_committed dump lacks 2 records from offset 0 on, but has later" in run.stderr


@pytest.mark.parametrize("command", ["compact", "verify", "dirty-ratio"])
def test_many_records_before_a_read_committed_dump_are_asked_about(
    command: str, tmp_path: Path, kcompact: Cli
) -> None:
    """As where last week's output is compacted with new records, of which alone there is such a dump."""
    records = [record(f"k{at}", "1", offset=at) for at in range(1_300) if at != 1_100]
    dump, new = write_kcat(tmp_path / "d.jsonl", records), write_kcat(tmp_path / "new.jsonl", records[1_100:])
    after = (write_kcat(tmp_path / "after.jsonl", records[1_100:]),) if command == "verify" else ()
    aborted = tmp_path / "aborted.txt"
    aborted.write_text("orders 0 0 1099\n")

    asked = kcompact(command, dump, *after, "--read-committed", new)
    told = kcompact(command, dump, *after, "--read-committed", new, "--aborted", aborted)

    assert (asked.exit_code, told.exit_code) == (2, 0)
    assert "1,100 records below offset 1101, with which the read_committed dump begins" in asked.stderr


@pytest.mark.parametrize("command", ["compact", "dirty-ratio", "verify"])
@pytest.mark.parametrize("seen", [2, 0], ids=["the beginning", "nothing of the partition"])
def test_many_records_behind_a_read_committed_dump_are_asked_about(
    seen: int, command: str, tmp_path: Path, kcompact: Cli
) -> None:
    """As where it is of yesterday, or lacks a partition, and the last stable offset is that of today."""
    records = [record(f"k{at}", "1", offset=at) for at in range(1_300)]
    other = record("o", "1", offset=0, partition=1)
    dump = write_kcat(tmp_path / "d.jsonl", [*records, other])
    short = write_kcat(tmp_path / "short.jsonl", [*records[:seen], other])
    after = (write_kcat(tmp_path / "after.jsonl", [*records[:seen], other]),) if command == "verify" else ()
    aborted = tmp_path / "aborted.txt"
    aborted.write_text(f"orders 0 {seen} 1290\n")
    line = (command, dump, *after, "--read-committed", short, "--last-stable-offset", "orders-0=1301")

    asked = kcompact(*line)
    told = kcompact(*line, "--aborted", aborted)

    assert (asked.exit_code, told.exit_code) == (2, 0), told.stderr
    assert f"orders-0: {1_300 - seen:,} records from offset {seen} on, after all that" in asked.stderr
    if seen:
        assert "orders-0: 9 records from offset 1291 on, below the last stable offset" in told.stderr


def test_a_read_committed_dump_without_a_log_does_not_tell_what_rounds_left_of_it(
    tmp_path: Path, kcompact: Cli
) -> None:
    """Offset 1 is in the active segment of the first run; partition 0 is idle since."""
    old = [record("a", "1", offset=0), record("a", None, offset=1)]
    state, last, out = tmp_path / "state", tmp_path / "last.jsonl", tmp_path / "out.jsonl"
    segments = tmp_path / "segments"
    segments.write_text("orders 0 0 100\norders 0 1 100\n")
    first = ("compact", write_kcat(tmp_path / "1.jsonl", old), "-o", last, "--segments", segments)
    assert kcompact(*first, "--state", state).exit_code == 0
    idle_since = [record("b", "1", offset=0, partition=1)]
    new = write_kcat(tmp_path / "2.jsonl", idle_since)
    command = ("compact", last, new, "--state", state, "-o", out, "--last-stable-offset", "orders-0=2")

    run = kcompact(*command, "--read-committed", new)

    assert (run.exit_code, out.exists()) == (2, False)
    assert "orders-0: the state's rounds ended at offset 1" in run.stderr
    aborted, whole = tmp_path / "aborted", write_kcat(tmp_path / "whole.jsonl", [*old, *idle_since])
    aborted.write_text("orders 0 1 1\n")
    for told, value in (([new, "--aborted", aborted], "1"), ([whole], None)):
        again = tmp_path / "again"
        shutil.copytree(state, again, dirs_exist_ok=True)
        some = ("--state", again, "-o", out, "--overwrite", "--last-stable-offset", "orders-0=2")
        run = kcompact("compact", last, new, *some, "--read-committed", *told)
        assert run.exit_code == 0, run.stderr
        rows = [json.loads(line) for line in out.read_text().splitlines()]
        assert [row["payload"] for row in rows if row["partition"] == 0] == [value]


def test_a_part_of_the_read_committed_dump_that_is_missing_is_noticed(tmp_path: Path, kcompact: Cli) -> None:
    """Offset 13 may be an abort marker, but none for what lies behind it."""
    records = [record(f"k{at % 5}", str(at), offset=at) for at in range(20) if at != 13]
    dump = write_kcat(tmp_path / "d.jsonl", records)
    aborted, lost = range(10, 13), range(14, 17)
    whole = write_kcat(tmp_path / "whole.jsonl", [r for r in records if r.offset not in aborted])
    part = write_kcat(tmp_path / "part.jsonl", [r for r in records if r.offset not in {*aborted, *lost}])
    out = tmp_path / "out.jsonl"
    command = ("compact", dump, "-o", out, "--overwrite", "--read-committed")

    right = kcompact(*command, whole)
    noted = kcompact(*command, part)
    refused = kcompact(*command, part, "--log-end-offset=20")

    sentence = "orders-0: 3 records from offset 14 on count as aborted, as the read_committed dump lacks them"
    assert (right.exit_code, noted.exit_code, refused.exit_code) == (0, 0, 2)
    assert "count as aborted" not in right.stderr
    assert sentence in noted.stderr
    assert "the read_committed dump lacks 3 records from offset 14 on, but has later ones" in refused.stderr
    verified = kcompact("verify", dump, out, "--read-committed", part)
    assert (verified.exit_code, sentence in verified.stderr) == (0, True)
    assert "count as aborted" not in kcompact(*command, part, "--log-end-offset=21").stderr


def test_markers_that_a_dump_holds_itself_are_where_they_are(tmp_path: Path, kcompact: Cli) -> None:
    segments = {
        0: [Logged(0, "a=1"), Logged(1, "a=2", producer=7), Logged(2, "ABORT", producer=7), Logged(3, "b=1")]
    }
    dump = write_dump_log(tmp_path / "d.txt", segments)
    committed = [record(key, "1", offset=offset, topic="t") for key, offset in (("a", 0), ("b", 3))]
    out = tmp_path / "out.jsonl"

    run = kcompact(
        "compact", dump, "-o", out, "--read-committed", write_kcat(tmp_path / "c.jsonl", committed)
    )

    assert run.exit_code == 0
    assert [json.loads(line)["offset"] for line in out.read_text().splitlines()] == [0, 3]


def test_a_read_committed_dump_may_begin_later_where_something_tells_of_a_marker(
    tmp_path: Path, kcompact: Cli
) -> None:
    aborted = [Logged(0, "a=1", producer=7), Logged(1, "a=2", producer=7)]
    records = [Logged(2, "a=3"), Logged(3, "a=4")]
    segments = {0: [*aborted, *records]}
    dump = write_dump_log(tmp_path / "d.txt", segments)
    later, out = write_dump_log(tmp_path / "later.txt", {0: records}), tmp_path / "out.jsonl"
    batches = write_dump_log(
        tmp_path / "batches.txt", {**segments, 4: [Logged(4, "ABORT", producer=7)], 5: []}
    )
    command = ("compact", dump, "--read-committed", later, "-o", out, "--overwrite")
    assert kcompact(*command, "--log-end-offset=4").exit_code == 2  # no room for a marker

    for options in (("--batches", batches), ("--log-end-offset=5",)):
        run = kcompact(*command, *options)
        assert run.exit_code == 0
        assert [json.loads(line)["offset"] for line in out.read_text().splitlines()] == [3]
        assert kcompact("dirty-ratio", *command[1:4], *options).exit_code == 0
        assert kcompact("verify", dump, out, *command[2:4], *options).exit_code == 0


def test_a_log_that_is_told_to_start_behind_its_records_is_refused(tmp_path: Path, kcompact: Cli) -> None:
    dump = write_kcat(tmp_path / "d.jsonl", [record("a", "1", offset=0), record("b", "1", offset=1)])
    run = kcompact("compact", dump, "--log-start-offset", "303")
    assert run.exit_code == 2
    assert "orders-0: the log is said to start at 303, but the dump ends with offset 1" in run.stderr
    ends = ("--log-start-offset", "303", "--log-end-offset", "400")
    assert kcompact("compact", dump, *ends).exit_code == 0
    assert kcompact("compact", dump, "--log-start-offset", "2", "-o", tmp_path / "o.jsonl").exit_code == 0


def test_a_file_that_is_younger_than_the_markers_in_it_holds_no_cleaning_back(
    tmp_path: Path, kcompact: Cli
) -> None:
    # The segment at 2 holds a marker alone: its timestamp counts, and no record tells it.
    records = [record(key, "1", offset=offset) for key, offset in zip("abab", (0, 1, 3, 4), strict=True)]
    before = write_kcat(tmp_path / "before.jsonl", records)
    after = write_kcat(tmp_path / "after.jsonl", records[2:])
    now_ms = TIMESTAMP_MS + 10 * 86_400_000
    segments = tmp_path / "segments"
    lines = [f"orders 0 {base} {size} {now_ms}\n" for base, size in ((0, 140), (2, 78), (3, 140), (5, 0))]
    options = ("--read-committed", before, "--log-end-offset=orders-0=5", f"--now={now_ms}")
    command = ("verify", before, after, *options, "--segments", segments, "--min-compaction-lag-ms=1h")

    segments.write_text("".join(lines))
    assert kcompact(*command).exit_code == 0
    segments.write_text("".join(lines).replace("orders 0 2 78 ", "orders 0 2 0 "))
    run = kcompact(*command, "--cleanup-policy=compact")
    assert (run.exit_code, run.stdout.splitlines()[1]) == (1, "no: 2 lost-above-end")


# Aborted are the records at 2 and 7.
LAST_WEEK = [record(key, "1", offset=at) for at, key in ((0, "a"), (1, "b"), (2, "c"), (4, "d"))]
THIS_WEEK = [record(key, "2", offset=at) for at, key in ((6, "b"), (7, "a"), (9, "e"))]


@pytest.mark.parametrize("again", [0, 1], ids=["new records", "and one again"])
def test_a_read_committed_dump_of_new_records_says_nothing_of_what_a_round_left(
    again: int, tmp_path: Path, kcompact: Cli
) -> None:
    idle = record("x", "1", offset=7, partition=1)
    state, options = tmp_path / "state", ("--min-compaction-lag-ms=0", "--state", tmp_path / "state")
    first = write_kcat(tmp_path / "1.jsonl", [*LAST_WEEK, idle])
    committed = write_kcat(tmp_path / "c1.jsonl", [*LAST_WEEK[:2], LAST_WEEK[3], idle])
    out, last = tmp_path / "out.jsonl", tmp_path / "last.jsonl"
    run = kcompact("compact", first, "--read-committed", committed, *options, "-o", last)
    assert (run.exit_code, state.is_dir()) == (0, True), run.stderr
    second = write_kcat(tmp_path / "2.jsonl", [*LAST_WEEK[4 - again :], *THIS_WEEK])
    new = write_kcat(tmp_path / "c2.jsonl", [*LAST_WEEK[4 - again :], THIS_WEEK[0], THIS_WEEK[2]])

    shutil.copytree(state, tmp_path / "last.state")
    ratio = kcompact("dirty-ratio", last, second, "--read-committed", new, *options, "--format", "json")
    run = kcompact("compact", last, second, "--read-committed", new, *options, "-o", out)

    assert (ratio.exit_code, run.exit_code) == (0, 0), run.stderr
    left = [json.loads(line) for line in out.read_text().splitlines()]
    places = sorted((row["partition"], row["offset"]) for row in left)
    assert places == [(0, 0), (0, 4), (0, 6), (0, 9), (1, 7)]
    assert sum(log["gain"]["aborted_records"] for log in json.loads(ratio.stdout)["logs"]) == 1
    pair = ("verify", last, second, out, "--read-committed", new, "--state", tmp_path / "last.state")
    assert kcompact(*pair).exit_code == 0
    lines = out.read_text().splitlines(keepends=True)
    out.write_text("".join(line for line in lines if json.loads(line)["offset"] != 0))
    run = kcompact(*pair, "--cleanup-policy", "compact")
    assert (run.exit_code, run.stdout.splitlines()[1]) == (1, "no: 1 missing-key")


def test_what_lies_before_a_read_committed_dump_is_told(tmp_path: Path, kcompact: Cli) -> None:
    dump = write_kcat(tmp_path / "d.jsonl", [*LAST_WEEK, *THIS_WEEK])
    new = write_kcat(tmp_path / "new.jsonl", [THIS_WEEK[0], THIS_WEEK[2]])
    for command in (("compact", dump, "--dry-run"), ("verify", dump, dump)):
        run = kcompact(*command, "--read-committed", new)
        assert "4 records below offset 6, with which the read_committed dump begins" in run.stderr, run.stderr
        assert "give one of the whole log" in run.stderr


def test_a_read_committed_dump_of_new_records_does_not_go_with_a_full_dump(
    tmp_path: Path, kcompact: Cli
) -> None:
    """All older records would count as aborted, though the state knows that its rounds kept some."""
    state, out = ("--state", tmp_path / "state"), tmp_path / "out.jsonl"
    first = write_kcat(tmp_path / "1.jsonl", LAST_WEEK)
    committed = [*LAST_WEEK[:2], LAST_WEEK[3]]
    told = write_kcat(tmp_path / "c1.jsonl", committed)
    assert (
        kcompact("compact", first, "--read-committed", told, *state, "-o", tmp_path / "l.jsonl").exit_code
        == 0
    )
    full, new = write_kcat(tmp_path / "2.jsonl", [*LAST_WEEK, *THIS_WEEK]), [THIS_WEEK[0], THIS_WEEK[2]]
    command = ("compact", full, *state, "-o", out, "--read-committed")

    run = kcompact(*command, write_kcat(tmp_path / "c2.jsonl", new))
    assert (run.exit_code, out.exists()) == (2, False), run.stderr
    assert "orders-0: the read_committed dump begins with offset 6, and lacks offset 0" in run.stderr
    run = kcompact(*command, write_kcat(tmp_path / "c3.jsonl", [*committed, *new]))
    assert run.exit_code == 0, run.stderr
    assert [json.loads(line)["offset"] for line in out.read_text().splitlines()] == [0, 4, 6, 9]


def test_a_read_committed_dump_that_begins_behind_where_rounds_ended_is_refused(
    tmp_path: Path, kcompact: Cli
) -> None:
    """By the lag the last round ended at offset 2: it left what was aborted behind that."""
    now_ms = TIMESTAMP_MS + 10 * 3_600_000
    young = [one._replace(timestamp_ms=now_ms if one.offset >= 2 else TIMESTAMP_MS) for one in LAST_WEEK]
    options = ("--state", tmp_path / "state", "--min-compaction-lag-ms=1h", f"--now={now_ms}")
    first, last = write_kcat(tmp_path / "1.jsonl", young), tmp_path / "last.jsonl"
    committed = [young[0], young[1], young[3]]
    told = write_kcat(tmp_path / "c1.jsonl", committed)
    assert kcompact("compact", first, "--read-committed", told, *options, "-o", last).exit_code == 0
    second = write_kcat(tmp_path / "2.jsonl", THIS_WEEK)
    new = [THIS_WEEK[0], THIS_WEEK[2]]
    command = ("compact", last, second, *options[:2], "-o", tmp_path / "out.jsonl", "--read-committed")

    run = kcompact(*command, write_kcat(tmp_path / "c2.jsonl", new))

    assert run.exit_code == 2
    assert "give a read_committed dump of the log from its beginning" in run.stderr
    # What lies between is offset 2 alone, of which the first run was told that it was aborted.
    near = write_kcat(tmp_path / "c.jsonl", [*committed[2:], *new])
    run = kcompact(*command, near, "--dry-run", "--format", "json")
    assert (run.exit_code, json.loads(run.stdout)["logs"][0]["removed"]["aborted"]) == (0, 2)
    assert kcompact(*command, write_kcat(tmp_path / "all.jsonl", [*committed, *new])).exit_code == 0
    left = [json.loads(line)["offset"] for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert left == [0, 4, 6, 9]
