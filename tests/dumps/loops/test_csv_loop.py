"""The loop must never change what is read: every hostile row comes out as the reference reads it."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dump_pipeline import index_all, open_one
from kcompact.dumps.dialects.dialect import forms
from kcompact.dumps.dialects.dialect_table import BY_NAME
from kcompact.dumps.loops import windows
from kcompact.dumps.loops.csv.null_cells import RARER_NULLS
from kcompact.dumps.loops.readiness import load_loops
from kcompact.dumps.records.indexing import CONTENT_EXTRA
from kcompact.dumps.records.layout import DumpFile
from kcompact.dumps.text.csv_reader import NULL_TEXTS, NULLS_OF_DATABASES, CsvShape
from loop_parity import assert_same, assert_same_together, read_by_loop_alone

assert load_loops("csv_lines")


COLUMNS = ("topic", "partition", "offset", "timestamp", "key", "value")
WITH_HEADERS = (*COLUMNS, "headers")
CSV_HOSTILE = [
    b"t,0,5,17,k,NULL\n",
    b"t,0,5,17,NULL,\\N\n",
    b"t,0,5,17,\\N,v\n",
    b't,0,5,17,"NULL",v\n',
    b't,0,5,17,k,"NULL"\n',
    b"t,0,5,17,k,NUL\n",
    b"t,0,5,17,k,null\n",
    b"t,0,5,17,None,nil\n",
    b"t,0,5,17,NaN,undefined\n",
    b't,0,5,17,"(null)",<null>\n',
    b"t,0,5,17,<nil>,<nil>\n",
    b"t,0,5,17,nan,none\n",
    b"t,0,5,17,-,Optional.empty\n",
    b"t,0,5,17,N/A,(none)\n",
    b"t,0,5,17,%{[@metadata][kafka][key]},\\\\N\n",
    b"t,0,5,17,%{[@metadata][kafka][key],\\\\\n",
    b"t,0,5,17,--,(none\n",
    b"t,0,5,17,NA,na\n",
    b"t,0,5,17,k,NA\n",
    b"t,0,5,17,k,\n",
    b"t,0,5,17,k,a,b\n",
    b"t,0,5,17,k\n",
    b"t,0,5,17,,v\n",
    b't,0,5,17,"",v\n',
    b't,0,5,17,k,""\n',
    b't,0,5,17,"a,b","x""y, z"\n',
    b't,0,5,17,"x:1",v\n',  # words and other texts that need no quotes
    b't,0,5,17,"%s","%s"\n' % (b"x" * 25, b"x" * 24),
    b't,0,5,17,"x\\y","%s"\n' % (b"x" * 25),
    b't,0,5,17,"x\ty","\xc3\xa9"\n',
    b't,0,5,17,k,"two\nlines, and ""more"""\n',
    b't,0,5,17,k,"two\nt,0,6,17,l,rows"\n',  # the first and the last quote may be the data's
    b't,0,5,17,k,"two\nt,0,6,17,l,rows"\r\n',
    b't,0,5,17,k,"not closed\n',
    b't,0,5,17,k,ab"c"\n',
    b't,0,5,17,k,ab\\"c\\"\n',
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
    "\ufefft,0,5,17,k,v\n".encode(),
    "\uff54,0,5,17,k,v\n".encode(),
    b"\n",
    b"  \n",
    b"t,0,5,17,k,v",
]


def test_words_for_null_are_those_of_the_reference() -> None:
    rarer = {*NULL_TEXTS.values()} - {*NULLS_OF_DATABASES.values()}
    assert {word.decode() for word in RARER_NULLS} == rarer


def csv_file(path: Path, data: bytes, quoting: str = "rfc4180") -> DumpFile:
    path.write_bytes(data)
    shape = CsvShape(columns=COLUMNS, quoting=quoting)
    return DumpFile(0, str(path), str(path), len(data), "csv_lines", BY_NAME["csv"], shape, topic="t")


@pytest.mark.everyday(40)
@pytest.mark.parametrize("quoting", ["rfc4180", "backslash", "none"])
@pytest.mark.parametrize("number", range(len(CSV_HOSTILE)))
def test_hostile_row_among_regular_ones_reads_alike(tmp_path: Path, number: int, quoting: str) -> None:
    regular = [b"t,1,%d,1700000000000,key-%d,some value\n" % (n, n % 3) for n in range(8, 14)]
    data = b"".join([*regular, CSV_HOSTILE[number], *regular])
    assert_same(csv_file(tmp_path / "d.csv", data, quoting))


