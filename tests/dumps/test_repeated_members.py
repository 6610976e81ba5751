"""JSON objects with a member twice: refused where the member is asked for, copied as they are elsewhere."""

import json
from pathlib import Path

import pytest

from dump_pipeline import compacted, index_all, open_one
from kcompact.dumps.note_checks import check_notes
from kcompact.dumps.records.record import EXTRA_FIELDS
from kcompact.errors import InputError

SOUND = '{"topic":"t","partition":0,"offset":1,"tstype":"create","ts":5,"headers":[],"key":"k","payload":"v"}'
DEBEZIUM = '{"op":"c","before":null,"after":{"id":1,"name":"a"},"source":{"db":"d","table":"t"}}'
MONGO = '{"op":"c","before":null,"after":"{\\"_id\\":1,\\"_id\\":2}","source":{"connector":"mongodb"}}'


def look(path: Path, **options: object) -> list[str]:
    with open_one(path, **options) as dump:
        index_all(dump)
        _, notes = index_all(dump, extra=frozenset(EXTRA_FIELDS))
        return check_notes(dump, notes)


def refused(path: Path, text: str | bytes, **options: object) -> str:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError) as caught:
        look(path, **options)
    assert "rename the member that does not count" in (caught.value.hint or "")
    return caught.value.message


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ('"key":"k"', '"key":"k","key":"other"', "key"),
        ('"key":"k"', '"key":"k","k\\u0065y":"other"', "key"),
        ('"key":"k"', '"key":"\\u0022,","key":"k"', "key"),
        ('"key":"k"', '"key":"\\ud800","key":"k"', "key"),
        ('"key":"k"', '"key":"k","key":NaN', "key"),
        ('"payload":"v"', '"payload":null,"payload":"v"', "payload"),
        ('"offset":1', '"offset":1,"offset":1', "offset"),
        ('"partition":0', '"partition":1,"partition":0', "partition"),
        ('"topic":"t"', '"topic":"t","topic":"u"', "topic"),
        ('"ts":5', '"ts":5,"ts":6', "ts"),
        ('"tstype":"create"', '"tstype":"create","tstype":"logappend"', "tstype"),
        ('"headers":[]', '"headers":["a","b"],"headers":[]', "headers"),
        ('"headers":[]', '"headers":{"a":"1","a":"2"}', "a"),
        ('"headers":[]', '"headers":[{"key":"a","value":{"b":1,"b":2}}]', "b"),
        ('"payload":"v"', '"payload":{"type":"Buffer","data":[1],"data":[2]}', "data"),
        ('"payload":"v"', '"payload":null,"payload_error":"x","payload_error":null', "payload_error"),
    ],
)
@pytest.mark.parametrize("layout", ["lines", "array", "objects"])
def test_a_member_twice_is_named_with_its_line(
    tmp_path: Path, old: str, new: str, name: str, layout: str
) -> None:
    records = [SOUND, SOUND.replace(old, new)]
    if layout == "objects":
        records = [record.replace(',"partition"', ',\n"partition"') for record in records]
    text = "[" + ",\n".join(records) + "]" if layout == "array" else "\n".join(records)
    message = refused(tmp_path / "d.json", text)
    assert message.startswith(f"{tmp_path}/d.json:{3 if layout == 'objects' else 2}: ")
    assert f"has the member '{name}' twice" in message


def test_a_member_twice_beside_bytes_that_are_no_text(tmp_path: Path) -> None:
    line = SOUND.encode().replace(b'"key":"k"', b'"key":"k","key":"\xff"')
    assert "has the member 'key' twice" in refused(tmp_path / "d.jsonl", SOUND.encode() + b"\n" + line)


def test_members_that_nobody_asks_for_may_stand_twice(tmp_path: Path) -> None:
    odd = SOUND.replace('"offset":1', '"offset":2').replace(
        '"payload":"v"', '"x":1,"x":2,"payload":{"key":1,"key":2,"t":"a \\u0022 b"}'
    )
    path = tmp_path / "d.jsonl"
    path.write_text(f"{SOUND}\n{odd}\n")
    look(path)
    with open_one(path) as dump:
        assert compacted(dump) == f"{odd}\n".encode()


def test_a_path_is_followed_to_the_member_that_is_there_twice(tmp_path: Path) -> None:
    record = {
        "headers": {},
        "metadata": {"topic": "t", "partition": 0, "offset": 7},
        "value": "v",
        "key": "k",
    }
    line = json.dumps(record)
    inner = line.replace('"offset": 7', '"offset": 8, "offset": 9')
    outer = line.replace('"value"', '"metadata": {"offset": 8}, "value"')
    assert "has the member 'offset' twice" in refused(tmp_path / "a.jsonl", f"{line}\n{inner}\n")
    assert "has the member 'metadata' twice" in refused(tmp_path / "b.jsonl", f"{line}\n{outer}\n")


@pytest.mark.parametrize(
    ("value", "options", "name"),
    [
        ('{"id":1,"id":2}', {"key_fields": ("id",)}, "id"),
        (DEBEZIUM.replace('"id":1', '"id":1,"id":2'), {"key_fields": ("id",), "cdc": "debezium"}, "id"),
        (DEBEZIUM.replace('"op":"c"', '"op":"d","op":"c"'), {"cdc": "debezium"}, "op"),
        (MONGO, {"key_fields": ("_id",), "cdc": "mongo"}, "_id"),
    ],
)
def test_a_value_that_tells_the_key_or_a_delete(
    tmp_path: Path, value: str, options: dict[str, object], name: str
) -> None:
    line = SOUND.replace('"payload":"v"', f'"payload":{json.dumps(value)}')
    message = refused(tmp_path / "d.jsonl", f"{line}\n", **options)
    assert message.startswith(f"{tmp_path}/d.jsonl:1: ")
    assert f"has the member '{name}' twice" in message


def test_other_members_of_such_a_value_may_stand_twice(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text(SOUND.replace('"payload":"v"', '"payload":"{\\"id\\":1,\\"x\\":2,\\"x\\":3}"') + "\n")
    look(path, key_fields=("id",))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"records":{"ü-0":[@],\n"ü-1":[@],\n"ü-0":[]}}', "ü-0"),
        ('{"records":{"\\u00fc-0":[@],\n"a-0":[@],\n"ü-0":[]}}', "ü-0"),
        ('{"records":{"t-0":[@]},\n"x":1,\n"records":{"t-0":[@]}}', "records"),
    ],
)
def test_an_event_with_its_records_twice(tmp_path: Path, text: str, name: str) -> None:
    record = {"topic": "ü", "partition": 0, "offset": 1, "timestamp": 5, "timestampType": "CREATE_TIME"}
    line = json.dumps(record | {"key": "aw==", "value": "dg=="})
    message = refused(tmp_path / "event.json", text.replace("@", line))
    assert message == (
        f"{tmp_path}/event.json:3: the event has the member '{name}' twice: which of them counts?"
    )


@pytest.mark.parametrize("spelt", ["clé", "cl\\u00e9"])
def test_a_value_under_a_name_that_is_not_ascii_keeps_its_spelling(tmp_path: Path, spelt: str) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text(f'{{"offset":1,"key":"k","{spelt}":{{"a": 1.0}}}}\n')
    with open_one(path, fields={"value": "clé"}) as dump:
        table, _ = index_all(dump, extra=frozenset({"log_bytes"}))
    assert table["log_bytes"].to_pylist() == [
        61 + 1 + 3 + len(b"\x02k") + len(b'\x14{"a": 1.0}') + len(b"\x00")
    ]
