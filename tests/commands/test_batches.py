"""What the batches of a log tell, through the command line."""

import gzip
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Run
from dump_files import kcat_offsets, write_kcat
from dump_log_text import TIMESTAMP_MS, Logged, write_dump_log
from golden_cases import golden_cases
from records import record, tombstone

pytestmark = pytest.mark.usefixtures("spark")
Cli = Callable[..., Run]
CASES = {case.name: case for case in golden_cases()}


def test_nothing_is_cleaned_from_an_open_transaction_on(tmp_path: Path, kcompact: Cli) -> None:
    case, out = CASES["w10-transactions"], tmp_path / "out.jsonl"
    before, batches = case.path("before", "jsonl"), ("--batches", case.path("before", "batches"))

    run = kcompact("compact", before, *batches, "-o", out)

    assert run.exit_code == 0
    assert "w10-0: by its batches the transaction at offset 114 is open" in run.stderr
    assert sorted(offset for _, _, offset in kcat_offsets(out)) == case.offsets("after")["w10", 0]
    assert kcompact("verify", before, out, *batches).exit_code == 0


def test_what_only_an_open_transaction_replaces_is_no_compaction_for_certain(
    tmp_path: Path, kcompact: Cli
) -> None:
    segments = {0: [Logged(0, "a=1"), Logged(1, "a=2", producer=7)], 2: [Logged(2, "z=1")]}
    before = write_dump_log(tmp_path / "b.txt", segments)
    after = write_dump_log(tmp_path / "a.txt", {0: segments[0][1:], 2: segments[2]})

    run = kcompact("verify", before, after, "--batches", before)

    assert run.exit_code == 2
    assert "nobody can tell: 1 lost-above-end" in run.stdout
    assert "give --batches printed at the time of the cleaning" in run.stdout
    assert "t-0: by its batches the transaction at offset 1 is open" in run.stderr
    dirty = kcompact("dirty-ratio", before, "--batches", before, "--format", "json")
    [log] = json.loads(dirty.stdout)["logs"]
    assert (log["last_stable_offset"], log["binding_limit"]) == (1, "last stable offset")


def test_open_data_that_went_behind_the_active_segments_base_asks_for_later_batches(
    tmp_path: Path, kcompact: Cli
) -> None:
    records = [Logged(0, "a=1"), Logged(1, "a=2")], [Logged(2, "b=1"), Logged(3, "c=1", producer=7)]
    before = write_dump_log(tmp_path / "b.txt", dict(zip((0, 2), records, strict=True)))
    after = write_dump_log(tmp_path / "a.txt", {0: records[0][1:], 2: records[1][:1]})
    command = ("verify", before, after, "--cleanup-policy=compact")

    run = kcompact(*command, "--batches", before)

    assert (run.exit_code, run.stdout.splitlines()[1]) == (
        2,
        "nobody can tell: 1 missing-key, 1 lost-above-end",
    )
    assert run.stdout.count("give --batches printed at the time of the cleaning") == 2
    assert "--read-committed" not in run.stdout
    ended = {0: records[0], 2: [*records[1], Logged(4, "ABORT", producer=7)], 5: []}
    later = write_dump_log(tmp_path / "later.txt", ended)
    assert kcompact(*command, "--batches", later).exit_code == 0


def test_a_segment_that_compaction_emptied_holds_time_retention_up(tmp_path: Path, kcompact: Cli) -> None:
    now_ms, day_ms = TIMESTAMP_MS + 10 * 86_400_000, 86_400_000
    young = Logged(3, "c=3", timestamp_ms=now_ms)
    dump = write_dump_log(tmp_path / "b.txt", {0: [], 2: [Logged(2, "b=2")], 3: [young]})
    checkpoint, out = tmp_path / "checkpoint", tmp_path / "out.txt"
    checkpoint.write_text("0\n1\nt 0 3\n")
    retention = ("--cleanup-policy=compact,delete", f"--retention-ms={day_ms}", f"--now={now_ms}")

    run = kcompact("compact", dump, "--batches", dump, "--checkpoint", checkpoint, *retention, "-o", out)

    assert run.exit_code == 0
    assert all(f"| offset: {offset} " in out.read_text() for offset in (2, 3))


