"""The loop must never change what is read: every hostile line comes out as the reference reads it."""

import base64
import json
import random
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kcompact.cleaner.tracked import INDEXED
from kcompact.dumps.dialects.dialect import DataField, Dialect
from kcompact.dumps.dialects.dialect_table import BY_NAME
from kcompact.dumps.loops import windows
from kcompact.dumps.loops.columns import MOST_TOPICS
from kcompact.dumps.loops.json import json_names as at
from kcompact.dumps.loops.readiness import load_loops
from kcompact.dumps.loops.value_columns import KIND_EXTRA
from kcompact.dumps.records.framed import TextShape
from kcompact.dumps.records.indexing import CONTENT_EXTRA
from kcompact.dumps.records.layout import DumpFile
from kcompact.dumps.records.record import VALUE_WORD_NULL, log_id_of
from kcompact.engine.passes.index_pass import read_together
from loop_parity import (
    assert_same,
    assert_same_together,
    assert_same_with,
    batches_by_loop_alone,
    read_by_loop_alone,
    whole,
)
from siphash import value_hash

LOOP_EXTRA = KIND_EXTRA | CONTENT_EXTRA
assert load_loops("json_lines")
KCAT, PLAIN = BY_NAME["kcat"], BY_NAME["plain"]


def dump_file(path: Path, data: bytes, dialect: Dialect) -> DumpFile:
    path.write_bytes(data)
    return DumpFile(0, str(path), str(path), len(data), "json_lines", dialect, TextShape(), topic="t")


def kcat_line(offset: int, key: str = '"k"', payload: str = '"v"', partition: int = 0, ts: int = 17) -> bytes:
    return (
        f'{{"topic":"t","partition":{partition},"offset":{offset},"tstype":"create","ts":{ts},'
        f'"broker":0,"key":{key},"payload":{payload}}}\n'
    ).encode()


HOSTILE = [
    kcat_line(5, key='"a\\"b"'),
    kcat_line(5, key='"a\\\\"'),
    kcat_line(5, payload='"a\\\\"'),
    kcat_line(5, payload='"a\\\\\\""'),
    kcat_line(5, payload='"\\u0041\\ud800"'),
    kcat_line(5, payload='"\\x"'),
    kcat_line(5, payload='"\\u12g4"'),
    kcat_line(5, payload='""'),
    kcat_line(5, key='""'),
    kcat_line(5, key="null"),
    kcat_line(5, payload="null"),
    kcat_line(5, payload="nulL"),
    kcat_line(5, payload="7"),
    kcat_line(5, payload='{"offset":9,"key":"x","payload":null}'),
    kcat_line(5, payload='"x","payload":null,"more":"y"'),
    kcat_line(5, payload='"x","payload":"y"'),
    kcat_line(5, payload='"x","key":"other"'),
    kcat_line(5, payload='"x","k\\u0065y":"other"'),
    kcat_line(5, payload='"x","tstype":"logappend"'),
    kcat_line(5, payload='"x","payload_error":null,"payload_error":"y"'),
    kcat_line(5, payload='"x","broker":1'),
    kcat_line(5).replace(b'"broker":0', b'"headers":{"a":"1","a":"2"}'),
    kcat_line(5, payload='null,"payload_error":"no schema"'),
    kcat_line(5, key='"k\\","payload":"x'),
    kcat_line(5, key='"k","payload":"x"},{"key":"l"'),
    kcat_line(5, key='"' + "long" * 100 + '"'),
    kcat_line(5, key='"' + "k" * 37 + '"'),
    kcat_line(5, key='"zürich ✓"'),
    kcat_line(5, key='"\ufffd"'),
    kcat_line(5).replace(b'"k"', b'"\xff\xfe"'),
    kcat_line(5).replace(b'"v"', b'"\xff\xed\xa0\x80"'),
    kcat_line(5).replace(b'"v"', b'"a\tb"'),
    kcat_line(5).replace(b'"v"', b'"a\x00b"'),
    kcat_line(5).replace(b"\n", b"\r\n"),
    kcat_line(5).replace(b'"v"', b'"a\rb"'),
    kcat_line(5).replace(b":", b" : "),
    b" " + kcat_line(5),
    kcat_line(5).replace(b'"offset":5', b'"offset":05'),
    kcat_line(5).replace(b'"offset":5', b'"offset":-5'),
    kcat_line(5).replace(b'"offset":5', b'"offset":5.0'),
    kcat_line(5).replace(b'"offset":5', b'"offset":"5"'),
    kcat_line(5).replace(b'"offset":5', b'"offset":/'),
    kcat_line(10**17),
    kcat_line(2**63),
    kcat_line(5, partition=2**31),
    kcat_line(5, partition=123456),
    kcat_line(5, ts=10**14),
    kcat_line(5).replace(b'"ts":17', b'"ts":null'),
    kcat_line(5).replace(b'"ts":17,', b""),
    kcat_line(5).replace(b'"t"', b'"other"'),
    kcat_line(5).replace(b'"topic":"t",', b""),
    kcat_line(5).replace(b'"broker":0', b'"broker":0,"headers":["a","b\\"c"]'),
    kcat_line(5).replace(b'"broker":0', b'"broker":0,"headers":["a","b","c",null]'),
    kcat_line(5).replace(b'"broker":0', b'"broker":0,"headers":0'),
    kcat_line(5).replace(b'"broker":0', b'"broker":0,"headers":"null"'),
    kcat_line(5).replace(b'"broker":0', b'"broker":0,"headers":7'),
    kcat_line(5).replace(b'"broker":0', b'"broker":0,"headers":{"a":1e3,"b":[0,1.0],"c":-0}'),
    kcat_line(5, payload='"\\udc80 \\ud83d\\ude00 \\/\\n"'),
    kcat_line(5, payload='"a\\\\b"').replace(b'"k"', b'"\xff"'),
    kcat_line(5).replace(b'"v"', b'"\\n\xff"'),
    b'{"key":"k","topic":"t","partition":0,"offset":6,"payload":"v"}\n',
    b'{"payload":"v","key":"k","topic":"t","partition":0,"offset":6}\n',
    b'{"key":"k","payload":"v","topic":"t","partition":0,"offset":61,"ts":5}\n',
    b"% Reached end of topic t [0] at offset 7\n",
    b"\n",
    b"  \r\n",
    b"[]\n",
    b"not json\n",
    kcat_line(5)[:-4] + b"\n",
    kcat_line(5)[:-2] + b"\n",
    kcat_line(5)[:-1] + b"}\n",
    kcat_line(5)[:-1],
    kcat_line(5)[:-1] + b'"\n',
    kcat_line(5)[:-1] + kcat_line(6),
]