@pytest.mark.slow
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
        patch.setattr(windows, "WINDOW_BYTES", window_bytes)
        assert_same(csv_file(tmp_path / "d.csv", b"".join(dump)))
    halves = b"".join(dump[::2]), b"".join(dump[1::2])
    files = [csv_file(tmp_path / f"{number}.csv", half) for number, half in enumerate(halves)]
    assert_same_together([replace(file, file_id=number) for number, file in enumerate(files)])


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from([b"", b"a=b", b"a:1", b"a:17", b"7", b"null", b"x"]), max_size=30))
def test_headers_in_cells_read_alike(tmp_path: Path, cells: list[bytes]) -> None:
    dump = b"".join(b"t,0,%d,17,k,v,%s\n" % (at, cell) for at, cell in enumerate(cells))
    file = csv_file(tmp_path / "d.csv", dump)
    assert_same(replace(file, shape=replace(file.shape, columns=WITH_HEADERS)))


@pytest.mark.parametrize("extra", [frozenset(), CONTENT_EXTRA], ids=["rows", "contents"])
def test_the_loop_itself_reads_regular_rows(tmp_path: Path, extra: frozenset[str]) -> None:
    """Otherwise the comparisons above would compare the reference with itself."""
    values = [b"v", b"", b'""', b'"a ""b"", c"', b'"two\r\nlines"']
    dump = b"".join(b't,%d,%d,17,"k-%d",%s\r\n\n' % (n % 3, n, n, values[n % 5]) for n in range(1000))
    file = csv_file(tmp_path / "d.csv", dump)
    table = read_by_loop_alone(file, extra)

    assert table["key"].to_pylist() == [b"k-%d" % n for n in range(1000)]
    assert table["is_tombstone"].to_pylist() == [n % 5 == 1 for n in range(1000)]


def test_a_column_without_a_name_is_no_part_of_a_record(tmp_path: Path) -> None:
    """The index that pandas writes first: once it was taken for the length that tells null from empty."""
    path = tmp_path / "d.csv"
    path.write_bytes(b"0,t,0,5,17,k,v\n1,t,0,6,17,k,\n")
    shape = CsvShape(columns=("", *COLUMNS))
    file = DumpFile(
        0, str(path), str(path), path.stat().st_size, "csv_lines", BY_NAME["csv"], shape, topic="t"
    )
    assert assert_same(file)["is_tombstone"].to_pylist() == [False, True]


def flagged_file(path: Path, flags: list[str], rng: random.Random) -> DumpFile:
    """Rows with a flag that may tell of deletes."""
    values = ["v", "", '""', "NULL"]
    rows = [f"t,0,{at},17,k,{rng.choice(values)},{rng.choice(flags)}" for at in range(rng.randrange(1, 60))]
    file = csv_file(path, "\n".join(rows).encode())
    shape = replace(file.shape, columns=(*COLUMNS, "deleted"))
    return replace(file, shape=shape, dialect=replace(file.dialect, delete_flag="deleted"))


@pytest.mark.everyday(10)
@pytest.mark.parametrize("number", range(40))
def test_flags_of_deletes_read_alike(tmp_path: Path, number: int) -> None:
    """One that is set beside a value ends the run: the loop has to come to the same."""
    rng = random.Random(number)
    unset = ["false", "f", "F", "0", "no", "", '""', "maybe"] * rng.randrange(1, 9)
    assert_same(flagged_file(tmp_path / "d.csv", [*unset, "true", "t", "1", '"yes"'], rng))


def test_flags_that_are_not_set_are_read_by_the_loop_itself(tmp_path: Path) -> None:
    file = flagged_file(tmp_path / "d.csv", ["false", "f", "0", "no", "", '"False"'], random.Random(3))
    assert read_by_loop_alone(file, frozenset()).num_rows > 1


@pytest.mark.everyday(10)
@pytest.mark.parametrize("number", range(40))
def test_errors_beside_missing_parts_read_alike(tmp_path: Path, number: int) -> None:
    """One beside a record without a value ends the run: the loop has to come to the same."""
    rng = random.Random(number)
    errors = [*["", '""', "0", "false", "null"] * rng.randrange(1, 9), "late", '"no, schema"']
    file = flagged_file(tmp_path / "d.csv", errors, rng)
    value = replace(file.dialect.value, error="deleted")
    assert_same(replace(file, dialect=replace(file.dialect, delete_flag=None, value=value)))


@pytest.mark.parametrize("window_bytes", [20, 64, 300])
def test_rows_that_span_windows_read_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, window_bytes: int
) -> None:
    monkeypatch.setattr(windows, "WINDOW_BYTES", window_bytes)
    values = [b'"' + b"line\n" * (n * 7 % 90) + b'"' for n in range(60)]
    dump = b"".join(b"t,0,%d,17,k,%s\n" % (n, value) for n, value in enumerate(values))
    assert assert_same(csv_file(tmp_path / "d.csv", dump)).num_rows == 60
    assert_same(csv_file(tmp_path / "cut.csv", dump[:-3]))