def test_an_empty_active_segment_is_the_active_one(tmp_path: Path, kcompact: Cli) -> None:
    records = [Logged(0, "z=1"), Logged(1, "z=2")]
    before = write_dump_log(tmp_path / "b.txt", {0: records, 2: []})
    after = write_dump_log(tmp_path / "a.txt", {0: records[1:], 2: []})
    checkpoint, out = tmp_path / "checkpoint", tmp_path / "out.txt"
    checkpoint.write_text("0\n1\nt 0 0\n")
    batches = ("--batches", before)

    run = kcompact("verify", before, after, *batches, "--checkpoint", checkpoint)

    assert (run.exit_code, run.stdout.splitlines()[1]) == (0, "yes")
    assert kcompact("compact", before, *batches, "-o", out).exit_code == 0
    assert "| offset: 0 " not in out.read_text()
    dirty = kcompact("dirty-ratio", before, *batches, "--format", "json")
    [log] = json.loads(dirty.stdout)["logs"]
    assert (log["dirty_ratio"], log["first_uncleanable_offset"]) == (1.0, 2)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_abort_markers_of_a_dump_without_batches_are_asked_about_with_the_remedy(
    pack: Callable[[bytes], bytes], tmp_path: Path, kcompact: Cli
) -> None:
    committed = [Logged(0, "a=committed", producer=1), Logged(1, "COMMIT", producer=1)]
    aborted = [Logged(2, "a=aborted", producer=1), Logged(3, "ABORT", producer=1)]
    first = write_dump_log(tmp_path / "0.txt", {0: committed})
    second = write_dump_log(tmp_path / "4.txt", {2: aborted, 4: [Logged(4, "b=last"), Logged(5, "b=active")]})
    for path in (first, second):
        path.write_bytes(pack(path.read_bytes()))
    out = tmp_path / "out.jsonl"

    run = kcompact("compact", first, second, "-o", out)

    assert (run.exit_code, out.exists()) == (2, False)
    assert "0.txt: 1 abort marker: only its lines about batches say which records were aborted" in run.stderr
    remedy = run.stderr.partition(" as a broker leaves it): ")[2].splitlines()[0].split()
    assert remedy == ["--batches", str(first), "--batches", str(second)]
    assert kcompact("compact", first, second, *remedy, "-o", out).exit_code == 0
    records = map(json.loads, out.read_text().splitlines())
    assert [record["value"] for record in records] == ["committed", "last", "active"]


def test_batches_of_later_segments_alone_are_refused(tmp_path: Path, kcompact: Cli) -> None:
    first = write_dump_log(tmp_path / "0.txt", {0: [Logged(0, "a=1"), Logged(1, "a=2", producer=7)]})
    second = write_dump_log(
        tmp_path / "2.txt", {2: [Logged(2, "ABORT", producer=7), Logged(3, "b=1")], 4: []}
    )
    out = tmp_path / "out.jsonl"

    run = kcompact("compact", first, second, "--batches", second, "-o", out)

    assert (run.exit_code, out.exists()) == (2, False)
    assert "t-0: the first batch given starts at 2, but the dump holds offset 0" in run.stderr
    both = ("--batches", first, "--batches", second)
    assert kcompact("compact", first, second, *both, "-o", out).exit_code == 0
    assert [json.loads(line)["offset"] for line in out.read_text().splitlines()] == [0, 3]


@pytest.mark.parametrize("command", ["compact", "verify", "dirty-ratio"])
def test_batches_without_a_segment_in_the_middle_are_refused(
    command: str, tmp_path: Path, kcompact: Cli
) -> None:
    """What they lack is told nowhere: here, that the newest value of ``a`` was aborted."""
    aborted = [Logged(2, "a=aborted", producer=7), Logged(3, "ABORT", producer=7)]
    segments = {0: [Logged(0, "a=good"), Logged(1, "b=x")], 2: aborted, 4: [Logged(4, "c=y")], 5: []}
    first, second, third = (
        write_dump_log(tmp_path / f"{base}.txt", {base: segments[base]}) for base in (0, 2, 4)
    )
    dump = write_dump_log(tmp_path / "all.txt", segments)
    more = ("-o", tmp_path / "out.jsonl") if command == "compact" else (dump,) * (command == "verify")

    run = kcompact(command, dump, *more, "--batches", first, "--batches", third)

    assert (run.exit_code, (tmp_path / "out.jsonl").exists()) == (2, False)
    assert "t-0: no batch given holds offset 2, which the dump holds" in run.stderr
    assert "give --batches once for each segment file" in run.stderr
    every = ("--batches", first, "--batches", second, "--batches", third)
    assert kcompact(command, dump, *more, *every).exit_code == 0


