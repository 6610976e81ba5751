import gzip
import io
import json
from pathlib import Path
from typing import Any

import fastavro
import pytest

from dump_pipeline import index_all, open_one, planned
from kcompact.dumps.describing import describe
from kcompact.dumps.dump import open_dump
from kcompact.dumps.layouts import LAYOUTS
from kcompact.dumps.note_checks import check_notes
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.output.assemble import joined
from kcompact.dumps.records.layout import Chosen
from kcompact.dumps.records.record import EXTRA_FIELDS, Record, headers_hash
from kcompact.dumps.writers.converting import conversion_notes, copier_for
from kcompact.dumps.writers.targets import with_writers
from kcompact.errors import InputError, OutputError

HEADERS_SCHEMA = {
    "type": "array",
    "items": {
        "type": "record",
        "name": "Header",
        "fields": [{"name": "key", "type": "string"}, {"name": "value", "type": "string"}],
    },
}
ORDER = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "string"}]}
EXPECTED = [
    Record("orders", 2, 40, -1, b"k1", b'{"id":"a"}', (("h", b"1"),)),
    Record("orders", 2, 41, -1, b"k2", b'{"id":"b"}'),
    Record("orders", 2, 42, -1, b"k1", b'{"id":"c"}', (("h", b"2"), ("h", b"3"))),
]


def avro(schema: Any, rows: list[Any]) -> bytes:
    out = io.BytesIO()
    fastavro.writer(out, schema, rows, codec="snappy", sync_interval=20)
    return out.getvalue()


def lines(rows: list[Any]) -> bytes:
    return b"".join(json.dumps(row, separators=(",", ":")).encode() + b"\n" for row in rows)


VALUES = [{"id": "a"}, {"id": "b"}, {"id": "c"}]
KEYS = ["k1", "k2", "k1"]
HEADERS = [[{"key": "h", "value": "1"}], [], [{"key": "h", "value": "2"}, {"key": "h", "value": "3"}]]
KINDS = {
    "avro": {
        ".avro": avro(ORDER, VALUES),
        ".keys.avro": avro("string", KEYS),
        ".headers.avro": avro(["null", HEADERS_SCHEMA], [row or None for row in HEADERS]),
    },
    "json": {
        ".json": lines(VALUES),
        ".keys.json": lines(KEYS),
        ".headers.json": lines([{"headers": row} for row in HEADERS]),
    },
    "json-with-avro-keys": {
        ".json": lines(VALUES),
        ".keys.avro": avro(["null", "bytes"], [key.encode() for key in KEYS]),
        ".headers.avro": avro(HEADERS_SCHEMA, HEADERS),
    },
    "json-gzip": {
        ".json.gz": gzip.compress(lines(VALUES)),
        ".keys.json.gz": gzip.compress(lines(KEYS)),
        ".headers.json.gz": gzip.compress(lines([{"headers": row} for row in HEADERS])),
    },
}


def folder_of(tmp_path: Path, files: dict[str, bytes], top: str = "topics") -> Path:
    folder = tmp_path / top / "orders" / "partition=2"
    folder.mkdir(parents=True)
    for ending, data in files.items():
        (folder / f"orders+2+0000000040{ending}").write_bytes(data)
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_the_files_are_zipped(tmp_path: Path, kind: str) -> None:
    folder_of(tmp_path, KINDS[kind])
    with open_one(tmp_path / "topics") as dump:
        (file,) = dump.files
        (split,) = dump.splits(1)
        assert [record for _, _, record in LAYOUTS["side_files"].records(file, split)] == EXPECTED
        table, notes = index_all(dump, extra=frozenset(EXTRA_FIELDS))
        assert table["headers_hash"].to_pylist() == [headers_hash(record.headers) for record in EXPECTED]
        assert table["key"].to_pylist() == [b"k1", b"k2", b"k1"]
        check_notes(dump, notes)
        assert "Confluent" in describe(dump)[0]
        Path(file.shape.parts["keys"].path).write_bytes(b"changed")
        with pytest.raises(InputError, match="changed"):
            dump.check_unmoved()


@pytest.mark.parametrize("kind", KINDS)
def test_a_value_file_finds_its_keys_beside_it(tmp_path: Path, kind: str) -> None:
    ending = next(iter(KINDS[kind]))
    with open_one(folder_of(tmp_path, KINDS[kind]) / f"orders+2+0000000040{ending}") as dump:
        assert index_all(dump)[0].num_rows == 3


