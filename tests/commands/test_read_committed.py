"""What a read_committed dump tells, and what it leaves open, through the command line."""

from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Run
from dump_files import write_kcat
from records import record

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
    assert "give --last-stable-offset behind it, if its transaction was aborted" in run.stdout
    assert kcompact(*command, "--last-stable-offset=orders-0=5").exit_code == 0


def test_a_read_committed_dump_of_another_topic_is_refused(tmp_path: Path, kcompact: Cli) -> None:
    dump = write_kcat(tmp_path / "orders.jsonl", [record("a", "1", offset=0)])
    users = write_kcat(tmp_path / "users.jsonl", [record("a", "1", offset=0, topic="users")])
    for command in (("compact", dump), ("dirty-ratio", dump), ("verify", dump, dump)):
        run = kcompact(*command, "--read-committed", users)
        assert run.exit_code == 2
        assert "--read-committed is about users-0; the dump holds orders-0" in run.stderr


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
    assert "orders-0: the read_committed dump begins at offset 2, this one at 0" in run.stderr


def test_a_log_that_is_told_to_start_behind_its_records_is_refused(tmp_path: Path, kcompact: Cli) -> None:
    dump = write_kcat(tmp_path / "d.jsonl", [record("a", "1", offset=0), record("b", "1", offset=1)])
    run = kcompact("compact", dump, "--log-start-offset", "303")
    assert run.exit_code == 2
    assert "orders-0: the log is told to start at 303, but the dump ends with offset 1" in run.stderr
    ends = ("--log-start-offset", "303", "--log-end-offset", "400")
    assert kcompact("compact", dump, *ends).exit_code == 0
    assert kcompact("compact", dump, "--log-start-offset", "2", "-o", tmp_path / "o.jsonl").exit_code == 0
