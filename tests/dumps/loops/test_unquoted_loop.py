"""Lines whose last column takes the rest, as consoles print them: loop and reference read them alike."""

import random
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from kcompact.dumps.dialects.dialect import Dialect
from kcompact.dumps.dialects.dialect_table import BY_NAME
from kcompact.dumps.layouts import LAYOUTS
from kcompact.dumps.loops import windows
from kcompact.dumps.loops.csv.csv_scanner import scanner_for
from kcompact.dumps.loops.readiness import load_loops
from kcompact.dumps.records.indexing import CONTENT_EXTRA
from kcompact.dumps.records.layout import DumpFile
from kcompact.dumps.text.csv_reader import CsvShape
from loop_parity import assert_same, assert_same_together, read_by_loop_alone, whole

assert load_loops("csv_lines")

LABELLED = ("timestamp", "partition", "offset", "delivery", "epoch", "headers", "key", "value")
PLAIN = ("topic", "partition", "offset", "timestamp", "key", "value")
CELLS = {
    "timestamp": ["CreateTime:1700000000000", "LogAppendTime:5", "NO_TIMESTAMP"],
    "partition": ["Partition:0", "Partition:12"],
    "offset": ["Offset:7", "Offset:123456789012"],
    "delivery": ["Delivery:NOT_PRESENT", "Delivery:2"],
    "epoch": ["Epoch:0", "Epoch:NOT_PRESENT"],
    "headers": ["NO_HEADERS", "a:1", "a:1,b:2", "a:b:c", "a:null", "a:", "Region:x"],
    "key": ["k", "key-2", "null", "NULL", "", '{"id": 1,"x":"|"}', '"x,y"', '["a|b"]', "None", "\u00e9"],
    "value": ["v", "", "null", "NULL", '{"a":[1,"x\\""]}', "a|b\tc", "[1]", "nil", "\\N", " {}", "\ufffd"],
    "topic": ["t", "u.v"],
}
ODD = {
    "timestamp": [
        "CreateTime:-1",
        "CreateTime:",
        "CreateTime:x",
        "17",
        "",
        "CreateTime:2024-01-31T10:00:00",
        "NO_TIMESTAMPS",
        "LogAppendTime",
    ],
    "partition": ["Partition:", "Partition:01", "Partition:3000000000", "3", "", "partition:3"],
    "offset": ["Offset:", "Offset:+1", "Offset:99999999999999999999", "5", "", "Offsets:5", "Offset:5 "],
    "delivery": ["Delivery:", "Delivery:x", "NOT_PRESENT", "", "Epoch:1"],
    "epoch": ["Epoch:", "Epoch:-1", "Delivery:1", "", "Epoch:NOT_PRESENT_"],
    "headers": [
        "",
        "a",
        "a=1",
        "[a:1]",
        '{"a":1}',
        "null",
        "RecordHeaders(headers = [], isReadOnly = false)",
        "a:1;",
        ":",
        ",",
        "a:NULL",
        "\ufffd:x",
    ],
    "key": [
        '{"a',
        '{"a|',
        "[1|2]",
        '"x|y"',
        '"\\"|',
        "{}}",
        "{]",
        "(null)",
        "\ufffd",
        "\ufeffk",
        '"a\tb"',
        '{"x":NaN,"y":1}',
        "[" + "1," * 2200 + "1]",
    ],
    "value": [
        *(
            "\r",
            "x\r",
            '"q',
            "\ufeff",
            "Partition:1|Offset:2",
            "it stopped at offset 5",
            " at offset ",
            "x: exiting",
        ),
        *("x% Reached end of topic t [0] at offset 5", "% Reached end of topic t [0] at offset 5: exiting"),
    ],
    "topic": ["", "\ufffd", "%", "Message on a"],
}
LINES = [
    "",
    "\r",
    "  ",
    "% Reached end of topic t [0] at offset 5",
    "%3|1700000000.000|FAIL|x",
    "% Headers: a=1",
    "% something else",
    "Message on t[0]@5:",
    "Message on",
    "Processed a total of 5 messages",
    "Processed a total of five",
    "x",
]


def text_file(path: Path, data: bytes, columns: tuple[str, ...], delimiter: str) -> DumpFile:
    path.write_bytes(data)
    dialect, topic = named(columns)
    shape = CsvShape(columns=columns, delimiter=delimiter, quoting="none", takes_rest=True)
    return DumpFile(0, str(path), str(path), len(data), "csv_lines", dialect, shape, topic=topic, partition=0)


def named(columns: tuple[str, ...]) -> tuple[Dialect, str | None]:
    if columns == ("key", "value"):
        return replace(BY_NAME["text"], **dict.fromkeys(("topic", "partition", "offset", "timestamp"))), "t"
    if "topic" in columns:
        return BY_NAME["text"], None
    return replace(BY_NAME["console-consumer"], headers="headers" if "headers" in columns else None), "t"


def is_labelled(columns: tuple[str, ...]) -> bool:
    return "offset" in columns and "topic" not in columns


def cell(column: str, has_label: bool, rng: random.Random) -> str:
    text = rng.choice(ODD[column] if rng.random() < 0.02 else CELLS[column])
    number = text.partition(":")[2] or "1"
    return text if has_label or column not in {"timestamp", "partition", "offset"} else number


def lines_of(columns: tuple[str, ...], delimiter: str, rng: random.Random) -> bytes:
    rows = [delimiter.join(cell(column, is_labelled(columns), rng) for column in columns) for _ in range(60)]
    for _ in range(rng.choice([0, 0, 3])):
        rows.insert(rng.randrange(len(rows)), rng.choice(LINES))
    ends = rng.choice([["\n"], ["\r\n"], ["\n", "\r\n"]])
    text = "".join(row + rng.choice(ends) for row in rows[:-1]) + rows[-1] + rng.choice(["", "\r", *ends])
    return text.encode()


