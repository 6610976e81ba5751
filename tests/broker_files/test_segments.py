import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kcompact.broker.log_names import LogName
from kcompact.broker.segment_lists import Segment, read_segments
from kcompact.errors import InputError

GOLDEN = Path(__file__).parents[1] / "golden"
Write = Callable[[str], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(text: str) -> str:
        path = tmp_path / "segments.txt"
        path.write_text(text)
        return str(path)

    return write


@pytest.mark.parametrize(
    "path", sorted(GOLDEN.glob("*/*.segments")), ids=lambda p: f"{p.parent.name}/{p.name}"
)
def test_the_golden_tables_say_what_the_broker_said(path: Path) -> None:
    stage = path.name.removesuffix(".segments")
    facts = json.loads((path.parent / "facts.json").read_text())["stages"][stage]["topics"]
    segments = read_segments(str(path)).by_log
    assert segments == {
        LogName(topic, int(partition)): tuple(
            Segment(segment["baseOffset"], segment["bytes"]) for segment in log["segments"]
        )
        for topic, partitions in facts.items()
        for partition, log in partitions.items()
    }


def test_a_table_may_tell_modification_times_and_comments(write: Write) -> None:
    path = write("# topic partition base bytes mtime\n\nt 0 10 200 1700000000123\nt 0 0 100\n")
    assert read_segments(path).by_log == {LogName("t", 0): (Segment(0, 100), Segment(10, 200, 1700000000123))}


def test_a_recursive_listing_names_the_log_in_its_titles(write: Write) -> None:
    path = write(
        "/data/kafka:\ntotal 8\ndrwxr-xr-x 2 kafka kafka 4096 Mar 23 13:15 my-topic-0\n\n"
        "/data/kafka/my-topic-0:\ntotal 24\n"
        "-rw-r--r--. 1 kafka root 10485760 Mar 23 13:15 00000000000000000000.index\n"
        "-rw-r--r--. 1 kafka root     5220 Mar 23 13:18 00000000000000000000.log\n"
        "-rw-r--r--. 1 kafka root       81 Mar 23 13:18 00000000000000000060.log\n"
        "-rw-r--r--. 1 kafka root     9999 Mar 23 13:18 00000000000000000030.log.deleted\n"
        "-rw-r--r--. 1 kafka root        8 Mar 23 13:18 leader-epoch-checkpoint\n"
    )
    assert read_segments(path).by_log == {LogName("my-topic", 0): (Segment(0, 5220), Segment(60, 81))}


def test_a_listing_of_one_directory_names_no_log(write: Write) -> None:
    path = write("-rw-r--r-- 1 kafka kafka 78 2023-11-14 22:13:20.123456789 +0100 00000000000000000007.log\n")
    segments = read_segments(path)
    assert segments.unnamed == (Segment(7, 78, 1699996400123),)
    assert segments.for_logs([LogName("t", 3)]) == {LogName("t", 3): (Segment(7, 78, 1699996400123),)}
    with pytest.raises(InputError, match="the dump holds 2 logs"):
        segments.for_logs([LogName("t", 3), LogName("u", 0)])


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("5220 1700000000.1234567890 ./t-0/00000000000000000000.log", Segment(0, 5220, 1700000000123)),
        ("5220\t/data/t-0/00000000000000000000.log", Segment(0, 5220)),
        (
            " 131090   8 -rw-r--r--   1 kafka kafka   5220 Mar 23 13:18 ./t-0/00000000000000000000.log",
            Segment(0, 5220),
        ),
    ],
)
def test_find_and_du_listings_are_read(write: Write, line: str, expected: Segment) -> None:
    assert read_segments(write(line + "\n")).by_log == {LogName("t", 0): (expected,)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t 0 0\n", ":1: 't 0 0' is not"),
        ("t 0 0 100\nt 0 zero 100\n", ":2: 'zero' is not a whole number"),
        ("t 0 0 -1\n", ":1: -1 is below 0"),
        ("t 0 0 5\nt 0 0 5\n", "t-0 has two segments with base offset 0"),
        ("", "no segments in it"),
        ("-rw-r--r-- 1 kafka kafka 10M Mar 23 13:15 00000000000000000000.log\n", "no size in bytes"),
        ("t-0/00000000000000000000.log\n", "no size in bytes"),
    ],
)
def test_what_is_no_segment_is_refused(write: Write, text: str, message: str) -> None:
    with pytest.raises(InputError) as refusal:
        read_segments(write(text))
    assert message in refusal.value.message
