import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from kcompact.broker import batch_lists
from kcompact.broker.batch_lists import read_batches
from kcompact.broker.batches import ABORT, COMMIT, NONE
from kcompact.broker.log_names import LogName
from kcompact.errors import InputError
from packed_batches import ListedBatch, columns, packed

GOLDEN = Path(__file__).parents[1] / "golden"
Write = Callable[[str], str]

# As kafka-dump-log --print-data-log prints it; the last record's text spans two lines, one of them hostile.
DUMP_LOG = """\
Dumping /data/kafka/orders-0/00000000000000000000.log
Log starting offset: 0
baseOffset: 0 lastOffset: 1 count: 2 baseSequence: 0 lastSequence: 1 producerId: 7000 producerEpoch: 3 \
partitionLeaderEpoch: 11 isTransactional: true isControl: false deleteHorizonMs: OptionalLong.empty \
position: 0 CreateTime: 1661753909195 size: 99 magic: 2 compresscodec: none crc: 342616415 isvalid: true
| offset: 0 CreateTime: 1661753909194 keySize: 2 valueSize: 2 sequence: 0 headerKeys: [] key: k1 payload: v1
| offset: 1 CreateTime: 1661753909195 keySize: 2 valueSize: 30 sequence: 1 headerKeys: [] key: k2 payload: a
 endTxnMarker: ABORT b
baseOffset: 2 lastOffset: 2 count: 1 baseSequence: -1 lastSequence: -1 producerId: 7000 producerEpoch: 3 \
partitionLeaderEpoch: 11 isTransactional: true isControl: true deleteHorizonMs: OptionalLong.empty \
position: 99 CreateTime: 1661753909300 size: 78 magic: 2 compresscodec: none crc: 1 isvalid: true
| offset: 2 CreateTime: 1661753909300 keySize: 4 valueSize: 6 sequence: -1 headerKeys: [] \
endTxnMarker: COMMIT coordinatorEpoch: 0
Dumping /data/kafka/orders-0/00000000000000000005.log
Log starting offset: 5
baseOffset: 5 lastOffset: 9 count: 1 baseSequence: -1 lastSequence: -1 producerId: -1 producerEpoch: -1 \
partitionLeaderEpoch: 11 isTransactional: false isControl: false \
deleteHorizonMs: OptionalLong[1785432255636] \
position: 0 LogAppendTime: 1661753909400 size: 72 magic: 2 compresscodec: zstd crc: 2 isvalid: true
| offset: 9 LogAppendTime: 1661753909400 keySize: 1 valueSize: -1 sequence: -1 headerKeys: [] key: a
"""


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(text: str) -> str:
        path = tmp_path / "batches.txt"
        path.write_text(text)
        return str(path)

    return write


def test_the_text_of_kafka_dump_log_gives_producers_markers_and_horizons(write: Write) -> None:
    [(log, batches)] = read_batches(write(DUMP_LOG)).by_log.items()
    assert log == LogName("orders", 0)
    expected = packed(
        [
            ListedBatch(0, 1, 2, 99, 0, "none", "create", 1661753909195, 7000, 3, is_transactional=True),
            ListedBatch(
                *(2, 2, 1, 78, 0, "none", "create", 1661753909300, 7000, 3),
                is_transactional=True,
                is_control=True,
                marker="COMMIT",
            ),
            ListedBatch(5, 9, 1, 72, 5, "zstd", "logappend", 1661753909400, delete_horizon_ms=1785432255636),
        ]
    )
    assert columns(batches) == columns(expected)
    assert (batches.last_offset, batches.segment_bytes) == (9, {0: 177, 5: 72})


def test_a_dump_log_text_without_the_segment_s_folder_names_no_log(write: Write) -> None:
    batches = read_batches(write(DUMP_LOG.replace("/data/kafka/orders-0/", "")))
    assert batches.by_log == {}
    assert columns(batches.unnamed)["base_offset"] == [0, 2, 5]


