"""``kcompact compact`` through ``main()``: what it keeps, writes, reports and refuses."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import Run
from dump_files import kcat_line, kcat_offsets, write_csv, write_kcat
from kcompact.dumps.records.record import Record
from oracle import Settings, clean
from records import record, tombstone

pytestmark = pytest.mark.usefixtures("spark")
Cli = Callable[..., Run]

SMALL = [
    record("a", "1", offset=3),
    record("b", "1", offset=4),
    record("a", "2", offset=5),
    record("c", "", offset=8),
    record("", "empty key", offset=9),
    tombstone("b", offset=10),
    record("d", "null", offset=11),
    record("", "again", offset=13),
]
"""Stays: a at 5, c (an empty value) at 8, b's tombstone at 10, d at 11, the empty key at 13."""
SMALL_KEPT = [5, 8, 10, 11, 13]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def offsets(path: Path) -> list[int]:
    return [offset for _, _, offset in kcat_offsets(path)]


def report_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "report.json").read_text())


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as source:
        return list(csv.DictReader(source))


def test_the_latest_record_of_every_key_stays_byte_for_byte(tmp_path: Path, kcompact: Cli) -> None:
    dump = write_kcat(tmp_path / "orders.jsonl", SMALL)

    run = kcompact("compact", dump)

    assert run.exit_code == 0
    kept = [r for r in SMALL if r.offset in SMALL_KEPT]
    assert (tmp_path / "orders.compacted.jsonl").read_bytes() == b"".join(map(kcat_line, kept))
    assert f"wrote {tmp_path / 'orders.compacted.jsonl'}" in run.stdout
    assert f"wrote {tmp_path / 'orders.compacted.report'}" in run.stdout
    assert names(tmp_path) == [
        "orders.compacted.jsonl",
        "orders.compacted.report",
        "orders.jsonl",
    ]


def test_the_report_tells_what_went_and_why(tmp_path: Path, kcompact: Cli) -> None:
    dump = write_kcat(tmp_path / "orders.jsonl", SMALL)

    kcompact("compact", dump, "--drop-tombstones")

    (log,) = report_of(tmp_path / "orders.compacted.report")["logs"]
    assert log["records"] == 8
    assert log["kept"] == 4
    assert log["removed"] == {
        "superseded": 3,
        "expired_tombstone": 1,
        "keyless": 0,
        "aborted": 0,
        "expired": 0,
        "expired_marker": 0,
    }
    assert rows_of(tmp_path / "orders.compacted.report" / "removed-keys.csv") == [
        _removed("a", 1, 3, "5", ""),
        _removed("b", 2, 4, "", "expired_tombstone"),
        _removed('""', 1, 9, "13", ""),
    ]


def _removed(key: str, count: int, first: int, retained: str, reason: str) -> dict[str, str]:
    return {
        "topic": "orders",
        "partition": "0",
        "key": key,
        "records_removed": str(count),
        "first_offset_removed": str(first),
        "retained_offset": retained,
        "reason": reason,
    }


def test_gaps_tell_what_was_missing_before_and_what_this_run_made(tmp_path: Path, kcompact: Cli) -> None:
    dump = write_kcat(tmp_path / "orders.jsonl", SMALL)

    kcompact("compact", dump)

    gaps = rows_of(tmp_path / "orders.compacted.report" / "gaps.csv")
    assert [tuple(map(int, list(gap.values())[2:])) for gap in gaps] == [
        (3, 4, 2, 0, 2),
        (6, 7, 2, 2, 0),
        (9, 9, 1, 0, 1),
        (12, 12, 1, 1, 0),
    ]


def test_records_without_key_are_an_error_that_names_them(tmp_path: Path, kcompact: Cli) -> None:
    dump = write_kcat(
        tmp_path / "d.jsonl", [*SMALL, record(None, "x", offset=20), record(None, "y", offset=22)]
    )

    run = kcompact("compact", dump)

    assert run.exit_code == 2
    assert "records without a key: 2, of which 2 would be removed" in run.stderr
    assert "offset 20, 22" in run.stderr
    assert "--null-keys drop" in run.stderr
    assert names(tmp_path) == ["d.jsonl"]


