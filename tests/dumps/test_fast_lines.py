"""Templates must never change what is read: every hostile line comes out as the exact way reads it."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kcompact.dumps import line_window
from kcompact.dumps.contents import CONTENT_EXTRA
from kcompact.dumps.csv_lines import CsvLines
from kcompact.dumps.csv_reader import CsvReader, CsvShape
from kcompact.dumps.csv_rules import CsvRules
from kcompact.dumps.csv_rules import covers as csv_covers
from kcompact.dumps.dialect import Dialect
from kcompact.dumps.dialects import BY_NAME
from kcompact.dumps.fast_lines import FAST_EXTRA, FastLines
from kcompact.dumps.framed import FramedLayout, TextShape
from kcompact.dumps.json_lines import JsonLines
from kcompact.dumps.json_reader import JsonReader
from kcompact.dumps.json_rules import JsonRules
from kcompact.dumps.json_template import covers, learn_template
from kcompact.dumps.layout import DumpFile, Split, SplitNotes, SplitToIndex
from kcompact.dumps.record import VALUE_WORD_NULL, Record, index_schema, value_hash
from kcompact.dumps.small_files import read_together

KCAT, PLAIN = BY_NAME["kcat"], BY_NAME["plain"]


def dump_file(path: Path, data: bytes, dialect: Dialect) -> DumpFile:
    path.write_bytes(data)
    return DumpFile(0, str(path), str(path), len(data), "json_lines", dialect, TextShape(), topic="t")


def exactly(part: SplitToIndex, extra: frozenset[str] = frozenset()) -> Iterator[pa.RecordBatch]:
    layout = CsvLines() if part.file.layout == "csv_lines" else JsonLines()
    return FramedLayout.index(layout, part.file, part.split, extra, part.notes)


def fast_lines(parts: list[SplitToIndex], extra: frozenset[str] = frozenset()) -> Iterator[pa.RecordBatch]:
    file = parts[0].file
    reader = CsvReader if file.layout == "csv_lines" else JsonReader
    rules = CsvRules(file) if file.layout == "csv_lines" else JsonRules(file.dialect)
    fast = FastLines(rules, partial(reader, file, values=bool(extra)), parts, extra=extra)
    return fast.index(partial(exactly, extra=extra))


def whole(files: Sequence[DumpFile]) -> list[SplitToIndex]:
    return [
        SplitToIndex(file, Split(3 + file.file_id, file.file_id, 0, file.data_bytes), SplitNotes())
        for file in files
    ]


def assert_same(file: DumpFile, extra: frozenset[str] = frozenset()) -> pa.Table:
    return assert_same_together([file], extra)


def assert_same_together(files: Sequence[DumpFile], extra: frozenset[str] = frozenset()) -> pa.Table:
    """The table without values; with their hashes and the headers', fast and exact are compared too."""
    assert_same_with(files, extra | CONTENT_EXTRA)
    return assert_same_with(files, extra)


def assert_same_with(files: Sequence[DumpFile], extra: frozenset[str]) -> pa.Table:
    """Up to the first record that cannot be read: what follows it in other files nobody will see."""
    fast_parts, exact_parts = whole(files), whole(files)
    fast = pa.Table.from_batches(fast_lines(fast_parts, extra), index_schema(extra)).combine_chunks()
    exact: list[pa.RecordBatch] = []
    for part, fast_part in zip(exact_parts, fast_parts, strict=True):
        exact += exactly(part, extra)
        assert part.notes.rejects == fast_part.notes.rejects
        assert part.notes.logs == fast_part.notes.logs
        if part.notes.rejects:
            break
        assert part.notes == fast_part.notes
    assert pa.Table.from_batches(exact, index_schema(extra)).to_pylist() == fast.to_pylist()
    return fast


