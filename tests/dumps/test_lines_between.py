"""Lines of a tool between records: what tells of a record is never passed over, what does not may be."""

from pathlib import Path
from typing import Any

import pytest

from dump_pipeline import compacted, judged, open_one
from kcompact.errors import InputError

ENVELOPE = '{"topic":"t","partition":0,"offset":%d,"key":"k","payload":"v"}\n'
GO = "%% Message on orders[%d]@%d:\n%s\n"


def refusal(path: Path, text: str, **options: Any) -> InputError:
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        judged(path, **options)
    return caught.value


@pytest.mark.parametrize(
    ("value", "options"),
    [
        ('{"key":"a","value":"%d"}', {}),
        ('{"id":"a","v":%d}', {"key_fields": ("id",)}),
        ('a: {"v":%d}', {}),
        ('{\n  "key": "a",\n  "value": "%d"\n}', {}),
        ("a\t%d", {}),
    ],
)
@pytest.mark.parametrize("before", ["", "% Reading configuration from file x\n"])
def test_places_that_the_sample_consumer_of_go_prints_are_not_lost(
    value: str, options: dict[str, Any], before: str, tmp_path: Path
) -> None:
    """Without them, the same key in two partitions would be one."""
    text = before + GO % (0, 0, value % 1) + GO % (1, 7, value % 2) + '% Headers: [h="x"]\n'
    refused = refusal(tmp_path / "x.txt", text, **options)
    assert refused.message.startswith(f"{tmp_path}/x.txt:{1 + bool(before)}: '% Message on orders[0]@0:'")
    assert "confluent-kafka-go" in refused.message
    assert "kcat -J" in str(refused.hint)


def test_a_place_is_no_key_of_columns_either(tmp_path: Path) -> None:
    text = GO % (0, 0, "a:1") + GO % (1, 7, "a:2")
    refused = refusal(tmp_path / "x.txt", text, columns=("key", "value"), delimiter=":")
    assert "'% Message on orders[0]@0:'" in refused.message


@pytest.mark.everyday(10)
@pytest.mark.parametrize(
    "line",
    [
        '% Headers: [op="u"]',
        "% Message on t[0]@1:",
        "% Message on t [0] at offset 1 (leader epoch 2):",
        "% Message (offset 1, 5 bytes):",
        "% Message headers: h=x",
        "% Message timestamp: create time 1700000000000 (5s ago)",
        "% Key: a",
        "% t [0] at offset 1 with key b'a':",
    ],
)
@pytest.mark.parametrize("record", [ENVELOPE, 'a:{"v":%d}\n', '{\n  "key": "a",\n  "value": "%d"\n}\n'])
@pytest.mark.parametrize("records", [2, 20_000], ids=["at the beginning", "far behind"])
def test_a_line_that_tells_of_a_record_is_named(line: str, record: str, records: int, tmp_path: Path) -> None:
    before = "".join(record % number for number in range(records))
    refused = refusal(tmp_path / "x.txt", f"{before}{line}\n{record % 7}")
    number = before.count("\n") + 1
    assert refused.message.startswith(f"{tmp_path}/x.txt:{number}: {line!r}: a line about the record beside")


def test_values_behind_their_place_have_no_place_for_a_key(tmp_path: Path) -> None:
    """README of confluent-kafka-go: each line would be a key of its own."""
    text = "".join(f'Message on t[0]@{number}: {{"v":{number}}}\n' for number in range(3))
    assert "'Message on t[0]@0: " in refusal(tmp_path / "x.txt", text).message


KCAT = [
    "% Reached end of topic t [0] at offset 2",
    "% Group g rebalanced (memberid rdkafka-1): assigned: t [0], t [1]",
    "% ERROR: Topic t [0] error: Broker: Leader not available",
    "% Auto-selecting Consumer mode (use -P or -C to override)",
    "% Reading configuration from file /home/me/.config/kcat.conf",
    "%4|1700000000.123|FAIL|rdkafka#consumer-1| [thrd:app]: x",
]