@pytest.mark.everyday(40)
@pytest.mark.parametrize("dialect", [KCAT, PLAIN], ids=["kcat", "plain"])
@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_hostile_line_among_regular_ones_reads_alike(tmp_path: Path, number: int, dialect: Dialect) -> None:
    regular = [kcat_line(offset, payload='"a \\" b"') for offset in range(8, 14)]
    data = b"".join([*regular, HOSTILE[number], *regular])
    if dialect is PLAIN:
        data = data.replace(b'"payload":', b'"value":').replace(b'"ts":', b'"timestamp":')
    assert_same(dump_file(tmp_path / "d.jsonl", data, dialect))


def test_quotes_missing_in_one_line_do_not_make_up_for_others(tmp_path: Path) -> None:
    """One line has two quotes too many, another (whose last quote is escaped) too few."""
    regular = [kcat_line(offset) for offset in range(6)]
    many = kcat_line(7, payload='"x","z":"y"')
    few = kcat_line(8, payload='"x\\\\"').replace(b'"partition":0', b'"partition":1')
    table = assert_same(dump_file(tmp_path / "d.jsonl", b"".join([*regular, many, few, *regular]), KCAT))

    assert table.num_rows == 14


lines = st.one_of(
    st.sampled_from(HOSTILE),
    st.builds(
        lambda offset, key, value, partition, ts: kcat_line(
            offset, json.dumps(key), json.dumps(value, ensure_ascii=False), partition, ts
        ),
        st.integers(0, 10**12),
        st.one_of(st.none(), st.text(max_size=20)),
        st.one_of(st.none(), st.text(alphabet='ab"\\{}:,\n✓\x07', max_size=20)),
        st.integers(0, 40),
        st.integers(0, 10**15),
    ),
)


