"""kafka-dump-log's text: sizes tell where keys and payloads end, whatever they hold."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dump_pipeline import compacted, index_all, open_one
from kcompact.dumps.layouts import LAYOUTS
from kcompact.dumps.note_checks import check_notes
from kcompact.dumps.records.layout import Chosen
from kcompact.errors import InputError, NoRecordsError

HEADER = "Dumping /data/shop.orders-3/00000000000000000000.log\nLog starting offset: 0\n"
BATCH = "baseOffset: {0} lastOffset: {0} count: 1 isControl: false position: 0 CreateTime: 5 size: 80\n"


def record_line(offset: int, key: str | None, value: str | None) -> str:
    sizes = [-1 if text is None else len(text.encode()) for text in (key, value)]
    line = f"| offset: {offset} CreateTime: 5 keySize: {sizes[0]} valueSize: {sizes[1]}"
    line += " sequence: -1 headerKeys: []"
    line += "" if key is None else f" key: {key}"
    return line + ("" if value is None else f" payload: {value}") + "\n"


def write(path: Path, records: list[tuple[str | None, str | None]]) -> Path:
    lines = [BATCH.format(n) + record_line(n, *record) for n, record in enumerate(records)]
    path.write_text(HEADER + "".join(lines), newline="")
    return path


def contents_of(path: Path) -> list[tuple[str, int, bytes | None, bytes | None]]:
    with open_one(path) as dump:
        (split,) = dump.splits(10)
        return [
            (record.topic, record.partition, record.key, record.value)
            for _, _, record in LAYOUTS["dump_log"].records(dump.files[0], split)
        ]


def test_keys_and_payloads_may_hold_what_looks_like_labels_or_lines(tmp_path: Path) -> None:
    records = [("k payload: x", "v\nw"), (None, "headerKeys: []"), ("k", None), ("", ""), ("a", "\n\n")]
    path = write(tmp_path / "log.txt", records)
    encoded = [tuple(None if text is None else text.encode() for text in record) for record in records]
    assert contents_of(path) == [("shop.orders", 3, *record) for record in encoded]


def test_records_that_do_not_follow_the_line_of_their_batch_are_missed(tmp_path: Path) -> None:
    """An export that was cut off ends in the line of a batch more often than in a record's."""
    path = tmp_path / "log.txt"
    two = (
        BATCH.format(0).replace("count: 1", "count: 2") + record_line(0, "a", "v") + record_line(1, "b", "w")
    )
    whole = HEADER + two + BATCH.format(2) + record_line(2, "c", "x")
    second, last = whole.index("| offset: 1"), whole.index("baseOffset: 2")
    for end in (second, last + len("baseOffset: 2 last"), whole.index("| offset: 2")):
        path.write_text(whole[:end])
        with pytest.raises(InputError, match="1 record of the batch that begins here did not follow"):
            contents_of(path)
    path.write_text(whole[:second] + whole[last:])
    with pytest.raises(InputError, match=r"log.txt:3: 1 record of the batch that begins here did not follow"):
        contents_of(path)
    path.write_text(whole)
    assert len(contents_of(path)) == 3


@pytest.mark.parametrize("key", ["a endTxnMarker: ABORT", "a controlType: 5", "a KRaftVersion b"])
def test_tombstones_of_keys_that_look_like_control_records_are_records(key: str, tmp_path: Path) -> None:
    path = write(tmp_path / "log.txt", [(key, "v"), (key, None)])
    assert contents_of(path) == [("shop.orders", 3, key.encode(), value) for value in (b"v", None)]


@pytest.mark.parametrize("value", ["v", None])
def test_records_whose_headers_look_like_control_records_are_records(
    value: str | None, tmp_path: Path
) -> None:
    line = record_line(0, "k", value).replace("headerKeys: []", "headerKeys: [a endTxnMarker: ABORT]")
    path = tmp_path / "log.txt"
    path.write_text(HEADER + BATCH.format(0) + line, newline="")
    assert contents_of(path) == [("shop.orders", 3, b"k", value and value.encode())]


