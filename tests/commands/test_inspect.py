"""``kcompact inspect`` through ``main()``: what it tells, in which form, and what its exit code says."""

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import Run
from dump_files import write_avro, write_csv, write_kcat
from inspect_sightings import BY_NAME, partitions_of
from kcompact.dumps.describing import dialect_rows
from kcompact.dumps.records.record import Record
from kcompact.inspect.inspection import SCHEMA_VERSION
from records import record, tombstone

pytestmark = pytest.mark.usefixtures("spark")
Cli = Callable[..., Run]

HOSTILE = [
    "\x1b]0;title\x07\x1b[2J",
    "::error file=app.py::pwned",
    "##[error]pwned",
    "| a | <img src=x onerror=alert(1)> `b` @team #1",
    "[bold red]x[/]",
    "\u202egnp.exe",
    "two\nlines\r\nand::warning::more",
    "=HYPERLINK(1)",
]
ORDERS = [
    record("a", "1", offset=0, timestamp_ms=1),
    record("a", "2", offset=1, timestamp_ms=2),
    tombstone("b", offset=3, timestamp_ms=3),
    record("a", "3", offset=0, partition=1, timestamp_ms=4),
    record(None, "x", offset=1, partition=1, timestamp_ms=5),
]


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    return write_kcat(tmp_path / "orders.jsonl", ORDERS)


def test_the_verdict_comes_first_and_the_tables_tell_the_rest(dump: Path, kcompact: Cli) -> None:
    run = kcompact("inspect", dump)

    assert run.exit_code == 0
    lines = run.stdout.splitlines()
    assert lines[0].startswith("5 records, 2 live of 3 keys in 2 partitions; ")
    assert re.search(r"^orders-0 +4 +3 +0 +3 ", run.stdout, re.MULTILINE)  # end - begin = 4, present = 3
    assert "kcat     certain" in run.stdout
    assert "unknown, marker-like" in run.stdout
    assert "warning: orders: 1 key in several partitions" in run.stdout


def test_json_tells_the_same_to_programs(dump: Path, kcompact: Cli) -> None:
    run = kcompact("inspect", dump, "--format", "json")
    report: dict[str, Any] = json.loads(run.stdout)

    assert report["schema_version"] == SCHEMA_VERSION
    assert report["files"][0]["dialect"] == "kcat"
    assert report["files"][0]["fields"]["value"] == "payload"
    first = report["logs"][0]
    assert (first["topic"], first["partition"], first["records"], first["end_minus_begin"]) == (
        "orders",
        0,
        3,
        4,
    )
    assert first["gaps"]["longest"] == [{"first_offset": 2, "last_offset": 2, "length": 1}]
    assert report["top_keys_by_records"][0]["key"] == "a"
    assert base64.b64decode(report["top_keys_by_records"][0]["key_base64"]) == b"a"
    assert {finding["code"] for finding in report["findings"]} >= {
        "null-keys",
        "cross-partition-keys",
        "gaps",
    }
    assert report["run"]["seconds"] > 0


@pytest.mark.parametrize("write", [write_kcat, write_avro, write_csv])
def test_every_format_tells_the_same(
    write: Callable[[Path, list[Record]], Path], tmp_path: Path, kcompact: Cli
) -> None:
    run = kcompact("inspect", write(tmp_path / "dump", ORDERS), "--format", "json")
    report = json.loads(run.stdout)

    assert [(log["records"], log["keys"], log["null_keys"]) for log in report["logs"]] == [
        (3, 2, 0),
        (2, 1, 1),
    ]
    assert report["logs"][0]["values"] == {"present": 2, "null": 1, "empty": 0, "word_null": 0}


@pytest.mark.parametrize(
    ("options", "exit_code"),
    [
        ([], 0),
        (["--max-null-keys", "1"], 0),
        (["--max-null-keys", "0"], 1),
        (["--max-cross-partition-keys", "1"], 0),
        (["--max-cross-partition-keys", "0"], 1),
        (["--max-gaps", "1"], 0),
        (["--max-gaps", "0"], 1),
        (["--max-gaps", "0", "--fail-on", "never"], 0),
        (["--fail-on", "warning"], 1),
        (["--fail-on", "error"], 0),
        (["--max-gaps", "-1"], 2),
        (["--fail-on", "sometimes"], 2),
        (["--expect-end-offsets", "no-such-file"], 2),
    ],
)
def test_exit_codes(options: list[str], exit_code: int, dump: Path, kcompact: Cli) -> None:
    assert kcompact("inspect", dump, *options).exit_code == exit_code


@pytest.mark.parametrize(
    ("ends", "exit_code", "finding"),
    [
        ("orders:0:4\norders:1:2\n", 0, None),
        ("orders 0 4\n# from the broker\norders 1 2\n", 0, None),
        ("orders:0:5\norders:1:2\n", 0, "warning: orders-0: the last offset below the log end 5"),
        ("orders:0:9\norders:1:2\n", 1, "error: orders-0: the dump ends at 4, the log at 9: 5 offsets"),
        (
            "orders:0:4\norders:1:2\norders:2:7\n",
            1,
            "error: orders-2: the log ends at 7, and the dump",
        ),
        ("orders:0:3\norders:1:2\n", 0, "note: orders-0: the dump reaches 4, the log ended at 3"),
        ("orders:0:4\n", 0, "note: orders-1: no expected end offset"),
    ],
)
def test_expected_end_offsets(
    ends: str, exit_code: int, finding: str | None, dump: Path, kcompact: Cli
) -> None:
    expected = dump.with_name("ends.txt")
    expected.write_text(ends)
    run = kcompact("inspect", dump, "--expect-end-offsets", expected)

    assert run.exit_code == exit_code
    assert finding in run.stdout if finding else "end offset" not in run.stdout