@pytest.mark.slow
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(lines, min_size=1, max_size=40), st.sampled_from([KCAT, replace(KCAT, byte_exact=False)]))
def test_any_lines_read_alike(tmp_path: Path, dump: list[bytes], dialect: Dialect) -> None:
    assert_same(dump_file(tmp_path / "d.jsonl", b"".join(dump), dialect))


def dump_files(folder: Path, texts: list[bytes], dialect: Dialect) -> list[DumpFile]:
    named = ((folder / f"{number}.jsonl", text) for number, text in enumerate(texts))
    return [replace(dump_file(path, text, dialect), file_id=n) for n, (path, text) in enumerate(named)]


@pytest.mark.slow
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.lists(lines, max_size=6), st.booleans()), min_size=2, max_size=8))
def test_files_read_together_read_as_one_by_one(
    tmp_path: Path, dumps: list[tuple[list[bytes], bool]]
) -> None:
    """Some of them end without a newline; what one line does to its file it must not do to the next."""
    texts = [b"".join(dump)[: -1 if cut else None] for dump, cut in dumps]
    assert_same_together(dump_files(tmp_path, texts, KCAT))
    assert_same_together(dump_files(tmp_path, texts, KCAT), LOOP_EXTRA)


@pytest.mark.everyday(20)
@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_hostile_line_in_one_of_several_files_reads_alike(tmp_path: Path, number: int) -> None:
    regular = [kcat_line(offset, payload='"a \\" b"') for offset in range(8, 14)]
    texts = [b"".join(regular), b"".join([*regular, HOSTILE[number]])[:-1], b"", b"".join(regular[:2])]
    assert_same_together(dump_files(tmp_path, texts, KCAT))


@pytest.fixture
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "WINDOW_BYTES", 300)


@pytest.mark.usefixtures("small_windows")
def test_lines_that_span_windows_read_alike(tmp_path: Path) -> None:
    dump = [kcat_line(n, payload=f'"{"x" * (n * 7 % 600)}!"', partition=n % 3) for n in range(200)]

    table = assert_same(dump_file(tmp_path / "d.jsonl", b"".join(dump)[:-1], KCAT))

    assert table.num_rows == 200
    assert sum(table["record_bytes"].to_pylist()) == len(b"".join(dump)) - 1


@pytest.mark.usefixtures("small_windows")
def test_files_that_are_read_in_turns_keep_their_rows(tmp_path: Path) -> None:
    """Memory that one reader is done with is another's, and not before that."""
    texts = [b"".join(kcat_line(n, key=f'"{name}{n}"') for n in range(40)) for name in ("a", "longer")]
    files = dump_files(tmp_path, texts, KCAT)
    read_by_loop_alone(files[0], frozenset())  # it leaves memory

    turns = list(zip_longest(*map(batches_by_loop_alone, files)))

    assert len(turns) > 10
    for file, batches in zip(files, zip(*turns, strict=True), strict=True):
        together = pa.Table.from_batches([batch for batch in batches if batch is not None])
        assert together.equals(read_by_loop_alone(file, frozenset()))


def test_filters_are_obeyed(tmp_path: Path) -> None:
    dump = [kcat_line(n, partition=n % 3) for n in range(30)] + [HOSTILE[0]]
    file = dump_file(tmp_path / "d.jsonl", b"".join(dump), KCAT)

    table = assert_same(replace(file, partitions=(range(1, 2),)))

    assert table.num_rows == 10


ESCAPES = [
    "\\ud83d",
    "\\uDE00",
    "\\udbff\\udfff",
    "\\uD800\\uDC00",
    "\\u00e9",
    "\\\\",
    "\\n",
    "u",
    "é",
    "\\ud83d\\n",
]


@pytest.mark.everyday(4)
@pytest.mark.parametrize("number", range(16))
def test_escapes_of_surrogates_read_alike(tmp_path: Path, number: int) -> None:
    """Pairs are one character; a lone one is left to the reference."""
    rng = random.Random(number)
    texts = ['"' + "".join(rng.choices(ESCAPES, k=rng.randrange(4))) + '"' for _ in range(80)]
    lines = [kcat_line(n, key=rng.choice(texts), payload=rng.choice(texts)) for n in range(80)]
    assert_same(dump_file(tmp_path / "d.jsonl", b"".join(lines), KCAT))


