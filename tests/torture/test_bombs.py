"""Small files that mean to take all memory or all time: a result or a refusal, soon, in little memory."""

import gzip
import io
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from avro_files import SYNC
from dump_pipeline import open_one
from kcompact.dumps.avro import avro_codecs
from kcompact.dumps.avro.avro_codecs import CODECS, TooLarge
from kcompact.dumps.avro.avro_container import encode_long
from kcompact.errors import InputError

LONGEST_SECONDS = 60
MOST_MEMORY_MB = 1_500  # of one process, with its libraries
READ_ALONE = """
import json, re, resource, sys
sys.path.insert(0, sys.argv[1])
from dump_pipeline import index_all, open_one
from kcompact.dumps.note_checks import check_notes
from kcompact.errors import InputError
try:
    with open_one(sys.argv[2]) as dump:
        rows, notes = index_all(dump)
        check_notes(dump, notes)
        said = f"{rows.num_rows} rows"
except InputError as refused:
    said = refused.message
if sys.platform == "linux":  # where ru_maxrss begins with the peak of the process that started this one
    peak = int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) >> 10
else:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 20
print(json.dumps([said, peak]))
"""


def read_alone(path: Path) -> str:
    """What becomes of a file in a process of its own: rows or the refusal; within time and memory."""
    helpers = str(Path(__file__).parents[1] / "support")
    command = [sys.executable, "-c", READ_ALONE, helpers, str(path)]
    done = subprocess.run(command, capture_output=True, timeout=LONGEST_SECONDS, check=False)
    assert done.returncode == 0, done.stderr.decode()[-500:]
    said, peak_mb = json.loads(done.stdout)
    assert peak_mb < MOST_MEMORY_MB
    assert len(said) < 1_000
    return str(said)


def container(schema: Any, blocks: list[tuple[int, bytes]], codec: str = "null") -> bytes:
    """A container of blocks that say what they like."""
    out = io.BytesIO()
    out.write(b"Obj\x01" + encode_long(2))
    text = schema if isinstance(schema, bytes) else json.dumps(schema).encode()
    for name, value in ((b"avro.schema", text), (b"avro.codec", codec.encode())):
        out.write(encode_long(len(name)) + name + encode_long(len(value)) + value)
    out.write(b"\0" + SYNC)
    for count, packed in blocks:
        out.write(encode_long(count) + encode_long(len(packed)) + packed + SYNC)
    return out.getvalue()


def envelope(**more: Any) -> dict[str, Any]:
    fields = {"offset": "long", "key": ["null", "bytes"], "value": ["null", "bytes"]} | more
    return {
        "type": "record",
        "name": "Dump",
        "fields": [{"name": name, "type": kind} for name, kind in fields.items()],
    }


EMPTY = {"type": "record", "name": "Dump", "fields": [{"name": n, "type": "null"} for n in ("key", "value")]}
RECORD = b"\x02\x02\x02k\x02\x02v"  # offset 1, key k, value v
LIST = {"type": "record", "name": "Node", "fields": [{"name": "next", "type": ["null", "Node"]}]}


def doubling(levels: int, leaf: str, *, optional: bool) -> dict[str, Any]:
    """Records each of which holds the next one twice."""
    kind: Any = leaf
    for number in range(levels):
        second = f"R{number - 1}" if number else leaf
        both = (["null", kind], ["null", second]) if optional else (kind, second)
        fields = [{"name": name, "type": one} for name, one in zip("ab", both, strict=True)]
        kind = {"type": "record", "name": f"R{number}", "fields": fields}
    return envelope(deep=kind)


def nested(depth: int) -> bytes:
    return RECORD + b"\x02" * depth + b"\0"


def bombs() -> Iterator[Any]:
    """Files, and what is said of them."""
    many = encode_long(1 << 40)
    yield pytest.param(container(EMPTY, [(1 << 40, b"")]), "holds 1,099,511,627,776 records in 0", id="empty")
    yield pytest.param(
        container(envelope(), [(1 << 40, RECORD)] * 50), "holds 1,099,511,627,776 records in 7", id="count"
    )
    nulls = container(envelope(a={"type": "array", "items": "null"}), [(1, RECORD + many + b"\0")] * 50)
    yield pytest.param(nulls, "an array says that it has 1,099,511,627,776 items", id="nulls")
    sized = RECORD + encode_long(-(1 << 40)) + b"\0\0"
    records = envelope(a={"type": "array", "items": {"type": "record", "name": "E", "fields": []}})
    yield pytest.param(container(records, [(1, sized)]), "items, which take no bytes", id="empty-records")
    yield pytest.param(
        container(doubling(28, "null", optional=False), [(1, RECORD)]), "fields that take no", id="doubling"
    )
    yield pytest.param(
        container(doubling(28, "int", optional=False), [(1, RECORD)] * 50), "not fit", id="doubling-int"
    )
    optional = container(doubling(28, "int", optional=True), [(1, RECORD + b"\0\0")] * 50)
    yield pytest.param(optional, "50 rows", id="doubling-optional")
    deep = container(envelope(list=LIST), [(1, nested(200_000))])
    yield pytest.param(deep, "values are nested more than 4,000 deep", id="nested")
    yield pytest.param(container(envelope(list=LIST), [(1, nested(1_000))]), "1 rows", id="honest-nested")
    itself = {"type": "record", "name": "A", "fields": [{"name": "a", "type": "A"}]}
    yield pytest.param(container(envelope(a=itself), [(1, RECORD)]), "contains itself", id="itself")
    arrays = b'{"type":"array","items":' * 5_000 + b'"null"' + b"}" * 5_000
    yield pytest.param(container(arrays, [(1, RECORD)]), "schema", id="deep-schema")
    wide = envelope(**{f"field_{number}_{'x' * 60}": "int" for number in range(100_000)})
    yield pytest.param(container(wide, [(1, RECORD + b"\0" * 100_000)]), "1 rows", id="wide-schema")


