"""CSV as Spark and others quote it: backslashes or doubled quotes, only where it must be or everywhere."""

import csv
import io
import shlex
from pathlib import Path

import pytest

from dump_pipeline import index_all, judged, open_one
from kcompact.dumps.doubts import doubt_about
from kcompact.dumps.layouts import LAYOUTS
from kcompact.dumps.note_checks import check_notes, refuse_rejects
from kcompact.dumps.records.layout import Split, SplitNotes, SplitToIndex
from kcompact.dumps.records.record import Record
from kcompact.dumps.records.shown import delimiter_option
from kcompact.dumps.writers.text_writers import COLUMNS
from kcompact.errors import InputError
from kcompact.options.dump_options import ReadingOptions, read_options
from siphash import SECRET

SPARK = ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType"]
TEXTS = [
    "C:\\temp, x",
    "C:temp, x",
    "a\\,b",
    'say "hi", ok',
    "x\\",
    "a\\b",
    "a\\\\b, c",
    '{"p":"C:\\\\new","q":"a\\"b"}',
    '"',
    'a"b',
    "\\,",
    '\\"',
    "a\nb\\n,",
    "\\N, x",
]


def cell(text: str, escape: str, *, quote_all: bool) -> str:
    """A cell as Spark writes it with this option ``escape``, by the rules of its univocity writer."""
    if not quote_all and not set(text) & set(',"\n'):
        return text
    escaped = text.replace("\\", "\\\\") if escape == "\\" else text
    return '"' + escaped.replace('"', escape + '"') + '"'


def spark_csv(texts: list[str], escape: str, *, quote_all: bool = False) -> bytes:
    rows = [SPARK] + [
        [f"k{number}", text, "t", "0", str(number), "2024-01-01T00:00:00.000Z", "0"]
        for number, text in enumerate(texts)
    ]
    lines = (",".join(cell(text, escape, quote_all=quote_all) for text in row) for row in rows)
    return "".join(f"{line}\n" for line in lines).encode()


def records_of(path: Path, **options: object) -> list[Record]:
    with open_one(path, **options) as dump:
        (file,) = dump.files
        part = SplitToIndex(file, Split(0, 0, file.shape.start, file.data_bytes), SplitNotes(), SECRET)
        return [record for _, _, record in LAYOUTS[file.layout].read(part, values=True)]


@pytest.mark.parametrize("delimiter", ["||", ", ", "|~|", "§"])
def test_a_delimiter_of_several_bytes_divides_rows_with_quotes_as_it_does_others(
    tmp_path: Path, delimiter: str
) -> None:
    """As Spark's option ``sep`` writes it; keys of rows with a quote began with a part of the delimiter."""
    path = tmp_path / "orders.csv"
    quoted = f'"a{delimiter}""b"""'
    rows = [["offset", "key", "value"], ["0", "k", "v"], ["1", "k", 'say "hi"'], ["2", '"k"', quoted]]
    path.write_text("".join(delimiter.join(row) + "\n" for row in rows), encoding="utf-8")
    values = [b"v", b'say "hi"', f'a{delimiter}"b"'.encode()]
    assert [(r.key, r.value) for r in records_of(path, delimiter=delimiter)] == [(b"k", v) for v in values]


@pytest.mark.parametrize("delimiter", [", ", "; ", "| ", " , ", " | ", " ;"])
def test_blanks_beside_all_delimiters_belong_to_no_key(tmp_path: Path, delimiter: str) -> None:
    """As ``print(..., sep=", ")`` and ``kcat -f '%t, %o, %k, %s'`` write; a tombstone was a blank."""
    path = tmp_path / "orders.csv"
    rows = ["offset key value", "0 k v", "1 l w", '2 k "x"', "3 l "]
    path.write_text("".join(delimiter.join(row.split(" ")) + "\n" for row in rows))
    values = {0: (b"k", b"v"), 1: (b"l", b"w"), 2: (b"k", b"x"), 3: (b"l", None)}
    assert {r.offset: (r.key, r.value) for r in records_of(path)} == values


def test_blanks_behind_the_names_of_columns_alone_tell_nothing_of_rows(tmp_path: Path) -> None:
    path = tmp_path / "orders.csv"
    path.write_text("offset, key, value\n0,k, v\n1,l,w\n")
    assert [(r.key, r.value) for r in records_of(path)] == [(b"k", b" v"), (b"l", b"w")]


