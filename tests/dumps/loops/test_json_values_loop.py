"""Arrays, and objects over several lines: the loop reads what the reference reads."""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kcompact.dumps.dialects.dialect import Dialect
from kcompact.dumps.dialects.dialect_table import BY_NAME
from kcompact.dumps.json.json_scan import cuts_of
from kcompact.dumps.layouts import LAYOUTS
from kcompact.dumps.loops import windows
from kcompact.dumps.loops.json.lines_of_values_loop import cuts_by_loop
from kcompact.dumps.loops.line_loop import LineLoop, Reference
from kcompact.dumps.loops.readiness import load_loops
from kcompact.dumps.loops.value_columns import KIND_EXTRA
from kcompact.dumps.records.framed import FramedLayout, TextShape
from kcompact.dumps.records.indexing import CONTENT_EXTRA
from kcompact.dumps.records.layout import DumpFile, Reject, Split, SplitNotes, SplitToIndex
from kcompact.dumps.records.record import index_schema
from loop_parity import assert_same, scanner_of, whole

LOOP_EXTRA = KIND_EXTRA | CONTENT_EXTRA
KCAT = BY_NAME["kcat"]
TYPED = replace(BY_NAME["plain"], key=replace(BY_NAME["plain"].key, encoding="json"))
assert load_loops("json_array")


def record(offset: int, key: object = "k", payload: object = "v", **more: object) -> dict[str, object]:
    head = {
        "topic": "t",
        "partition": offset % 3,
        "offset": offset,
        "tstype": "create",
        "ts": 17,
        "broker": 0,
    }
    return {**head, "key": key, "payload": payload, **more}


def file_of(path: Path, data: bytes, layout: str, dialect: Dialect = KCAT) -> DumpFile:
    path.write_bytes(data)
    between = b"," if layout == "json_array" else b""
    shape = TextShape(3 if data.startswith(b"\xef\xbb\xbf") else 0, between=between)
    return DumpFile(0, str(path), str(path), len(data), layout, dialect, shape, topic="t")


VALUES = [
    json.dumps(record(1)),
    json.dumps(record(2), indent=2),
    json.dumps(record(3, payload={"a": [1, {"b": None}]}), indent=4),
    json.dumps(record(4, headers=["a", "b"]), indent="\t"),
    json.dumps(record(4, headers={"b": "1", "a": None})),
    json.dumps(record(5, key='a"],[{\\', payload='},\n{"offset":7}')),
    json.dumps(record(6, key=None, payload=None)),
    json.dumps(record(7)).replace(": ", " :\r\n "),
    json.dumps(record(8, key="é\u0001\\"), ensure_ascii=False),
    json.dumps(record(9)).replace('"v"', '"a\nb"'),
    json.dumps(record(10)).replace('"v"', '"a\\\nb"'),
    json.dumps(record(11))[:-1],
    json.dumps(record(12)) + "}",
    json.dumps(record(13)) + "]",
    json.dumps(record(14)) + " x",
    json.dumps(record(15)).replace('"v"', '"v'),
    json.dumps(record(16)) + json.dumps(record(17)),
    "null",
    "",
    "[]",
    "[1,2]",
    "7",
    '"text"',
    "\0",
]
RIGHT = VALUES[:8]
CLOSED_TWICE = ("}}", "}]")
SEPARATORS = [",", ",\n", " , ", "\n,\r\n\t", ",,", "\n", "][", "]\n[", "] , [", "]\n[]\n\n[", "\0"]
ENDS = ["]", "]\n", "\n]\n\n", "", ",", "]]", "] x", ",]", "\n", "]\0", ",\n", " "]


@pytest.mark.slow
@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.sampled_from(VALUES), st.sampled_from(SEPARATORS)), max_size=12),
    st.sampled_from(["[", "[\n  ", "\ufeff[", " \n[", "[]["]),
    st.sampled_from(ENDS),
    st.sampled_from([40, 300, 1 << 20]),
)
def test_any_arrays_read_alike(
    tmp_path: Path, values: list[tuple[str, str]], begin: str, end: str, window_bytes: int
) -> None:
    text = (
        begin
        + "".join(value + separator for value, separator in values[:-1])
        + (values or [("", "")])[-1][0]
        + end
    )
    _read_alike(tmp_path, text, "json_array", window_bytes)


@pytest.mark.slow
@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.sampled_from(RIGHT), st.sampled_from([*SEPARATORS[:4], "]\n[", "]\n[]\n\n["])),
        max_size=30,
    ),
    st.sampled_from(VALUES),
    st.sampled_from(ENDS),
    st.sampled_from([40, 300, 1 << 20]),
)
def test_arrays_with_few_wrong_places_read_alike(
    tmp_path: Path, values: list[tuple[str, str]], last: str, end: str, window_bytes: int
) -> None:
    text = "[" + "".join(value + separator for value, separator in values) + last + end
    _read_alike(tmp_path, text, "json_array", window_bytes)


