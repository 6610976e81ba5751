"""A line end belongs to its record's bytes, never to what the record's last cell holds."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dump_pipeline import ONE_SPLIT, index_all, judged, open_one
from kcompact.dumps.detect.candidate import lines_in
from kcompact.dumps.layouts import LAYOUTS
from kcompact.dumps.records.layout import Chosen
from kcompact.dumps.records.record import Record
from kcompact.dumps.text.lines import newline_of
from kcompact.dumps.text.lines_around import end_of_records
from kcompact.errors import InputError

LABELS = "CreateTime:5\tPartition:0\tOffset:{}\tNO_HEADERS\t{}\n"
DUMP_LOG = "Dumping /data/t-0/00000000000000000000.log\nLog starting offset: 0\n" + "".join(
    f"| offset: {offset} CreateTime: 5 keySize: {key_size} valueSize: {size} headerKeys: []{columns}\n"
    for offset, key_size, size, columns in [
        (0, 1, 1, " key: a payload: x"),
        (1, 1, -1, " key: b"),
        (2, 3, 5, " key: c\nd payload: y\n\nz\n"),
        (3, -1, -1, ""),
    ]
)
KCAT = (
    '{"topic":"t","partition":0,"offset":0,"key":"a","payload":"x"}\n'
    '{"topic":"t","partition":0,"offset":1,"key":"b","payload":null}\n'
)
Expected = list[tuple[bytes | None, bytes | None]]
CASES: dict[str, tuple[str, Expected, Mapping[str, Any]]] = {
    "value last": (
        'topic,partition,offset,key,value\nt,0,0,a,x\nt,0,1,b,\nt,0,2,c,"y\nz"\nt,0,3,d,""\n',
        [(b"a", b"x"), (b"b", None), (b"c", b"y\nz"), (b"d", b"")],
        {},
    ),
    "value last, nothing quoted": (
        "topic,partition,offset,key,value\nt,0,0,a,x\nt,0,1,b,\n",
        [(b"a", b"x"), (b"b", None)],
        {},
    ),
    "key last": (
        "topic,partition,offset,value,key\nt,0,0,x,a\nt,0,1,,b\nt,0,2,y,\n",
        [(b"a", b"x"), (b"b", None), (None, b"y")],
        {},
    ),
    "semicolons": (
        "topic;partition;offset;key;value\nt;0;0;a;x\nt;0;1;b;\n",
        [(b"a", b"x"), (b"b", None)],
        {},
    ),
    "console consumer": (
        LABELS.format(0, "a\tx") + LABELS.format(1, "b\tnull"),
        [(b"a", b"x"), (b"b", None)],
        {"tombstone": "literal:null"},
    ),
    "kcat -f": (
        "t,0,0,a,x\nt,0,1,b,NULL\n",
        [(b"a", b"x"), (b"b", None)],
        {"columns": ("topic", "partition", "offset", "key", "value"), "tombstone": "literal:NULL"},
    ),
    "dump-log": (DUMP_LOG, [(b"a", b"x"), (b"b", None), (b"c\nd", b"y\n\nz\n"), (None, None)], {}),
    "kcat -J": (
        KCAT,
        [(b"a", b"x"), (b"b", None)],
        {},
    ),
    "Lambda's event": (
        (
            '{"eventSource":"aws:kafka","records":{"t-0":[{"topic":"t","partition":0,"offset":0,"timestamp":1,'
            '"key":"YQ==","value":"eA=="},{"topic":"t","partition":0,"offset":1,"timestamp":1,"key":"Yg=="}]}}\n'
        ),
        [(b"a", b"x"), (b"b", None)],
        {},
    ),
    "kcat -J -D '\\0'": (
        KCAT.replace("\n", "\0"),
        [(b"a", b"x"), (b"b", None)],
        {},
    ),
}
SPELLINGS = {
    "LF": lambda text: text.encode(),
    "CR LF": lambda text: text.replace("\n", "\r\n").encode(),
    "no final line end": lambda text: text.removesuffix("\n").encode(),
    "CR LF, no final line end": lambda text: text.removesuffix("\n").replace("\n", "\r\n").encode(),
    "blank lines at the end": lambda text: f"{text}\n\n".encode(),
    "byte order mark": lambda text: text.encode("utf-8-sig"),
    "UTF-16": lambda text: text.encode("utf-16"),
}


def at_their_positions(path: Path, options: Mapping[str, Any]) -> list[Record]:
    """All records as a conversion reads them: found by the index, decoded from their bytes alone."""
    with open_one(path, **options) as dump:
        (split,) = dump.splits(1 << 40)
        table, notes = index_all(dump)
        assert not notes[split.split_id].rejects
        positions = table["position"].to_numpy().astype(np.int64)
        sizes = table["record_bytes"].to_numpy().astype(np.int64)
        file = dump.files[0]
        return list(LAYOUTS[file.layout].decode(Chosen(file, split, positions, sizes)))


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("encoding", ["UTF-32LE", "UTF-32BE", "UTF-16LE", "UTF-16BE"])
@pytest.mark.parametrize(
    "text", ['{"topic":"t","partition":0,"offset":1,"key":"k","payload":"v"}\n', "k\tv\n"]
)
def test_other_encodings_are_named(tmp_path: Path, text: str, encoding: str, mark: str) -> None:
    path = tmp_path / "t-0.dump"
    path.write_bytes(f"{mark}{text}".encode(encoding))
    if mark and encoding.startswith("UTF-16"):
        with open_one(path) as dump:
            assert "UTF-16; read and written as UTF-8" in dump.files[0].notes
        return
    with pytest.raises(
        InputError, match=f"t-0.dump: text in {encoding}.*, which kcompact does not read"
    ) as it:
        open_one(path)
    assert f"iconv -f {encoding} -t UTF-8" in (it.value.hint or "")


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("name", CASES)
def test_cells_hold_no_line_end(tmp_path: Path, name: str, spelling: str) -> None:
    text, expected, options = CASES[name]
    path = tmp_path / "t-0.dump"
    path.write_bytes(SPELLINGS[spelling](text))

    places = at_their_positions(path, options)

    within = b"\r\n" if spelling.startswith("CR LF") and name == "value last" else b"\n"
    expected = [(key, value and value.replace(b"\n", within)) for key, value in expected]
    assert [(record.key, record.value) for record in places] == expected


def test_a_payload_may_end_in_a_carriage_return(tmp_path: Path) -> None:
    path = tmp_path / "t-0.dump"
    text = DUMP_LOG.replace("valueSize: 1", "valueSize: 4").replace("payload: x", "payload: x\r\ny")
    path.write_bytes(text.replace("valueSize: 5", "valueSize: 6").replace("z\n", "z\n\r").encode())

    values = [record.value for record in at_their_positions(path, {})]

    assert values == [b"x\r\ny", None, b"y\n\nz\n\r", None]


TEXTS = st.lists(st.sampled_from([b"a", b"{}", b"\n", b"\r", b"\r\n", b"% Reached end of topic t"])).map(
    b"".join
)


@given(TEXTS, st.booleans())
def test_lines_of_a_sample_are_the_pieces_between_line_feeds(text: bytes, whole: bool) -> None:
    pieces = text.split(b"\n")
    cut = pieces if whole or len(pieces) == 1 else pieces[:-1]
    assert [line for line in lines_in(text, whole=whole) if line] == [line for line in cut if line]


@given(TEXTS)
def test_the_first_line_tells_how_lines_end(text: bytes) -> None:
    assert newline_of(text) == (b"\r\n" if text.split(b"\n")[0].endswith(b"\r") else b"\n")


@given(TEXTS)
def test_a_tool_s_last_lines_are_no_records_however_lines_end(text: bytes) -> None:
    lines = text.splitlines(keepends=True)
    stripped = [line.strip() for line in lines]
    others = [n for n, line in enumerate(stripped) if line and not line.startswith(b"%")]
    behind = others[-1] + 1 if others else 0
    tool = [n for n in range(behind, len(lines)) if stripped[n]]
    end = sum(map(len, lines[: tool[0]])) if tool else len(text)
    assert end_of_records(text, len(text)) == (end, len(tool))


@pytest.mark.parametrize("options", [{}, {"columns": ("topic", "partition", "offset", "key", "value")}])
def test_lines_that_end_with_cr_alone_are_no_header_without_records(
    options: Mapping[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "d.csv").write_bytes(b"topic,partition,offset,key,value\rt,0,0,a,x\rt,0,1,a,y\r")
    with pytest.raises(InputError, match=r"d\.csv: lines that end with a carriage return \(CR\) alone"):
        open_one(tmp_path / "d.csv", **options)


MIXED = {
    "a value of text": ("k1\tv\nk2\tw\r\nk3\tx\n", {}, "1 of 3 rows ends in CR LF"),
    "a key of text": (
        "1:a\n2:b\n3:a\r\n4:a\r\n",
        {"columns": ("value", "key"), "delimiter": ":"},
        "2 of 4 rows end in CR LF.* ends a key or its line",
    ),
    "the first row": ("k1\tv\r\nk2\tw\nk3\tx\n", {}, "1 of 3 rows"),
    "a lone row in LF": ("k1\tv\r\nk2\tw\nk3\tx\r\n", {}, "2 of 3 rows"),
    "the end of the file": ("k1\tv\nk2\tw\r", {}, "1 of 2 rows"),
    "CSV": (
        "topic,partition,offset,key,value\nt,0,1,a,b\nt,0,2,a,c\r\n",
        {},
        "1 of 2 rows.* ends a value or its line",
    ),
}


def checked(path: Path, text: str, options: Mapping[str, Any]) -> list[bytes | None]:
    """The values, once notes have been checked."""
    path.write_bytes(text.encode())
    judged(path, **options)
    return [record.value for record in at_their_positions(path, options)]


@pytest.mark.usefixtures("loops_or_tables")
@pytest.mark.parametrize("name", MIXED)
def test_line_ends_that_differ_are_refused_where_a_cell_may_end_in_one(tmp_path: Path, name: str) -> None:
    text, options, message = MIXED[name]
    with pytest.raises(InputError, match=message) as refused:
        checked(tmp_path / "t-0.txt", text, options)
    assert "if no key and no value ends in a CR" in str(refused.value.hint)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("k1\tv\r\nk2\tw\r\nk3\tx", [b"v", b"w", b"x"]),
        ("topic,partition,offset,key,value\nt,0,1,a,b\r\nt,0,2,a,c\r\n", [b"b", b"c"]),
        ("topic,partition,value,key,offset\nt,0,b,a,1\nt,0,c,a,2\r\n", [b"b", b"c"]),
        ("k1\tv\rw\nk2\tw\n", [b"v\rw", b"w"]),
    ],
)
def test_line_ends_that_agree_or_follow_no_text_are_fine(
    tmp_path: Path, text: str, values: list[bytes]
) -> None:
    assert checked(tmp_path / "t-0.csv", text, {}) == values


@pytest.mark.parametrize("split_bytes", [1, ONE_SPLIT])
def test_a_last_line_without_an_end_is_told_where_its_text_may_be_cut_off(
    tmp_path: Path, split_bytes: int
) -> None:
    told = "1 line without an end, the last one: if the export was cut off there, the last cell was, too"
    lines = "topic,partition,offset,timestamp,key,value\n" + "t,0,0,5,a,v\n" * 40
    path = tmp_path / "dump.csv"
    for end in ("t,0,1,5,b,val", "t,0,1,5,b,"):
        path.write_text(lines + end)
        assert [note for note in judged(path, split_bytes) if told in note] == [f"{path}: {told}"]
    for end in ("t,0,1,5,b,val\n", 't,0,1,5,b,"val"', 't,0,1,5,b,"{""a"":1}"'):
        path.write_text(lines + end)
        assert [note for note in judged(path, split_bytes) if told in note] == []
