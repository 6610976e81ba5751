import io
import os
import random
import struct
import sys
import threading
from pathlib import Path

import pytest

from avro_files import PLAIN, avro_bytes
from dump_pipeline import compacted, index_all, open_one
from full_device import needs_full_device
from kcompact.dumps.dump import open_dump
from kcompact.dumps.files import containers
from kcompact.dumps.files.containers import CONTAINERS, open_packed, output_container, unpack
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.output.assemble import Fragment, assemble
from kcompact.dumps.output.outputs import Target
from kcompact.dumps.records.record import Record
from kcompact.errors import InputError, OutputError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

KINDS = sorted(CONTAINERS)
LINES = b"".join(
    b'{"topic":"t","partition":0,"offset":%d,"timestamp":5,"key":"k%d","value":"v"}\n' % (n, n % 7)
    for n in range(500)
)


def packed(path: Path, container: str, data: bytes) -> Path:
    with open_packed(path, container) as out:
        out.write(data)
    return path


@pytest.mark.parametrize("container", KINDS)
@pytest.mark.parametrize("avro", [False, True])
def test_packed_dumps_are_read_as_plain_ones(tmp_path: Path, container: str, avro: bool) -> None:
    records = [Record("t", 0, n, 5, b"k%d" % (n % 7), b"v") for n in range(500)]
    data = avro_bytes(PLAIN, records) if avro else LINES
    plain = tmp_path / "plain"
    plain.write_bytes(data)
    path = packed(tmp_path / "orders", container, data)
    with open_one(path) as dump, open_one(plain) as twin:
        assert dump.files[0].container == container
        assert Path(dump.files[0].data_path).read_bytes() == data
        assert compacted(dump) == compacted(twin)
        dump.check_unmoved()
        spool = Path(dump.files[0].data_path).parent
        assert spool.exists()
    assert not spool.exists()


def test_the_window_of_an_archive_may_have_any_size(tmp_path: Path) -> None:
    """As after ``zstd --long=31``."""
    path = tmp_path / "orders.jsonl.zst"
    with zstd.ZstdFile(path, "wb", options={zstd.CompressionParameter.window_log: 31}) as out:
        out.write(LINES)
    with open_one(path) as dump:
        assert index_all(dump)[0].num_rows == 500


