import pyarrow as pa
import pytest

from index_frames import part_of_rows
from kcompact.dumps.records.indexing import index_rows, is_debezium_delete, log_bytes, value_kind
from kcompact.dumps.records.record import (
    EXTRA_FIELDS,
    VALUE_EMPTY,
    VALUE_NULL,
    VALUE_PRESENT,
    VALUE_WORD_NULL,
    Record,
    index_schema,
    log_id_of,
)


@pytest.mark.parametrize(
    ("key", "value", "expected"), [(b"a", b"1", 70), (b"a", None, 69), (b"key-1", b"value-1", 80)]
)
def test_log_bytes_are_those_of_the_broker(key: bytes, value: bytes | None, expected: int) -> None:
    assert log_bytes(Record("t", 0, 5, 1_700_000_000_000, key, value)) == expected


def test_log_bytes_count_headers_and_long_varints() -> None:
    plain = Record("t", 0, 0, 0, b"k", b"v" * 100)
    # Lengths from 64 on take two bytes: once for the value, once for the record itself.
    assert log_bytes(plain) == 61 + 2 + (3 + 2 + 2 + 100 + 1)
    assert log_bytes(plain._replace(headers=(("h", b"xy"), ("n", None)))) - log_bytes(plain) == 2 + 3 + 2 + 1


def test_rows_carry_every_extra_column_and_the_table_of_logs() -> None:
    part = part_of_rows(3)
    records = [Record("t", 1, 7, -1, None, None), Record("u", 0, 8, 5, b"", b"", timestamp_type="logappend")]
    entries = [(100, 10, records[0]), (110, 12, records[1])]
    table = pa.Table.from_batches(index_rows(entries, part, frozenset(EXTRA_FIELDS)))
    assert table.schema == index_schema(frozenset(EXTRA_FIELDS))
    assert table["key"].to_pylist() == [None, b""]
    assert table["is_tombstone"].to_pylist() == [True, False]
    assert table["position"].to_pylist() == [100, 110]
    assert table["value_kind"].to_pylist() == [VALUE_NULL, VALUE_EMPTY]
    assert part.notes.logs == {log_id_of("t", 1): ("t", 1), log_id_of("u", 0): ("u", 0)}
    assert table["log_id"].to_pylist() == [log_id_of("t", 1), log_id_of("u", 0)]


@pytest.mark.parametrize(
    ("value", "kind"),
    [(None, VALUE_NULL), (b"", VALUE_EMPTY), (b"null", VALUE_WORD_NULL), (b"nullify", VALUE_PRESENT)],
)
def test_the_word_null_is_no_null(value: bytes | None, kind: int) -> None:
    assert value_kind(value) == kind


def test_debezium_deletes_are_told_from_lookalikes() -> None:
    assert is_debezium_delete(b'{"before": {"id": 1}, "after": null, "op": "d"}')
    assert is_debezium_delete(b'{"schema": {}, "payload": {"before": null, "op" : "d"}}')
    assert not is_debezium_delete(b'{"before": null, "op": "u", "after": {"x": "\\"op\\":\\"d\\""}}')
    assert not is_debezium_delete(b'{"op": "d"')
    assert not is_debezium_delete(None)