def kcat_line(offset: int, key: str = '"k"', payload: str = '"v"', partition: int = 0, ts: int = 17) -> bytes:
    return (
        f'{{"topic":"t","partition":{partition},"offset":{offset},"tstype":"create","ts":{ts},'
        f'"broker":0,"key":{key},"payload":{payload}}}\n'
    ).encode()


HOSTILE = [
    kcat_line(5, key='"a\\"b"'),
    kcat_line(5, key='"a\\\\"'),
    kcat_line(5, payload='"a\\\\"'),
    kcat_line(5, payload='"a\\\\\\""'),
    kcat_line(5, payload='"\\u0041\\ud800"'),
    kcat_line(5, payload='"\\x"'),
    kcat_line(5, payload='"\\u12g4"'),
    kcat_line(5, payload='""'),
    kcat_line(5, key='""'),
    kcat_line(5, key="null"),
    kcat_line(5, payload="null"),
    kcat_line(5, payload="nulL"),
    kcat_line(5, payload="7"),
    kcat_line(5, payload='{"offset":9,"key":"x","payload":null}'),
    kcat_line(5, payload='"x","payload":null,"more":"y"'),
    kcat_line(5, payload='"x","payload":"y"'),
    kcat_line(5, payload='"x","key":"other"'),
    kcat_line(5, payload='null,"payload_error":"no schema"'),
    kcat_line(5, key='"k\\","payload":"x'),
    kcat_line(5, key='"k","payload":"x"},{"key":"l"'),
    kcat_line(5, key='"' + "long" * 100 + '"'),
    kcat_line(5, key='"' + "k" * 37 + '"'),
    kcat_line(5, key='"zürich ✓"'),
    kcat_line(5, key='"\ufffd"'),
    kcat_line(5).replace(b'"k"', b'"\xff\xfe"'),
    kcat_line(5).replace(b'"v"', b'"\xff\xed\xa0\x80"'),
    kcat_line(5).replace(b'"v"', b'"a\tb"'),
    kcat_line(5).replace(b'"v"', b'"a\x00b"'),
    kcat_line(5).replace(b"\n", b"\r\n"),
    kcat_line(5).replace(b'"v"', b'"a\rb"'),
    kcat_line(5).replace(b":", b" : "),
    b" " + kcat_line(5),
    kcat_line(5).replace(b'"offset":5', b'"offset":05'),
    kcat_line(5).replace(b'"offset":5', b'"offset":-5'),
    kcat_line(5).replace(b'"offset":5', b'"offset":5.0'),
    kcat_line(5).replace(b'"offset":5', b'"offset":"5"'),
    kcat_line(5).replace(b'"offset":5', b'"offset":/'),
    kcat_line(10**17),
    kcat_line(2**63),
    kcat_line(5, partition=2**31),
    kcat_line(5, partition=123456),
    kcat_line(5, ts=10**14),
    kcat_line(5).replace(b'"ts":17', b'"ts":null'),
    kcat_line(5).replace(b'"ts":17,', b""),
    kcat_line(5).replace(b'"t"', b'"other"'),
    kcat_line(5).replace(b'"topic":"t",', b""),
    kcat_line(5).replace(b'"broker":0', b'"broker":0,"headers":["a","b\\"c"]'),
    kcat_line(5).replace(b'"broker":0', b'"broker":0,"headers":["a","b","c",null]'),
    kcat_line(5).replace(b'"broker":0', b'"broker":0,"headers":0'),
    kcat_line(5).replace(b'"broker":0', b'"broker":0,"headers":7'),
    kcat_line(5, payload='"\\udc80 \\ud83d\\ude00 \\/\\n"'),
    kcat_line(5, payload='"a\\\\b"').replace(b'"k"', b'"\xff"'),
    kcat_line(5).replace(b'"v"', b'"\\n\xff"'),
    b'{"key":"k","topic":"t","partition":0,"offset":6,"payload":"v"}\n',
    b'{"payload":"v","key":"k","topic":"t","partition":0,"offset":6}\n',
    b'{"key":"k","payload":"v","topic":"t","partition":0,"offset":61,"ts":5}\n',
    b"% Reached end of topic t [0] at offset 7\n",
    b"\n",
    b"  \r\n",
    b"[]\n",
    b"not json\n",
    kcat_line(5)[:-4] + b"\n",
    kcat_line(5)[:-2] + b"\n",
    kcat_line(5)[:-1] + b"}\n",
    kcat_line(5)[:-1],
    kcat_line(5)[:-1] + b'"\n',
    kcat_line(5)[:-1] + kcat_line(6),
]