@pytest.mark.parametrize("null", ["NULL", "\\N"])
def test_a_word_for_null_is_text_in_quotes_where_it_is_null_without(tmp_path: Path, null: str) -> None:
    """As DuckDB, PostgreSQL and ClickHouse write both; where all of them are quoted, they are nulls."""
    path = tmp_path / "orders.csv"
    path.write_text(f'offset,key,value\n0,a,{null}\n1,b,"{null}"\n2,"{null}",v\n3,"c, d",{null}\n')
    text = null.encode()
    expected = [(b"a", None), (b"b", text), (text, b"v"), (b"c, d", None)]
    assert [(r.key, r.value) for r in records_of(path, tombstone=f"literal:{null}")] == expected
    with open_one(path, tombstone=f"literal:{null}") as dump:
        rows, notes = index_all(dump)
        assert rows["key"].to_pylist() == [key for key, _ in expected]
        assert not [note for note in check_notes(dump, notes) if "which tools write for null" in note]
    path.write_text(f'offset,key,value\n"0","a","{null}"\n"1","b","v"\n')
    assert [r.value for r in records_of(path, tombstone=f"literal:{null}")] == [None, b"v"]


def test_rows_of_delimiters_alone_are_called_so(tmp_path: Path) -> None:
    """As Excel saves rows that were emptied; they were said to lack an offset, which --fields may name."""
    path = tmp_path / "orders.csv"
    path.write_text("offset;key;value\r\n0;k;v\r\n;;\r\n;;\r\n", newline="")
    with open_one(path) as dump:
        _, notes = index_all(dump)
        with pytest.raises(InputError, match="csv:3: a row with nothing in it") as refused:
            refuse_rejects(dump, notes)
    assert "lines of delimiters alone" in (refused.value.hint or "")


@pytest.mark.parametrize("type_column", [b"timestampType", b"kind"], ids=["spark", "any-tool"])
@pytest.mark.parametrize("quote_all", [False, True], ids=["where-needed", "all"])
@pytest.mark.parametrize("escape", ["\\", '"'], ids=["backslash", "doubled"])
def test_texts_come_back_however_spark_escapes_quotes(
    tmp_path: Path, escape: str, type_column: bytes, *, quote_all: bool
) -> None:
    data = spark_csv(TEXTS, escape, quote_all=quote_all)
    data = data.replace(b"timestampType", type_column)
    path = tmp_path / "d.csv"
    path.write_bytes(data)

    records = records_of(path)

    assert [record.value for record in records] == [text.encode() for text in TEXTS]
    assert [record.key for record in records] == [f"k{number}".encode() for number in range(len(TEXTS))]


def test_values_that_are_all_json_are_read_with_backslashes(tmp_path: Path) -> None:
    texts = [f'{{"id":{number},"name":"x"}}' for number in range(9)]
    path = tmp_path / "d.csv"
    path.write_bytes(spark_csv(texts, "\\"))
    assert [record.value for record in records_of(path)] == [text.encode() for text in texts]