@pytest.mark.parametrize("options", [(), ("--segment-bytes", "80")])  # each way to decide what stays
def test_a_tombstone_has_no_value_to_take_a_key_from(
    tmp_path: Path, kcompact: Cli, options: tuple[str, ...]
) -> None:
    dump = write_kcat(
        tmp_path / "d.jsonl",
        [
            record("1", '{"id": 1}', offset=0),
            record("1", None, offset=1),
            record(None, None, offset=2),
            record("2", '{"id": 2}', offset=3),
        ],
    )

    run = kcompact("compact", dump, "--key-field", "id", *options)

    assert run.exit_code == 2
    assert "records without a key: 2" in run.stderr
    assert "tombstones are among them, which have keys of their own" in run.stderr
    assert "use the dump's own keys: leave out --key-field" in run.stderr
    assert "--null-keys" not in run.stderr
    assert names(tmp_path) == ["d.jsonl"]


def test_null_keys_drop_and_keep(tmp_path: Path, kcompact: Cli) -> None:
    keyless = [record(None, "x", offset=20), record("a", "3", offset=21), record(None, "y", offset=22)]
    dump = write_kcat(tmp_path / "d.jsonl", [*SMALL, *keyless])

    kcompact("compact", dump, "--null-keys", "drop", "-o", tmp_path / "drop.jsonl")
    kcompact("compact", dump, "--null-keys", "keep", "-o", tmp_path / "keep.jsonl")

    assert offsets(tmp_path / "drop.jsonl") == [8, 10, 11, 13, 21]
    assert offsets(tmp_path / "keep.jsonl") == [8, 10, 11, 13, 20, 21, 22]
    (log,) = report_of(tmp_path / "drop.report")["logs"]
    assert log["removed"]["keyless"] == 2


def test_an_offset_twice_with_the_same_content_counts_once(tmp_path: Path, kcompact: Cli) -> None:
    dump = write_kcat(tmp_path / "d.jsonl", [*SMALL, SMALL[2], SMALL[7]])

    run = kcompact("compact", dump)

    assert run.exit_code == 0
    assert offsets(tmp_path / "d.compacted.jsonl") == SMALL_KEPT
    (log,) = report_of(tmp_path / "d.compacted.report")["logs"]
    assert log["repeated_offsets"] == 2
    assert log["removed"]["superseded"] == 3


def test_an_offset_twice_with_different_content_is_an_error(tmp_path: Path, kcompact: Cli) -> None:
    dump = write_kcat(tmp_path / "d.jsonl", [*SMALL, record("a", "another", offset=5)])

    run = kcompact("compact", dump)

    assert run.exit_code == 2
    assert "orders-0 offset 5" in run.stderr
    assert names(tmp_path) == ["d.jsonl"]


def test_a_dump_out_of_order_comes_out_sorted_with_a_note(tmp_path: Path, kcompact: Cli) -> None:
    other = [record("a", "p1", offset=1, partition=1), record("b", "p1", offset=2, partition=1)]
    dump = write_kcat(tmp_path / "d.jsonl", [*reversed(SMALL), *reversed(other)])

    run = kcompact("compact", dump)

    assert run.exit_code == 0
    expected = [("orders", 0, offset) for offset in SMALL_KEPT] + [("orders", 1, 1), ("orders", 1, 2)]
    assert kcat_offsets(tmp_path / "d.compacted.jsonl") == expected
    assert "offset order" in run.stderr


def test_a_key_in_several_partitions_is_a_warning_with_examples(tmp_path: Path, kcompact: Cli) -> None:
    dump = write_kcat(tmp_path / "d.jsonl", [*SMALL, record("a", "elsewhere", offset=7, partition=1)])

    run = kcompact("compact", dump)

    assert "1 key is in several partitions" in run.stderr
    shared = report_of(tmp_path / "d.compacted.report")["keys_in_several_partitions"]
    assert shared == {"count": 1, "examples": [{"topic": "orders", "key": "a"}]}


def test_files_are_joined_in_the_order_of_their_offsets(tmp_path: Path, kcompact: Cli) -> None:
    other = record("x", "p1", offset=9, partition=1)
    later = write_kcat(tmp_path / "a.jsonl", [*SMALL[4:], other])
    earlier = write_kcat(tmp_path / "b.jsonl", [record("y", "p1", offset=1, partition=1), *SMALL[:4]])

    run = kcompact("compact", later, earlier, "-o", tmp_path / "out.jsonl")

    assert (run.exit_code, "not in offset order" in run.stderr) == (0, False)
    offsets = [offset for _, partition, offset in kcat_offsets(tmp_path / "out.jsonl") if not partition]
    assert offsets == SMALL_KEPT
    assert kcompact("verify", later, earlier, tmp_path / "out.jsonl").exit_code == 0