@pytest.mark.parametrize("dialect", [KCAT, PLAIN], ids=["kcat", "plain"])
@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_hostile_line_among_regular_ones_reads_alike(tmp_path: Path, number: int, dialect: Dialect) -> None:
    regular = [kcat_line(offset, payload='"a \\" b"') for offset in range(8, 14)]
    data = b"".join([*regular, HOSTILE[number], *regular])
    if dialect is PLAIN:
        data = data.replace(b'"payload":', b'"value":').replace(b'"ts":', b'"timestamp":')
    assert_same(dump_file(tmp_path / "d.jsonl", data, dialect))


def test_quotes_missing_in_one_line_do_not_make_up_for_others(tmp_path: Path) -> None:
    """One line has two quotes too many, another (whose last quote is escaped) too few."""
    regular = [kcat_line(offset) for offset in range(6)]
    many = kcat_line(7, payload='"x","z":"y"')
    few = kcat_line(8, payload='"x\\\\"').replace(b'"partition":0', b'"partition":1')
    table = assert_same(dump_file(tmp_path / "d.jsonl", b"".join([*regular, many, few, *regular]), KCAT))

    assert table.num_rows == 14


lines = st.one_of(
    st.sampled_from(HOSTILE),
    st.builds(
        lambda offset, key, value, partition, ts: kcat_line(
            offset, json.dumps(key), json.dumps(value, ensure_ascii=False), partition, ts
        ),
        st.integers(0, 10**12),
        st.one_of(st.none(), st.text(max_size=20)),
        st.one_of(st.none(), st.text(alphabet='ab"\\{}:,\n✓\x07', max_size=20)),
        st.integers(0, 40),
        st.integers(0, 10**15),
    ),
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(lines, min_size=1, max_size=40), st.sampled_from([KCAT, replace(KCAT, byte_exact=False)]))
def test_any_lines_read_alike(tmp_path: Path, dump: list[bytes], dialect: Dialect) -> None:
    assert_same(dump_file(tmp_path / "d.jsonl", b"".join(dump), dialect))


def dump_files(folder: Path, texts: list[bytes], dialect: Dialect) -> list[DumpFile]:
    named = ((folder / f"{number}.jsonl", text) for number, text in enumerate(texts))
    return [replace(dump_file(path, text, dialect), file_id=n) for n, (path, text) in enumerate(named)]


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.lists(lines, max_size=6), st.booleans()), min_size=2, max_size=8))
def test_files_read_together_read_as_one_by_one(
    tmp_path: Path, dumps: list[tuple[list[bytes], bool]]
) -> None:
    """Some of them end without a newline; what one line does to its file it must not do to the next."""
    texts = [b"".join(dump)[: -1 if cut else None] for dump, cut in dumps]
    assert_same_together(dump_files(tmp_path, texts, KCAT))
    assert_same_together(dump_files(tmp_path, texts, KCAT), FAST_EXTRA)


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_hostile_line_in_one_of_several_files_reads_alike(tmp_path: Path, number: int) -> None:
    regular = [kcat_line(offset, payload='"a \\" b"') for offset in range(8, 14)]
    texts = [b"".join(regular), b"".join([*regular, HOSTILE[number]])[:-1], b"", b"".join(regular[:2])]
    assert_same_together(dump_files(tmp_path, texts, KCAT))