def test_logs_that_are_filtered_out_are_not_missed(dump: Path, kcompact: Cli) -> None:
    expected = dump.with_name("ends.txt")
    expected.write_text("orders:0:4\norders:1:99\nothers:0:99\n")
    run = kcompact(
        "inspect", dump, "--expect-end-offsets", expected, "--topic", "orders", "--partitions", "0"
    )

    assert run.exit_code == 0


def test_a_line_that_is_no_end_offset_is_named(dump: Path, kcompact: Cli) -> None:
    expected = dump.with_name("ends.txt")
    expected.write_text("orders:0:4\norders:1\n")
    run = kcompact("inspect", dump, "--expect-end-offsets", expected)

    assert run.exit_code == 2
    assert f"{expected}:2: not TOPIC:PARTITION:END_OFFSET: orders:1" in run.stderr


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_hostile_keys_are_inert_in_every_form(form: str, tmp_path: Path, kcompact: Cli) -> None:
    records = [
        record(key, "v", offset=at, partition=part) for at, key in enumerate(HOSTILE) for part in (0, 1)
    ]
    run = kcompact("inspect", write_kcat(tmp_path / "dump.jsonl", records), "--format", form)

    assert run.exit_code == 0
    shown = run.stdout + run.stderr
    assert all(character.isprintable() or character == "\n" for character in shown)
    assert not re.search(r"^\s*::|##\[", shown, re.MULTILINE)
    if form == "markdown":
        outside = re.sub(r"`[^`\n]*`", "", shown)
        assert "<" not in outside
        assert "@team" not in outside
        bars = {line.count("|") for line in shown.splitlines() if "Keys in several" in line}
        assert len(bars) <= 1


def test_the_likely_cause_stands_in_the_report(tmp_path: Path, kcompact: Cli) -> None:
    keys = [f"user-{at}".encode() for at in range(100)]
    records, ends = [], dict.fromkeys(range(6), 0)
    for count in (3, 6):
        for key, partition in zip(keys, partitions_of(keys, BY_NAME["crc32"], count), strict=True):
            records.append(record(key, "v", offset=ends[partition], partition=partition))
            ends[partition] += 1
    run = kcompact("inspect", write_kcat(tmp_path / "dump.jsonl", records))

    assert "likely cause: the number of partitions was raised from 3 to 6 half-way (crc32" in run.stdout
    assert "Where it changed" in run.stdout


def test_keys_that_others_would_refuse_are_only_told(tmp_path: Path, kcompact: Cli) -> None:
    dump = tmp_path / "dump.jsonl"
    lines = [
        {"topic": "t", "partition": 0, "offset": at, "timestamp": 1, "key": key, "value": "v"}
        for at, key in enumerate(["a\ufffd", "b"])
    ]
    dump.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    run = kcompact("inspect", dump)

    assert run.exit_code == 0
    assert "1 key with U+FFFD" in run.stdout


def test_a_record_that_cannot_be_read_ends_the_run(tmp_path: Path, kcompact: Cli) -> None:
    dump = write_kcat(tmp_path / "dump.jsonl", ORDERS)
    dump.write_bytes(dump.read_bytes() + b'{"topic":"orders","partition":0,"off\n' + b"{}\n")
    run = kcompact("inspect", dump)

    assert run.exit_code == 2
    assert f"{dump}:6" in run.stderr


def test_the_report_goes_to_a_file_that_is_not_overwritten_unasked(dump: Path, kcompact: Cli) -> None:
    target = dump.with_name("report.md")
    run = kcompact("inspect", dump, "-o", target, "--format", "markdown")
    assert run.exit_code == 0
    assert run.stdout == ""
    assert target.read_text().startswith("# Inspection\n")

    assert kcompact("inspect", dump, "-o", target).exit_code == 2
    assert kcompact("inspect", dump, "-o", target, "--overwrite").exit_code == 0
    assert target.read_text().startswith("5 records")
    assert kcompact("inspect", dump, "-o", dump, "--overwrite").exit_code == 2
    assert dump.read_bytes().startswith(b'{"topic"')
    folder = kcompact("inspect", dump, "-o", dump.parent, "--overwrite")
    assert folder.exit_code == 2
    assert "holds" in folder.stderr
    assert target.exists()


def test_topic_and_partition_filters_hold(dump: Path, kcompact: Cli) -> None:
    report = json.loads(kcompact("inspect", dump, "--partitions", "1", "--format", "json").stdout)
    assert [log["partition"] for log in report["logs"]] == [1]
    nothing = kcompact("inspect", dump, "--topic", "other")
    assert (nothing.exit_code, nothing.stdout) == (2, "")
    assert nothing.stderr.startswith("error: --topic other: no record of this topic")


def test_all_dialects_are_listed_without_a_dump(kcompact: Cli) -> None:
    run = kcompact("inspect", "--dialects")
    assert run.exit_code == 0
    listed = [line.split()[0] for line in run.stdout.splitlines() if line and "  " in line]
    assert listed[-len(dialect_rows()) :] == [row.name for row in dialect_rows()]


def test_help_has_an_example(kcompact: Cli) -> None:
    assert "kcompact inspect samples/orders.jsonl" in kcompact("inspect", "--help").stdout


def test_the_readme_shows_what_is_printed(kcompact: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(__file__).parents[2]
    monkeypatch.chdir(root)
    readme = (root / "README.md").read_text()
    shown = re.search(
        r"^\$ kcompact inspect (\S+) \| head -n (\d+)\n(.*?)\n```", readme, re.MULTILINE | re.DOTALL
    )
    assert shown is not None
    dump, lines, output = shown.groups()

    assert kcompact("inspect", dump).stdout.splitlines()[: int(lines)] == output.splitlines()
