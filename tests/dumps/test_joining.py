import json
from collections.abc import Callable
from pathlib import Path

import pytest

from avro_files import PLAIN, TRIVADIS, read_rows, write_avro
from conftest import Run
from dump_pipeline import copied, index_all, planned
from kcompact.dumps.dump import Dump, open_dump
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.output.assemble import joined, order_notes
from kcompact.dumps.records.record import Record
from kcompact.errors import OutputError

RECORDS = [Record("t", 0, offset, 5, b"k%d" % offset, b"v") for offset in range(40)]
LINE = b'{"topic":"t","partition":0,"offset":%d,"timestamp":5,"key":"k","value":"v"}\n'
KCAT = b'{"topic":"t","partition":0,"offset":1,"tstype":"create","ts":5,"broker":1,"key":"k","payload":"v"}\n'


def join(paths: list[Path], output: str) -> Dump:
    arguments = [str(path) for path in paths]
    dump = open_dump(arguments, ReadOptions())
    dump.files = joined(planned(dump, arguments, output))
    return dump


def test_avro_files_are_joined_under_one_marker_and_codec(tmp_path: Path) -> None:
    first = write_avro(tmp_path / "1.avro", PLAIN, RECORDS[:20], codec="snappy", block_bytes=100)
    two = write_avro(
        tmp_path / "2.avro", PLAIN, RECORDS[20:], codec="deflate", block_bytes=100, marker=b"another marker--"
    )
    with join([first, two], str(tmp_path / "out.avro")) as dump:
        rows = index_all(dump)[0].to_pylist()
        assert [row["offset"] for row in read_rows(copied(dump, rows))] == list(range(40))
        odd = [row for row in rows if row["offset"] % 2]
        assert [row["offset"] for row in read_rows(copied(dump, odd))] == list(range(1, 40, 2))


def test_files_of_two_schemas_are_not_joined(tmp_path: Path) -> None:
    first = write_avro(tmp_path / "1.avro", PLAIN, RECORDS[:1])
    two = write_avro(tmp_path / "2.avro", TRIVADIS, RECORDS[1:])
    with pytest.raises(OutputError, match="their Avro schemas differ") as caught:
        join([first, two], str(tmp_path / "out.avro"))
    assert "--to (jsonl, csv, avro or parquet)" in (caught.value.hint or "")
    assert "-o DIR/" in (caught.value.hint or "")
    join([first, two], f"{tmp_path}/out/").__exit__(None, None, None)


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (b"topic,partition,offset,timestamp,key,value\nt,0,1,5,k,v\n", "csv lines"),
        (b"\xef\xbb\xbf" + LINE % 1, "begin differently"),
        (KCAT, "kcat"),
    ],
)
def test_files_of_two_formats_are_not_joined(tmp_path: Path, other: bytes, difference: str) -> None:
    (tmp_path / "1").write_bytes(LINE % 0)
    (tmp_path / "2").write_bytes(other)
    with pytest.raises(OutputError, match=difference):
        join([tmp_path / "1", tmp_path / "2"], str(tmp_path / "out"))


@pytest.mark.parametrize(
    ("output", "remedy"), [("out.jsonl", "compact it once more to sort it"), ("s3://bucket/out/", "-o FILE,")]
)
def test_an_output_that_is_not_in_order_is_named_with_what_sorts_it(
    output: str, remedy: str, tmp_path: Path
) -> None:
    """Of part files on a store, none is sorted with another, however often they are compacted."""
    paths = [tmp_path / "1.jsonl", tmp_path / "2.jsonl"]
    for path in paths:
        path.write_bytes(LINE % 0)
    arguments = [str(path) for path in paths]
    with open_dump(arguments, ReadOptions()) as dump:
        (note,) = order_notes(planned(dump, arguments, output), {(0, 1)})
    assert note.startswith(f"{output} is not in offset order: {paths[1]} follows {paths[0]} and holds")
    assert remedy in note


@pytest.mark.spark
def test_a_format_that_is_named_joins_what_differs(tmp_path: Path, kcompact: Callable[..., Run]) -> None:
    (tmp_path / "1.jsonl").write_bytes(LINE % 0)
    (tmp_path / "2.jsonl").write_bytes(KCAT)
    inputs, out = [tmp_path / "1.jsonl", tmp_path / "2.jsonl"], tmp_path / "out.jsonl"
    assert kcompact("compact", *inputs, "-o", out).exit_code == 2
    assert kcompact("compact", *inputs, "-o", out, "--to", "jsonl").exit_code == 0
    assert [json.loads(line)["offset"] for line in out.read_text().splitlines()] == [1]
