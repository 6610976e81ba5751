from pathlib import Path

import pyarrow.compute as pc
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from avro_files import PLAIN, TRIVADIS, write_avro
from dump_pipeline import index_all, open_one, planned
from kcompact.dumps.dump import Dump, open_dump
from kcompact.dumps.layouts import LAYOUTS
from kcompact.dumps.note_checks import check_notes
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.output.assemble import Fragment, assemble, joined
from kcompact.dumps.records.layout import Chosen
from kcompact.dumps.records.record import Record
from kcompact.dumps.writers.converting import Copier, conversion_notes, copier_for
from kcompact.dumps.writers.targets import (
    TARGETS,
    check_one_log,
    open_writer,
    target_named,
    with_writers,
)
from kcompact.errors import OutputError

LOSSLESS = ["jsonl", "csv", "avro"]

data = st.none() | st.binary(max_size=12) | st.text(max_size=8).map(str.encode)
records = st.lists(
    st.builds(
        Record,
        topic=st.sampled_from(["orders", "a.b-c_d"]),
        partition=st.integers(0, 2**31 - 1),
        offset=st.integers(0, 2**62),
        timestamp_ms=st.integers(-1, 10**13) | st.integers(10**14 - 2, 2**63 - 1),
        key=data,
        value=data,
        headers=st.lists(
            st.tuples(st.text(st.characters(exclude_categories=["Cs"]), max_size=4), data), max_size=3
        ).map(tuple),
        timestamp_type=st.sampled_from([None, "create", "logappend"]),
        is_control=st.just(value=False),
        is_delete=st.just(value=False),  # said by --cdc, not by the file
    ),
    min_size=1,
    max_size=6,
)


def write(folder: Path, target: str, records: list[Record]) -> Path:
    writer = TARGETS[target]("seed")
    fragments = [b"".join(writer.encode(records[:2])), b"".join(writer.encode(records[2:]))]
    path = folder / f"dump.{target}"
    path.write_bytes(writer.begin() + b"".join(fragments))
    return path


def written(folder: Path, name: str) -> Path:
    """One of the files of WRITTEN, or the same as Avro."""
    path = folder / name
    if path.suffix == ".avro":
        return write_avro(path, PLAIN, [Record("t", 0, 0, 5, b"k", b"v")])
    path.write_text(WRITTEN[name])
    return path


def read(dump: Dump) -> list[Record]:
    (file,) = dump.files
    return [r for split in dump.splits(1 << 40) for _, _, r in LAYOUTS[file.layout].records(file, split)]


@pytest.mark.everyday(1)
@pytest.mark.parametrize("target", LOSSLESS)
@settings(max_examples=40)
@given(survivors=records)
@example(survivors=[Record("orders", 0, 0, 0, None, b"\0\0\0\x80", (("", b"//////0"),))])  # all likely base64
@example(survivors=[Record("orders", 0, 0, 0, None, b"\0\0\0\0\0\0\x80", (("", b"//0"),), "create")])
def test_what_was_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, target: str, survivors: list[Record]
) -> None:
    with open_one(write(tmp_path_factory.mktemp("dump"), target, survivors)) as dump:
        assert read(dump) == survivors


@pytest.mark.parametrize("target", LOSSLESS)
@pytest.mark.parametrize(
    "text",
    [
        "b3JkZXItMQ==",
        "b3JkZXItMTIz",
        "b'1'",
        'b"1"',
        "[B@3cd661db",
        "<memory at 0x7f3a5c0d1a00>",
        "System.Byte[]",
    ],
)
def test_text_that_looks_like_something_else_stays_text(tmp_path: Path, target: str, text: str) -> None:
    """A producer has sent it so; read as what it looks like, keys and values would be others."""
    survivors = [Record("t", 0, at, 5, text.encode(), text.encode(), (), "create") for at in range(3)]
    with open_one(write(tmp_path, target, survivors)) as dump:
        _, notes = index_all(dump)
        check_notes(dump, notes)
        assert read(dump) == survivors


@pytest.mark.parametrize("source", LOSSLESS)
@pytest.mark.parametrize("target", LOSSLESS)
def test_conversions_keep_every_byte(tmp_path: Path, source: str, target: str) -> None:
    survivors = [
        Record("orders", 3, 7, 1_700_000_000_000, b"\xff\0\n", b'a\r\n"b",\t', (("h", b"\xfe"), ("n", None))),
        Record("orders", 3, 8, -1, "\ufffd".encode(), b"", (("h", b""),), "create"),
        Record("orders", 4, 0, 5, b"", None),
        Record("orders", 4, 1, 5, None, b"null"),
    ]
    with open_one(write(tmp_path, source, survivors)) as dump:
        table, notes = index_all(dump)
        check_notes(dump, notes)
        writer = open_writer(target, dump.files)
        (split,) = dump.splits(1 << 40)
        where = [table[name].to_numpy() for name in ("position", "record_bytes")]
        with (tmp_path / "out").open("wb") as out:
            out.write(writer.begin())
            Copier({0: writer})(Chosen(dump.files[0], split, *where), out)
    with open_one(tmp_path / "out") as dump:
        assert read(dump) == survivors