def test_pairs_of_surrogates_are_read_by_the_loop_itself(tmp_path: Path) -> None:
    lines = [
        kcat_line(n, key=json.dumps(f"\U0001f600{n}"), payload=json.dumps("\U0010ffff")) for n in range(9)
    ]
    table = read_by_loop_alone(dump_file(tmp_path / "d.jsonl", b"".join(lines), KCAT), LOOP_EXTRA)
    assert table["key"].to_pylist() == [f"\U0001f600{n}".encode() for n in range(9)]


def dump_of_topics(folder: Path, topics: int) -> DumpFile:
    """Two records of each, which take turns, as in the dump of a whole cluster."""
    lines = [
        kcat_line(n).replace(b'"topic":"t"', b'"topic":"t-%d"' % (n % topics)) for n in range(2 * topics)
    ]
    return dump_file(folder / "d.jsonl", b"".join(lines), KCAT)


def test_the_loop_tells_thousands_of_topics_apart(tmp_path: Path) -> None:
    table = read_by_loop_alone(dump_of_topics(tmp_path, 3000), frozenset())
    assert table["log_id"].to_pylist() == [log_id_of(f"t-{n}", 0) for n in range(3000)] * 2


@pytest.mark.slow
def test_topics_that_find_no_room_in_the_loop_s_table_read_alike(tmp_path: Path) -> None:
    file = dump_of_topics(tmp_path, MOST_TOPICS + 50)
    assert assert_same(file).num_rows == 2 * (MOST_TOPICS + 50)
    wanted = assert_same(replace(file, topics=frozenset({"t-7", f"t-{MOST_TOPICS + 9}"})))
    assert wanted["offset"].to_pylist() == [7, MOST_TOPICS + 9, MOST_TOPICS + 57, 2 * MOST_TOPICS + 59]


DELETE = json.dumps({"before": {"id": 1}, "after": None, "op": "d"})
NO_DELETE = DELETE.replace("op", "po")
TELLING = [None, "", "null", "nulls", " null", DELETE, NO_DELETE, "plain", "\x00", '{"op" :\n"d"}', "é"]