def test_keys_that_differ_by_a_backslash_stay_apart(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    head = ",".join(SPARK).encode()
    path.write_bytes(head + b'\n"C:\\temp, x",1,t,0,0,1,0\n"C:temp, x",2,t,0,1,2,0\n')
    assert [record.key for record in records_of(path)] == [b"C:\\temp, x", b"C:temp, x"]


@pytest.mark.parametrize(
    ("sample", "last", "remedy"),
    [
        (b'k,"a\\\\b, \\"",t,0,0,1,0', b'k,"a\\b,",t,0,1,1,0', "--dialect csv"),
        (b'k,"a\\\\b, \\"",t,0,0,1,0', b'k,"a ""b""",t,0,1,1,0', "--dialect csv"),
        (b'k,"a ""b""",t,0,0,1,0', b'k,"a \\"b\\", c",t,0,1,1,0', "--dialect spark-csv"),
    ],
)
def test_a_row_quoted_in_the_other_way_is_refused_with_what_reads_it(
    tmp_path: Path, sample: bytes, last: bytes, remedy: str
) -> None:
    path = tmp_path / "d.csv"
    path.write_bytes(b"\n".join([",".join(SPARK).encode(), *[sample] * 3, last, b""]))
    with open_one(path) as dump:
        _, notes = index_all(dump)
        with pytest.raises(InputError, match=r"d\.csv:5: ") as refused:
            refuse_rejects(dump, notes)
    assert remedy in str(refused.value.hint)
    path.write_bytes(b"\n".join([",".join(SPARK).encode(), last, b""]))
    assert records_of(path, dialect=remedy.removeprefix("--dialect "))[0].key == b"k"


def doubts(path: Path, **options: object) -> dict[str, bool]:
    with open_one(path, **options) as dump:
        _, notes = index_all(dump)
        return {role: doubt_about(dump.files[0], notes[0], role) is not None for role in ("key", "value")}


def all_quoted(rows: list[list[str | None]]) -> bytes:
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    return out.getvalue().encode()


@pytest.mark.parametrize("columns", [SPARK, ["key", "value", "topic", "partition", "offset"]])
def test_where_every_cell_is_quoted_an_empty_one_may_be_null(tmp_path: Path, columns: list[str]) -> None:
    rows: list[list[str | None]] = [
        [None, "v", "t", "0", "0", "1", "0"],
        ["k", None, "t", "0", "1", "1", "0"],
    ]
    path = tmp_path / "d.csv"
    path.write_bytes(all_quoted([[*columns], *(row[: len(columns)] for row in rows)]))

    assert doubts(path) == {"key": True, "value": True}
    assert doubts(path, missing_key="null", tombstone="empty") == {"key": False, "value": False}
    by_answer = [
        [(record.key, record.value) for record in records_of(path, missing_key=key, tombstone=tombstone)]
        for key, tombstone in (("null", "empty"), ("empty", "none"))
    ]
    assert by_answer == [[(None, b"v"), (b"k", None)], [(b"", b"v"), (b"k", b"")]]


OWN = ",".join(COLUMNS)
OWN_ROWS = f'{OWN}\n"t",0,0,1,create,"a","v",,,\n"t",0,1,2,create,"b",,,,\n'


def test_in_csv_of_kcompact_nothing_is_in_doubt(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text(OWN_ROWS + '"t",0,2,3,create,"NULL","NULL",,,\n"t",0,3,4,create,"NULL","NULL",,,\n')
    assert doubts(path) == {"key": False, "value": False}
    assert judged(path) == []


def test_nulls_are_in_doubt_where_another_tool_has_written_kcompact_s_csv_anew(tmp_path: Path) -> None:
    """The header line is copied, and so are the rows but for their quotes."""
    path = tmp_path / "d.csv"
    path.write_text(f"{OWN}\nt,0,0,1,create,a,v,,,\nt,0,1,2,create,b,,,,\n")  # pandas: empty ones, too
    assert doubts(path)["value"]

    path.write_bytes(all_quoted(list(csv.reader(io.StringIO(OWN_ROWS)))))
    assert doubts(path)["value"]
    assert records_of(path, tombstone="empty")[1].value is None

    path.write_text(OWN.replace(",", "\t") + "\nt\t0\t0\t1\tcreate\ta\t\\N\t\\N\t\\N\t\\N\n")  # PostgreSQL
    assert any("1 value is the text \\N, which tools write for null" in note for note in judged(path))


def test_of_spark_s_columns_a_missing_value_is_in_doubt_where_pandas_may_have_written_them(
    tmp_path: Path,
) -> None:
    path = tmp_path / "d.csv"
    rows = (
        f'{",".join(SPARK)}\na,"v,",t,0,0,2024-01-01T00:00:00.000Z,0\nb,,t,0,1,2024-01-01T00:00:01.000Z,0\n'
    )
    path.write_text(rows)
    assert not doubts(path)["value"]
    path.write_text(rows.replace("T00", " 00").replace("Z", ""))  # spark.read...toPandas().to_csv(FILE)
    assert doubts(path)["value"]
    assert not doubts(path, tombstone="missing")["value"]
    path.write_text(path.read_text().replace('\na,"v,"', "\nb'a',\"b'v,'\"").replace("\nb,", "\nb'b',"))
    assert not doubts(path)["value"]  # what is empty is b''


def test_rows_that_no_line_end_divides_are_no_header_line(tmp_path: Path) -> None:
    path = tmp_path / "d.txt"
    path.write_bytes(b"topic|partition|offset|key|value\0orders|0|1|a|v\0orders|0|2|b|w\n")  # psql -A -0
    with pytest.raises(InputError, match="binary"):
        judged(path)


def test_letters_that_are_no_utf_8_are_noted_and_bytes_are_not(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_bytes("key;value;offset\nMüller;x;0\n".encode("cp1252"))
    with open_one(path) as dump:
        assert "if it is to be 'Müller', convert the file first" in dump.files[0].dialect.notes[-1]
    for no_letters in ("Müller".encode(), b"\x00\xfcller"):
        path.write_bytes(b"key;value;offset\n" + no_letters + b";x;0\n")
        with open_one(path) as dump:
            assert not any("UTF-8" in note for note in dump.files[0].dialect.notes)


def test_an_empty_key_in_quotes_stays_one_where_nulls_have_none(tmp_path: Path) -> None:
    """As pandas writes both; the answer about nulls is not about what is in quotes."""
    path = tmp_path / "d.csv"
    path.write_bytes(b'key,value,topic,partition,offset\n"",v,t,0,0\n,v,t,0,1\n"a,b",,t,0,2\n')
    keys = [record.key for record in records_of(path, missing_key="null")]
    assert keys == [b"", None, b"a,b"]


def test_hex_of_spark_is_recognised_without_the_columns_of_folders(tmp_path: Path) -> None:
    path = tmp_path / "topic=t" / "partition=3" / "d.csv"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"key,value,offset,timestamp,timestampType\n[6B 31],[76],0,1,0\n[6B],,1,1,0\n")
    records = records_of(tmp_path)
    assert [(record.key, record.value, record.partition) for record in records] == [
        (b"k1", b"v", 3),
        (b"k", None, 3),
    ]


@pytest.mark.parametrize("delimiter", ["\t", "|"])
def test_quotes_around_some_cells_of_a_table_are_asked_about(delimiter: str, tmp_path: Path) -> None:
    """ClickHouse and SQLite quote nothing: ``"a"`` and ``a`` are two keys there, and one in CSV."""
    path = tmp_path / "d.tsv"
    rows = [COLUMNS_OF_TSV, ["t", "0", "0", '"a"', "v"], ["t", "0", "1", "a", "w"]]
    path.write_text("".join(delimiter.join(row) + "\n" for row in rows))
    with open_one(path) as dump:
        _, notes = index_all(dump)
        with pytest.raises(InputError, match="1 of 2 rows with quotes") as refused:
            check_notes(dump, notes)
    as_text = {"dialect": "text", "delimiter": delimiter, "columns": tuple(COLUMNS_OF_TSV)}
    assert "--dialect csv if" in str(refused.value.hint)
    option = f"--dialect text --columns {','.join(COLUMNS_OF_TSV)} {delimiter_option(delimiter)}"
    assert option in str(refused.value.hint)
    keys = [[record.key for record in records_of(path, **how)] for how in ({"dialect": "csv"}, as_text)]
    assert keys == [[b"a", b"a"], [b'"a"', b"a"]]


def test_options_in_hints_read_what_they_name(tmp_path: Path) -> None:
    """Commas of names, and quotes of delimiters, are spelt as the options take them."""
    path = tmp_path / "d.tsv"
    path.write_text('key\tvalue\toffset\ta,b\n"a"\tv\t0\tx\na\tw\t1\tx\n')
    with open_one(path, delimiter="\t") as dump:
        _, notes = index_all(dump)
        with pytest.raises(InputError, match="1 of 2 rows with quotes") as refused:
            check_notes(dump, notes)
    words = shlex.split(str(refused.value.hint).partition("CSV's, ")[2].partition(" if they belong")[0])
    options = dict(zip([word.lstrip("-") for word in words[::2]], words[1::2], strict=True))
    as_read = read_options(ReadingOptions(**options))
    assert (as_read.columns, as_read.delimiter) == (("key", "value", "offset", "a,b"), "\t")
    assert shlex.split(delimiter_option("it's"))[1] == "it's"


@pytest.mark.parametrize("delimiter", ["\t", ",", ";"])
def test_rows_between_two_quotes_are_asked_about(delimiter: str, tmp_path: Path) -> None:
    """A quote that begins a text of MySQL's, and one that ends another, made a value of all rows between."""
    rows = [["t", "0", str(offset), "k", "v"] for offset in range(5)]
    rows[1][-1], rows[3][-1] = '"abc', 'size 5"'
    path = tmp_path / "d.csv"
    path.write_text("".join(f"{delimiter.join(row)}\n" for row in [COLUMNS_OF_TSV, *rows]))
    with open_one(path) as dump:
        _, notes = index_all(dump)
        with pytest.raises(InputError, match="1 row with lines between quotes") as refused:
            check_notes(dump, notes)
    assert f"--dialect text --columns {','.join(COLUMNS_OF_TSV)} --delimiter" in str(refused.value.hint)
    as_text = records_of(path, dialect="text", delimiter=delimiter, columns=tuple(COLUMNS_OF_TSV))
    assert [record.value for record in as_text] == [row[-1].encode() for row in rows]
    with open_one(path, dialect="csv") as dump:
        check_notes(dump, index_all(dump)[1])


def test_line_ends_in_quotes_without_rows_between_them_are_csv_s(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text('topic,partition,offset,key,value\nt,0,0,k,"a\nb,c"\nt,0,1,k,"a\n1,2,x,3,4"\n')
    with open_one(path) as dump:
        check_notes(dump, index_all(dump)[1])


@pytest.mark.parametrize("texts", [('5" tv',), ('"abc',), ('"a', 'b" c'), ('a" b', 'c"')])
def test_a_quote_between_tabs_that_ends_nowhere_may_be_the_data_s(
    texts: tuple[str, ...], tmp_path: Path
) -> None:
    """The hint was to export once more, which would have been no other."""
    rows = [["t", "0", str(offset), "k", text] for offset, text in enumerate(["v", *texts, "w"])]
    path = tmp_path / "d.tsv"
    path.write_text("".join("\t".join(row) + "\n" for row in [COLUMNS_OF_TSV, *rows]))
    with open_one(path) as dump, pytest.raises(InputError) as refused:
        check_notes(dump, index_all(dump)[1])
    assert "--dialect text --columns NAME,... --delimiter TEXT" in str(refused.value.hint)
    as_text = records_of(path, dialect="text", delimiter="\t", columns=tuple(COLUMNS_OF_TSV))
    assert [record.value for record in as_text] == [row[-1].encode() for row in rows]


def test_escapes_outside_of_quotes_are_refused(tmp_path: Path) -> None:
    """As Python and pandas write them with doublequote=False: the backslash was taken for the data's."""
    path = tmp_path / "d.csv"
    out = io.StringIO()
    writer = csv.writer(out, doublequote=False, escapechar="\\", lineterminator="\n")
    quoted = [["t", 0, offset, 'say "x", y', "v"] for offset in range(3)]
    writer.writerows([COLUMNS_OF_TSV, *quoted, ["t", 0, 3, 'k"1', '{"a":1}']])
    path.write_text(out.getvalue())
    with (
        open_one(path) as dump,
        pytest.raises(InputError, match="a backslash before a quote in a"),
    ):
        check_notes(dump, index_all(dump)[1])


COLUMNS_OF_TSV = ["topic", "partition", "offset", "key", "value"]


def test_times_in_quotes_are_csv_s_where_columns_are_named(tmp_path: Path) -> None:
    """Flink quotes a text with a blank, and writes no header line."""
    path = tmp_path / "d"
    path.write_text('t,0,0,"2023-11-14 22:13:20.049Z",a,v\nt,0,1,"2023-11-14 22:13:21.5Z",b,\n')
    columns = ("topic", "partition", "offset", "timestamp", "key", "value")
    with pytest.raises(InputError, match="cells in quotes") as refused:
        open_one(path, columns=columns, delimiter=",")
    assert "--dialect csv if" in str(refused.value.hint)
    first, _ = records_of(path, columns=columns, delimiter=",", dialect="csv")
    assert (first.timestamp_ms, first.key) == (1_700_000_000_049, b"a")


@pytest.mark.parametrize("dialect", ["csv", "text"])
def test_a_header_line_in_quotes_is_none_of_the_records(tmp_path: Path, dialect: str) -> None:
    path = tmp_path / "q.csv"
    path.write_text('"topic","key","value"\n"t","a","1"\n"t","b","2"\n')
    columns = ("topic", "key", "value")
    found = [record.key for record in records_of(path, columns=columns, delimiter=",", dialect=dialect)]
    assert found == ([b"a", b"b"] if dialect == "csv" else [b'"a"', b'"b"'])


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ("topic,key,value", '"topic","key","value"\n"t","a","1"\n"t",,"2"\n'),
        ("topic,key,value", 'topic,key,value\n"t","a","1"\n"t","b",\n'),
        ("topic,key,value", '"t","a","1"\n'),
        ("topic,offset,key,value", '"t",0,7,1\n'),  # quotes around texts, as Python's QUOTE_NONNUMERIC
        ("offset,key,value", '0,"a","1"\n1,"b",\n'),
    ],
)
def test_cells_that_are_all_in_quotes_are_asked_about(tmp_path: Path, columns: str, text: str) -> None:
    path = tmp_path / "d-0.csv"
    path.write_text(text)
    with pytest.raises(InputError, match="cells in quotes") as refused:
        open_one(path, columns=tuple(columns.split(",")))
    assert "--dialect csv if they are CSV's (--dialect spark-csv if" in str(refused.value.hint)


def test_cells_of_which_some_are_in_quotes_are_asked_about(tmp_path: Path) -> None:
    """Flink quotes what is long, whether it needs that or not; the quotes were taken for the value's."""
    path = tmp_path / "part-0-file-0"
    path.write_text('t,0,0,a,bnVsbA==\nt,0,1,b,"eyJrZXkiOiJrIiwidmFsdWUiOiJ2In0="\nt,0,2,a,\n')
    columns = ("topic", "partition", "offset", "key", "value")
    with pytest.raises(InputError, match="cells in quotes") as refused:
        open_one(path, columns=columns, delimiter=",")
    assert "--dialect csv if" in str(refused.value.hint)
    values = [record.value for record in records_of(path, columns=columns, delimiter=",", dialect="csv")]
    assert values == [b"bnVsbA==", b"eyJrZXkiOiJrIiwidmFsdWUiOiJ2In0=", None]


def test_cells_in_which_a_backslash_stands_before_quotes_are_asked_about(tmp_path: Path) -> None:
    path = tmp_path / "part-00000.csv"
    path.write_text('a,"{\\"id\\":1}",7\nb,plain,8\n')
    columns = ("key", "value", "offset")
    with pytest.raises(InputError, match="cells in quotes") as refused:
        open_one(path, columns=columns, delimiter=",")
    assert "--dialect spark-csv" in str(refused.value.hint)
    values = [r.value for r in records_of(path, columns=columns, dialect="spark-csv")]
    assert values == [b'{"id":1}', b"plain"]


@pytest.mark.parametrize(
    "text",
    ['"a"\t{"n":"1"}\n"b"\t"x"\n', 'a\t"x"\nb\t"y"\n', '"a"\tx\n', 'a\t"x"\nb\t{"n":1}\nc\t\\N\nd\t7\n'],
)
def test_json_in_some_cells_is_not_asked_about(tmp_path: Path, text: str) -> None:
    path = tmp_path / "d-0.tsv"
    path.write_text(text)
    pairs = [(r.key, r.value) for r in records_of(path, columns=("key", "value"), delimiter="\t")]
    assert pairs == [tuple(line.encode().split(b"\t")) for line in text.splitlines()]


@pytest.mark.parametrize(
    ("rows", "is_noted"),
    [
        (['a\t{""id"": 1}', "b\t7"], True),
        (['a\t{""id"": 1}', 'say ""hi""\t7'], True),
        (['a\t{""id"": 1}', 'b\t{"id": 2}'], False),
        (['a\t"{""id"": 1}"', "b\t7"], False),
        (['a\t["",""]', "b\t7"], False),
    ],
)
def test_quotes_that_are_doubled_in_cells_without_quotes_are_noted(
    rows: list[str], is_noted: bool, tmp_path: Path
) -> None:
    """As write_tsv of R's readr writes them."""
    path = tmp_path / "d-0.tsv"
    path.write_text("\n".join(["key\tvalue", *rows, ""]))
    with open_one(path) as dump:
        assert any("all quotes are doubled" in note for note in dump.notes) == is_noted


@pytest.mark.parametrize(
    ("values", "is_noted"),
    [
        ([r"C:\dir", "1"], True),
        ([r'{"say": "\"hi\""}', r"C:\dir"], True),
        ([r'{"say": "\"hi\""}'], True),
        ([r'{"path": "C:\\dir"}'], False),  # JSON before and after
        (["1"], False),
    ],
)
def test_backslashes_that_are_doubled_beside_doubled_quotes_are_noted(
    values: list[str], is_noted: bool, tmp_path: Path
) -> None:
    """As Python's csv and pandas write them with an escape character: every key and value had two for one."""
    path = tmp_path / "d-0.csv"
    for escape, is_told in (("\\", is_noted), (None, False)):
        with path.open("w", newline="") as out:
            rows = [["offset", "key", "value"], *([n, "k", value] for n, value in enumerate(values))]
            csv.writer(out, escapechar=escape).writerows(rows)
        with open_one(path) as dump:
            assert any("all backslashes are doubled" in note for note in dump.notes) == is_told