def test_records_without_offsets_keep_their_numbers(tmp_path: Path) -> None:
    lines = b"".join(b'{"key":"k%d","value":"v","timestamp":5}\n' % n for n in range(6))
    (tmp_path / "topic+0+0000000040.json").write_bytes(lines)
    with open_one(tmp_path / "topic+0+0000000040.json") as dump:
        rows, _ = index_all(dump)
        (split,) = dump.splits(1 << 40)
        odd = rows.take([1, 4])
        where = [odd[name].to_numpy() for name in ("position", "record_bytes")]
        with (tmp_path / "out.jsonl").open("wb") as out:
            Copier({0: open_writer("jsonl", dump.files)})(Chosen(dump.files[0], split, *where), out)
    with open_one(tmp_path / "out.jsonl") as dump:
        assert [(r.offset, r.key) for r in read(dump)] == [(41, b"k1"), (44, b"k4")]


@pytest.mark.parametrize("target", ["jsonl", "csv"])
def test_header_names_of_odd_bytes_need_avro(tmp_path: Path, target: str) -> None:
    survivors = [Record("t", 0, 0, 5, b"k", b"v", ((b"h\xff".decode("utf-8", "surrogateescape"), b"x"),))]
    with pytest.raises(OutputError, match="no UTF-8") as caught:
        list(TARGETS[target]("").encode(survivors))
    assert "Avro" in (caught.value.hint or "")
    with open_one(write(tmp_path, "avro", survivors)) as dump:
        assert read(dump) == survivors


def test_the_same_inputs_give_the_same_container(tmp_path: Path) -> None:
    path = write_avro(tmp_path / "a.avro", TRIVADIS, [Record("t", 0, 0, 5, b"k", b"v")])
    with open_one(path) as dump:
        assert open_writer("avro", dump.files).begin() == open_writer("avro", dump.files).begin()


def test_kcat_lines_are_key_tab_value() -> None:
    survivors = [
        Record("t", 0, 0, 5, b"k", b"a\tb"),
        Record("t", 0, 1, 5, b"k", None),
        Record("t", 0, 2, 5, None, b"v"),
    ]
    assert b"".join(TARGETS["kcat"]("").encode(survivors)) == b"k\ta\tb\nk\t\n\tv\n"
    assert TARGETS["kcat"]("").losses


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (b"a\tb", b"v", "the key contains a TAB"),
        (b"a\nb", b"v", "the key contains a line end"),
        (b"a\0b", b"v", "the key contains a zero byte"),
        (b"k", b"a\nb", "the value contains a line end"),
        (b"", b"v", "an empty key"),
        (b"k", b"", "an empty value"),
    ],
)
def test_what_kcat_would_misread_is_refused(key: bytes, value: bytes, message: str) -> None:
    with pytest.raises(OutputError, match=f"t-0 offset 9: {message}") as caught:
        list(TARGETS["kcat"]("").encode([Record("t", 0, 9, 5, key, value)]))
    assert caught.value.hint


KCAT = '{"topic":"t","partition":0,"offset":0,"key":"k","payload":"v"}'
WRITTEN = {
    "lines.jsonl": KCAT,
    "array.json": f"[{KCAT}]",
    "array.jsonl": f"[{KCAT}]",
    "pretty.json": KCAT.replace("{", "{\n").replace("}", "\n}"),
    "header.csv": "topic,partition,offset,key,value\nt,0,0,k,v\n",
    "tabs.tsv": "topic\tpartition\toffset\tkey\tvalue\nt\t0\t0\tk\tv\n",
    "console.txt": "CreateTime:5\tPartition:0\tOffset:0\tNO_HEADERS\tk\tv\n",
    "partition_0": KCAT,
    "export.1": KCAT,
}