@pytest.mark.slow
@given(values=st.lists(st.sampled_from(TELLING), min_size=1, max_size=40), ascii_only=st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_values_are_is_told_as_the_reference_tells_it(
    tmp_path: Path, values: list[str | None], *, ascii_only: bool
) -> None:
    lines = [
        kcat_line(at, payload=json.dumps(value, ensure_ascii=ascii_only)) for at, value in enumerate(values)
    ]
    table = assert_same(dump_file(tmp_path / "dump.jsonl", b"".join(lines), KCAT), LOOP_EXTRA)
    assert table["is_debezium_delete"].to_pylist() == [value == DELETE for value in values]


HEADERS = [
    '"null"',
    '["a","b"]',
    '["a",null]',
    "[]",
    "null",
    '["a","\\u00e9","a","x"]',
    '{"a":1}',
    '{"a":17}',
]


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(st.sampled_from(HEADERS), st.one_of(st.none(), st.text(max_size=9))),
        min_size=1,
        max_size=40,
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_headers_and_values_are_hashed_as_the_reference_hashes_them(
    tmp_path: Path, contents: list[tuple[str, str | None]]
) -> None:
    lines = [
        kcat_line(at, payload=json.dumps(value)).replace(b'"key"', f'"headers":{headers},"key"'.encode())
        for at, (headers, value) in enumerate(contents)
    ]
    file = dump_file(tmp_path / "d.jsonl", b"".join(lines), KCAT)
    assert_same_with([file], INDEXED)  # sizes alone: no value is looked at
    table = assert_same_with([file], CONTENT_EXTRA)
    values = [None if value is None else value.encode() for _, value in contents]
    assert table["value_hash"].to_pylist() == list(map(value_hash, values))


@pytest.mark.parametrize("encoding", ["base64", "hex"])
def test_encoded_values_are_hashed_as_the_reference_hashes_them(tmp_path: Path, encoding: str) -> None:
    spelt = ['"YWI="', '"6162"', '"YWI"', '"61\\u0036\\u0032"', "null", '""', '"YWI\\u003d"', '"!"']
    for last in spelt:
        lines = [
            kcat_line(at, payload=payload) for at, payload in enumerate([spelt[encoding == "hex"], last])
        ]
        dialect = replace(KCAT, value=replace(KCAT.value, encoding=encoding))
        file = dump_file(tmp_path / "d.jsonl", b"".join(lines), dialect)
        assert_same(file)
        assert_same(file, INDEXED)


@pytest.mark.parametrize("line_end", ["\r\n", "\n"])
def test_base64_in_lines_is_read_as_the_reference_reads_it(tmp_path: Path, line_end: str) -> None:
    data = bytes(range(200))
    text = base64.b64encode(data).decode()
    broken = json.dumps(line_end.join(text[at : at + 76] for at in range(0, len(text), 76)))
    key, value = (replace(part, encoding="base64") for part in (KCAT.key, KCAT.value))
    dialect = replace(KCAT, key=key, value=value)
    lines = kcat_line(0, broken, broken) + kcat_line(1, json.dumps(text), json.dumps(text))
    file = dump_file(tmp_path / "d.jsonl", lines, dialect)
    assert_same_with([file], INDEXED)
    table = assert_same_with([file], CONTENT_EXTRA)
    assert table["key"].to_pylist() == [data, data]
    assert table["value_hash"].to_pylist() == [value_hash(data)] * 2
    for odd in (
        broken[:-3] + "\\n" + broken[-3:],
        json.dumps(f"YWJj{line_end}YWJj"),
        broken[:9] + "\\n" + broken[9:],
    ):
        assert_same(dump_file(tmp_path / "d.jsonl", lines + kcat_line(2, odd, odd), dialect))


def test_words_that_are_spelt_with_escapes_are_still_told(tmp_path: Path) -> None:
    payloads = ['"v"', '"\\u006eull"', json.dumps(DELETE).replace("op", "\\u006fp"), '"v"']
    lines = [kcat_line(at, payload=payload) for at, payload in enumerate(payloads)]
    table = assert_same(dump_file(tmp_path / "dump.jsonl", b"".join(lines), KCAT), LOOP_EXTRA)
    assert table["value_kind"].to_pylist() == [0, VALUE_WORD_NULL, 0, 0]
    assert table["is_debezium_delete"].to_pylist() == [False, False, True, False]


def test_files_that_read_alike_stand_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "WINDOW_BYTES", 1000)
    files = dump_files(tmp_path, [kcat_line(0) * lines for lines in (1, 2, 3, 30, 1, 1, 1)], KCAT)
    files[5] = replace(files[5], topic="other")

    groups = [[part.file.file_id for part in group] for group in read_together(whole(files))]

    assert [[0, 1, 2], [3], [4], [5], [6]] == groups


@pytest.mark.parametrize("extra", [frozenset(), LOOP_EXTRA], ids=["rows", "contents"])
def test_the_loop_itself_reads_regular_lines(tmp_path: Path, extra: frozenset[str]) -> None:
    """Otherwise all of the above would compare the reference with itself."""
    payloads = ["null", '"v \\"q\\""', '{"a":[1,{}]}', "7", '""']
    lines = [kcat_line(n, key=f'"k\\u00e9{n}"', payload=payloads[n % 5]) for n in range(1000)]
    lines[1::2] = [line.replace(b'"broker":0', b'"x":{"y":[]},"headers":["a","b"]') for line in lines[1::2]]
    file = dump_file(tmp_path / "d.jsonl", b"".join(lines), KCAT)
    table = read_by_loop_alone(file, extra)

    assert table["offset"].to_pylist() == list(range(1000))
    assert table["key"].to_pylist() == [f"ké{n}".encode() for n in range(1000)]


@pytest.mark.parametrize("extra", [frozenset(), LOOP_EXTRA], ids=["rows", "contents"])
def test_records_without_offsets_have_their_numbers(tmp_path: Path, extra: frozenset[str]) -> None:
    dialect = replace(PLAIN, offset=None)
    lines = [b'{"topic":"t","partition":0,"key":"k-%d","value":"v"}\n' % (n % 7) for n in range(100)]
    file = dump_file(tmp_path / "d.jsonl", b"".join(lines), dialect)
    assert read_by_loop_alone(file, extra)["offset"].to_pylist() == list(range(100))
    lines[50] = b'{"topic":"t","partition":0,"key":"k","value":"a\\ud800","offset":5}\n'
    assert_same(dump_file(tmp_path / "e.jsonl", b"".join(lines), dialect), extra)