@pytest.mark.everyday(60)
@pytest.mark.parametrize(
    "dialect", ["redpanda-console-csv", "kafbat-csv", "spark-csv", "denktmit", "csv", "text"]
)
@pytest.mark.parametrize("number", range(30))
def test_rows_of_any_dialect_read_alike(tmp_path: Path, dialect: str, number: int) -> None:
    """Cells drawn from what tools write and what they should not write."""
    rng = random.Random(f"{dialect} {number}")
    rules = BY_NAME[dialect]
    rules = replace(rules, value=replace(rules.value, doubtful=forms()))  # with one word for null at most
    roles = ["topic", "partition", "offset", "timestamp", "key", "value", "headers"]
    key, value = rules.key, rules.value
    special = {"key_marker": key.marker, "value_marker": value.marker, "key_size": key.size}
    places = {**rules.places, **special, "value_size": value.size}
    named = [role for role in roles if places[role] is not None]
    named += [role for role in (*special, "value_size") if places[role] is not None and rng.random() < 0.5]
    rng.shuffle(named)
    rows = [",".join(csv_cell(role, rng) for role in named) for _ in range(rng.randrange(1, 30))]
    ends = rng.choice([["\n"], ["\r\n"], ["\n", "\r\n"]])
    text = "".join(row + rng.choice(ends) for row in rows[:-1]) + rows[-1] + rng.choice(["", "\r", *ends])
    data = text.encode("utf-8", "surrogatepass")
    columns = tuple(str(places[role]) for role in named)
    file = csv_file(tmp_path / "d.csv", data, rules.quoting)
    assert_same(replace(file, dialect=rules, shape=replace(file.shape, columns=columns)))


@pytest.mark.parametrize("header", [b"key\tvalue", b'"key"\tvalue'])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_the_header_line_of_a_joined_table_is_refused(tmp_path: Path, header: bytes, end: bytes) -> None:
    """Where no column has to be a number, such a line looks like any other."""
    lines = [header, b"a\tv", header + b"x", header, b"b\tv"]
    (tmp_path / "orders-0.tsv").write_bytes(b"".join(line + end for line in lines))
    with open_one(tmp_path / "orders-0.tsv") as dump:
        assert assert_same(dump.files[0])["offset"].to_pylist() == [0, 1]
        (notes,) = index_all(dump)[1].values()
    assert [reject.reason for reject in notes.rejects] == ["the header line once more"]


def test_a_word_for_null_is_read_in_either_case(tmp_path: Path) -> None:
    (tmp_path / "t-0.txt").write_bytes(b"v,1,k\nNULL,2,NULL\nnull,3,null\nNull,4,k\n")
    with open_one(tmp_path / "t-0.txt", columns=("value", "offset", "key"), delimiter=",") as dump:
        assert index_all(dump)[0]["is_tombstone"].to_pylist() == [False, True, True, False]
        read_by_loop_alone(dump.files[0], frozenset())
        assert assert_same(dump.files[0])["key"].to_pylist() == [b"k", None, None, b"k"]


CELLS = [
    "k",
    "",
    '""',
    '"a""b"',
    '"x,y"',
    '"l\nm"',
    "YWI=",
    '"YWI="',
    " 7",
    "null",
    "None",
    "<null>",
    "é",
    "\ufffd",
    'q"r',
    '"open',
    "\\N",
    "NULL",
    "\r",
]
WHOLE = ["0", "7", "07", "+7", "1700000000", "1700000000000", "100000000000000", "-1", '"7"', "1e3", "x"]


def csv_cell(role: str, rng: random.Random) -> str:
    usual = rng.random() < 0.95
    choices = {
        "topic": ["t", "u", '"t"', "", '"t""u"'][: 3 if usual else 5],
        "partition": ["0", "1", "", *WHOLE][: 3 if usual else 14],
        "offset": WHOLE[: 2 if usual else 11],
        "timestamp": ["", "1700000000000", *WHOLE][: 3 if usual else 13],
        "headers": ["", "a=b", '"a=b,c=NULL"', "[]"],
        "key_size": ["1", "0", "-1"],
        "value_size": ["1", "0", "-1"],
        "key_marker": ["", "base64"][: 1 if usual else 2],
        "value_marker": ["", "base64"][: 1 if usual else 2],
    }
    return rng.choice(choices.get(role, ["k", "YWI=", "", '""', '"x,y"', '"a""b"'] if usual else CELLS))