def test_what_is_lost_behind_the_last_batch_told_is_undecided(tmp_path: Path, kcompact: Cli) -> None:
    records = [Logged(0, "a=1"), Logged(1, "b=1")], [Logged(2, "a=2", producer=7), Logged(4, "c=1")]
    before = write_kcat(
        tmp_path / "b.jsonl",
        [
            record(logged.text[0], logged.text[2], offset=logged.offset, topic="t")
            for part in records
            for logged in part
        ],
    )
    after = write_kcat(
        tmp_path / "a.jsonl",
        [record(key, "1", offset=offset, topic="t") for key, offset in (("a", 0), ("b", 1), ("c", 4))],
    )
    told = write_dump_log(tmp_path / "0.txt", {0: records[0]})

    run = kcompact("verify", before, after, "--batches", told)

    assert (run.exit_code, run.stdout.splitlines()[1]) == (2, "nobody can tell: 1 stale-value")
    assert "give --batches printed at the time of the cleaning" in run.stdout
    assert "t-0: 2 records from offset 2 on, after the last batch given" in run.stderr
    whole = {0: records[0], 2: [records[1][0], Logged(3, "ABORT", producer=7), records[1][1]], 5: []}
    every = write_dump_log(tmp_path / "whole.txt", whole)
    assert kcompact("verify", before, after, "--batches", every).exit_code == 0


def test_batches_may_begin_above_what_earlier_rounds_have_decided(tmp_path: Path, kcompact: Cli) -> None:
    records = [Logged(0, "a=1"), Logged(2, "a=2"), Logged(3, "b=1")]
    dump = write_dump_log(tmp_path / "d.txt", {0: records[:1], 2: records[1:], 4: []})
    today = write_dump_log(tmp_path / "today.txt", {2: records[1:], 4: []})
    checkpoint, out = tmp_path / "checkpoint", tmp_path / "out.jsonl"
    checkpoint.write_text("0\n1\nt 0 2\n")

    run = kcompact("compact", dump, "--batches", today, "--checkpoint", checkpoint, "-o", out)

    assert run.exit_code == 0
    assert [json.loads(line)["offset"] for line in out.read_text().splitlines()] == [2, 3]


def test_the_batches_of_standard_input_are_to_be_read_from_a_copy(
    tmp_path: Path, kcompact: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    dump = write_dump_log(
        tmp_path / "d.txt", {0: [Logged(0, "a=1", producer=7), Logged(1, "ABORT", producer=7)]}
    )
    monkeypatch.setattr("sys.stdin", dump.open())
    run = kcompact("compact", "-", "-o", tmp_path / "out.jsonl")
    assert run.exit_code == 2
    assert "as a broker leaves it): --batches FILE for a copy of each file of the dump" in run.stderr


def test_batches_may_come_through_a_pipe(tmp_path: Path, kcompact: Cli) -> None:
    aborted = [Logged(0, "a=1"), Logged(1, "a=2", producer=7), Logged(2, "ABORT", producer=7)]
    dump, pipe, out = tmp_path / "d.txt", tmp_path / "pipe", tmp_path / "out.jsonl"
    write_dump_log(dump, {0: aborted, 3: []})
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(dump.read_bytes()))
    writer.start()

    run = kcompact("compact", dump, "--batches", pipe, "-o", out)

    writer.join()
    assert run.exit_code == 0
    assert [json.loads(line)["offset"] for line in out.read_text().splitlines()] == [0]