@pytest.mark.everyday(40)
@pytest.mark.parametrize(
    "name", ["kcat", "plain", "lenses", "kafbat", "kafdrop", "aiven", "kcat-base64", "zoe"]
)
@pytest.mark.parametrize("number", range(40))
def test_lines_of_any_dialect_read_alike(tmp_path: Path, name: str, number: int) -> None:
    """Fields of each dialect, drawn from what tools write and what they should not write."""
    dialect = BY_NAME[name] if name != "plain" else replace(PLAIN, key=replace(PLAIN.key, encoding="json"))
    rng = random.Random(f"{name} {number}")
    lines = [json_of(dialect, rng) for _ in range(rng.randrange(1, 30))]
    assert_same(dump_file(tmp_path / "d.jsonl", b"\n".join(lines), dialect), frozenset())


LATE = ("op", "valueError", "key_error", "keyEncoding", "Partition", "payload")
TELLING = replace(
    PLAIN,
    delete_flag="is_deleted",
    late_names=tuple(
        zip(("mark", "value_error", "key_error", "key_marker", "partition", "value"), LATE, strict=True)
    ),
)
SIZED = replace(
    PLAIN,
    key=replace(PLAIN.key, error="key_size"),
    value=replace(PLAIN.value, error="serialized_value_size"),
)


@pytest.mark.parametrize("size", ["-1", "0", "1", "null", '"-1"'])
@pytest.mark.parametrize("text", ["null", '""', '"v"'])
def test_sizes_beside_keys_and_values_read_alike(tmp_path: Path, text: str, size: str) -> None:
    lines = [
        kcat_line(0, payload=f'"v","value":{text},"serialized_value_size":{size}'),
        kcat_line(1, key=f'{text},"key_size":{size}', payload='"v","value":"v"'),
    ]
    for line in lines:
        assert_same(dump_file(tmp_path / "d.jsonl", line, SIZED), frozenset())


FLAGS_SET = ["true", "1", '"t"', '"Yes"']
FLAGS_UNSET = ["false", "0", '"f"', '"no"', "null", '""', "[]"]


def telling(offset: int, rng: random.Random, flags: list[str], late_values: list[str]) -> dict[str, str]:
    """A record with a flag of deletes, and now and then a member that no first record had."""
    members = {"topic": '"t"', "partition": "0", "offset": str(offset), "key": '"k"'}
    members["value"] = rng.choice(['"v"', '""', "null", "7"])
    if rng.random() < 0.8:
        members["is_deleted"] = rng.choice(flags)
    if rng.random() < 0.3:
        members[rng.choice(LATE)] = rng.choice(late_values)
    if rng.random() < 0.1:
        del members["value"]
    return members


@pytest.mark.everyday(20)
@pytest.mark.parametrize("number", range(80))
def test_members_that_tell_more_of_a_record_read_alike(tmp_path: Path, number: int) -> None:
    """Most end the run: where and why, the reference says, and the loop has to come to the same."""
    rng = random.Random(number)
    flags = FLAGS_UNSET * rng.randrange(1, 6) + FLAGS_SET
    late_values = ["null", "false"] * rng.randrange(1, 9) + ["true", '"delete"', '"base64"', "0", '{"a":1}']
    records = (telling(offset, rng, flags, late_values) for offset in range(rng.randrange(1, 40)))
    data = b"\n".join(spelt(record, rng).encode() for record in records)
    assert_same(dump_file(tmp_path / "d.jsonl", data, TELLING))


def test_members_that_say_nothing_are_read_by_the_loop_itself(tmp_path: Path) -> None:
    rng = random.Random(7)
    records = [telling(offset, rng, FLAGS_UNSET[:5], ["null", "false"]) for offset in range(1000)]
    lines = ("{" + ",".join(f'"{name}":{text}' for name, text in record.items()) + "}" for record in records)
    file = dump_file(tmp_path / "d.jsonl", "\n".join(lines).encode(), TELLING)
    assert read_by_loop_alone(file, frozenset()).num_rows == 1000