def test_a_null_that_a_copy_of_the_tool_prints_as_a_word_is_one(tmp_path: Path) -> None:
    sizes = [(-1, -1), (-1, 4), (4, -1), (4, 4)]
    lines = [
        f"| offset: {n} CreateTime: 5 keySize: {key} valueSize: {value} key: null payload: null\n"
        for n, (key, value) in enumerate(sizes)
    ]
    path = tmp_path / "log.txt"
    path.write_text(HEADER + "".join(lines))
    of_size = {-1: None, 4: b"null"}
    expected = [("shop.orders", 3, of_size[key], of_size[value]) for key, value in sizes]
    assert contents_of(path) == expected


texts = st.none() | st.text(st.characters(codec="utf-8", exclude_characters="\r\ufffd"), max_size=8)


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=5))
def test_any_text_comes_out(tmp_path: Path, records: list[tuple[str | None, str | None]]) -> None:
    path = write(tmp_path / "log.txt", records)
    encoded = [tuple(None if text is None else text.encode() for text in record) for record in records]
    assert contents_of(path) == [("shop.orders", 3, *record) for record in encoded]


def test_empty_segments_come_before_the_first_record(tmp_path: Path) -> None:
    """The cleaner leaves them where it emptied segments. Alone they are no dump."""
    path = write(tmp_path / "log.txt", [("k", "v")])
    empty = "".join(HEADER.replace("0.log", f"{n}.log").replace(": 0", f": {n}") for n in range(1, 9)) * 3
    path.write_text(empty + path.read_text())
    assert contents_of(path) == [("shop.orders", 3, b"k", b"v")]
    path.write_text(empty)
    with pytest.raises(NoRecordsError, match="output of kafka-dump-log for empty segments"):
        contents_of(path)
    write(tmp_path / "beside.txt", [("k", "v")])
    with open_one(tmp_path) as dump:
        assert [Path(file.path).name for file in dump.files] == ["beside.txt"]


def test_batches_that_are_kept_for_their_producers_hold_no_record(tmp_path: Path) -> None:
    write(tmp_path / "beside.txt", [("k", "v")])
    (tmp_path / "emptied.txt").write_text(HEADER + BATCH.format(7).replace("count: 1", "count: 0"))
    with open_one(tmp_path) as dump:
        assert [Path(file.path).name for file in dump.files] == ["beside.txt"]
    (tmp_path / "emptied.txt").write_text(HEADER + BATCH.format(7))
    with pytest.raises(InputError, match="printed batches, and no record"):
        contents_of(tmp_path)