def test_segments_without_a_batch_are_known_too(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    empty = "Dumping /data/kafka/orders-0/{:020}.log\nLog starting offset: {}\n"
    log = LogName("orders", 0)
    text = DUMP_LOG + empty.format(3, 3) + empty.format(12, 12)
    assert read_batches(write(text)).by_log[log].segment_bytes == {0: 177, 3: 0, 5: 72, 12: 0}
    monkeypatch.setattr(batch_lists, "_BATCHES_PER_BLOCK", 1)
    first, second = (f"Dumping{part}" for part in DUMP_LOG.split("Dumping")[1:])
    text = second + empty.format(3, 3) + first
    assert read_batches(write(text)).by_log[log].segment_bytes == {0: 177, 3: 0, 5: 72}
    with pytest.raises(InputError, match="no record batches in it"):
        read_batches(write(empty.format(3, 3)))


def test_a_file_may_tell_of_an_empty_segment_alone(write: Write, tmp_path: Path) -> None:
    """A round leaves empty segments, and users list each segment file on its own."""
    head = "Dumping /data/kafka/orders-0/00000000000000000012.log\n"
    empty = tmp_path / "empty"
    empty.write_text(head + "Log starting offset: 12\n")
    batches = read_batches(str(empty), write(DUMP_LOG)).by_log[LogName("orders", 0)]
    assert batches.segment_bytes == {0: 177, 5: 72, 12: 0}
    empty.write_text(head + "Starting offset: 12\noffset: 12 position: 0 isvalid: true magic: 1\n")
    with pytest.raises(InputError, match="no record batches in it"):
        read_batches(str(empty), write(DUMP_LOG))


def test_older_kafkas_print_no_horizon(write: Write) -> None:
    text = DUMP_LOG.replace("deleteHorizonMs: OptionalLong.empty ", "")
    batches = columns(read_batches(write(text)).by_log[LogName("orders", 0)])
    assert (batches["marker"], batches["delete_horizon_ms"][1]) == ([NONE, COMMIT, NONE], NONE)


@pytest.mark.everyday(20)
@pytest.mark.parametrize(
    "path", sorted(GOLDEN.glob("*/*.batches")), ids=lambda p: f"{p.parent.name}/{p.name}"
)
def test_the_golden_tables_are_read_in_full(path: Path) -> None:
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    logs = [columns(of_log) for of_log in read_batches(str(path)).by_log.values()]
    batches = {name: [value for log in logs for value in log[name]] for name in logs[0]}
    assert len(batches["size_bytes"]) == len(rows)
    assert sum(batches["size_bytes"]) == sum(int(row["bytes"]) for row in rows)
    for marker, name in ((COMMIT, "COMMIT"), (ABORT, "ABORT")):
        assert batches["marker"].count(marker) == sum(row["control"] == name for row in rows)
    horizons = [row["deleteHorizonMs"] for row in rows if row["deleteHorizonMs"] != "-"]
    assert sorted(str(ms) for ms in batches["delete_horizon_ms"] if ms != NONE) == sorted(horizons)


def test_segments_told_out_of_order_are_sorted(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_lists, "_BATCHES_PER_BLOCK", 2)
    header = "topic\tpartition\tsegment\tbaseOffset\tlastOffset\tcount\tbytes\n"
    segments = {20: [20, 25], 0: [0, 5, 7], 10: [11, 12, 13, 18]}
    lines = [f"t\t0\t{base}\t{at}\t{at}\t1\t{at + 70}\n" for base, ats in segments.items() for at in ats]
    batches = read_batches(write(header + "".join(lines))).by_log[LogName("t", 0)]
    offsets = [0, 5, 7, 11, 12, 13, 18, 20, 25]
    assert columns(batches)["base_offset"] == offsets
    assert columns(batches)["size_bytes"] == [at + 70 for at in offsets]
    assert batches.segment_bytes == {0: 222, 10: 334, 20: 185}
    with pytest.raises(InputError, match="batches of t-0 overlap: 12 to 12, and 12 to 12"):
        read_batches(write(header + "".join(lines) + lines[6]))


@pytest.mark.slow
def test_batches_between_offsets_are_those_whose_base_is_there() -> None:
    batches = packed(
        ListedBatch(at, at + 2, 3, 100, segment_base_offset=at - at % 9) for at in range(0, 60, 3)
    )
    for start in range(-1, 62):
        for end in range(start, 62):
            part = batches.between(start, end)
            expected = [at for at in range(0, 60, 3) if start <= at < end]
            assert ([] if part is None else columns(part)["base_offset"]) == expected
    assert [batches.start_of(offset) for offset in (-1, 0, 2, 31, 59, 60)] == [-1, 0, 0, 30, 57, 60]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no record batches"),
        ('{"key": 1}\n', "no record batches"),
        ("topic\tpartition\n", "no column baseOffset, lastOffset, count, bytes"),
    ],
)
def test_what_holds_no_batches_is_refused(write: Write, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_batches(write(text))


def test_a_marker_that_is_not_told_is_refused_with_the_option_that_tells_it(write: Write) -> None:
    shallow = "".join(line for line in DUMP_LOG.splitlines(keepends=True) if not line.startswith("|"))
    with pytest.raises(InputError, match=r":5: .* offset 2 commits or aborts") as refusal:
        read_batches(write(shallow))
    assert "--deep-iteration" in (refusal.value.hint or "")


@pytest.mark.parametrize(
    ("told", "instead", "message"),
    [
        (
            "lastOffset: 9 count: 1",
            "lastOffset: 3 count: 1",
            ":11: no batch can hold 1 records at offsets 5 to 3",
        ),
        (
            "lastOffset: 9 count: 1",
            "lastOffset: 9 count: 6",
            ":11: no batch can hold 6 records at offsets 5 to 9",
        ),
        (
            "isTransactional: false",
            "isTransactional: maybe",
            ":11: isTransactional is 'maybe', where true or",
        ),
    ],
)
def test_a_batch_that_cannot_be_is_refused(write: Write, told: str, instead: str, message: str) -> None:
    assert told in DUMP_LOG
    with pytest.raises(InputError, match=message):
        read_batches(write(DUMP_LOG.replace(told, instead)))
    table = "topic\tpartition\tbaseOffset\tlastOffset\tcount\tbytes\nt\t0\t5\t3\t1\t70\n"
    with pytest.raises(InputError, match=":2: no batch can hold 1 records at offsets 5 to 3"):
        read_batches(write(table))


def test_a_corrupt_batch_and_overlapping_batches_are_refused(write: Write) -> None:
    with pytest.raises(InputError, match=":3: the batch at offset 0 is corrupt"):
        read_batches(write(DUMP_LOG.replace("isvalid: true", "isvalid: false")))
    with pytest.raises(InputError, match="orders-0 overlap: 0 to 1, and 0 to 1"):
        read_batches(write(DUMP_LOG + DUMP_LOG))