def test_files_between_whose_offsets_lie_those_of_others_are_joined_as_they_are_with_a_note(
    tmp_path: Path, kcompact: Cli
) -> None:
    first = write_kcat(tmp_path / "a.jsonl", [SMALL[0], *SMALL[4:]])
    second = write_kcat(tmp_path / "b.jsonl", SMALL[1:4])

    run = kcompact("compact", first, second, "-o", tmp_path / "out.jsonl")

    assert run.exit_code == 0
    assert "out.jsonl is not in offset order" in run.stderr
    assert kcompact("compact", tmp_path / "out.jsonl", "-o", tmp_path / "sorted.jsonl").exit_code == 0
    assert [offset for _, _, offset in kcat_offsets(tmp_path / "sorted.jsonl")] == SMALL_KEPT


def test_configs_of_a_topic_that_the_dump_does_not_hold_are_noted(tmp_path: Path, kcompact: Cli) -> None:
    dump, configs = write_kcat(tmp_path / "d.jsonl", SMALL), tmp_path / "other.properties"
    configs.write_text("min.compaction.lag.ms=1\n")
    run = kcompact("compact", dump, "--topic-config", f"other={configs}")
    assert (run.exit_code, "--topic-config is about other: not in the dump" in run.stderr) == (0, True)


def test_a_dump_without_a_value_is_noted_as_tombstones_alone(tmp_path: Path, kcompact: Cli) -> None:
    dump = write_kcat(tmp_path / "d.jsonl", [entry._replace(value=None) for entry in SMALL])
    run = kcompact("compact", dump)
    assert (run.exit_code, "no record has a value: all are tombstones" in run.stderr) == (0, True)


def test_several_files_compact_as_one_log(tmp_path: Path, kcompact: Cli) -> None:
    first = write_kcat(tmp_path / "a.jsonl", SMALL[:4])
    second = write_kcat(tmp_path / "b.jsonl", SMALL[4:])

    run = kcompact("compact", first, second, "-o", f"{tmp_path}/out/")

    assert run.exit_code == 0
    assert offsets(tmp_path / "out" / "a.jsonl") == [5, 8]
    assert offsets(tmp_path / "out" / "b.jsonl") == [10, 11, 13]


def test_a_folder_becomes_a_folder(tmp_path: Path, kcompact: Cli) -> None:
    (tmp_path / "d").mkdir()
    write_kcat(tmp_path / "d" / "part-1.jsonl", SMALL[:4])
    write_kcat(tmp_path / "d" / "part-2.jsonl", SMALL[4:])

    kcompact("compact", tmp_path / "d")

    assert offsets(tmp_path / "d.compacted" / "part-1.jsonl") == [5, 8]
    assert (tmp_path / "d.compacted.report" / "report.json").exists()


def test_filters_take_logs_out_of_input_and_output(tmp_path: Path, kcompact: Cli) -> None:
    dump = write_kcat(tmp_path / "d.jsonl", [*SMALL, record("a", "p1", offset=7, partition=1)])

    kcompact("compact", dump, "--partitions", "1")

    assert kcat_offsets(tmp_path / "d.compacted.jsonl") == [("orders", 1, 7)]


def test_survivors_go_to_standard_output_and_all_else_to_standard_error(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    from kcompact.app import main

    dump = write_kcat(tmp_path / "d.jsonl", SMALL)

    assert main(["compact", str(dump), "-o", "-"]) == 0

    captured = capfdbinary.readouterr()
    assert captured.out == b"".join(kcat_line(r) for r in SMALL if r.offset in SMALL_KEPT)
    assert b"superseded" in captured.err
    assert names(tmp_path) == ["d.jsonl"]


def test_a_dry_run_writes_nothing(tmp_path: Path, kcompact: Cli) -> None:
    dump = write_kcat(tmp_path / "d.jsonl", SMALL)

    run = kcompact("compact", dump, "--dry-run", "--format", "json")

    assert json.loads(run.stdout)["logs"][0]["kept"] == 5
    assert names(tmp_path) == ["d.jsonl"]


def test_csv_keeps_null_and_empty_apart(tmp_path: Path, kcompact: Cli) -> None:
    dump = write_csv(tmp_path / "d.csv", SMALL)

    kcompact("compact", dump)

    lines = (tmp_path / "d.compacted.csv").read_text().splitlines()
    assert [line.split(",")[2] for line in lines] == ["offset", *map(str, SMALL_KEPT)]
    assert lines[3].endswith(',"b",')
    assert lines[2].endswith(',"c",""')


def test_compacting_again_changes_nothing(tmp_path: Path, kcompact: Cli) -> None:
    dump = write_kcat(tmp_path / "d.jsonl", SMALL)
    kcompact("compact", dump)

    kcompact("compact", tmp_path / "d.compacted.jsonl", "-o", tmp_path / "again.jsonl")

    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "d.compacted.jsonl").read_bytes()