@pytest.mark.everyday(1)
@pytest.mark.parametrize(("data", "said"), list(bombs()))
def test_small_avro_files_end_soon_in_little_memory(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "bomb.avro"
    path.write_bytes(data)
    found = read_alone(path)
    assert said in found
    assert found.endswith(" rows") or str(path) in found


STREAMED = ["deflate", "zstandard", "bzip2", "xz"]


@pytest.mark.parametrize("codec", STREAMED)
def test_a_block_that_grows_is_measured_before_it_is_kept(
    codec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(avro_codecs, "_AT_ONCE_BYTES", 1_000)
    monkeypatch.setattr(avro_codecs, "_CHUNK_BYTES", 1_000)
    packed = CODECS[codec].pack(bytes(100_000))
    assert CODECS[codec].unpack(packed, 100_000) == bytes(100_000)
    with pytest.raises(TooLarge):
        CODECS[codec].unpack(packed, 99_999)
    with pytest.raises(CODECS[codec].errors):
        CODECS[codec].unpack(packed[:-12], 100_000)
    if codec != "deflate":  # streams one after another
        assert CODECS[codec].unpack(packed * 2, 200_000) == bytes(200_000)
        with pytest.raises(TooLarge):
            CODECS[codec].unpack(packed * 2, 199_999)


@pytest.mark.slow
def test_a_block_that_unpacks_to_gigabytes_is_refused_in_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "bomb.avro"
    packed = CODECS["zstandard"].pack(bytes(300 << 20))
    path.write_bytes(container(envelope(), [(100_000, packed)], "zstandard"))
    assert "unpacks to more than 268,435,456 bytes" in read_alone(path)


def test_lengths_that_a_codec_tells_are_not_taken_for_granted() -> None:
    told = {"lz4": b"\xff\xff\xff\x7f" + bytes(20), "snappy": b"\xff\xff\xff\xff\x0f" + bytes(20)}
    for codec, packed in told.items():
        with pytest.raises(ValueError, match="it says that it unpacks to"):
            CODECS[codec].unpack(packed, 1 << 31)


@pytest.mark.slow
def test_an_honest_record_that_packs_well_stays_readable(tmp_path: Path) -> None:
    path = tmp_path / "dump.avro"
    length = 300 << 20
    record = b"\x02\x02\x02k\x02" + encode_long(length) + bytes(length)
    path.write_bytes(container(envelope(), [(1, CODECS["zstandard"].pack(record))], "zstandard"))
    assert read_alone(path) == "1 rows"


@pytest.mark.slow
def test_a_hundred_thousand_columns_are_read(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    header = ",".join(["topic", "partition", "offset", "key", "value", *(f"c{n}" for n in range(100_000))])
    path.write_text(header + "\n" + "".join(f"t,0,{offset},k,v{',' * 100_000}\n" for offset in range(5)))
    assert read_alone(path) == "5 rows"


@pytest.mark.slow
def test_a_line_without_an_end_is_refused_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "endless.jsonl"
    whole = '{"topic":"t","partition":0,"offset":1,"timestamp":1,"key":"k","value":"v"}\n'
    path.write_text(whole + whole.rstrip('"}\n') + "v" * (80 << 20))
    assert read_alone(path).startswith(f"{path}:2: the record is cut off")


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_one_line_again_and_again_in_a_small_packed_file_is_refused(
    tmp_path: Path, kcompact: Callable[..., Any]
) -> None:
    path, out = tmp_path / "bomb.jsonl.gz", tmp_path / "out.jsonl"
    line = b'{"topic":"t","partition":0,"offset":7,"tstype":"create","ts":1,"key":"k","payload":"v"}\n'
    path.write_bytes(gzip.compress(line * 1_000_001))
    run = kcompact("compact", path, "-o", out)
    assert run.exit_code == 2
    assert "t-0: 1,000,001 records at one offset, 7 to 7" in run.stderr
    assert not out.exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b'{"topic":"' + b"x" * 40_000_000 + b'"}\n', "no record of key and value"),
        (b'{"topic":"' + b"\\n" * 20_000_000 + b'"}\n', "no record of key and value"),
        (b'topic,partition,offset,key,value\nt,0,0,k,"' + b'""' * 20_000_000 + b'"\n', "1 rows"),
    ],
    ids=["long text", "escapes", "quotes"],
)
def test_one_long_field_takes_little_memory(text: bytes, said: str, tmp_path: Path) -> None:
    """40 MB, where going back to each of its characters, as regular expressions may, would take gigabytes."""
    path = tmp_path / "dump"
    path.write_bytes(text)
    assert said in read_alone(path)


@pytest.mark.parametrize(
    "text",
    [
        b" " * 50_000 + b"!\nx\n",
        b"\n" * 50_000 + b"{!\n",
        b"id: \n" * 40 + b"x\n",
        (b"a" * 80_000 + b"!\t0\t0\t1700000000000\tk\tv\n") * 2,
    ],
    ids=["blanks", "lines", "ids", "a long first column"],
)
def test_text_that_nobody_knows_is_refused_soon(text: bytes, tmp_path: Path) -> None:
    """Not after the square of its length, nor two to the power of its lines."""
    path = tmp_path / "dump.txt"
    path.write_bytes(text)
    started = time.monotonic()
    with pytest.raises(InputError):
        open_one(path)
    assert time.monotonic() - started < LONGEST_SECONDS / 10
