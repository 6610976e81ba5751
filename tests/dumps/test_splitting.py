"""Files cut at every byte: a record at a boundary is read once, never twice, never lost."""

import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dump_pipeline import copied, index_all, open_one
from kcompact.dumps.json import json_scan
from kcompact.dumps.layouts import LAYOUTS
from kcompact.dumps.text import lines

TRICKY = ['a"b', "\\", "}{", "],[", 'x\\"', "{", "\n", "é", "", "\\\\", '"', "%", ",", "\r\n", "[0]"]


def envelope(offset: int, key: str | None, value: str | None) -> dict[str, object]:
    return {"topic": "t", "partition": 0, "offset": offset, "timestamp": offset, "key": key, "value": value}


RECORDS = [envelope(n, key, value) for n, (key, value) in enumerate(zip(TRICKY, TRICKY[::-1], strict=True))]


def csv_of(records: list[dict[str, object]], newline: str = "\n") -> str:
    def cell(value: object) -> str:
        return "" if value is None else '"' + str(value).replace('"', '""') + '"'

    rows = [",".join(cell(value) for value in record.values()) for record in records]
    return newline.join([",".join(records[0]), *rows, ""])


def dumps_of(records: list[dict[str, object]]) -> dict[str, tuple[str, str]]:
    """The same records in every layout that can be cut: layout and text."""
    texts = [json.dumps(record) for record in records]
    pretty = [json.dumps(record, indent=2) for record in records]
    return {
        "lines": ("json_lines", "\n".join(texts) + "\n"),
        "lines-crlf": ("json_lines", "\r\n".join(texts) + "\r\n"),
        "lines-bom": ("json_lines", "\ufeff" + "\n".join(texts)),
        "objects": ("json_objects", "\n".join(pretty) + "\n"),
        "objects-unfinished": ("json_objects", "\n\n".join(pretty)),
        "objects-on-a-line": ("json_objects", "".join(texts)),
        "array": ("json_array", json.dumps(records)),
        "array-pretty": ("json_array", json.dumps(records, indent=4) + "\n"),
        "array-aiven": ("json_array", "[\n" + ",\n".join(texts) + "\n]"),
        "arrays": ("json_array", f"[{','.join(texts[:2])}]\n[]\n[{','.join(texts[2:])}]\n"),
        "array-null": ("json_array", "\ufeff[" + ",\n".join([*texts, "null"]) + "\n]\n"),
        "csv": ("csv_lines", csv_of(records)),
        "csv-crlf": ("csv_lines", "\ufeff" + csv_of(records, "\r\n")),
    }


DUMPS = dumps_of(RECORDS)
FEW = RECORDS[4:7]  # between them an escaped quote, brackets, newlines, an empty key
FEW_DUMPS = dumps_of(FEW)
SUFFIX = {"csv_lines": "csv"}


@pytest.mark.everyday(3)
@pytest.mark.parametrize("name", DUMPS)
def test_no_cut_loses_or_doubles_a_record(name: str, tmp_path: Path) -> None:
    """Three records, cut at every byte; whatever the cut, the records and a copy of them are the same."""
    layout, text = FEW_DUMPS[name]
    path = tmp_path / f"dump.{SUFFIX.get(layout, 'json')}"
    path.write_bytes(text.encode())
    with open_one(path) as dump:
        assert dump.files[0].layout == layout
        rows = index_all(dump)[0].drop_columns(["split_id"])
        assert rows["offset"].to_pylist() == [record["offset"] for record in FEW]
        for split_bytes in range(1, len(text.encode()) + 2):
            table, notes = index_all(dump, split_bytes)
            assert table.drop_columns(["split_id"]) == rows
            assert not any(note.rejects for note in notes.values())
            if split_bytes % 16 == 0:
                assert records_in(copied(dump, table.to_pylist(), split_bytes), layout) == FEW


@pytest.mark.parametrize("split_bytes", [1, 50, 333, 1 << 40])
@pytest.mark.parametrize("name", DUMPS)
def test_odd_keys_and_values_come_out_as_they_were(name: str, split_bytes: int, tmp_path: Path) -> None:
    layout, text = DUMPS[name]
    path = tmp_path / f"dump.{SUFFIX.get(layout, 'json')}"
    path.write_bytes(text.encode())
    with open_one(path) as dump:
        table, _ = index_all(dump, split_bytes)
        assert table["offset"].to_pylist() == list(range(len(RECORDS)))
        assert table["key"].to_pylist() == [key.encode() for key in TRICKY]
        assert records_in(copied(dump, table.to_pylist(), split_bytes), layout) == RECORDS


