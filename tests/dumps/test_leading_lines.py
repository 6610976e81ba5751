"""What a tool says before the first record: it is passed over, noted, and in no output."""

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from dump_pipeline import compacted, judged, open_one
from kcompact.dumps.text.lines_around import start_of_records
from kcompact.errors import InputError

KIP_848 = (
    "The consumer rebalance protocol (KIP-848) is production-ready! Set group.protocol=consumer to try it"
    " out. See https://kafka.apache.org/documentation/#consumer_rebalance_protocol\n"
)
CONFLUENT = "Starting Kafka Consumer. Use Ctrl-C to exit.\n"
JAVA = (
    "OpenJDK 64-Bit Server VM warning: Sharing is only supported for boot loader classes because bootstrap"
    " classpath has been appended\n"
)
OPTIONS = "Picked up JAVA_TOOL_OPTIONS: -Dcom.sun.management.jmxremote=true\n"
DEPRECATED = (  # kafka-console-consumer of Kafka 4.2 and later, on standard output
    "Option --property is deprecated and will be removed in a future version."
    " Use --formatter-property instead.\n"
)
ENVELOPE = '{"topic":"t","partition":0,"offset":%d,"key":"%s","payload":"v"}\n'
LABELLED = "CreateTime:1700000000000\tPartition:0\tOffset:%d\t%s\tv\n"
PRETTY = json.dumps(json.loads(ENVELOPE % (7, "K")), indent=2).replace("7", "%d").replace("K", "%s") + "\n"


@pytest.mark.parametrize(
    "says",
    [
        KIP_848,
        CONFLUENT,
        KIP_848 + "\n",
        CONFLUENT + KIP_848.replace("\n", "\r\n"),
        JAVA,
        OPTIONS + JAVA,
        DEPRECATED,
    ],
)
@pytest.mark.parametrize("record", [ENVELOPE, LABELLED, PRETTY, "o%d%s\tv\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["no mark", "a byte order mark"])
def test_what_a_tool_says_first_is_passed_over_and_said(
    says: str, record: str, mark: str, tmp_path: Path
) -> None:
    records = "".join(record % (number, key) for number, key in enumerate("aba"))
    (tmp_path / "plain.txt").write_text(mark + records)
    path = tmp_path / "t.txt"
    path.write_text(mark + says + records + "Processed a total of 3 messages\n", newline="")
    with open_one(tmp_path / "plain.txt") as dump:
        expected = compacted(dump)
    lines = "2 lines" if len(says.strip().splitlines()) == 2 else "a line"
    passed_over = "passed over, in which the tool talks about itself"
    with open_one(path) as dump:
        assert [note for note in dump.notes if "passed over" in note] == [
            f"{path}: {lines} at the beginning {passed_over}",
            f"{path}: a line at the end {passed_over}",
        ]
        assert compacted(dump) == expected


def test_columns_that_the_user_names_begin_behind_it(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text(KIP_848 + "a,1\nb,2\na,3\n")
    with open_one(tmp_path / "t.txt", columns=("key", "value"), delimiter=",") as dump:
        assert compacted(dump) == b"b,2\na,3\n"


@pytest.mark.parametrize("record", ["\tv\n", "\t\n", " \n", "a\tThe consumer rebalance protocol (KIP-848)\n"])
def test_a_first_record_of_blanks_is_none_of_it(record: str) -> None:
    assert start_of_records((KIP_848 + record).encode()) == (len(KIP_848), 1)
    assert start_of_records(record.encode()) == (0, 0)


def test_what_confluent_s_cli_says_around_records_is_none(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text(CONFLUENT + 'a\t{"x":1}\na\t{"x":2}\nStopping Consumer.\n')
    with open_one(tmp_path / "t.txt") as dump:
        assert compacted(dump) == b'a\t{"x":2}\n'


def test_a_line_that_is_named_keeps_its_number(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_text(KIP_848 + LABELLED % (0, "a") + "x\n" + LABELLED % (1, "b"))
    with pytest.raises(InputError, match=r"t\.txt:3: a line that does not begin as the others"):
        judged(path)


def test_nothing_but_what_a_tool_says_holds_no_record(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text(KIP_848 + "Processed a total of 0 messages\n")
    with pytest.raises(InputError, match="no records, only messages of a tool"):
        open_one(tmp_path / "t.txt")


@pytest.mark.parametrize(
    "record",
    [
        *(ENVELOPE, PRETTY, "o%d%s\tv\n", "topic,partition,offset,key,value\nt,0,%d,%s,v\n"),
        "CreateTime:1700000000000\tPartition:0\tOffset:%d\t%s\tv\n",
    ],
)
def test_a_byte_order_mark_within_a_file_is_refused(record: str, tmp_path: Path) -> None:
    """Files that begin with one, joined: the key behind it would be another one."""
    path = tmp_path / "t.txt"
    path.write_text("".join(f"\ufeff{record % (number, 'a')}" for number in range(2)))
    with pytest.raises(InputError, match="a byte order mark within the file") as caught:
        judged(path)
    sed, iconv = re.findall(r"(?:sed|iconv) [^;(]* FILE > NEW", str(caught.value.hint))
    parts = [f"\ufeff{record % (number, 'a')}" for number in range(2)]
    (tmp_path / "FILE").write_bytes(b"".join(part.encode("utf-16-le") for part in parts))
    subprocess.run(["sh", "-c", f"{iconv} && mv NEW FILE && {sed}"], cwd=tmp_path, check=True)
    assert (tmp_path / "NEW").read_text() == "".join(parts).replace("\ufeff", "")


@pytest.mark.parametrize("first", ["```json\n", "$ kcat -t t -J\n\n", 'v"}\n', '  "payload": "v"\n}\n'])
@pytest.mark.parametrize("record", [ENVELOPE, PRETTY])
def test_json_behind_other_text_is_refused(first: str, record: str, tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_text(first + "".join(record % (number, "a") for number in range(3)))
    with pytest.raises(InputError, match="no delimiter between key and value is known") as caught:
        open_one(path)
    assert "the dump was cut off" in str(caught.value.hint)


def test_colours_of_a_terminal_are_called_so(tmp_path: Path) -> None:
    """The command of the hint gives what jq would have written without them."""
    path = tmp_path / "t.json"
    path.write_text(
        '\x1b[1;39m{\x1b[0m\x1b[34;1m"key"\x1b[0m\x1b[1;39m:\x1b[0;32m"a"\x1b[0m\x1b[1;39m}\x1b[0m\n'
    )
    with pytest.raises(InputError, match="the colours of a terminal") as caught:
        open_one(path)
    hint = str(caught.value.hint)
    command = hint[hint.index("sed ") : hint.index(" FILE")]
    left = subprocess.run([*shlex.split(command), path], check=True, capture_output=True).stdout
    assert left == b'{"key":"a"}\n'