@pytest.mark.parametrize("container", KINDS)
def test_several_streams_in_a_row_are_one_dump(tmp_path: Path, container: str) -> None:
    half = LINES.index(b"\n", len(LINES) // 2) + 1
    path = packed(tmp_path / "a", container, LINES[:half])
    path.write_bytes(path.read_bytes() + packed(tmp_path / "b", container, LINES[half:]).read_bytes())
    with open_one(path) as dump:
        assert index_all(dump)[0].num_rows == 500


@pytest.mark.parametrize("container", KINDS)
@pytest.mark.parametrize("place", [0, 1, 3])
def test_a_second_stream_with_a_damaged_beginning_is_not_passed_over(
    tmp_path: Path, container: str, place: int
) -> None:
    half = LINES.index(b"\n", len(LINES) // 2) + 1
    second = bytearray(packed(tmp_path / "b", container, LINES[half:]).read_bytes())
    second[place] ^= 0x55
    path = packed(tmp_path / "a", container, LINES[:half])
    path.write_bytes(path.read_bytes() + second)
    with pytest.raises(InputError, match=f"the {container} archive is (damaged|cut off)"):
        unpack(str(path), tmp_path)


@pytest.mark.parametrize("container", ["zstd", "lz4"])
@pytest.mark.parametrize("number", [0, 15])
def test_an_archive_may_begin_with_a_frame_that_is_passed_over(
    tmp_path: Path, number: int, container: str
) -> None:
    frame = struct.pack("<II", 0x184D2A50 + number, 7) + b"pzstd!!"
    path, archive = tmp_path / "d.jsonl.packed", packed(tmp_path / "whole", container, LINES)
    path.write_bytes(frame + frame + archive.read_bytes() + frame)
    with open_one(path) as dump:
        assert (dump.files[0].container, index_all(dump)[0].num_rows) == (container, 500)


@pytest.mark.everyday(1)
@pytest.mark.parametrize("container", ["gzip", "bzip2", "xz"])
def test_zeros_behind_an_archive_are_padding(tmp_path: Path, container: str) -> None:
    path = packed(tmp_path / "a", container, LINES)
    path.write_bytes(path.read_bytes() + bytes(3 << 20))
    plain_path, _ = unpack(str(path), tmp_path)
    assert Path(plain_path).read_bytes() == LINES


@pytest.mark.parametrize("container", KINDS)
def test_cut_archives_are_refused(tmp_path: Path, container: str) -> None:
    path = packed(tmp_path / "dump", container, random.Random(1).randbytes(3000))
    data = path.read_bytes()
    for end in range(max(len(CONTAINERS[container].magic), 4), len(data), 97):
        path.write_bytes(data[:end])
        with pytest.raises(InputError, match=f"the {container} archive") as caught:
            unpack(str(path), tmp_path)
        assert str(path) in caught.value.message
        assert caught.value.hint


@pytest.mark.parametrize("container", KINDS)
def test_damaged_archives_are_refused(tmp_path: Path, container: str) -> None:
    path = packed(tmp_path / "dump", container, random.Random(1).randbytes(3000))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x55
    path.write_bytes(data)
    with pytest.raises(InputError, match=f"the {container} archive"):
        unpack(str(path), tmp_path)


@pytest.mark.parametrize("container", KINDS)
def test_the_same_records_give_the_same_archive(tmp_path: Path, container: str) -> None:
    archive = packed(tmp_path / "one.x", container, LINES)
    two = packed(tmp_path / "two.y", container, LINES)
    assert archive.read_bytes() == two.read_bytes()
    data_path, container_name = unpack(str(archive), tmp_path)
    assert container_name == container
    assert Path(data_path).read_bytes() == LINES


@pytest.mark.parametrize(
    ("output", "source", "container", "expected"),
    [
        ("x.compacted.jsonl.gz", "x.jsonl.gz", "gzip", "gzip"),
        ("x.jsonl", "x.jsonl.gz", "gzip", None),
        ("x.jsonl.zst", "x.jsonl.gz", "gzip", "zstd"),
        ("x.jsonl.XZ", "x.jsonl", None, "xz"),
        ("out.jsonl", "x.jsonl", "gzip", None),
        ("out", "x", "gzip", "gzip"),
        ("out", "x.gz", "gzip", None),
        ("out.jsonl", "-", None, None),
    ],
)
def test_the_name_of_the_output_decides_how_it_is_packed(
    output: str, source: str, container: str | None, expected: str | None
) -> None:
    assert output_container(output, source, container) == expected


def test_output_is_packed_as_its_input_was(tmp_path: Path) -> None:
    (tmp_path / "part").write_bytes(LINES)
    with open_one(packed(tmp_path / "x.jsonl.gz", "gzip", LINES)) as dump:
        target = Target(tmp_path / "x.compacted.jsonl.gz", dump.files)
        assemble(tmp_path / "hidden", target, [Fragment(0, "part", 0, len(LINES), 500)], tmp_path)
    data_path, container = unpack(str(tmp_path / "hidden"), tmp_path)
    assert container == "gzip"
    assert Path(data_path).read_bytes() == LINES


@pytest.mark.parametrize("container", [None, "gzip"])
def test_standard_input_is_spooled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, container: str | None
) -> None:
    data = packed(tmp_path / "packed", container, LINES).read_bytes() if container else LINES
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    with open_dump(["-"], ReadOptions()) as dump:
        assert dump.files[0].path == "-"
        assert dump.files[0].container == container
        assert index_all(dump)[0].num_rows == 500
        dump.check_unmoved()


@needs_full_device
@pytest.mark.parametrize("container", [None, "gzip"])
def test_a_dump_that_does_not_fit_tmpdir_is_named_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, container: str | None
) -> None:
    (tmp_path / "spool").mkdir()
    (tmp_path / "spool" / "x.data").symlink_to("/dev/full")
    monkeypatch.setattr(containers, "_fresh", lambda spool: spool / "x.data")
    path, data = tmp_path / "x.gz", os.urandom(1 << 20)  # more than one buffer
    if container:
        packed(path, container, data)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    with pytest.raises(OutputError, match=r"cannot be copied to .*spool: No space left on device") as caught:
        unpack(str(path) if container else "-", tmp_path / "spool")
    assert "TMPDIR" in str(caught.value.hint)


def test_a_named_pipe_is_spooled(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(LINES))
    writer.start()
    with open_one(pipe) as dump:
        writer.join()
        assert index_all(dump)[0].num_rows == 500
        dump.check_unmoved()


@pytest.mark.parametrize(
    ("output", "expected"),
    [("out.jsonl", None), ("out.jsonl.zst", "zstd"), ("out", "gzip"), ("out.csv", None)],
)
def test_the_name_of_an_output_says_whether_packed_standard_input_stays_packed(
    output: str, expected: str | None
) -> None:
    assert output_container(output, "-", "gzip") == expected