def test_verify_asks_about_abort_markers_of_before_and_counts_them_in_other_questions(
    tmp_path: Path, kcompact: Cli
) -> None:
    committed, aborted = Logged(0, "a=committed", producer=1), Logged(2, "a=aborted", producer=1)
    markers = [Logged(1, "COMMIT", producer=1), Logged(3, "ABORT", producer=1)]
    before = write_dump_log(tmp_path / "b.txt", {0: [committed, markers[0], aborted, markers[1]], 4: []})
    wrong = write_dump_log(tmp_path / "a.txt", {0: [markers[0], aborted, markers[1]], 4: []})

    run = kcompact("verify", before, wrong)

    assert run.exit_code == 2
    assert f"as a broker leaves it): --batches {before}" in run.stderr
    assert kcompact("verify", before, wrong, "--batches", before).exit_code == 1
    state = kcompact("verify", before, wrong, "--mode", "state")
    assert state.exit_code == 0
    assert "1 abort marker: aborted records count as committed here" in state.stderr


def test_verify_notes_a_deleted_key_whose_old_value_compact_leaves_below_the_checkpoint(
    tmp_path: Path, kcompact: Cli
) -> None:
    lines = [Logged(0, "a=1"), Logged(1, "a="), Logged(2, "b=1"), Logged(3, "b=2"), Logged(4, "c=1")]
    segments, batches = {0: lines[:2], 2: lines[2:4], 4: lines[4:]}, tmp_path / "batches.txt"
    text = write_dump_log(batches, segments, "orders-0").read_text()
    first, middle, last = text.partition("baseOffset: 1 ")
    last = last.replace("OptionalLong.empty", f"OptionalLong[{TIMESTAMP_MS + 1000}]", 1)
    batches.write_text(first + middle + last)
    pairs = [("a", "1"), ("b", "1"), ("b", "2"), ("c", "1")]
    values = [record(*pair, offset=offset) for offset, pair in zip((0, 2, 3, 4), pairs, strict=True)]
    dump = write_kcat(tmp_path / "before.jsonl", [values[0], tombstone("a", offset=1), *values[1:]])
    out, checkpoint = tmp_path / "after.jsonl", tmp_path / "checkpoint"
    checkpoint.write_text("0\n1\norders 0 2\n")
    options = ("--batches", batches, "--checkpoint", checkpoint, f"--now={TIMESTAMP_MS + 1000}")

    assert kcompact("compact", dump, *options, "-o", out).exit_code == 0

    assert sorted(offset for _, _, offset in kcat_offsets(out)) == [0, 3, 4]
    run = kcompact("verify", dump, out, *options)
    assert (run.exit_code, run.stdout.splitlines()[1]) == (0, "yes (left over: 1 key-resurrected)")
    assert "the deleted key has its old value again" in run.stdout
    assert kcompact("verify", dump, out, *options[:2]).exit_code == 1


@pytest.mark.slow
@pytest.mark.parametrize("is_full", [True, False], ids=["dumped in full", "last output and new records"])
def test_a_state_s_delete_horizons_count_where_batches_have_none(
    is_full: bool, tmp_path: Path, kcompact: Cli
) -> None:
    """The first night stamps the tombstone; the broker, which does not clean, never does (R26)."""
    log = [record("a", "1", offset=0), tombstone("a", offset=1)]
    log += [record("b", str(offset), offset=offset) for offset in range(2, 5)]
    names = "topic partition baseOffset lastOffset count bytes maxTimestamp deleteHorizonMs"
    left = []
    for night in range(3):
        dump, batches = write_kcat(tmp_path / f"{night}.jsonl", log[: night + 3]), tmp_path / "batches"
        rows = [f"{r.topic} {r.partition} {r.offset} {r.offset} 1 70 {r.timestamp_ms} -" for r in log]
        batches.write_text("".join(line.replace(" ", "\t") + "\n" for line in [names, *rows[: night + 3]]))
        new = write_kcat(tmp_path / "new.jsonl", log[night + 2 : night + 3])
        inputs = [dump] if is_full or night == 0 else [tmp_path / f"out{night - 1}.jsonl", new]
        told = ("--state", tmp_path / "state", "--batches", batches, "--delete-retention-ms", 1000)
        run = kcompact("compact", *inputs, "-o", tmp_path / f"out{night}.jsonl", *told, "--now", night * 2000)
        assert run.exit_code == 0, run.stderr
        left.append([offset for _, _, offset in kcat_offsets(tmp_path / f"out{night}.jsonl")])
    assert left == [[1, 2], [3], [4]]
