"""Lines that begin with what another program wrote: it is no key, and the hints take it away."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from dump_pipeline import index_all, open_one
from kcompact.errors import InputError

FIXTURES = Path(__file__).parent / "fixtures"
KCAT = (
    '{"topic":"t","partition":%d,"offset":%d,"tstype":"create","ts":1,"broker":1,"key":"%s","payload":"%s"}'
)
PLAIN = '{"topic":"t","partition":%d,"offset":%d,"key":"%s","value":"%s"}'
RECORDS = [(0, 0, "a", "1"), (0, 1, "b", "{2}"), (1, 0, "a", "3|4")]


def refusal(path: Path, **options: object) -> InputError:
    with pytest.raises(InputError) as caught:
        open_one(path, **options)
    return caught.value


def rows(path: Path, **options: object) -> list[tuple[int, bytes]]:
    with open_one(path, **options) as dump:
        table, _ = index_all(dump)
    return list(zip(table["offset"].to_pylist(), table["key"].to_pylist(), strict=True))


def mended(path: Path, hint: str) -> Path:
    """What the hint's command makes of a file, in a shell."""
    command = hint[re.search(r"\b(sed|cut) ", hint).start() :].partition(" FILE > NEW")[0]
    new = path.with_suffix(".new")
    new.write_bytes(subprocess.run([*shlex.split(command), path], check=True, capture_output=True).stdout)
    return new


@pytest.mark.parametrize("record", [KCAT, PLAIN])
@pytest.mark.parametrize(
    "prefix",
    [
        "kafkacat_1   | ",
        "dump.jsonl:",
        "     1\t",
        "2024-05-01T10:00:00Z\t",
        "2024-05-01T10:00:00.000000000Z ",
        "kcat-0 kcat ",
        "[pod/kcat-0/kcat] ",
        "[2024-05-01 10:00:00] ",
        "2024-05-01 10:00:00,123 INFO  [main] app: received ",
    ],
)
def test_what_stands_before_records_of_json_is_no_key(prefix: str, record: str, tmp_path: Path) -> None:
    """It is the same for all, or another for each: either way, keys would be merged or parted."""
    path = tmp_path / "x.txt"
    path.write_text("".join(f"{prefix}{record % parts}\n" for parts in RECORDS))
    refused = refusal(path)
    assert repr(prefix) in refused.message
    assert rows(mended(path, str(refused.hint))) == [(0, b"a"), (1, b"b"), (0, b"a")]


@pytest.mark.parametrize(
    "name",
    [
        "kafkacat-1.5-J.jsonl",
        "confluent-dotnet-2-consume-result.jsonl",
        "franz-go-1-kgo-record.jsonl",
        "spark-4.3-cast-string.jsonl",
    ],
)
def test_records_of_every_tool_are_known_behind_a_prefix(name: str, tmp_path: Path) -> None:
    lines = (FIXTURES / name).read_text().splitlines()
    path = tmp_path / "x.txt"
    path.write_text("".join(f"dump.jsonl:{line}\n" for line in lines))
    assert "'dump.jsonl:'" in refusal(path).message
    assert mended(path, str(refusal(path).hint)).read_text().splitlines() == lines


def test_dead_letters_behind_their_keys_are_read_where_the_user_says_so(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("".join(f"id-{parts[1]}|{PLAIN % parts}\n" for parts in RECORDS))
    hint = str(refusal(path).hint)
    assert "--columns key,value --delimiter TEXT" in hint
    keys = [b"id-0", b"id-1", b"id-0"]
    assert [key for _, key in rows(path, columns=("key", "value"), delimiter="|")] == keys
    assert [key for _, key in rows(path, dialect="text")] == keys


@pytest.mark.parametrize(
    "value",
    [
        '{"topic":"t","offset":5}',
        '{"key":"k","value":"v"}',
        '{"id":1,"offset":7,"value":2}',
        '{"partition":3}',
    ],
)
def test_values_that_share_a_few_names_with_records_are_values(value: str, tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text(f"a|{value}\nb|{value}\na|{value}\n")
    assert [key for _, key in rows(path)] == [b"a", b"b", b"a"]


@pytest.mark.parametrize(
    "lines",
    [
        ["a\t1", "b\t2"],
        ["Partition:0\tOffset:0\ta\t1", "Partition:0\tOffset:1\tb\t2"],
        ['a|{"id":1}', 'b|{"id":2}'],
    ],
)
@pytest.mark.parametrize(
    ("prefix", "tool"),
    [
        ("kafka-1  | ", "docker compose"),
        ("/data/dump.d/t-0.txt:", "grep -H"),
        ("%6d\t", "cat -n"),
        ("%d> ", "Flink's print()"),
        ("orders:%d> ", "Flink's print()"),
        ("2> ", "Flink's print()"),
    ],
)
def test_what_a_program_wrote_before_each_line_is_no_part_of_keys(
    prefix: str, tool: str, lines: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "x.txt"
    written = [prefix % number if "%" in prefix else prefix for number in (1, 2)]
    path.write_text("".join(f"{before}{line}\n" for before, line in zip(written, lines, strict=True)))
    refused = refusal(path)
    assert tool in refused.message
    assert rows(mended(path, str(refused.hint))) == [(0, b"a"), (1, b"b")]


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("kafka-1 | a\t1\nkafka-2 | b\t2\n", {}),
        ("kafka-1 | a\t1\nkafka-1 | b\t2\n", {"dialect": "text"}),
        ("kafka | a\t1\nkafka | b\t2\n", {}),
        ("100001\t1\n100002\t2\n", {}),
        ("     1\t1\n     1\t2\n", {}),
        ("1> a\t1\n2> b\t2\n", {"dialect": "text"}),
        ("1> a\t1\nb\t2\n", {}),
    ],
)
def test_keys_that_differ_or_are_told_may_look_like_that(
    text: str, options: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "x.txt"
    path.write_text(text)
    assert [key for _, key in rows(path, **options)] == [
        line.partition("\t")[0].encode() for line in text.splitlines()
    ]