@pytest.mark.slow
@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.sampled_from([*RIGHT * 3, *(value for value in VALUES if not value.endswith(CLOSED_TWICE))]),
            st.sampled_from(
                [
                    "\n",
                    "\n\n",
                    " ",
                    "\r\n",
                    "",
                    "\0",
                    "\x1e",
                    "\n\x1e",
                    "\n% noise\n",
                    "% noise {\n",
                    "\n  \n ",
                    ",",
                ]
            ),
        ),
        max_size=15,
    ),
    st.sampled_from(["", "\n", "\ufeff", "\x1e", "% noise\n"]),
    st.sampled_from([40, 300, 1 << 20]),
)
def test_any_objects_read_alike(
    tmp_path: Path, values: list[tuple[str, str]], begin: str, window_bytes: int
) -> None:
    text = begin + "".join(value + separator for value, separator in values)
    _read_alike(tmp_path, text, "json_objects", window_bytes)


def rows_of(
    file: DumpFile, reference: Reference, extra: frozenset[str] = frozenset()
) -> tuple[pa.Table, list[Reject]]:
    (part,) = whole([file])
    rows = pa.Table.from_batches(
        LineLoop(scanner_of(file, extra), [part], extra, reference).index(), index_schema(extra)
    )
    return rows, part.notes.rejects


@pytest.mark.parametrize("closed", ["}", "]"])
def test_an_object_that_is_closed_twice_is_refused_where_it_ends(tmp_path: Path, closed: str) -> None:
    """The reference quotes more of what follows."""
    text = "\n".join([VALUES[0], VALUES[0] + closed, VALUES[0]])
    file = file_of(tmp_path / "d.json", text.encode(), "json_objects")

    rows, rejects = rows_of(file, partial(FramedLayout.index_ranges, LAYOUTS["json_objects"]))

    assert rows.num_rows == 1
    assert [reject.position for reject in rejects] == [text.index("}" + closed) + 1]
    assert rejects[0].reason.startswith(f"not JSON: '{closed}")


def _read_alike(tmp_path: Path, text: str, layout: str, window_bytes: int) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(windows, "WINDOW_BYTES", window_bytes)
        for dialect in (KCAT, TYPED):
            data = (
                text
                if dialect is KCAT
                else text.replace('"payload"', '"value"').replace('"ts"', '"timestamp"')
            )
            file = file_of(tmp_path / "d.json", data.encode(), layout, dialect)
            assert_same(file)
            assert_same(file, LOOP_EXTRA)


@pytest.mark.parametrize("indent", [None, 2], ids=["compact", "pretty"])
@pytest.mark.parametrize("layout", ["json_array", "json_objects"])
def test_the_loop_itself_reads_regular_values(
    tmp_path: Path, layout: str, indent: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise all of the above would compare the reference with itself."""
    monkeypatch.setattr(windows, "WINDOW_BYTES", 3000)
    records = [record(n, f"k{n}", {"a": [n, {}]}, headers=["a", "b"]) for n in range(500)]
    text = json.dumps(records, indent=indent)
    if layout == "json_objects":
        text = "\n".join(json.dumps(each, indent=indent) for each in records)
    file = file_of(tmp_path / "d.json", text.encode(), layout)

    asked: list[tuple[int, int]] = []

    def reference(
        part: SplitToIndex, ranges: Sequence[tuple[int, int]], extra: frozenset[str]
    ) -> Iterator[pa.RecordBatch]:
        del part, extra
        asked.extend(ranges)
        return iter([])

    table, _ = rows_of(file, reference, LOOP_EXTRA)

    assert asked == ([(0, 1)] if layout == "json_array" else [])
    assert table["offset"].to_pylist() == list(range(500))
    assert table["key"].to_pylist() == [f"k{n}".encode() for n in range(500)]


@pytest.mark.parametrize("layout", ["json_array", "json_objects"])
def test_files_are_cut_where_the_reference_may_cut_them(
    tmp_path: Path, layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(windows, "WINDOW_BYTES", 2000)
    rng = random.Random(1)
    texts = [
        json.dumps(record(n, payload="},{" * rng.randrange(60)), indent=rng.choice([None, 2]))
        for n in range(300)
    ]
    text = f"[{','.join(texts)}]" if layout == "json_array" else "\n".join(texts)
    file = file_of(tmp_path / "d.json", text.encode(), layout)

    cuts = cuts_by_loop(file, 5000)

    assert len(cuts) > 10
    ranges = zip(cuts, [*cuts[1:], file.data_bytes], strict=True)
    offsets = []
    for number, (start, end) in enumerate(ranges):
        part = SplitToIndex(file, Split(number, 0, start, end), SplitNotes(), b"")
        offsets += [entry[2].offset for entry in LAYOUTS[layout].read(part, values=True)]
    assert offsets == list(range(300))
    fine = cuts_of(file.data_path, 0, file.data_bytes, 1, commas=layout == "json_array")
    assert layout == "json_objects" or set(cuts) <= set(fine)