def test_files_that_read_alike_stand_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_window, "WINDOW_BYTES", 1000)
    files = dump_files(tmp_path, [kcat_line(0) * lines for lines in (1, 2, 3, 30, 1, 1, 1)], KCAT)
    files[5] = replace(files[5], topic="other")

    groups = [[part.file.file_id for part in group] for group in read_together(whole(files))]

    assert [[0, 1, 2], [3], [4], [5], [6]] == groups


@pytest.fixture
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_window, "WINDOW_BYTES", 300)


@pytest.mark.usefixtures("small_windows")
def test_lines_that_span_windows_read_alike(tmp_path: Path) -> None:
    dump = [kcat_line(n, payload=f'"{"x" * (n * 7 % 600)}!"', partition=n % 3) for n in range(200)]

    table = assert_same(dump_file(tmp_path / "d.jsonl", b"".join(dump)[:-1], KCAT))

    assert table.num_rows == 200
    assert sum(table["record_bytes"].to_pylist()) == len(b"".join(dump)) - 1


def test_filters_are_obeyed(tmp_path: Path) -> None:
    dump = [kcat_line(n, partition=n % 3) for n in range(30)] + [HOSTILE[0]]
    file = dump_file(tmp_path / "d.jsonl", b"".join(dump), KCAT)

    table = assert_same(replace(file, partitions=(range(1, 2),)))

    assert table.num_rows == 10


@pytest.mark.parametrize("extra", [frozenset(), CONTENT_EXTRA], ids=["rows", "contents"])
def test_regular_lines_fit_a_template(tmp_path: Path, extra: frozenset[str]) -> None:
    """Otherwise all of the above would compare the exact way with itself."""
    dump = b"".join(kcat_line(n, payload="null" if n % 5 == 0 else '"v \\"q\\""') for n in range(1000))
    file = dump_file(tmp_path / "d.jsonl", dump, KCAT)
    unread = []

    class Counting(JsonReader):
        def __call__(self, data: bytes, ordinal: int) -> Record:
            unread.append(data)
            return super().__call__(data, ordinal)

    reader = partial(Counting, file, values=bool(extra))
    notes = SplitNotes()
    part = SplitToIndex(file, Split(0, 0, 0, len(dump)), notes)
    fast = FastLines(JsonRules(KCAT), reader, [part], extra=extra)
    table = pa.Table.from_batches(fast.index(exactly))

    assert table.num_rows == 1000
    assert table["is_tombstone"].to_pylist().count(True) == 200
    assert len(unread) <= 4


def test_no_template_without_unique_names() -> None:
    record = Record("t", 0, 5, 17, b"k", b"v")

    assert learn_template(kcat_line(5)[:-1], record, KCAT) is not None
    assert learn_template(kcat_line(5, payload='"v","key":"k"')[:-1], record, KCAT) is None


DELETE = json.dumps({"before": {"id": 1}, "after": None, "op": "d"})
NO_DELETE = DELETE.replace("op", "po")
TELLING = [None, "", "null", "nulls", " null", DELETE, NO_DELETE, "plain", "\x00", '{"op" :\n"d"}', "é"]


