"""Large objects of a store: opened from little more than their beginning and end, and read by ranges."""

import gzip
import io
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kcompact.dumps import opened_files
from kcompact.dumps.dump import open_dump
from kcompact.dumps.files import at_hand, origin
from kcompact.dumps.files.at_hand import file_at_hand
from kcompact.dumps.layouts import LAYOUTS
from kcompact.dumps.opened_files import opened_apart
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.parquet.parquet_file import GROUP_SHIFT
from kcompact.dumps.records.layout import Chosen, DumpFile, Split, SplitNotes, SplitToIndex
from kcompact.errors import InputError
from kcompact.storage.object_reading import StoredReader, open_object
from s3_server import S3
from store_proxy import Proxy, Request, store_proxy

RECORDS = 4_000
VALUE = "x" * 1_000  # some 4 MB, of which the beginning is one
GRAIN_BYTES = 2 << 20
GROUP_ROWS = 500
MOST_BYTES = 2 << 20
TOOL = b"% Reached end of topic t [0] at offset 4000: exiting\n"


@pytest.fixture
def proxy(store: S3, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    with store_proxy(store) as proxy:
        for name, value in proxy.store.environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(opened_files, "_GRAIN_BYTES", GRAIN_BYTES)
        yield proxy


def json_lines() -> bytes:
    return b"".join(
        b'{"topic":"t","partition":0,"offset":%d,"tstype":"create","ts":1,"broker":0,"key":"k%d","payload":"%s"}\n'
        % (offset, offset % 7, VALUE.encode())
        for offset in range(RECORDS)
    )


def json_array() -> bytes:
    return b"[" + b",".join(json_lines().splitlines()) + b"]\n"


def pretty() -> bytes:
    return json_lines().replace(b"{", b"{\n ")


def csv(quote: str) -> bytes:
    rows = (f"t,0,{offset},k{offset % 7},{quote}{VALUE}{quote}\n" for offset in range(RECORDS))
    return ("topic,partition,offset,key,value\n" + "".join(rows)).encode()


def rows() -> Iterator[dict[str, object]]:
    for offset in range(RECORDS):
        yield {"topic": "t", "partition": 0, "offset": offset, "key": b"k%d" % (offset % 7), "value": VALUE}


def avro() -> bytes:
    kinds = {"topic": "string", "partition": "int", "offset": "long", "key": "bytes", "value": "string"}
    fields = [{"name": name, "type": kind} for name, kind in kinds.items()]
    out = io.BytesIO()
    fastavro.writer(out, {"type": "record", "name": "R", "fields": fields}, rows())
    return out.getvalue()


def parquet() -> bytes:
    out = io.BytesIO()
    table = pa.Table.from_pylist(list(rows()))
    pq.write_table(table, out, row_group_size=GROUP_ROWS, compression="none", use_dictionary=False)
    return out.getvalue()


ENDS_TELL = [
    pytest.param(json_lines, "d.jsonl", 5, MOST_BYTES, id="json lines"),
    pytest.param(lambda: json_lines() + TOOL, "d.jsonl", 5, MOST_BYTES, id="a tool's last line"),
    pytest.param(avro, "d.avro", 3, MOST_BYTES, id="avro"),
    pytest.param(parquet, "d.parquet", 3, MOST_BYTES, id="parquet"),
]
ALL_IS_READ = [
    pytest.param(json_array, "d.json", 3, 2 * RECORDS * 1_200, id="json array"),
    pytest.param(pretty, "d.json", 3, 2 * RECORDS * 1_200, id="pretty objects"),
    pytest.param(lambda: csv('"'), "d.csv", 4, 2 * RECORDS * 1_200, id="quoted csv"),
    pytest.param(lambda: gzip.compress(json_lines(), 0), "d.jsonl.gz", 2, 2 * RECORDS * 1_200, id="packed"),
    pytest.param(
        lambda: json_lines().decode().encode("utf-16"), "d.jsonl", 3, 4 * RECORDS * 1_200, id="UTF-16"
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("make", "name", "most_requests", "most_bytes"), ENDS_TELL + ALL_IS_READ)
def test_an_object_is_opened_as_its_file_is(  # noqa: PLR0917  a row of the tables above
    make: Callable[[], bytes],
    name: str,
    most_requests: int,
    most_bytes: int,
    proxy: Proxy,
    store: S3,
    tmp_path: Path,
) -> None:
    content = make()
    (tmp_path / name).write_bytes(content)
    store.put(f"s3://bucket/{name}", content)
    proxy.asked.clear()

    there = opened_apart(0, {"value": f"s3://bucket/{name}"}, ReadOptions())

    assert (len(proxy.asked) <= most_requests, proxy.sent_bytes <= most_bytes) == (True, True)
    with open_dump([str(tmp_path / name)], ReadOptions()) as dump:
        (here,) = dump.files
        ranges = [(split.start, split.end) for split in dump.splits(GRAIN_BYTES)]
    assert there.origin is not None
    assert list(there.origin.ranges) == ranges
    same = {"path": "", "data_path": "", "origin": None, "dump_bytes": 0}
    assert replace(there, **same) == replace(here, **same)


@pytest.fixture
def in_row_groups(proxy: Proxy, store: S3, monkeypatch: pytest.MonkeyPatch) -> DumpFile:
    monkeypatch.setattr(at_hand, "_READ_WHOLE_BYTES", 0)
    store.put("s3://bucket/rows.parquet", parquet())
    file = opened_apart(0, {"value": "s3://bucket/rows.parquet"}, ReadOptions())
    proxy.sent_bytes = 0
    proxy.asked.clear()
    return file


def indexed(file: DumpFile, start: int, end: int) -> list[int]:
    """The offsets in a range."""
    split = Split(0, 0, start, end)
    with file_at_hand(file, split) as here:
        found = LAYOUTS["parquet"].index(SplitToIndex(here, split, SplitNotes()), frozenset())
        return [offset for rows in found for offset in rows.column("offset").to_pylist()]


@pytest.mark.slow
def test_of_parquet_only_the_columns_that_are_needed_are_brought(
    in_row_groups: DumpFile, proxy: Proxy
) -> None:
    assert in_row_groups.origin is not None
    (first_start, first_end), (_, last_end) = in_row_groups.origin.ranges

    offsets = indexed(in_row_groups, first_start, first_end) + indexed(in_row_groups, first_end, last_end)

    assert offsets == list(range(RECORDS))
    assert proxy.sent_bytes < RECORDS * len(VALUE) / 4
    assert len(proxy.asked) == 2 * 2 + RECORDS // GROUP_ROWS  # for each split, and each of its row groups


@pytest.mark.slow
def test_of_parquet_only_the_row_groups_of_survivors_are_brought(
    in_row_groups: DumpFile, proxy: Proxy, tmp_path: Path
) -> None:
    (tmp_path / "rows.parquet").write_bytes(parquet())
    with open_dump([str(tmp_path / "rows.parquet")], ReadOptions()) as dump:
        (here,) = dump.files
    assert in_row_groups.origin is not None
    split = Split(0, 0, *in_row_groups.origin.ranges[1])
    rows = np.array([6 << GROUP_SHIFT | 3, 6 << GROUP_SHIFT | 400])

    with file_at_hand(in_row_groups, split) as there:
        brought = copied(there, split, rows)

    assert brought == copied(here, split, rows)
    assert proxy.sent_bytes < RECORDS * len(VALUE) / 4


def copied(file: DumpFile, split: Split, positions: np.ndarray) -> bytes:
    out = io.BytesIO()
    written = LAYOUTS["parquet"].copy(Chosen(file, split, positions, np.ones(len(positions), np.int64)), out)
    assert written == len(out.getvalue()) > 0
    return out.getvalue()


@pytest.mark.slow
def test_a_store_that_fails_within_parquet_is_not_taken_for_damage(
    in_row_groups: DumpFile, proxy: Proxy
) -> None:
    gets = (one for one in range(99))

    def refuse(request: Request) -> int | None:
        return 403 if request.method == "GET" and next(gets) else None

    proxy.fault = refuse
    with pytest.raises(InputError, match=r"s3://bucket/rows.parquet: the store refuses these credentials"):
        indexed(in_row_groups, 0, 2_000_000)


@pytest.mark.slow
def test_parquet_that_was_replaced_is_refused_and_let_go_of(
    in_row_groups: DumpFile, store: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[StoredReader] = []

    def seen(address: str) -> StoredReader:
        opened.append(open_object(address))
        return opened[-1]

    monkeypatch.setattr(origin, "open_object", seen)
    store.put("s3://bucket/rows.parquet", parquet() + b" ")
    with pytest.raises(InputError, match=r"s3://bucket/rows.parquet changed while it was read"):
        indexed(in_row_groups, 0, 2_000_000)
    assert [reader.closed for reader in opened] == [True]
