"""Files that cannot be read among many: refused by name, or left out with their logs."""

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Run
from dump_files import kcat_line
from records import record

pytestmark = pytest.mark.usefixtures("spark")
Cli = Callable[..., Run]
RECORDS = {p: [record("ab"[n % 2], str(n), offset=n, partition=p) for n in range(6)] for p in range(4)}


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """Partition 1 has a line that is no record, 3 is an archive that was cut off."""
    folder = tmp_path / "dump"
    folder.mkdir()
    lines = {p: b"".join(map(kcat_line, records)) for p, records in RECORDS.items()}
    for p in (0, 2):
        (folder / f"orders-{p}.jsonl").write_bytes(lines[p])
    (folder / "orders-1.jsonl").write_bytes(lines[1] + b'{"topic": "orders"\n')
    (folder / "orders-3.jsonl.gz").write_bytes(gzip.compress(lines[3])[:-9])
    return folder


def test_without_it_every_file_that_cannot_be_opened_is_named(dump: Path, kcompact: Cli) -> None:
    (dump / "orders-4.jsonl").write_text("no dump at all\n")
    run = kcompact("compact", dump)
    assert run.exit_code == 2
    assert "orders-3.jsonl.gz" in run.stderr
    assert "orders-4.jsonl" in run.stderr
    assert "--keep-going" in run.stderr
    assert not dump.with_name("dump.compacted").exists()


def test_without_it_every_file_with_a_bad_record_is_named(dump: Path, kcompact: Cli) -> None:
    (dump / "orders-3.jsonl.gz").unlink()
    with (dump / "orders-2.jsonl").open("ab") as file:
        file.write(b"{}\n")
    run = kcompact("dirty-ratio", dump)
    assert run.exit_code == 2
    assert "orders-1.jsonl:7" in run.stderr
    assert "orders-2.jsonl:7" in run.stderr


@pytest.mark.parametrize(
    "line", ["dirty-ratio --checkpoint", "compact --topic-config", "inspect --expect-end-offsets"]
)
def test_what_is_read_beside_the_dump_is_no_pipe(line: str, dump: Path, kcompact: Cli) -> None:
    """Read again without what is left out, a pipe would be an empty file, that of a log never cleaned."""
    lines = {
        "--checkpoint": b"0\n1\norders 0 2\n",
        "--topic-config": b"",
        "--expect-end-offsets": b"orders:0:6\n",
    }
    command, option = line.split()
    reader, writer = os.pipe()
    with os.fdopen(reader), os.fdopen(writer, "wb") as out:
        out.write(lines[option])
        out.close()
        run = kcompact(command, dump, "--keep-going", option, f"/dev/fd/{reader}")
    assert run.exit_code == 2
    assert f"error: /dev/fd/{reader}: --keep-going begins anew" in run.stderr
    assert not dump.with_name("dump.compacted").exists()


def test_logs_of_unreadable_files_are_left_out_whole(dump: Path, tmp_path: Path, kcompact: Cli) -> None:
    state = tmp_path / "state"
    state.mkdir()
    (state / "cleaner-offset-checkpoint").write_text("0\n2\norders 0 2\norders 1 4\n")

    run = kcompact("compact", dump, "--keep-going", "--state", state)

    assert run.exit_code == 1
    last = run.stderr.splitlines()[-1]
    assert last.startswith("finding: left out: orders-1, orders-3 (")
    assert "orders-1.jsonl:7" in last
    assert "orders-3.jsonl.gz" in last
    output = dump.with_name("dump.compacted")
    assert sorted(path.name for path in output.iterdir()) == ["orders-0.jsonl", "orders-2.jsonl"]
    assert (output / "orders-2.jsonl").read_bytes() == b"".join(map(kcat_line, RECORDS[2][4:]))
    assert "orders 1 4" in (state / "cleaner-offset-checkpoint").read_text().splitlines()
    assert "left out: orders-1" in (tmp_path / "dump.compacted.report" / "report.json").read_text()


@pytest.mark.parametrize("state", [False, True], ids=["plain", "with state"])
def test_nothing_is_written_of_a_log_that_is_left_out(
    state: bool, dump: Path, tmp_path: Path, kcompact: Cli
) -> None:
    """An empty file would say that the log has no records; one whose records have all gone is written."""
    (dump / "orders-1.more.jsonl").write_bytes(kcat_line(record("a", "x", offset=100, partition=1)))
    (dump / "orders-2.more.jsonl").write_bytes(b"".join(map(kcat_line, RECORDS[2])))
    (dump / "orders-2.jsonl").write_bytes(
        b"".join(kcat_line(row._replace(offset=row.offset + 100)) for row in RECORDS[2])
    )
    options = ["--state", tmp_path / "state"] if state else []

    run = kcompact("compact", dump, "--keep-going", *options)

    assert run.exit_code == 1, run.stderr
    output = dump.with_name("dump.compacted")
    sizes = {path.name: path.stat().st_size for path in output.iterdir()}
    assert sizes.keys() == {"orders-0.jsonl", "orders-2.jsonl", "orders-2.more.jsonl"}
    assert sizes["orders-2.more.jsonl"] == 0