@given(values=st.lists(st.sampled_from(TELLING), min_size=1, max_size=40), ascii_only=st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_what_values_are_is_told_as_the_exact_way_tells_it(
    tmp_path: Path, values: list[str | None], *, ascii_only: bool
) -> None:
    lines = [
        kcat_line(at, payload=json.dumps(value, ensure_ascii=ascii_only)) for at, value in enumerate(values)
    ]
    table = assert_same(dump_file(tmp_path / "dump.jsonl", b"".join(lines), KCAT), FAST_EXTRA)
    assert table["is_debezium_delete"].to_pylist() == [value == DELETE for value in values]


HEADERS = ['["a","b"]', '["a",null]', "[]", "null", '["a","\\u00e9","a","x"]', '{"a":1}', '{"a":17}']


@given(
    st.lists(
        st.tuples(st.sampled_from(HEADERS), st.one_of(st.none(), st.text(max_size=9))),
        min_size=1,
        max_size=40,
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_headers_and_values_are_hashed_as_the_exact_way_hashes_them(
    tmp_path: Path, told: list[tuple[str, str | None]]
) -> None:
    lines = [
        kcat_line(at, payload=json.dumps(value)).replace(b'"key"', f'"headers":{headers},"key"'.encode())
        for at, (headers, value) in enumerate(told)
    ]
    table = assert_same_with([dump_file(tmp_path / "d.jsonl", b"".join(lines), KCAT)], CONTENT_EXTRA)
    values = [None if value is None else value.encode() for _, value in told]
    assert table["value_hash"].to_pylist() == list(map(value_hash, values))


@pytest.mark.parametrize("encoding", ["base64", "hex"])
def test_encoded_values_are_hashed_as_the_exact_way_hashes_them(tmp_path: Path, encoding: str) -> None:
    spelt = ['"YWI="', '"6162"', '"YWI"', '"61\\u0036\\u0032"', "null", '""', '"YWI\\u003d"', '"!"']
    for last in spelt:
        lines = [
            kcat_line(at, payload=payload) for at, payload in enumerate([spelt[encoding == "hex"], last])
        ]
        dialect = replace(KCAT, value_encoding=encoding)
        assert_same(dump_file(tmp_path / "d.jsonl", b"".join(lines), dialect))


def test_words_that_are_spelt_with_escapes_are_still_told(tmp_path: Path) -> None:
    payloads = ['"v"', '"\\u006eull"', json.dumps(DELETE).replace("op", "\\u006fp"), '"v"']
    lines = [kcat_line(at, payload=payload) for at, payload in enumerate(payloads)]
    table = assert_same(dump_file(tmp_path / "dump.jsonl", b"".join(lines), KCAT), FAST_EXTRA)
    assert table["value_kind"].to_pylist() == [0, VALUE_WORD_NULL, 0, 0]
    assert table["is_debezium_delete"].to_pylist() == [False, False, True, False]


COLUMNS = ("topic", "partition", "offset", "timestamp", "key", "value")
WITH_HEADERS = (*COLUMNS, "headers")
CSV_HOSTILE = [
    b"t,0,5,17,k,\n",
    b"t,0,5,17,k,a,b\n",
    b"t,0,5,17,k\n",
    b"t,0,5,17,,v\n",
    b't,0,5,17,"",v\n',
    b't,0,5,17,k,""\n',
    b't,0,5,17,"a,b","x""y, z"\n',
    b't,0,5,17,k,"two\nlines, and ""more"""\n',
    b't,0,5,17,k,"not closed\n',
    b't,0,5,17,k,ab"c"\n',
    b't,0,5,17,k,"ab"c\n',
    b"t,0,05,17,k,v\n",
    b"t,0, 5,17,k,v\n",
    b"t,0,-5,17,k,v\n",
    b"t,0,5,1700000000,k,v\n",
    b"t,0,5,100000000000000,k,v\n",
    b"t,0,5,,k,v\n",
    b"t,0,5,2024-01-01T00:00:00Z,k,v\n",
    b"t,,5,17,k,v\n",
    b",0,5,17,k,v\n",
    b"t,0,5,17,k\tx,v\ty\n",
    b"t,0,5,17,k,v\rw\n",
    b"t,0,5,17,k,v\r\n",
    b"t,0,5,17,k,\r\n",
    b"t,0,5,17,k,\\N\n",
    b"t,0,5,17,\xff,\xfe\n",
    "t,0,5,17,\ufffd,v\n".encode(),
    b"\n",
    b"  \n",
    b"t,0,5,17,k,v",
]


def csv_file(path: Path, data: bytes, quoting: str = "rfc4180") -> DumpFile:
    path.write_bytes(data)
    shape = CsvShape(columns=COLUMNS, quoting=quoting)
    return DumpFile(0, str(path), str(path), len(data), "csv_lines", BY_NAME["csv"], shape, topic="t")


@pytest.mark.parametrize("quoting", ["rfc4180", "backslash", "none"])
@pytest.mark.parametrize("number", range(len(CSV_HOSTILE)))
def test_hostile_row_among_regular_ones_reads_alike(tmp_path: Path, number: int, quoting: str) -> None:
    regular = [b"t,1,%d,1700000000000,key-%d,some value\n" % (n, n % 3) for n in range(8, 14)]
    data = b"".join([*regular, CSV_HOSTILE[number], *regular])
    assert_same(csv_file(tmp_path / "d.csv", data, quoting))


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.one_of(
            st.sampled_from(CSV_HOSTILE),
            st.builds(
                lambda offset, key, value: b"t,0,%d,17,%s,%s\n" % (offset, key.encode(), value.encode()),
                st.integers(0, 10**12),
                st.text(alphabet="ab\"',\ufffdü", max_size=9),
                st.text(alphabet="ab\"',ü \t", max_size=9),
            ),
        ),
        max_size=30,
    ),
    st.sampled_from([40, 4000]),
)
def test_any_rows_read_alike(tmp_path: Path, dump: list[bytes], window_bytes: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_window, "WINDOW_BYTES", window_bytes)
        assert_same(csv_file(tmp_path / "d.csv", b"".join(dump)))
    halves = b"".join(dump[::2]), b"".join(dump[1::2])
    files = [csv_file(tmp_path / f"{number}.csv", half) for number, half in enumerate(halves)]
    assert_same_together([replace(file, file_id=number) for number, file in enumerate(files)])


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.sampled_from([b"", b"a=b", b"a:1", b"a:17", b"7", b"12", b"x"]), max_size=30))
def test_headers_in_cells_read_alike(tmp_path: Path, cells: list[bytes]) -> None:
    dump = b"".join(b"t,0,%d,17,k,v,%s\n" % (at, cell) for at, cell in enumerate(cells))
    file = csv_file(tmp_path / "d.csv", dump)
    assert_same(replace(file, shape=replace(file.shape, columns=WITH_HEADERS)))