@pytest.mark.parametrize("line", KCAT)
def test_what_kcat_says_about_itself_is_passed_over_and_counted(line: str, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(f"{ENVELOPE % 0}{line}\n{ENVELOPE % 1}")
    (note,) = judged(tmp_path / "x.jsonl")
    assert "1 line skipped in which the tool talks about itself" in note


@pytest.mark.everyday(2)
@pytest.mark.parametrize("end", ["", ": exiting"])
@pytest.mark.parametrize("record", [ENVELOPE, 'a:{"v":%d,"w":1}\n', "a\tvalue %d\n"])
def test_what_kcat_says_in_the_midst_of_a_record_is_named(record: str, end: str, tmp_path: Path) -> None:
    """With ``2>&1`` its own lines overtake the pieces of 4 KB in which it writes records."""
    line = f"% Reached end of topic t [0] at offset 2{end}\n"
    before = "".join(record % number for number in range(3000))
    for at in range(len(record % 7) // 2, len(record % 7)):
        begin, rest = (record % 7)[:at], (record % 7)[at:]
        refused = refusal(tmp_path / "x.txt", f"{before}{begin}{line}{line}{rest}{record % 8}")
        assert refused.message.startswith(f"{tmp_path}/x.txt:3001: ")
        assert "export again with kcat -q" in str(refused.hint)


@pytest.mark.parametrize("record", [ENVELOPE, '{\n  "key": "k",\n  "value": "%d"\n}\n'])
def test_a_line_that_nobody_knows_is_quoted(record: str, tmp_path: Path) -> None:
    """It may tell of a record in words that are not known."""
    path = tmp_path / "x.txt"
    path.write_text(f"{record % 0}% From the north: 5\n{record % 1}{KCAT[3]}\n% More\n{record % 2}")
    notes = "\n".join(judged(path))
    assert (
        "2 lines skipped that begin with % but are no known message of kcat, such as '% From the north: 5'"
        in notes
    )
    assert "1 line skipped in which the tool talks about itself" in notes


@pytest.mark.parametrize("line", KCAT)
@pytest.mark.parametrize(
    ("record", "options"),
    [
        ('a:{"v":%d}', {}),
        ("a\t%d", {}),
        ("a,%d", {"columns": ("key", "value"), "delimiter": ","}),
        ("a:%d", {"columns": ("key", "value"), "delimiter": ":"}),
        ("a|%d", {"columns": ("key", "value")}),
    ],
)
def test_so_it_is_between_keys_and_values(
    line: str, record: str, options: dict[str, Any], tmp_path: Path
) -> None:
    """As kcat -K without -q prints it: it is neither a key nor a record that was cut."""
    path = tmp_path / "x.txt"
    path.write_text(f"{line}\n{record % 1}\n{line}\n{record % 2}\n")
    assert any(
        "2 lines skipped in which the tool talks about itself" in note for note in judged(path, **options)
    )
    with open_one(path, **options) as dump:
        assert compacted(dump).decode() == f"{record % 2}\n"


def test_another_line_of_a_tool_is_not_blamed_on_the_data(tmp_path: Path) -> None:
    refused = refusal(tmp_path / "x.txt", "a,1\n% Unheard of\nb,2\n", columns=("key", "value"))
    assert refused.message.startswith(f"{tmp_path}/x.txt:2: 1 columns where 2 are expected")
    assert "kcat -q" in str(refused.hint)


def test_a_label_is_no_key_behind_a_line_of_kcat(tmp_path: Path) -> None:
    text = f"{KCAT[0]}\nPartition:0,a\n"
    refused = refusal(tmp_path / "x.txt", text, columns=("key", "value"), delimiter=",")
    assert "is a label" in refused.message


def test_a_value_may_hold_such_a_line(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text('topic,partition,offset,key,value\nt,0,0,a,"x\n% Headers: [1]\ny"\n')
    assert judged(tmp_path / "x.csv") == []
