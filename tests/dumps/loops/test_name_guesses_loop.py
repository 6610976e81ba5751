"""Names of members in any order, like and unlike those of the record before, against the reference."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kcompact.dumps.dialects.dialect_table import BY_NAME
from kcompact.dumps.loops.json.json_members import MOST_GUESSED
from kcompact.dumps.loops.readiness import load_loops
from kcompact.dumps.records.framed import TextShape
from kcompact.dumps.records.layout import DumpFile
from loop_parity import assert_same, read_by_loop_alone

assert load_loops("json_lines")
RECORD = {"topic": "t", "partition": 0, "offset": 0, "ts": 17, "key": "k", "payload": "v"}
# Like the names asked for, but for a byte at either end or behind the first or second eight; and long ones.
OTHERS = [
    *("", "k", "ke", "key1", "Key_", "offse", "offset_", "Offset", "partitio", "partitioN", "partition9"),
    *(
        "payloae",
        "payloadpayload",
        "payloadpayload16",
        "payloadpayload17x",
        "topic\\u0041",
        'to\\"pic',
        "ümlaut",
    ),
]
MEMBERS = st.lists(st.sampled_from(OTHERS), unique=True, max_size=6)


def dump_of(folder: Path, lines: list[str], dialect: str = "kcat") -> DumpFile:
    path, data = folder / "dump.jsonl", "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(data)
    shape = TextShape()
    return DumpFile(0, str(path), str(path), len(data), "json_lines", BY_NAME[dialect], shape, topic="t")


def line_of(offset: int, others: list[str], order: list[int]) -> str:
    known = {**RECORD, "offset": offset, "key": f"k{offset % 3}"}
    members = [f'"{name}":{json.dumps(value)}' for name, value in known.items()]
    members += [f'"{name}":{number}' for number, name in enumerate(others)]
    return (
        "{"
        + ",".join(members[at % len(members)] for at in dict.fromkeys(n % len(members) for n in order))
        + "}"
    )


@pytest.mark.slow
@given(st.lists(st.tuples(MEMBERS, st.permutations(range(12)), st.booleans()), min_size=1, max_size=12))
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_names_are_told_apart_whatever_stood_before(
    tmp_path: Path, records: list[tuple[list[str], list[int], bool]]
) -> None:
    lines = []
    for offset, (others, order, is_usual) in enumerate(records):
        lines.append(line_of(offset, [] if is_usual else others, list(range(12)) if is_usual else order))
    assert_same(dump_of(tmp_path, lines))


def test_a_name_counts_where_it_stands(tmp_path: Path) -> None:
    """What an object inside holds is its own."""
    flat = '{"topic":"t","partition":0,"offset":0,"ts":1,"more":{},"key":"k","payload":"v"}'
    deep = flat.replace("{}", '{"key":"x","payload":"y"}').replace(':0,"ts', ':1,"ts')
    rows = read_by_loop_alone(dump_of(tmp_path, [flat, deep, flat.replace(':0,"ts', ':2,"ts')]), frozenset())
    assert rows["key"].to_pylist() == [b"k"] * 3


@pytest.mark.parametrize("members", [MOST_GUESSED - 7, MOST_GUESSED - 6, MOST_GUESSED + 9])
def test_records_may_have_more_members_than_are_guessed(tmp_path: Path, members: int) -> None:
    others = [f"other{number}" for number in range(members)]
    lines = [line_of(offset, others, list(range(len(RECORD) + members))) for offset in range(3)]
    lines += [line_of(3, others, list(range(len(RECORD) + members))[::-1])]
    rows = read_by_loop_alone(dump_of(tmp_path, lines), frozenset())
    assert rows["key"].to_pylist() == [b"k0", b"k1", b"k2", b"k0"]
    assert rows["offset"].to_pylist() == [0, 1, 2, 3]


def test_a_name_that_differs_behind_what_is_compared_at_once_is_another(tmp_path: Path) -> None:
    first = '{"sixteen_bytes_xx":1,"topic":"t","partition":0,"offset":0,"key":"k","payload":"v"}'
    names = ["sixteen_bytes_xy", "sixteen_bytes_x", "sixteen_bytes_xxx", "sixteen_", "sixteen", "key"]
    lines = [first]
    for offset, name in enumerate(names, 1):
        lines += [first.replace("sixteen_bytes_xx", name).replace('"offset":0', f'"offset":{offset}')]
    assert_same(dump_of(tmp_path, lines))  # the last one has two keys: the reference says so