@pytest.mark.parametrize("extra", [frozenset(), CONTENT_EXTRA], ids=["rows", "contents"])
def test_regular_rows_fit_a_template(tmp_path: Path, extra: frozenset[str]) -> None:
    """Otherwise the comparisons above would compare the exact way with itself."""
    dump = b"".join(b"t,%d,%d,17,k-%d,%s\n" % (n % 3, n, n, b"" if n % 5 == 0 else b"v") for n in range(1000))
    file = csv_file(tmp_path / "d.csv", dump)
    unread = []

    class Counting(CsvReader):
        def __call__(self, data: bytes, ordinal: int) -> Record:
            unread.append(data)
            return super().__call__(data, ordinal)

    part = SplitToIndex(file, Split(0, 0, 0, len(dump)), SplitNotes())
    fast = FastLines(CsvRules(file), partial(Counting, file, values=bool(extra)), [part], extra=extra)
    table = pa.Table.from_batches(fast.index(exactly))

    assert table.num_rows == 1000
    assert table["is_tombstone"].to_pylist().count(True) == 200
    assert len(unread) <= 4


@pytest.mark.parametrize("dialect", [KCAT, PLAIN])
def test_json_as_it_is_recognised_is_read_by_templates(dialect: Dialect) -> None:
    assert covers(dialect)


def test_csv_as_it_is_recognised_is_read_by_templates(tmp_path: Path) -> None:
    file = csv_file(tmp_path / "d.csv", b"t,0,5,17,k,v\n")

    assert csv_covers(file)
    assert not csv_covers(replace(file, shape=replace(file.shape, columns=(*COLUMNS, "key_encoding"))))
