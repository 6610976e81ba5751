"""Keys and values in columns of Avro and Parquet that are held to what JSON's and CSV's are held to."""

import re
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dump_pipeline import index_all, judged, open_one
from kcompact.errors import InputError

FORMS = pytest.mark.parametrize("form", ["avro", "parquet"])


def dump_of(
    tmp_path: Path, form: str, key_type: Any, value_type: Any, *pairs: tuple[Any, Any], null: bool = True
) -> Path:
    """A file of these keys and values, of these types of Avro; ``null``: or null."""
    path = tmp_path / f"orders.{form}"
    rows = [
        {"topic": "orders", "partition": 0, "offset": at, "key": key, "value": value}
        for at, (key, value) in enumerate(pairs)
    ]
    if form == "parquet":
        table = pa.Table.from_pylist(rows)
        pq.write_table(table.cast(pa.schema([field.with_nullable(null) for field in table.schema])), path)
        return path
    types = {
        "topic": "string",
        "partition": "int",
        "offset": "long",
        "key": ["null", key_type] if null else key_type,
        "value": ["null", value_type] if null else value_type,
    }
    fields = [{"name": name, "type": type_} for name, type_ in types.items()]
    with path.open("wb") as out:
        fastavro.writer(out, {"type": "record", "name": "r", "fields": fields}, rows)
    return path


def notes_on(path: Path, **options: Any) -> tuple[str, ...]:
    with open_one(path, **options) as dump:
        return tuple(dump.notes)


@FORMS
@pytest.mark.parametrize("address", ["[B@1a2b", "<memory at 0x7f3a5c0d1a00>"])
@pytest.mark.parametrize("role", ["keys", "values"])
def test_addresses_are_no_data(role: str, address: str, form: str, tmp_path: Path) -> None:
    pairs = [(address, "v"), ("[B@3c4d", "w")] if role == "keys" else [("a", address), ("b", "[B@3c4d")]
    language = "Java" if address.startswith("[B@") else "Python"
    with pytest.raises(InputError, match=f"{role} such as .* are addresses of {language} objects"):
        open_one(dump_of(tmp_path, form, "string", "string", *pairs))
    as_bytes = [(key.encode(), value.encode()) for key, value in pairs]
    open_one(dump_of(tmp_path, form, "bytes", "bytes", *as_bytes))


@FORMS
@pytest.mark.parametrize("text", ["None", "null", "nan"])
def test_a_null_that_pandas_wrote_as_text_is_noted(text: str, form: str, tmp_path: Path) -> None:
    """As astype(str) does: records without a key superseded each other, without a word."""
    pairs = [(text, "v"), (text, "v"), ("b", "w")]
    (note,) = notes_on(dump_of(tmp_path, form, "string", "string", *pairs))
    assert f"several keys of the first records are the text {text}" in note
    pairs = [("a", text), ("a", text), ("b", "w")]
    (note,) = notes_on(dump_of(tmp_path, form, "string", "string", *pairs))
    assert f"several values of the first records are the text {text}" in note
    assert notes_on(tmp_path / f"orders.{form}", tombstone=f"literal:{text}") == ()
    as_bytes = [(key.encode(), value.encode()) for key, value in pairs]
    assert notes_on(dump_of(tmp_path, form, "bytes", "bytes", *as_bytes)) == ()


@FORMS
def test_keys_that_were_rounded_before_they_became_text_are_refused(form: str, tmp_path: Path) -> None:
    """As a column of doubles of pandas does, by astype(str)."""
    path = dump_of(tmp_path, form, "string", "string", ("1.2345678901234567e+18", "v"), ("7.0", "w"))
    with pytest.raises(InputError, match="most likely rounded") as refused:
        open_one(path)
    named = re.search(r"--dialect ([\w-]+) takes", refused.value.hint or "")
    assert named is not None
    judged(path, dialect=named[1])


@FORMS
def test_lists_of_numbers_that_may_be_bytes_are_noted(form: str, tmp_path: Path) -> None:
    numbers = {"type": "array", "items": "int"}
    (note,) = notes_on(dump_of(tmp_path, form, numbers, "string", ([107, 49], "v"), ([107, 50], "w")))
    assert "keys are arrays of numbers, taken as such" in note
    assert notes_on(dump_of(tmp_path, form, numbers, "string", ([1070, 49], "v"))) == ()


def test_lists_of_bytes_are_bytes(tmp_path: Path) -> None:
    path = tmp_path / "d.parquet"
    table = pa.table({"offset": [0], "key": pa.array([[107]], pa.list_(pa.uint8())), "value": ["v"]})
    pq.write_table(table, path)
    assert not any("arrays" in note for note in notes_on(path))