@pytest.mark.parametrize(
    ("source", "output", "expected"),
    [
        ("lines.jsonl", "out.jsonl", None),
        ("lines.jsonl", "OUT.JSON", None),
        ("lines.jsonl", "out.ndjson.gz", None),
        ("lines.jsonl", "out.txt", None),
        ("lines.jsonl", "out.csv.zst", "csv"),
        ("lines.jsonl", "out", None),
        ("lines.jsonl", "out.gz", None),
        ("array.json", "out.json", None),
        ("array.json", "out.jsonl", "jsonl"),
        ("array.jsonl", "out.jsonl", None),
        ("pretty.json", "out.jsonl", "jsonl"),
        ("header.csv", "out.csv", None),
        ("header.csv", "out.json.gz", "jsonl"),
        ("tabs.tsv", "out.tsv", None),
        ("tabs.tsv", "out.csv", "csv"),
        ("console.txt", "out.txt", None),
        ("console.txt", "out.csv", "csv"),
        ("console.txt", "out.avro", "avro"),
        ("partition_0", "partition_0.compacted", None),
        ("export.1", "out.1", None),
        ("plain.avro", "out.avro", None),
        ("plain.avro", "out.jsonl", "jsonl"),
        ("plain.avro", "out", None),
    ],
)
def test_the_name_of_the_output_asks_for_a_format(
    tmp_path: Path, source: str, output: str, expected: str | None
) -> None:
    with open_one(written(tmp_path, source)) as dump:
        assert target_named(output, dump.files) == expected


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("lines.jsonl", "out.orc"),
        ("lines.jsonl", "out.orc.gz"),
        ("lines.jsonl", "out.jsonl.zip"),
        ("lines.jsonl", "out.1"),
        ("plain.avro", "out.txt"),
        ("lines.jsonl", "out.tsv"),
    ],
)
def test_a_name_that_promises_what_is_not_written_is_refused(
    tmp_path: Path, source: str, output: str
) -> None:
    with open_one(written(tmp_path, source)) as dump, pytest.raises(OutputError, match=output) as caught:
        target_named(output, dump.files)
    assert ".json, .jsonl, .ndjson, .csv, .avro" in (caught.value.hint or "")


def test_files_of_several_formats_are_joined_where_they_are_converted(tmp_path: Path) -> None:
    first = write(tmp_path, "csv", [Record("t", 0, 0, 5, b"k", b"v")])
    two = write(tmp_path, "avro", [Record("t", 0, 1, 5, b"k", b"v")])
    arguments = [str(first), str(two)]
    with open_dump(arguments, ReadOptions()) as dump:
        plan = planned(dump, arguments, tmp_path / "out.jsonl")
        outputs = with_writers(plan, None)
        assert joined(outputs) == dump.files
        copying = copier_for(outputs)
        with (tmp_path / "part").open("wb") as out:
            for split in dump.splits(1 << 40):
                rows = index_all(dump)[0].filter(pc.field("split_id") == split.split_id)
                where = [rows[name].to_numpy() for name in ("position", "record_bytes")]
                copying(Chosen(dump.files[split.file_id], split, *where), out)
            end = out.tell()
        assemble(tmp_path / "out.jsonl", outputs.targets[0], [Fragment(0, "part", 0, end, 2)], tmp_path)
    with open_one(tmp_path / "out.jsonl") as dump:
        assert [record.offset for record in read(dump)] == [0, 1]


def test_kcat_takes_records_of_one_log(tmp_path: Path) -> None:
    path = write(tmp_path, "csv", [Record("t", 0, 0, 5, b"k", b"v")])
    with open_one(path) as dump:
        outputs = with_writers(
            planned(dump, [str(path)], "-"),
            "kcat",
        )
    assert conversion_notes(outputs, {}) == [
        "-: offsets, timestamps, headers of the records are not in this output"
    ]
    check_one_log(outputs, ["t-0"])
    with pytest.raises(OutputError, match=r"t-0, t-1"):
        check_one_log(outputs, ["t-0", "t-1"])


def test_an_unknown_target_is_refused() -> None:
    with pytest.raises(OutputError, match="--to orc"):
        open_writer("orc", ())


@pytest.mark.parametrize(
    ("output", "target"), [("out.jsonl", "csv"), ("out.csv.gz", "jsonl"), ("out.avro", "kcat")]
)
def test_a_name_and_a_target_that_contradict_each_other_are_refused(
    output: str, target: str, tmp_path: Path
) -> None:
    path = write(tmp_path, "csv", [Record("t", 0, 0, 5, b"k", b"v")])
    with open_one(path) as dump, pytest.raises(OutputError, match="which of the two"):
        with_writers(planned(dump, [str(path)], tmp_path / output), target)


@pytest.mark.parametrize(
    ("output", "target"), [("out.json", "jsonl"), ("out.ndjson", "jsonl"), ("out.txt", "kcat"), ("-", "avro")]
)
def test_a_target_goes_with_names_that_promise_nothing_else(output: str, target: str, tmp_path: Path) -> None:
    path = write(tmp_path, "csv", [Record("t", 0, 0, 5, b"k", b"v")])
    with open_one(path) as dump:
        name = output if output == "-" else tmp_path / output
        assert with_writers(planned(dump, [str(path)], name), target).targets[0].writer is not None