def test_survivors_keep_the_head_and_their_lines(tmp_path: Path) -> None:
    path = write(tmp_path / "log.txt", [("a", "1"), ("b", "x\ny"), ("a", None)])
    with open_one(path) as dump:
        output = compacted(dump)
    assert output.decode() == HEADER + record_line(1, "b", "x\ny") + record_line(2, "a", None)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("| offset: 0 CreateTime: 5 keySize: 1 valueSize: 3 sequence: -1 headerKeys: []\n", "no key:"),
        (record_line(0, "k", "v").replace("valueSize: 1", "valueSize: 2"), "not the 2 bytes"),
        (record_line(0, "k\ufffd", "v").replace("keySize: 4", "keySize: 2"), "U+FFFD"),
    ],
)
def test_lines_that_lost_something_are_refused(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "log.txt"
    path.write_text(HEADER + BATCH.format(0) + line)
    with open_one(path) as dump:
        _, notes = index_all(dump)
        with pytest.raises(InputError) as caught:
            check_notes(dump, notes)
    assert message in caught.value.message


def test_what_a_decoder_shows_is_answered_with_the_way_to_print_without(tmp_path: Path) -> None:
    shown = record_line(0, "k", "v").replace("keySize: 1", "keySize: 26")
    path = tmp_path / "log.txt"
    path.write_text(HEADER + BATCH.format(0) + shown.replace("key: k", "key: offset_commit::group=g"))
    with open_one(path) as dump:
        _, notes = index_all(dump)
        with pytest.raises(InputError, match="not the 26 bytes") as caught:
            check_notes(dump, notes)
    assert "print without them" in str(caught.value.hint)


@pytest.mark.parametrize("version", ["2.0", "2.4", "2.8", "4.0-pasted"])
def test_every_version_s_lines_tell_the_same(version: str, tmp_path: Path) -> None:
    path = Path(__file__).parent / "fixtures" / f"dump-log-{version}.txt"
    expected = [(b"k1", b"v1"), (b"k2", b"v2"), (b"k1", b"v3"), (b"k2", None)]
    contents = contents_of(path)
    assert [record[2:] for record in contents] == expected[: len(contents)]
    assert len(contents) == (3 if version == "2.0" else 4)  # before 2.4 a tombstone's key was not printed
    assert {record[0] for record in contents} == {"orders"}
    with open_one(path) as dump:
        table, _ = index_all(dump)
        assert table["timestamp_ms"].to_pylist() == [1700000000000 + 1000 * n for n in range(len(contents))]
        (tmp_path / "again.txt").write_bytes(compacted(dump))
    again = [record[2:] for record in contents_of(tmp_path / "again.txt")]
    assert again == (expected[1:3] if version == "2.0" else expected[2:])


def test_sections_of_several_partitions_are_logs_of_their_own(tmp_path: Path) -> None:
    head = "Dumping /data/shop.orders-%d/00000000000000000000.log\nLog starting offset: 0\n"
    path = tmp_path / "pasted.txt"
    first = head % 3 + record_line(0, "a", "1") + record_line(1, "a", "2") + record_line(2, "b", "1")
    path.write_text(first + head % 4 + record_line(0, "a", "3") + head % 3 + record_line(7, "b", None))
    assert contents_of(path) == [
        ("shop.orders", 3, b"a", b"1"),
        ("shop.orders", 3, b"a", b"2"),
        ("shop.orders", 3, b"b", b"1"),
        ("shop.orders", 4, b"a", b"3"),
        ("shop.orders", 3, b"b", None),
    ]
    with open_one(path) as dump:
        output = tmp_path / "out.txt"
        output.write_bytes(compacted(dump))
        rows = index_all(dump)[0]
        places = rows["position"].to_numpy(), rows["record_bytes"].to_numpy()
        decoded = list(LAYOUTS["dump_log"].decode(Chosen(dump.files[0], dump.splits(10)[0], *places)))
    assert [record.partition for record in decoded] == [3, 3, 3, 4, 3]
    assert contents_of(output) == [
        ("shop.orders", 3, b"a", b"2"),
        ("shop.orders", 4, b"a", b"3"),
        ("shop.orders", 3, b"b", None),
    ]


@pytest.mark.parametrize(
    "topic",
    ["orders-2", "kafka-topic-01", "events-2024-01-01", "out-00000-of-00002", "a_partition-7", "part-3"],
)
@pytest.mark.parametrize("path", ["/data/{}-{}/0.log", "{}-{}/0.log", "C:\\My Logs\\{}-{}\\0.log"])
def test_a_log_s_folder_ends_in_its_partition_whatever_its_topic_ends_in(
    tmp_path: Path, topic: str, path: str
) -> None:
    """Topics that end in a number were called otherwise, and their partitions one log, as below a blank."""
    sections = [f"Dumping {path.format(topic, n)}\n{record_line(0, 'a', str(n))}" for n in (0, 1, 12)]
    (tmp_path / "d.txt").write_text("".join(sections))
    assert contents_of(tmp_path / "d.txt") == [(topic, n, b"a", b"%d" % n) for n in (0, 1, 12)]


@pytest.mark.parametrize("first", ["", "Dumping 00000000000000000000.log\nLog starting offset: 0\n"])
def test_segments_whose_text_names_no_log_are_of_the_log_of_their_folder(first: str, tmp_path: Path) -> None:
    for folder, key in (("orders-0", "a"), ("orders-1", "a"), ("users-0", "a")):
        (tmp_path / folder).mkdir()
        path = tmp_path / folder / "00000000000000000000.log.txt"
        path.write_text(f"{first}| offset: 0 CreateTime: 1 keySize: 1 valueSize: 1 key: {key} payload: x\n")
    with open_one(tmp_path) as dump:
        _, notes = index_all(dump)
        logs = {log for of_split in notes.values() for log in of_split.logs.values()}
    assert logs == {("orders", 0), ("orders", 1), ("users", 0)}


@pytest.mark.parametrize("names", [("a/0.txt", "b/0.txt"), ("t-0/dump.txt", "t-1/dump.txt")])
def test_texts_that_name_no_log_in_folders_that_may_be_logs_are_asked_about(
    names: tuple[str, str], tmp_path: Path
) -> None:
    for name in names:
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("| offset: 0 CreateTime: 1 keySize: 1 valueSize: 1 key: a payload: x\n")
    with pytest.raises(InputError, match="they may be of one or of two"):
        open_one(tmp_path)


def test_change_events_are_read_as_in_every_other_text(tmp_path: Path) -> None:
    events = [
        f'{{"op":"{op}","before":{{"id":{row}}},"after":{after},"source":{{}}}}'
        for op, row, after in [("c", 1, '{"id":1}'), ("c", 2, '{"id":2}'), ("d", 1, "null")]
    ]
    path = write(tmp_path / "events.txt", [(f"k{number}", event) for number, event in enumerate(events)])
    with open_one(path, cdc="debezium", key_fields=("id",)) as dump:
        rows = index_all(dump)[0]
    assert rows["key"].to_pylist() == [b"1", b"2", b"1"]
    assert rows["is_tombstone"].to_pylist() == [False, False, True]


def test_header_values_that_were_not_printed_are_noted(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    lines = [record_line(offset, "k", "v") for offset in range(3)]
    lines[1] = lines[1].replace("headerKeys: []", "headerKeys: [trace,tenant]")
    path.write_text(HEADER + BATCH.format(0) + "".join(lines))
    with open_one(path) as dump:
        _, notes = index_all(dump)
        (note,) = check_notes(dump, notes)
    assert "1 record with headers" in note
    assert "values are null" in note


@pytest.mark.parametrize("is_first", [True, False])
def test_the_output_about_an_index_is_refused_with_the_files_to_name(tmp_path: Path, is_first: bool) -> None:
    index = "Dumping /data/shop.orders-3/00000000000000000000.timeindex\ntimestamp: 5 offset: 1\n"
    log = HEADER + BATCH.format(0) + record_line(0, "a", "1")
    path = tmp_path / "log.txt"
    path.write_text(index + log if is_first else log + index)
    with pytest.raises(InputError) as caught, open_one(path) as dump:
        _, notes = index_all(dump)
        check_notes(dump, notes)
    assert "the output about an index" in caught.value.message
    assert "name only .log files" in (caught.value.hint or "")


OLD = "offset: 0 position: 0 CreateTime: 5 isvalid: true payloadsize: %d magic: 1 compresscodec: %s crc: 7"


@pytest.mark.parametrize(
    ("rest", "size", "pair"),
    [
        (" keysize: 6 key: 600107 payload: abc", 3, (b"600107", b"abc")),
        (" keysize: 6 key: a\nb: c payload: x payload: y", 12, (b"a\nb: c", b"x payload: y")),
        (" payload: key: abc", 8, (None, b"key: abc")),
        (" keysize: 1 key: a payload: ", 0, (b"a", b"")),
    ],
)
@pytest.mark.parametrize("codec", ["NONE", "NoCompressionCodec"])
def test_kafka_0_10_calls_values_payloads(
    rest: str, size: int, pair: tuple[bytes | None, bytes | None], codec: str, tmp_path: Path
) -> None:
    """DumpLogSegments at 0.10: no keysize where there is no key."""
    path = tmp_path / "log.txt"
    line = OLD % (size, codec) + rest
    path.write_text(HEADER.replace("Log starting", "Starting") + f"{line}\n{line.replace('0', '1', 1)}\n")
    assert contents_of(path) == [("shop.orders", 3, *pair)] * 2


@pytest.mark.parametrize(
    ("line", "message", "remedy"),
    [
        (OLD % (3, "GZIPCompressionCodec") + " payload: abc", "compressed messages", "--deep-iteration"),
        (OLD % (-1, "NONE") + " keysize: 1", "no key: in the line", "Kafka 2.4 or later"),
        (OLD % (3, "NONE") + " keysize: 1", "no key: in the line", "--print-data-log"),
        (
            (OLD % (1, "NONE")).replace("CreateTime: 5 ", "") + " keysize: 1 key: v payload: v",
            "the payload as the key",
            "Kafka 2.4 to 3.9",
        ),
    ],
)
def test_what_an_old_kafka_did_not_print_is_named(
    line: str, message: str, remedy: str, tmp_path: Path
) -> None:
    """0.10 prints no key of a tombstone; before that, the payload stood where the key should."""
    path = tmp_path / "log.txt"
    path.write_text(f"{HEADER}{line}\n")
    with pytest.raises(InputError, match=message) as refused:
        contents_of(path)
    assert remedy in str(refused.value.hint)
