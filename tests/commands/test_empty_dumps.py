"""Dumps without any record, as of an empty topic, and compactions that leave nothing."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import fastavro
import pyarrow as pa
import pytest
from pyarrow import parquet

import avro_files
from conftest import Run
from dump_files import write_csv, write_kcat
from kcompact.dumps.records.record import Record
from records import tombstone

pytestmark = pytest.mark.usefixtures("spark")
Cli = Callable[..., Run]

NAMES = ["e.csv", "e.avro", "e.parquet"]
COMMANDS = [
    "compact {0} -o out{0}",
    "inspect {0}",
    "inspect {0} --key k",
    "dirty-ratio {0}",
    "verify {0} {0}",
]
FORMATS = ["jsonl", "csv", "avro", "parquet"]


def write_empty(path: Path) -> None:
    match path.suffix:
        case ".csv":
            write_csv(path, [])
        case ".avro":
            avro_files.write_avro(path, avro_files.PLAIN, [])
        case ".parquet":
            fields = [("topic", pa.string()), ("partition", pa.int32()), ("offset", pa.int64())]
            fields += [("key", pa.binary()), ("value", pa.binary())]
            parquet.write_table(pa.schema(fields).empty_table(), path)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_dump_without_records_is_no_fault(
    name: str, command: str, tmp_path: Path, kcompact: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_empty(Path(name))
    run = kcompact(*command.format(name).split())
    assert run.exit_code == 0, run.stderr


def test_a_header_line_without_a_line_end_is_a_dump_without_records(tmp_path: Path, kcompact: Cli) -> None:
    (tmp_path / "e.csv").write_text("topic,partition,offset,timestamp,key,value")
    assert kcompact("compact", tmp_path / "e.csv").exit_code == 0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("suffix", FORMATS)
def test_a_dump_without_records_is_converted(name: str, suffix: str, tmp_path: Path, kcompact: Cli) -> None:
    before, after = tmp_path / name, tmp_path / f"after.{suffix}"
    write_empty(before)
    assert kcompact("compact", before, "-o", after).exit_code == 0
    assert records_in(after) == 0
    assert kcompact("verify", before, after).exit_code == 0


@pytest.mark.parametrize("row_groups", [0, 1], ids=["no row group", "an empty row group"])
def test_a_night_without_records_tells_nothing_of_row_groups(
    row_groups: int, tmp_path: Path, kcompact: Cli
) -> None:
    """Such a file of Parquet comes first, and what it is joined with keeps its row groups."""
    columns = {"topic": ["t"] * 50, "partition": [0] * 50, "offset": range(50), "value": [b"v"] * 50}
    night = pa.table({**columns, "key": [b"%d" % number for number in range(50)]})
    with parquet.ParquetWriter(tmp_path / "1.parquet", night.schema) as writer:
        for _ in range(row_groups):
            writer.write_table(night.slice(0, 0))
    parquet.write_table(night, tmp_path / "2.parquet")
    out = tmp_path / "out.parquet"
    run = kcompact("compact", tmp_path / "1.parquet", tmp_path / "2.parquet", "-o", out)
    assert run.exit_code == 0, run.stderr
    assert parquet.read_metadata(tmp_path / "1.parquet").num_row_groups == row_groups
    assert (parquet.read_table(out), parquet.read_metadata(out).num_row_groups) == (night, 1)


def records_in(path: Path) -> int:
    """As other readers see it."""
    match path.suffix:
        case ".jsonl":
            return len(path.read_bytes().splitlines())
        case ".csv":
            return len(path.read_bytes().splitlines()) - 1
        case ".avro":
            with path.open("rb") as source:
                return len(list(fastavro.reader(source)))
    return int(parquet.read_metadata(path).num_rows)


def write_array(path: Path, records: list[Record]) -> Path:
    lines = write_kcat(path.with_suffix(".lines"), records).read_bytes().splitlines()
    path.write_text(json.dumps([json.loads(line) for line in lines]))
    return path


def write_packed(path: Path, records: list[Record]) -> Path:
    path.write_bytes(gzip.compress(write_kcat(path.with_suffix(".lines"), records).read_bytes()))
    return path


@pytest.mark.parametrize("suffix", ["json", "jsonl.gz", *FORMATS])
def test_a_compaction_that_leaves_nothing_is_verified(suffix: str, tmp_path: Path, kcompact: Cli) -> None:
    deleted = [tombstone("k", offset=7)]
    before = (
        write_array(tmp_path / "before.json", deleted)
        if suffix == "json"
        else write_packed(tmp_path / "before.jsonl.gz", deleted)
    )
    after = tmp_path / f"after.{suffix}"
    assert kcompact("compact", before, "-o", after, "--drop-tombstones").exit_code == 0
    assert kcompact("verify", before, after).exit_code == 0
    live = write_kcat(tmp_path / "live.jsonl", [deleted[0]._replace(value=b"v")])
    lost = kcompact("verify", live, after, "--cleanup-policy", "compact")
    assert (lost.exit_code, "missing-log" in lost.stdout) == (1, True), lost.stderr


@pytest.mark.parametrize("suffix", ["json", "jsonl.gz"])
def test_files_of_a_folder_that_hold_no_record_are_passed_over(
    suffix: str, tmp_path: Path, kcompact: Cli
) -> None:
    """As a compaction leaves them where all records of a file are superseded in another, or all deleted."""
    write, before, after = write_array if suffix == "json" else write_packed, tmp_path / "d", tmp_path / "out"
    before.mkdir()
    old, new = (Record("t", 0, offset, 5, b"k", b"v", ()) for offset in (0, 1))
    for name, records in {"1": [old], "2": [old._replace(key=b"l", offset=3)], "3": [new]}.items():
        write(before / f"{name}.{suffix}", records)
    for lines in before.glob("*.lines"):
        lines.unlink()

    assert kcompact("compact", before, "-o", after).exit_code == 0
    verify = kcompact("verify", before, after, "--cleanup-policy", "compact")
    assert (verify.exit_code, f"{after}/1.{suffix}: without any record, left out" in verify.stderr) == (
        0,
        True,
    )
    assert kcompact("compact", after, "-o", tmp_path / "again").exit_code == 0
    assert {path.name for path in (tmp_path / "again").iterdir()} == {f"2.{suffix}", f"3.{suffix}"}
    for path in (tmp_path / "again").iterdir():
        assert path.read_bytes() == (after / path.name).read_bytes()
    alone = kcompact("compact", after / f"1.{suffix}", after / f"3.{suffix}", "-o", tmp_path / "one")
    assert alone.exit_code == 2, "it was named"


def test_a_folder_that_a_compaction_left_without_any_record_is_verified(
    tmp_path: Path, kcompact: Cli
) -> None:
    before, after = tmp_path / "d", tmp_path / "out"
    before.mkdir()
    for offset in (0, 1):
        write_packed(before / f"{offset}.jsonl.gz", [tombstone("k", offset=offset)])
        (before / f"{offset}.jsonl.lines").unlink()
    assert kcompact("compact", before, "-o", after, "--drop-tombstones").exit_code == 0
    assert kcompact("verify", before, after).exit_code == 0


@pytest.mark.parametrize("text", ["", "[]", " [\n]\n", "\n\n"])
def test_a_file_without_any_record_is_refused_as_an_input(text: str, tmp_path: Path, kcompact: Cli) -> None:
    (tmp_path / "e.json").write_text(text)
    run = kcompact("compact", tmp_path / "e.json")
    assert run.exit_code == 2
    assert str(tmp_path / "e.json") in run.stderr.replace("\n", "")