@pytest.mark.parametrize("command", ["inspect", "dirty-ratio"])
def test_other_commands_leave_the_same_out(command: str, dump: Path, kcompact: Cli) -> None:
    run = kcompact(command, dump, "--keep-going", "--format=json")
    assert run.exit_code == 1
    assert "left out: orders-1, orders-3" in run.stdout
    assert '"partition":2' in run.stdout.replace(" ", "")
    assert '"partition":3' not in run.stdout.replace(" ", "")


@pytest.mark.parametrize(("value", "exit_code"), [("4", 2), ("other", 1)])
def test_verify_says_no_or_nothing(
    value: str, exit_code: int, dump: Path, tmp_path: Path, kcompact: Cli
) -> None:
    after = tmp_path / "after.jsonl"
    kept = [RECORDS[0][4]._replace(value=value.encode()), RECORDS[0][5], *RECORDS[1], *RECORDS[2][4:]]
    after.write_bytes(b"".join(map(kcat_line, kept)))
    run = kcompact("verify", dump, after, "--keep-going")
    assert run.exit_code == exit_code
    assert run.stderr.splitlines()[-1].startswith("finding: left out: orders-1, orders-3")
    assert "orders-1: " not in run.stdout


def test_a_name_that_says_nothing_refuses_to_keep_going(dump: Path, kcompact: Cli) -> None:
    (dump / "orders-1.jsonl").rename(dump / "export.jsonl")
    run = kcompact("dirty-ratio", dump, "--keep-going")
    assert run.exit_code == 2
    assert "export.jsonl does not say whose records it holds" in run.stderr


def test_verify_calls_what_was_left_out_undecided(dump: Path, tmp_path: Path, kcompact: Cli) -> None:
    (dump / "orders-3.jsonl.gz").unlink()
    output = tmp_path / "after"
    assert kcompact("compact", dump, "--keep-going", "-o", output).exit_code == 1

    run = kcompact("verify", dump, output, "--keep-going", "--format", "json")
    answer = json.loads(run.stdout)
    assert (run.exit_code, answer["holds"], answer["undecided"]) == (2, False, True)
    assert answer["counts"]["left-out"] == {"finding": 0, "undecided": 1, "note": 0}

    run = kcompact("verify", dump, output, "--keep-going", "--format", "junit")
    assert run.exit_code == 2
    assert 'failures="1"' in run.stdout
    assert "left-out in orders-1" in run.stdout


def test_an_untrue_name_refuses_to_keep_going(dump: Path, tmp_path: Path, kcompact: Cli) -> None:
    """The part that cannot be read may delete what other files hold."""
    (dump / "orders-3.jsonl.gz").unlink()
    deletion = kcat_line(record("a", None, offset=9, partition=0))
    (dump / "orders-1.jsonl").write_bytes(deletion + b'{"topic": "orders"\n')
    run = kcompact("compact", dump, "--keep-going", "-o", tmp_path / "after")
    assert run.exit_code == 2
    assert "it holds records of orders-0, which its name does not say" in run.stderr
    assert not (tmp_path / "after").exists()


@pytest.mark.parametrize("command", ["compact", "inspect", "dirty-ratio"])
def test_a_dump_of_which_all_is_left_out_is_refused(
    command: str, dump: Path, tmp_path: Path, kcompact: Cli
) -> None:
    """An output that is there already is not replaced by nothing."""
    for name in ("orders-0.jsonl", "orders-3.jsonl.gz"):
        (dump / name).unlink()
    (dump / "orders-2.jsonl").rename(dump / "orders-1b.jsonl")
    with (dump / "orders-1b.jsonl").open("wb") as file:
        file.writelines(kcat_line(record("a", str(n), offset=9 + n, partition=1)) for n in range(3))
    output = tmp_path / "after.jsonl"
    output.write_text("precious")
    more = ["-o", output, "--overwrite"] if command == "compact" else []
    run = kcompact(command, dump, "--keep-going", *more)
    assert run.exit_code == 2
    assert "leaves out every log that can be read" in run.stderr
    assert output.read_text() == "precious"


def test_a_report_with_hashes_of_keys_quotes_no_line(dump: Path, tmp_path: Path, kcompact: Cli) -> None:
    cut = b'{"topic": "orders", "partition": 1, "key": "personal"\n'
    (dump / "orders-1.jsonl").write_bytes(b"".join(map(kcat_line, RECORDS[1])) + cut)
    keys = tmp_path / "keys"
    keys.write_text("personal\n")
    line = ("verify", dump, "--keep-going", "--absent-keys", keys)
    assert "personal" in kcompact(*line, "--format", "json").stdout
    run = kcompact(*line, "--hash-keys", "--format", "json")
    assert run.exit_code == 2
    assert "personal" not in run.stdout
    assert any("orders-1.jsonl" in text for text in json.loads(run.stdout)["assumed"])
