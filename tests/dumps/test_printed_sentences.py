"""What programs print about records is asked about where its words would be keys; keys stay keys."""

import shlex
from collections.abc import Sequence
from pathlib import Path

import pytest

from dump_pipeline import index_all, open_one
from kcompact.dumps.dump import open_dump
from kcompact.dumps.options import ReadOptions
from kcompact.errors import InputError

JSON = [f'{{"id":{number}}}' for number in range(4)]


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        (
            [f"{label}\t{number}" for number in range(2) for label in ("Partition:", "Offset:", "Key:")],
            "words",
        ),
        ([f"Received: {value}" for value in JSON], "words"),
        ([f"Received message:\t{value}" for value in JSON], "words"),
        ([f"INFO: {value}" for value in JSON], "words"),
        (
            [f"message at topic:orders partition:0 offset:{n}\ta = v" for n in range(3)],
            "the places of records",
        ),
        ([f"offset={n}\tvalue={{}}" for n in range(3)], "the places of records"),
        ([f"{1_700_000_000_000 + n},{value}" for n, value in enumerate(JSON)], "times"),
        ([f"Timestamp:{1_700_000_000_000 + n // 2}\tv{n}" for n in range(4)], "times"),
        ([f"{1_700_000_000 + n}.25\tk:{value}" for n, value in enumerate(JSON)], "times"),
        ([f"2023-11-14 22:13:0{n}.123\tv{n}" for n in range(4)], "times"),
        ([f"2023-11-14T22:13:0{n}+01:00\tv{n}" for n in range(4)], "times"),
        ([f"{100 + n % 10}\tv{n}" for n in range(30)], "numbers that ascend, as offsets do"),
        (["NO_HEADERS\tv0", "id:1\tv1", "id:2\tv2"], "headers, as kafka-console-consumer prints them"),
        ([f"{n}:{value}" for n, value in enumerate(3 * JSON)], "numbers that ascend"),
        ([f"- orders[0 | {n}] / {1_700_000_000_000 + n} k#{{}}" for n in range(3)], "the places of records"),
    ],
)
def test_words_about_records_are_no_keys_unless_the_user_says_so(
    tmp_path: Path, lines: list[str], what: str
) -> None:
    path = tmp_path / "printed.txt"
    path.write_text("\n".join(lines) + "\n")

    with pytest.raises(InputError, match=f"what would be keys are {what}") as refusal, open_one(path):
        pass

    hint = refusal.value.hint or ""
    delimiter = hint.rpartition("--delimiter ")[2].strip("'").replace("\\t", "\t")
    told = ReadOptions(columns=("key", "value"), delimiter=delimiter)
    with open_dump([str(path)], told) as dump:
        keys = index_all(dump)[0]["key"].to_pylist()
    assert keys == [line.partition(delimiter)[0].encode() for line in lines]


def test_a_blank_behind_the_delimiter_is_asked_about(tmp_path: Path) -> None:
    path = tmp_path / "printed.txt"
    path.write_text("".join(f"k{number}: {value}\n" for number, value in enumerate(JSON)))
    with pytest.raises(InputError, match="a blank follows ':' in every line") as refusal, open_one(path):
        pass
    assert "--columns key,value --delimiter ': '" in (refusal.value.hint or "")


def test_blanks_around_the_delimiter_are_no_part_of_keys_by_the_hint(tmp_path: Path) -> None:
    """As the console consumer writes them with ``key.separator=" : "``, and Confluent's tutorials do."""
    path = tmp_path / "printed.txt"
    path.write_text("".join(f"k{number} : {value}\n" for number, value in enumerate(JSON)))
    with pytest.raises(InputError, match="a blank follows ':' in every line") as refusal, open_one(path):
        pass
    proposal = (refusal.value.hint or "").partition("--delimiter ")[2].partition(", or")[0]
    with open_one(path, columns=("key", "value"), delimiter=shlex.split(proposal)[0]) as dump:
        keys = index_all(dump)[0]["key"].to_pylist()
    assert keys == [f"k{number}".encode() for number in range(len(JSON))]


@pytest.mark.parametrize(
    "key", ["partition-{}", "offset-{}", "orders-{}", "value-{}", "topic:{}", "17000000000{}"]
)
def test_keys_that_only_hold_such_words_are_keys(tmp_path: Path, key: str) -> None:
    path = tmp_path / "keys.txt"
    path.write_text("".join(f"{key.format(number)}\t{value}\n" for number, value in enumerate(JSON)))
    with open_one(path) as dump:
        keys = index_all(dump)[0]["key"].to_pylist()
    assert keys == [key.format(number).encode() for number in range(len(JSON))]


@pytest.mark.parametrize("numbers", [range(9), [n * 7 % 30 for n in range(30)], [n // 3 for n in range(30)]])
def test_numbers_that_do_not_ascend_are_keys(tmp_path: Path, numbers: Sequence[int]) -> None:
    path = tmp_path / "keys.txt"
    path.write_text("".join(f"{number}\tv\n" for number in numbers))
    with open_one(path) as dump:
        assert index_all(dump)[0]["key"].to_pylist() == [str(number).encode() for number in numbers]


def test_pairs_of_a_number_and_a_value_are_asked_about(tmp_path: Path) -> None:
    path = tmp_path / "pairs.json"
    path.write_text('[[0, "a"], [1, "b"]]')
    with pytest.raises(InputError, match="no records of key and value"):
        open_one(path)
    path.write_text('[["0", "a"], ["1", "b"]]')
    with open_one(path) as dump:
        assert index_all(dump)[0]["key"].to_pylist() == [b"0", b"1"]


@pytest.mark.parametrize(
    "line",
    [
        "Received message at orders [[0]] @{}: v",
        "message at topic/partition/offset orders/0/{}: a = v",
        "Consumed message 'v' at: 'orders [[0]] @{}'.",
        "partition = 0, offset = {}, key = a, value = v",
        "Message in orders [0] at offset {}: key: a, payload: v",
    ],
)
def test_sentences_that_tell_places_are_told_from_text_without_a_known_delimiter(
    tmp_path: Path, line: str
) -> None:
    path = tmp_path / "printed.txt"
    path.write_text("".join(f"{line.format(number)}\n" for number in range(4)))
    with (
        pytest.raises(
            InputError, match="sentences of a program that tell where its records are from"
        ) as refusal,
        open_one(path),
    ):
        pass
    assert "--columns" not in (refusal.value.hint or "")
