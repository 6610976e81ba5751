"""Redpanda Console saves payloads parsed, and none of those that it holds too large: sizes tell."""

import json
from pathlib import Path
from typing import Any

import pytest

from dump_pipeline import index_all, open_one
from kcompact.dumps.layouts import LAYOUTS
from kcompact.dumps.note_checks import check_notes
from kcompact.dumps.records.record import Record
from kcompact.errors import InputError

Payload = dict[str, Any]


def payload(shown: Any, size: int, encoding: str = "text") -> Payload:
    return {"payload": shown, "encoding": encoding, "isPayloadNull": False, "schemaId": 0, "size": size}


def saved(path: Path, keys: list[Payload], value: Payload, header: Payload | None = None) -> Path:
    headers = [] if header is None else [{"key": "h", "value": header}]
    rows = [
        {"partitionID": 0, "offset": n, "timestamp": 1, "headers": headers, "key": key, "value": value}
        for n, key in enumerate(keys)
    ]
    path.write_text(json.dumps(rows, indent=4))
    return path


def records(path: Path) -> list[Record]:
    with open_one(path) as dump:
        file = dump.files[0]
        return [
            record
            for split in dump.splits(1 << 40)
            for *_, record in LAYOUTS[file.layout].records(file, split)
        ]


@pytest.mark.parametrize(
    ("shown", "sent", "encoding"),
    [
        ("k1", b"k1", "text"),
        ("k1", b'"k1"', "json"),
        (7, b"7", "text"),
        ({"id": 7}, b'{"id":7}', "json"),
        ({"id": 7}, b'{"id": 7}', "json"),
        ("12345678901234567890", b"12345678901234567890", "text"),
        ("é", "é".encode(), "text"),
    ],
)
def test_a_key_is_the_bytes_whose_size_it_has(shown: Any, sent: bytes, encoding: str, tmp_path: Path) -> None:
    key = payload(shown, len(sent), encoding)
    assert records(saved(tmp_path / "m.json", [key], key))[0].key == sent
    assert records(tmp_path / "m.json")[0].value == sent


def test_a_decoded_key_is_taken_as_it_is_shown(tmp_path: Path) -> None:
    keys = [payload({"id": 7}, 6, "avro"), payload(8, 4, "uint")]
    saved_records = records(saved(tmp_path / "m.json", keys, payload("v", 1)))
    assert [json.loads(record.key or b"") for record in saved_records] == [{"id": 7}, 8]


@pytest.mark.parametrize(("shown", "size"), [(7, 3), ("k", 9), (True, 5)])
def test_keys_that_may_have_been_others_are_refused(shown: Any, size: int, tmp_path: Path) -> None:
    path = saved(tmp_path / "m.json", [payload(7, 1), payload(shown, size)], payload("v", 1))
    with open_one(path) as dump:
        _, notes = index_all(dump)
        with pytest.raises(InputError, match="1 key has another size than in Kafka"):
            check_notes(dump, notes)


@pytest.mark.parametrize("encoding", ["text", "avro"])
def test_a_payload_too_large_to_show_is_no_empty_one(encoding: str, tmp_path: Path) -> None:
    key, large = payload("k", 1), payload("", 30_000, encoding)
    for path in (saved(tmp_path / "v.json", [key], large), saved(tmp_path / "k.json", [large], key)):
        with open_one(path) as dump:
            _, notes = index_all(dump)
            with pytest.raises(InputError, match="of 30,000 bytes, was too large for Redpanda Console"):
                check_notes(dump, notes)


def test_an_empty_payload_is_one(tmp_path: Path) -> None:
    saved_records = records(saved(tmp_path / "m.json", [payload("k", 1)], payload("", 0)))
    assert saved_records[0].value == b""


def test_headers_lose_the_quotes_that_the_console_puts_around_them(tmp_path: Path) -> None:
    header = payload(json.dumps('a "b"'), 5)
    assert records(saved(tmp_path / "m.json", [payload("k", 1)], payload("v", 1), header))[0].headers == (
        ("h", b'a "b"'),
    )


HEADER = "timestamp,partitionID,offset,key,value,keySize,valueSize,compression,isTransactional\n"


@pytest.mark.parametrize(("row", "role"), [("1,0,5,k,,1,5", "value"), ("1,0,5,,v,1,1", "key")])
def test_a_cell_of_the_csv_that_has_a_size_is_not_empty(row: str, role: str, tmp_path: Path) -> None:
    path = tmp_path / "messages.csv"
    path.write_text(f"{HEADER}1,0,4,k,v,1,1,uncompressed,false\n{row},uncompressed,false\n")
    with open_one(path) as dump:
        _, notes = index_all(dump)
        with pytest.raises(InputError, match=f"messages.csv:3: the {role} was not exported"):
            check_notes(dump, notes)