def some_columns(rng: random.Random) -> tuple[str, ...]:
    if rng.random() < 0.5:
        return rng.choice([PLAIN, ("key", "value")])
    return tuple(name for name in LABELLED if name in {"offset", "key", "value"} or rng.random() < 0.7)


@pytest.mark.everyday(15)
@pytest.mark.parametrize("number", range(400))
def test_lines_read_alike(tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(number)
    columns, delimiter = some_columns(rng), rng.choice("\t|, ")
    monkeypatch.setattr(windows, "WINDOW_BYTES", rng.choice([64, 1 << 20]))
    file = text_file(tmp_path / "d.txt", lines_of(columns, delimiter, rng), columns, delimiter)
    shape = replace(file.shape, values_are_json=rng.random() < 0.3)
    has_null_keys = rng.random() < 0.5
    dialect = replace(file.dialect, literal_keys=has_null_keys)
    assert_same(replace(file, shape=shape, dialect=dialect, start_offset=rng.choice([None, 5])))


def test_several_files_read_alike(tmp_path: Path) -> None:
    rng = random.Random(5)
    files = [
        text_file(tmp_path / f"{n}.txt", lines_of(LABELLED, "\t", rng) + b"\n" * n, LABELLED, "\t")
        for n in range(4)
    ]
    assert_same_together([replace(file, file_id=number) for number, file in enumerate(files)])


@pytest.mark.parametrize("extra", [frozenset(), CONTENT_EXTRA], ids=["rows", "contents"])
def test_the_loop_itself_reads_what_consoles_print(tmp_path: Path, extra: frozenset[str]) -> None:
    """Otherwise the comparisons above would compare the reference with itself."""
    values = ["v", "null", "NULL", '{"a":1}', "a\tb"]
    rows = [
        f"CreateTime:17\tPartition:{n % 3}\tOffset:{n}\tDelivery:NOT_PRESENT\tEpoch:0\t"
        f'{"NO_HEADERS" if n % 2 else "a:1,b:2"}\t{{"id":"{n % 7}"}}\t{values[n % 5]}\n'
        for n in range(1000)
    ]
    file = text_file(tmp_path / "d.txt", "".join(rows).encode(), LABELLED, "\t")
    table = read_by_loop_alone(file, extra)

    assert table["key"].to_pylist() == [b'{"id":"%d"}' % (n % 7) for n in range(1000)]
    assert table["offset"].to_pylist() == list(range(1000))
    assert table["timestamp_ms"].to_pylist() == [17] * 1000
    assert table["is_tombstone"].to_pylist() == [n % 5 in {1, 2} for n in range(1000)]


@pytest.mark.parametrize("unit", ["ms", "s", "auto"])
def test_labelled_times_in_another_unit_are_left_to_the_reference(tmp_path: Path, unit: str) -> None:
    """Behind a label they are milliseconds, whatever the unit of the dialect."""
    columns = ("timestamp", "offset", "key", "value")
    file = text_file(tmp_path / "d.txt", b"CreateTime:17\tOffset:1\tk\tv\n", columns, "\t")
    [part] = whole([replace(file, dialect=replace(file.dialect, timestamp_unit=unit))])
    assert (scanner_for(part, frozenset()) is not None) == (unit == "ms")


@pytest.mark.slow
def test_lines_without_offsets_have_their_numbers(tmp_path: Path) -> None:
    lines = [b"k-%d\tv\n" % (n % 5) for n in range(100_000)]
    lines[5:5] = [b"\n", b"% Reached end of topic t [0] at offset 5\n"]
    lines[50_000] = b"null\t{\n"
    file = text_file(tmp_path / "d.txt", b"".join(lines), ("key", "value"), "\t")
    table = assert_same(replace(file, start_offset=7))
    assert table["offset"].to_pylist() == list(range(7, 100_007))
    whole_file = text_file(tmp_path / "e.txt", b"".join(lines[:4]), ("key", "value"), "\t")
    assert read_by_loop_alone(whole_file, frozenset())["offset"].to_pylist() == [0, 1, 2, 3]


def test_numbers_where_some_logs_are_not_asked_for_are_left_to_the_reference(tmp_path: Path) -> None:
    """Records that are left out count for the numbers of those behind them."""
    file = text_file(tmp_path / "d.txt", b"k\tv\n", ("key", "value"), "\t")
    parts = whole([file, replace(file, topics=("t",))])
    assert [scanner_for(part, frozenset()) is None for part in parts] == [False, True]


def test_each_file_has_its_own_numbers(tmp_path: Path) -> None:
    """Small files are read together, in one window, but for this."""
    file = text_file(tmp_path / "d.txt", b"k\tv\nk\t{\n", ("key", "value"), "\t")
    large = replace(file, dump_bytes=1 << 30)
    parts = whole([replace(large, file_id=number, start_offset=10 * number) for number in range(3)])
    rows = pa.Table.from_batches(LAYOUTS["csv_lines"].index_together(parts, frozenset()))
    assert rows["offset"].to_pylist() == [0, 1, 10, 11, 20, 21]


def test_keys_of_json_with_delimiters_in_them_are_read_by_the_loop_itself(tmp_path: Path) -> None:
    lines = b"".join(b'{"id":%d,"x":[1]}:{"v":1}\n' % (n % 5) for n in range(100))
    file = text_file(tmp_path / "d.txt", lines, ("key", "value"), ":")
    assert read_by_loop_alone(file, CONTENT_EXTRA)["key"].to_pylist()[6] == b'{"id":1,"x":[1]}'