WHOLE = [
    "0",
    "7",
    "1700000000",
    "1700000000000",
    "100000000000000",
    "1700000000000000000",
    "-1",
    "-0",
    "1e3",
    '"7"',
]
STRINGS = [
    '"k"',
    '""',
    '"empty"',
    '"null"',
    '"YWI="',
    '"YQ"',
    '"7"',
    '"{"',
    '"a\\"b"',
    '"\\ud83d\\ude00"',
    '"\ufffd"',
]
TYPED = [
    "null",
    "7",
    "1.5",
    "true",
    "[1]",
    "{}",
    '{"type":"Buffer","data":[1]}',
    '{"payload":"x","isPayloadNull":false}',
]
TYPED += [
    '{"a" : [ ] , "b":{"c":null}}',
    "[1,]",
    "01",
    '{"type":"\\u0042uffer","data":[2]}',
    "nul",
    "-",
    "1.",
    "NaN",
]


def json_of(dialect: Dialect, rng: random.Random) -> bytes:
    usual = rng.random() < 0.8
    texts = {
        "topic": ['"t"', '"t"', '"u"', "null", "7"][: 2 if usual else 5],
        "partition": ["0", "1", *WHOLE][: 2 if usual else 12],
        "offset": WHOLE[: 2 if usual else 10],
        "timestamp": [*WHOLE[: 6 if usual else 10], "null"],
        "key": STRINGS[:1] if usual else STRINGS + TYPED,
        "value": STRINGS[:3] + TYPED[:6] if usual else STRINGS + TYPED,
        "headers": ["[]", '["a","b"]', "null", '{"a":"b"}', '{"a":1.50}', "7"],
        "key_marker": ["false", "null", "true", '"base64"'][: 2 if usual else 4],
        "key_error": ["null", '"x"', "false"],
    }
    places = {**dialect.places, "key_marker": dialect.key.marker, "key_error": dialect.key.error}
    members: dict[str, object] = {"x": rng.choice(TYPED[:7])}
    for role, choices in texts.items():
        path = places[role]
        if path is not None and rng.random() < (0.97 if role != "key_error" else 0.1):
            *above, name = path.split(".")
            inner = members
            for part in above:
                inner = inner.setdefault(part, {})  # type: ignore[assignment]  # paths do not cross
            inner[name] = rng.choice(choices)
    return spelt(members, rng).encode("utf-8", "surrogatepass")


def spelt(members: object, rng: random.Random) -> str:
    if not isinstance(members, dict):
        return str(members)
    items = [
        f"{json.dumps(name)}{rng.choice(['', ' '])}:{spelt(value, rng)}" for name, value in members.items()
    ]
    if rng.random() < 0.02:
        items.append(rng.choice(items))
    rng.shuffle(items)
    return "{" + ",".join(items) + "}"


def test_the_table_of_names_has_its_rows_where_the_loop_looks() -> None:
    key = DataField("k", error="ke", marker="km", base64="kb")
    value = DataField("v", error="ve", marker="vm", base64="vb")
    dialect = Dialect("rows", "no tool", key=key, value=value, timestamp_type="type", delete_flag="gone")
    table = at.json_names(dialect)
    assert table is not None
    names = [bytes(row).rstrip(b"\0").decode() for row in table.texts]

    parts = (at.TOPIC, at.PARTITION, at.OFFSET, at.TIMESTAMP, at.TIMESTAMP_TYPE)
    assert [names[row] for row in parts] == ["topic", "partition", "offset", "timestamp", "type"]
    assert [names[row] for row in (at.KEY, at.VALUE, at.HEADERS)] == ["k", "v", "headers"]
    assert names[at.MARKERS : at.ERRORS] == ["km", "vm", "gone"]
    assert names[at.ERRORS : at.PREFIXES] == ["ke", "ve", "kb", "vb"]


def test_values_of_the_same_json_have_one_hash(tmp_path: Path) -> None:
    """Where they are asked for as JSON: in JSON or as its text, and however spelt."""
    payloads = [
        '{"a":1,"b":[2.0]}',
        '{"b": [2], "a": 1.0}',
        '"{\\"b\\":[2],\\n\\"a\\":1}"',
        '"{\\"b\\":[2]}"',
        '"x"',
    ]
    lines = [kcat_line(offset, payload=payload) for offset, payload in enumerate(payloads)]
    file = dump_file(tmp_path / "d.jsonl", b"".join(lines), KCAT)
    as_spelt, as_json = (
        assert_same_with([file], frozenset({"value_hash"}), values_as_json=compared)["value_hash"].to_pylist()
        for compared in (False, True)
    )
    assert len(set(as_spelt)) == len(payloads)
    assert [as_json.index(each) for each in as_json] == [0, 0, 0, 3, 4]