def records_in(output: bytes, layout: str) -> list[object]:
    """The records of an output file, read by other means."""
    text = output.decode("utf-8-sig")
    if layout == "json_array":
        return list(json.loads(text))
    if layout == "csv_lines":
        rows = csv.DictReader(io.StringIO(text, newline=""))
        numbers = ("partition", "offset", "timestamp")
        return [{**row, **{name: int(row[name]) for name in numbers}} for row in rows]
    decoder, at, records = json.JSONDecoder(), 0, []
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        records.append(value)
        while at < len(text) and text[at].isspace():
            at += 1
    return records


@pytest.mark.parametrize("name", DUMPS)
def test_a_part_of_the_records_is_a_dump_again(name: str, tmp_path: Path) -> None:
    layout, text = DUMPS[name]
    path = tmp_path / f"dump.{SUFFIX.get(layout, 'json')}"
    path.write_bytes(text.encode())
    kept = [1, 2, 7, len(RECORDS) - 1]
    with open_one(path) as dump:
        table, _ = index_all(dump, 50)
        output = copied(dump, table.take(kept).to_pylist(), 50)
    path.write_bytes(output)
    with open_one(path) as dump:
        again, _ = index_all(dump)
        assert dump.files[0].layout == layout
        assert again["offset"].to_pylist() == kept
        (split,) = dump.splits(1 << 30)
        values = [record.value for _, _, record in LAYOUTS[layout].records(dump.files[0], split)]
        assert values == [TRICKY[::-1][n].encode() for n in kept]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=st.lists(st.text(max_size=6), min_size=1, max_size=6),
    style=st.sampled_from(["lines", "pretty", "array", "csv"]),
    split_bytes=st.integers(1, 200),
)
def test_any_text_survives_any_cut(tmp_path: Path, texts: list[str], style: str, split_bytes: int) -> None:
    records = [envelope(n, text, text[::-1]) for n, text in enumerate(texts)]
    path = tmp_path / "dump"
    dumped = {
        "lines": "\n".join(map(json.dumps, records)),
        "pretty": "\n".join(json.dumps(record, indent=1, ensure_ascii=False) for record in records),
        "array": json.dumps(records, ensure_ascii=False),
        "csv": csv_of(records),
    }[style]
    path.write_bytes(dumped.encode("utf-8", "replace"))
    with open_one(path) as dump:
        table, notes = index_all(dump, split_bytes)
        assert not any(note.rejects for note in notes.values())
        assert table["key"].to_pylist() == [text.encode("utf-8", "replace") for text in texts]
        assert table["is_tombstone"].to_pylist() == [False] * len(texts)


SPARK = [
    # (value, as Spark 4.3 writes it)
    ("a\\b", "a\\b"),
    ("a,\\b", '"a,\\\\b"'),
    ('a"\\b', '"a\\"\\\\b"'),
    ("x,\\", '"x,\\\\"'),
    ('"', '"\\""'),
    ('\\"', '"\\\\\\""'),
    ('tail"\\', '"tail\\"\\\\"'),
    ("\\\\,", '"\\\\\\\\,"'),
    ("new\nline", '"new\nline"'),
    ("", '""'),
]


@pytest.mark.slow
def test_spark_s_csv_escapes_quotes_and_backslashes(tmp_path: Path) -> None:
    path = tmp_path / "part-00000.csv"
    header = "key,value,topic,partition,offset,timestamp,timestampType\n"
    rows = [f"{cell},{cell},t,0,{n},2024-01-02T03:04:05.000Z,0\n" for n, (_, cell) in enumerate(SPARK)]
    path.write_text(header + "".join(rows), newline="")
    with open_one(path) as dump:
        assert dump.files[0].dialect.name == "spark-csv"
        for split_bytes in range(1, path.stat().st_size):
            table, notes = index_all(dump, split_bytes)
            assert table["key"].to_pylist() == [value.encode() for value, _ in SPARK]
            assert not any(note.rejects for note in notes.values())


def test_a_header_line_alone_is_a_dump_of_no_records(tmp_path: Path) -> None:
    path = tmp_path / "dump.csv"
    path.write_text("topic,partition,offset,timestamp,key,value\n")
    with open_one(path) as dump:
        assert index_all(dump, 10)[0].num_rows == 0


@pytest.mark.everyday(10)
@pytest.mark.parametrize("chunk_bytes", [1, 2, 3, 7, 64])
@pytest.mark.parametrize("name", DUMPS)
def test_reading_in_small_pieces_finds_the_same(
    name: str, chunk_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout, text = DUMPS[name]
    path = tmp_path / f"dump.{SUFFIX.get(layout, 'json')}"
    path.write_bytes(text.encode())
    with open_one(path) as dump:
        rows, _ = index_all(dump, 100)
        monkeypatch.setattr(json_scan, "CHUNK_BYTES", chunk_bytes)
        monkeypatch.setattr(lines, "CHUNK_BYTES", chunk_bytes)
        again, _ = index_all(dump, 100)
    assert again == rows