@pytest.mark.parametrize("target", ["out.avro", "out.jsonl", "out.csv"])
def test_survivors_are_written_as_the_plain_envelope(tmp_path: Path, target: str) -> None:
    folder_of(tmp_path, KINDS["avro"])
    arguments = [str(tmp_path / "topics")]
    with open_dump(arguments, ReadOptions()) as dump:
        plan = planned(dump, [*arguments, "another"], tmp_path / target)
        outputs = with_writers(plan, None)
        assert "written together" in conversion_notes(outputs, {})[0]
        writer = outputs.targets[0].writer
        assert writer is not None
        (file,) = joined(outputs)
        (split,) = dump.splits(1)
        rows = index_all(dump)[0].take([1, 2])
        where = [rows[name].to_numpy() for name in ("position", "record_bytes")]
        with (tmp_path / target).open("wb") as out:
            out.write(writer.begin())
            copier_for(outputs)(Chosen(file, split, *where), out)
    with open_one(tmp_path / target) as dump:
        (split,) = dump.splits(1 << 40)
        entries = LAYOUTS[dump.files[0].layout].records(dump.files[0], split)
        assert [record for _, _, record in entries] == EXPECTED[1:]


def test_an_output_of_no_format_is_refused(tmp_path: Path) -> None:
    folder_of(tmp_path, KINDS["avro"])
    arguments = [str(tmp_path / "topics")]
    with open_dump(arguments, ReadOptions()) as dump:
        plan = planned(dump, [*arguments, "x"], tmp_path / "out")
        with pytest.raises(OutputError, match="keys and values are in separate files") as caught:
            with_writers(plan, None)
    assert ".jsonl" in (caught.value.hint or "")


@pytest.mark.parametrize("kind", ["avro", "json"])
@pytest.mark.parametrize("short", [0, 1])
def test_files_of_different_lengths_are_refused(tmp_path: Path, kind: str, short: int) -> None:
    cut = {
        "avro": [avro(ORDER, VALUES[:2]), avro("string", KEYS[:2])],
        "json": [lines(VALUES[:2]), lines(KEYS[:2])],
    }
    files = dict(KINDS[kind])
    files[list(files)[short]] = cut[kind][short]
    with open_one(folder_of(tmp_path, files)) as dump:
        _, notes = index_all(dump)
        with pytest.raises(InputError, match="ends after 2 rows") as caught:
            check_notes(dump, notes)
    assert list(files)[short] in caught.value.message


def test_keys_alone_are_tombstones(tmp_path: Path) -> None:
    folder_of(tmp_path, {".keys.avro": KINDS["avro"][".keys.avro"]}, "tombstone")
    with open_one(tmp_path / "tombstone") as dump:
        table, notes = index_all(dump)
        check_notes(dump, notes)
    assert table["is_tombstone"].to_pylist() == [True] * 3
    assert table["offset"].to_pylist() == [40, 41, 42]


def test_tombstones_beside_values_are_refused_since_nobody_knows_the_order(tmp_path: Path) -> None:
    folder_of(tmp_path, KINDS["avro"])
    folder_of(tmp_path, {".keys.avro": KINDS["avro"][".keys.avro"]}, "tombstone")
    with pytest.raises(InputError, match="which came later") as caught:
        open_one(tmp_path)
    assert caught.value.hint


def test_structured_keys_are_the_bytes_of_their_datum(tmp_path: Path) -> None:
    files = {".avro": avro("string", ["x"]), ".keys.avro": avro(["null", ORDER], [{"id": "a"}])}
    with open_one(folder_of(tmp_path, files)) as dump:
        assert index_all(dump)[0]["key"].to_pylist() == [b"\x02a"]


@pytest.mark.parametrize(("ending", "remedy"), [("bin", "ByteArrayFormat"), ("json", "the file again")])
def test_lines_of_other_bytes_than_json_are_refused(ending: str, remedy: str, tmp_path: Path) -> None:
    files = {f".{ending}": b"v1\nv2\n", f".keys.{ending}": b'"k1"\n"k2"\n'}
    with open_one(folder_of(tmp_path, files)) as dump:
        _, notes = index_all(dump)
        with pytest.raises(InputError, match="line 1 is not JSON") as caught:
            check_notes(dump, notes)
    assert remedy in str(caught.value.hint)


def test_damaged_keys_are_refused(tmp_path: Path) -> None:
    files = dict(KINDS["avro"])
    files[".keys.avro"] = files[".keys.avro"][:-3]
    with open_one(folder_of(tmp_path, files)) as dump:
        _, notes = index_all(dump)
        with pytest.raises(InputError, match=r"keys\.avro: byte \d+"):
            check_notes(dump, notes)


@pytest.mark.parametrize(("keys", "is_one"), [(["7", 7], False), (["7", "8"], True), ([7, "seven"], True)])
def test_a_string_of_digits_and_a_number_are_two_keys(keys: list[Any], is_one: bool, tmp_path: Path) -> None:
    for number, key in enumerate(keys):  # in one file, or in two of one log
        (tmp_path / f"t+0+{number}.json").write_bytes(lines(["v"]))
        (tmp_path / f"t+0+{number}.keys.json").write_bytes(lines([key]))
    with open_one(tmp_path) as dump:
        _, notes = index_all(dump)
        if is_one:
            check_notes(dump, notes)
            return
        with pytest.raises(InputError, match=r't\+0\+0.*some keys are strings such as "7"'):
            check_notes(dump, notes)
