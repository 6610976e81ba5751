"""Dumps of so many files that tasks recognise them: nothing else of the outcome is another."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Run
from dump_files import kcat_line
from kcompact.commands.incoming import opening
from kcompact.dumps.records.record import Record
from kcompact.dumps.writers import targets
from kcompact.engine.passes import index_pass
from kcompact.storage import disk
from records import record, tombstone

pytestmark = pytest.mark.usefixtures("spark")
Cli = Callable[..., Run]

FIRST = [record("a", "1", offset=0), record("b", "1", offset=1)]
SECOND = [record("a", "2", offset=2), record("c", "1", offset=3)]
THIRD = [tombstone("b", offset=4), record("d", "1", offset=5)]


def lines(records: list[Record]) -> bytes:
    return b"".join(map(kcat_line, records))


@pytest.fixture
def dump(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of three files, as text, packed, and in UTF-16: more than are opened one after another."""
    monkeypatch.setattr(opening, "MANY_FILES", 3)
    folder = tmp_path / "dump"
    folder.mkdir()
    (folder / "orders-1.jsonl").write_bytes(lines(FIRST))
    (folder / "orders-2.jsonl.gz").write_bytes(gzip.compress(lines(SECOND)))
    (folder / "orders-3.jsonl").write_bytes(lines(THIRD).decode().encode("utf-16"))
    return folder


def test_files_that_tasks_recognise_are_compacted_as_any_others(dump: Path, kcompact: Cli) -> None:
    run = kcompact("compact", dump, "-o", dump.parent / "out")

    assert run.exit_code == 0
    out = dump.parent / "out"
    assert (out / "orders-1.jsonl").read_bytes() == b""
    assert gzip.decompress((out / "orders-2.jsonl.gz").read_bytes()) == lines(SECOND)
    assert (out / "orders-3.jsonl").read_bytes() == lines(THIRD)
    assert f"{dump}/orders-3.jsonl: UTF-16; read and written as UTF-8" in run.stderr


def test_tasks_write_outputs_of_one_split_as_they_will_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kcompact: Cli
) -> None:
    """Those that are packed, or in several splits, are joined of parts; all are as if they were."""
    monkeypatch.setattr(index_pass, "SMALLEST_SPLIT_BYTES", 20_000)
    (tmp_path / "dump" / "below").mkdir(parents=True)
    orders = Path("samples/orders.jsonl").read_bytes().splitlines(keepends=True)
    contents = {
        "1.jsonl": orders[:40],
        "2.jsonl.gz": orders[40:80],
        "below/3.jsonl": orders[80:300],
        "below/4.json": [b"[\n", b",\n".join(line.rstrip() for line in orders[300:340]), b"\n]\n"],
        "5.jsonl": [*orders[340:399], orders[399].rstrip()],
    }
    for name, lines_of_file in contents.items():
        content = b"".join(lines_of_file)
        (tmp_path / "dump" / name).write_bytes(gzip.compress(content) if ".gz" in name else content)
    renamed: list[str] = []
    rename = disk.rename
    with monkeypatch.context() as patched:
        patched.setattr(targets, "_own_outputs", lambda _: frozenset())
        assert kcompact("compact", tmp_path / "dump", "-o", tmp_path / "joined").exit_code == 0
    monkeypatch.setattr(disk, "rename", lambda path, to: (renamed.append(to.name), rename(path, to)))
    run = kcompact("compact", tmp_path / "dump", "-o", tmp_path / "own")

    assert run.exit_code == 0, run.stderr
    assert {"1.jsonl", "4.json", "5.jsonl"} <= {*renamed}
    assert not {"2.jsonl.gz", "3.jsonl"} & {*renamed}
    for name in contents:
        own, joined = tmp_path / "own" / name, tmp_path / "joined" / name
        assert own.read_bytes() == joined.read_bytes() != b""
        assert own.stat().st_mode == joined.stat().st_mode


def test_tasks_open_files_whose_names_are_relative(
    dump: Path, monkeypatch: pytest.MonkeyPatch, kcompact: Cli
) -> None:
    monkeypatch.chdir(dump.parent)  # after Spark has started: its workers stay where they are
    assert kcompact("compact", "dump", "-o", "out").exit_code == 0
    assert (dump.parent / "out" / "orders-3.jsonl").read_bytes() == lines(THIRD)
    run = kcompact("inspect", "dump/../dump/orders-*")
    assert (run.exit_code, "4 live of 4 keys" in run.stdout) == (0, False), run.stdout
    assert "3 live of 4 keys" in run.stdout


def test_keys_and_values_side_by_side_may_have_relative_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kcompact: Cli
) -> None:
    for suffix, line in [("keys.json", '"k"\n"k"\n'), ("json", '{"a":1}\n{"a":2}\n')]:
        (tmp_path / f"t+0+0000000000.{suffix}").write_text(line)
    assert kcompact("inspect", tmp_path).exit_code == 0  # Spark has started
    monkeypatch.chdir(tmp_path.parent)
    run = kcompact("compact", tmp_path.name, "-o", "out.jsonl", "--no-report")
    assert run.exit_code == 0, run.stderr
    (line,) = (tmp_path.parent / "out.jsonl").read_text().splitlines()
    assert (json.loads(line)["offset"], json.loads(line)["value"]) == (1, '{"a":2}')


def test_files_that_tasks_cannot_recognise_are_told_as_any_others(
    dump: Path, monkeypatch: pytest.MonkeyPatch, kcompact: Cli
) -> None:
    (dump / "orders-1.jsonl").write_bytes(b"no records\n")
    whole = (dump / "orders-2.jsonl.gz").read_bytes()
    (dump / "orders-2.jsonl.gz").write_bytes(whole[:-10])
    run = kcompact("inspect", dump)
    monkeypatch.setattr(opening, "MANY_FILES", 4)
    one_by_one = kcompact("inspect", dump)

    assert run.exit_code == one_by_one.exit_code == 2
    assert "2 files cannot be read" in run.stderr
    assert run.stderr == one_by_one.stderr