def test_keys_that_lost_bytes_are_refused_in_a_view_of_text_too(tmp_path: Path) -> None:
    path = tmp_path / "d.parquet"
    key = pa.array(["k\ufffd"], pa.string_view())
    pq.write_table(
        pa.table({"topic": ["t"], "partition": [0], "offset": [0], "key": key, "value": ["v"]}), path
    )
    with pytest.raises(InputError, match="1 key with U\\+FFFD"):
        judged(path)


@FORMS
def test_keys_that_are_no_number_are_refused(form: str, tmp_path: Path) -> None:
    """As pandas has a missing one: all of them were one key, or nothing could be read."""
    path = dump_of(tmp_path, form, "double", "string", (1.5, "v"), (float("nan"), "w"))
    with pytest.raises(InputError, match="the key is NaN"):
        judged(path)
    judged(path, dialect=form)


@FORMS
def test_columns_of_rows_that_were_rounded_are_no_keys(form: str, tmp_path: Path) -> None:
    """As ids of whole numbers are where pandas had one missing: rows of others superseded each other."""
    path = tmp_path / f"rows.{form}"
    for number in (7.5, 2.0**60):
        row = {"id": number, "name": "x"}
        if form == "parquet":
            pq.write_table(pa.Table.from_pylist([row]), path)
        else:
            fields = [{"name": "id", "type": "double"}, {"name": "name", "type": "string"}]
            with path.open("wb") as out:
                fastavro.writer(out, {"type": "record", "name": "r", "fields": fields}, [row])
        if number < 2**53:
            judged(path, key_fields=("id",))
    for key_fields in (("id",), ("id", "name")):
        with pytest.raises(InputError, match=r"the key is a double, 1\.15"):
            judged(path, key_fields=key_fields)
    path = path.with_suffix(".jsonl")
    path.write_text('{"id": 1152921504606846977.5}')
    judged(path, key_fields=("id",))


def test_fields_of_a_struct_that_were_rounded_are_no_keys(tmp_path: Path) -> None:
    """A value of columns is no JSON, in which a number has all its digits."""
    path = tmp_path / "rows.parquet"
    for number in (7.5, 2.0**60):
        row = {"offset": 0, "value": {"id": number, "name": "x"}}
        pq.write_table(pa.Table.from_pylist([row]), path)
        if number < 2**53:
            judged(path, key_fields=("id",))
    for key_fields in (("id",), ("id", "name")):
        with pytest.raises(InputError, match=r"the key is a double, 1\.15"):
            judged(path, key_fields=key_fields)
    as_text = pa.table({"offset": [0], "value": ['{"id": 1152921504606846977.5}']})
    pq.write_table(as_text, path)
    judged(path, key_fields=("id",))


@FORMS
@pytest.mark.parametrize("null", [True, False])
@pytest.mark.parametrize("type_", ["string", "bytes"])
def test_empty_keys_are_none_where_the_user_says_so(
    type_: str, null: bool, form: str, tmp_path: Path
) -> None:
    """So Go and Python write a key that is not there, where a column takes no null."""
    empty = "" if type_ == "string" else b""
    path = dump_of(tmp_path, form, type_, "string", (empty, "v"), (empty, "w"), null=null)
    is_said = [": several keys of the first records are empty" in said for said in notes_on(path)]
    assert is_said == ([] if type_ == "bytes" and null else [True])
    assert notes_on(path, missing_key="null") == ()
    for option, key in (("null", None), ("empty", b""), (None, b"")):
        with open_one(path, missing_key=option) as dump:
            assert index_all(dump)[0]["key"].to_pylist() == [key, key]


@FORMS
def test_empty_values_of_bytes_that_cannot_be_null_are_noted(form: str, tmp_path: Path) -> None:
    """So Go writes nil; what other bytes look like as text is of no account."""
    pairs = [(b"[B@1a2b", b""), (b"[B@3c4d", b""), (b"[B@5e6f", b"None")]
    path = dump_of(tmp_path, form, "bytes", "bytes", *pairs, null=False)
    (note,) = notes_on(path)
    assert "several values of the first records are empty, and none is null" in note
    assert notes_on(path, tombstone="empty") == ()
    with open_one(path, tombstone="empty") as dump:
        assert index_all(dump)[0]["is_tombstone"].to_pylist() == [True, True, False]
    assert notes_on(dump_of(tmp_path, form, "bytes", "bytes", *pairs)) == ()