def test_what_is_there_is_not_replaced_unasked(tmp_path: Path, kcompact: Cli) -> None:
    dump = write_kcat(tmp_path / "d.jsonl", SMALL)
    (tmp_path / "d.compacted.jsonl").write_text("precious")

    run = kcompact("compact", dump)

    assert run.exit_code == 2
    assert "--overwrite" in run.stderr
    assert (tmp_path / "d.compacted.jsonl").read_text() == "precious"


def test_a_missing_file_is_a_sentence(tmp_path: Path, kcompact: Cli) -> None:
    run = kcompact("compact", tmp_path / "nowhere.jsonl")

    assert run.exit_code == 2
    assert run.stderr.startswith("error: ")
    assert "nowhere.jsonl" in run.stderr


def test_the_oracle_agrees_on_the_small_log() -> None:
    assert [r.offset for r in clean(SMALL, Settings()).retained] == SMALL_KEPT


def test_keys_with_a_replacement_character_are_said_even_where_the_exporter_keeps_bytes(
    tmp_path: Path, kcompact: Cli
) -> None:
    dump = write_kcat(tmp_path / "d.jsonl", [record("caf\ufffd", "1", offset=0), record("b", "1", offset=1)])

    run = kcompact("compact", dump)

    assert run.exit_code == 0
    assert "1 key with U+FFFD" in run.stderr


@pytest.mark.parametrize("keyless", [[], [record(None, "1", offset=20)]], ids=["rounds", "full form"])
def test_a_dropped_tombstone_brings_no_value_back_that_a_checkpoint_calls_clean(
    tmp_path: Path, kcompact: Cli, keyless: list[Record]
) -> None:
    gone = [record("a", "1", offset=0), tombstone("a", offset=1), tombstone("a", offset=2)]
    others = [record("b", "1", offset=3), tombstone("c", offset=4), record("b", "2", offset=10)]
    dump = write_kcat(tmp_path / "orders.jsonl", [*gone, *others, *keyless])
    (tmp_path / "checkpoint").write_text("0\n1\norders 0 10\n")

    run = kcompact(
        *("compact", dump, "--checkpoint", tmp_path / "checkpoint", "--drop-tombstones"),
        *("--null-keys", "keep", "-o", tmp_path / "out.jsonl"),
    )

    assert run.exit_code == 0
    assert offsets(tmp_path / "out.jsonl") == [0, 1, 10, *(r.offset for r in keyless)]


@pytest.mark.parametrize(
    "options",
    [
        ["--min-compaction-lag-ms", "1ms"],
        ["--null-keys", "keep"],
        ["--respect-dirty-ratio"],
        ["--rounds", "until-clean"],
        ["--format", "broker-log"],
        ["--state", "state"],
    ],
    ids=" ".join,
)
def test_a_policy_that_changes_nothing_shows_nowhere_but_by_its_name(
    tmp_path: Path, kcompact: Cli, options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_kcat(tmp_path / "orders.jsonl", SMALL)
    line = ("compact", "orders.jsonl", "-o", "out.jsonl", "--overwrite", "--now", "1800000000000")
    files = ("out.jsonl", "out.report/removed-keys.csv", "out.report/gaps.csv")
    kept: list[list[bytes]] = []
    reports: list[dict[str, Any]] = []
    for more in ([], options):
        assert kcompact(*line, *more).exit_code == 0
        kept.append([Path(name).read_bytes() for name in files])
        report = report_of(Path("out.report"))
        reports.append({name: report[name] for name in report.keys() - {"run", "policies", "outputs"}})

    assert kept[0] == kept[1]
    sizes = [
        [figures.pop("bytes_read"), figures.pop("bytes_written")]
        for report in reports
        for log in report["logs"]
        for figures in log["rounds"]
    ]
    assert sizes[0] == [None, None]  # the plain run looks at no value
    assert (None in sizes[1]) == (options[0] in {"--null-keys", "--rounds"})
    assert reports[0] == reports[1]
    assert [log["rounds"][0]["messages_written"] for log in reports[0]["logs"]] == [len(SMALL_KEPT)]
