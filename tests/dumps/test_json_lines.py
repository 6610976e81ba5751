from pathlib import Path

import pytest

from dump_pipeline import compacted, index_all, open_one
from kcompact.dumps.layouts import LAYOUTS

KCAT = (
    b'{"topic":"t","partition":0,"offset":0,"tstype":"create","ts":1700000000000,"broker":0,"key":"a",'
    b'"payload":"1"}\n'
    b'{"topic":"t","partition":0,"offset":1,"tstype":"create","ts":1700000000001,"broker":0,'
    b'"headers":["h","v","h",null],"key":"\xff\\u0001","payload":""}\n'
    b'{"topic":"t","partition":1,"offset":0,"tstype":"create","ts":-1,"broker":0,"key":null,"payload":"x"}\n'
    b'{"topic":"t","partition":0,"offset":2,"tstype":"logappend","ts":5,"broker":0,"key":"a","payload":null}'
)


@pytest.fixture
def kcat(tmp_path: Path) -> Path:
    path = tmp_path / "orders.jsonl"
    path.write_bytes(KCAT)
    return path


def test_kcat_lines_are_read_with_their_raw_bytes(kcat: Path) -> None:
    with open_one(kcat) as dump:
        assert dump.files[0].dialect.name == "kcat"
        (split,) = dump.splits(1 << 30)
        records = [record for _, _, record in LAYOUTS["json_lines"].records(dump.files[0], split)]
    assert [record.key for record in records] == [b"a", b"\xff\x01", None, b"a"]
    assert [record.value for record in records] == [b"1", b"", b"x", None]
    assert records[1].headers == (("h", b"v"), ("h", None))
    assert [record.timestamp_ms for record in records] == [1700000000000, 1700000000001, -1, 5]
    assert [record.timestamp_type for record in records] == ["create", "create", "create", "logappend"]


@pytest.mark.everyday(46)
@pytest.mark.parametrize("split_bytes", range(1, len(KCAT) + 2))
def test_every_record_is_in_one_split(kcat: Path, split_bytes: int) -> None:
    with open_one(kcat) as dump:
        table, _ = index_all(dump, split_bytes)
        assert table["offset"].to_pylist() == [0, 1, 0, 2]
        assert compacted(dump, split_bytes) == KCAT.split(b"\n", 1)[1] + b"\n"


def test_a_first_record_of_megabytes_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    line = '{"topic":"t","partition":0,"offset":%d,"key":"a","payload":"%s"}\n'
    path.write_text(line % (0, "x" * 3_000_000) + line % (1, "y"))
    with open_one(path) as dump:
        assert index_all(dump, 1000)[0]["offset"].to_pylist() == [0, 1]


def test_filters_leave_records_out(kcat: Path) -> None:
    with open_one(kcat, partitions=(range(1, 2),)) as dump:
        assert index_all(dump)[0]["offset"].to_pylist() == [0]
    with open_one(kcat, topics=frozenset({"u"})) as dump:
        assert index_all(dump)[0].num_rows == 0


@pytest.mark.parametrize("role", ["key", "value"])
def test_nan_is_neither_a_value_nor_a_null(role: str, tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    members = {"topic": '"t"', "partition": "0", "offset": "0", "key": '"k"', "value": '"v"'} | {role: "NaN"}
    path.write_text("{" + ",".join(f'"{name}":{text}' for name, text in members.items()) + "}\n")
    with open_one(path) as dump:
        (reject,) = index_all(dump)[1][0].rejects
    assert f"the {role} is NaN" in reject.reason


def test_nan_within_a_value_is_the_value_s_own(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text('{"topic":"t","partition":0,"offset":0,"key":"k","value":{"x":NaN}}\n')
    with open_one(path) as dump:
        assert index_all(dump)[0].num_rows == 1


def test_a_dict_as_python_prints_it_is_named_with_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text(
        '{"topic":"t","partition":0,"offset":0,"key":"k","value":"v"}\n'
        "{'topic': 't', 'partition': 0, 'offset': 1, 'key': 'k', 'value': None}\n"
    )
    with open_one(path) as dump:
        (reject,) = index_all(dump)[1][0].rejects
    assert reject.reason.startswith("a dict as Python prints it, not JSON: ")
    assert "json.dumps(record)" in str(reject.hint)
