"""``kcompact verify`` from the command line: formats, modes, options, exit codes."""

import base64
import csv
import gzip
import hashlib
import io
import json
import os
import shlex
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from pyarrow import parquet

import avro_files
from conftest import Run
from dump_files import write_csv, write_kcat
from dump_log_text import Logged, write_dump_log
from golden_cases import GOLDEN
from kcompact.dumps.records.record import Record
from mutations import AFTER, BEFORE, MUTATIONS, NOW_MS, at, without
from records import record, tombstone

pytestmark = pytest.mark.usefixtures("spark")
Cli = Callable[..., Run]
Write = Callable[[Path, Sequence[Record]], Path]

NOW = ("--now", NOW_MS)
COMPACT = ("--cleanup-policy", "compact")


def write_avro(path: Path, records: Sequence[Record]) -> Path:
    avro_files.write_avro(path, avro_files.PLAIN, records)
    return path


def of_all_topics(dumps: dict[str, list[Record]]) -> list[Record]:
    return [r._replace(topic=topic) for topic, records in dumps.items() for r in records]


@pytest.mark.parametrize(
    ("before_name", "after_name"),
    [("before.jsonl", "after.avro"), ("before.csv", "after.jsonl"), ("before.avro", "after.csv")],
)
def test_wrong_pairs_are_found_in_every_format(
    before_name: str, after_name: str, tmp_path: Path, kcompact: Cli
) -> None:
    write: dict[str, Write] = {".jsonl": write_kcat, ".csv": write_csv, ".avro": write_avro}
    has_headers = ".csv" not in before_name + after_name
    wrong = {m.name: m for m in MUTATIONS if has_headers or "header" not in m.name}
    before, after = tmp_path / before_name, tmp_path / after_name
    write[before.suffix](before, of_all_topics(dict.fromkeys(wrong, BEFORE)))
    write[after.suffix](after, of_all_topics({name: m.after() for name, m in wrong.items()}))

    run = kcompact("verify", before, after, *NOW, "--format", "json", "--max-findings", 10_000)

    assert (run.exit_code, run.stderr) == (1, "")
    checks: dict[str, Counter[str]] = {name: Counter() for name in wrong}
    for finding in json.loads(run.stdout)["findings"]:
        checks[finding["topic"]][finding["check"]] += 1
    assert checks == {name: m.found for name, m in wrong.items()}


def test_files_among_whose_offsets_are_those_of_others_are_noted(tmp_path: Path, kcompact: Cli) -> None:
    """Records that changed their files are not found: in a dump of a sink, files may overlap."""
    records = [record(f"k{offset}", "v", offset=offset) for offset in range(6)]
    halves = {
        "before": (records[:3], records[3:]),
        "after": (records[:2] + records[3:4], records[2:3] + records[4:]),
    }
    for name, parts in halves.items():
        (tmp_path / name).mkdir()
        for number, part in enumerate(parts):
            write_kcat(tmp_path / name / f"{number}.jsonl", part)
    run = kcompact("verify", tmp_path / "before", tmp_path / "after", *NOW)
    assert run.exit_code == 0
    assert "files of AFTER hold offsets of a log between those of other files" in run.stderr
    for dumps in (("after", "after"), ("after", "before")):
        run = kcompact("verify", *(tmp_path / name for name in dumps), *NOW)
        assert (run.exit_code, run.stderr) == (0, "")


def test_what_a_csv_cannot_tell_is_asked_and_then_judged(tmp_path: Path, kcompact: Cli) -> None:
    # Python's csv module, as many converters: no quotes around nothing, be it null or empty.
    before = write_kcat(tmp_path / "b.jsonl", BEFORE)
    cells = [[r.topic, r.partition, r.offset, r.timestamp_ms, text(r.key), text(r.value)] for r in AFTER]
    with (tmp_path / "a.csv").open("w", newline="") as out:
        csv.writer(out).writerows([["topic", "partition", "offset", "timestamp", "key", "value"], *cells])
    asked = kcompact("verify", before, tmp_path / "a.csv", *NOW)
    assert (asked.exit_code, asked.stdout) == (2, "")
    assert "null|missing|empty" in asked.stderr or "null|empty" in asked.stderr

    # The empty key at 12 is read as one, the empty value at 10 as a deletion, in both dumps alike.
    run = kcompact("verify", before, tmp_path / "a.csv", *NOW, "--missing-key=empty", "--tombstone=empty")
    assert run.exit_code == 0, run.stdout
    assert "headers not compared" in run.stdout


@pytest.mark.parametrize(("lost", "exit_code"), [("a", 1), ("b", 2), ("none", 0)])
def test_nothing_at_all_beside_quotes_that_must_be_is_asked_about_where_it_went(
    tmp_path: Path, kcompact: Cli, lost: str, exit_code: int
) -> None:
    """Python's csv module again, and pandas: the last value of ``b`` is empty, and lost, or a tombstone."""
    cells = [("a", "x,y"), ("b", ""), ("c", "y,z")]
    rows = [["t", 0, offset, 17, *key_and_value] for offset, key_and_value in enumerate(cells)]
    for name, left_out in (("b.csv", None), ("a.csv", lost)):
        with (tmp_path / name).open("w", newline="") as out:
            table = csv.writer(out)
            table.writerow(["topic", "partition", "offset", "timestamp", "key", "value"])
            table.writerows(row for row in rows if row[4] != left_out)
    pair = (tmp_path / "b.csv", tmp_path / "a.csv")
    run = kcompact("verify", *pair, *COMPACT)
    assert run.exit_code == exit_code
    assert ("whether what went was a tombstone depends" in run.stderr) == (lost == "b")
    if lost == "b":
        assert kcompact("verify", *pair, *COMPACT, "--tombstone=missing").exit_code == 0
        assert kcompact("verify", *pair, *COMPACT, "--tombstone=none").exit_code == 1


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "avro", "parquet"])
def test_the_sample_in_csv_is_verified_without_a_question(tmp_path: Path, kcompact: Cli, suffix: str) -> None:
    sample, out = Path(__file__).parents[2] / "samples" / "orders.csv", tmp_path / f"out.{suffix}"
    assert kcompact("compact", sample, "-o", out).exit_code == 0
    assert kcompact("verify", sample, out).exit_code == 0


def test_options_about_a_cleaning_are_noted_where_nobody_asks_about_one(
    tmp_path: Path, kcompact: Cli
) -> None:
    dump = write_kcat(tmp_path / "b.jsonl", BEFORE)
    (tmp_path / "keys").write_text("nowhere\n")
    about_cleaning = (
        "--checkpoint",
        tmp_path / "none",
        "--segment-bytes=1GiB",
        "--strict",
        "--null-keys=keep",
    )
    names = "--checkpoint, --segment-bytes, --strict, --null-keys not used"
    for question in ("--mode=state", f"--absent-keys={tmp_path / 'keys'}"):
        run = kcompact("verify", dump, dump, question, *about_cleaning, *NOW)
        assert (run.exit_code, run.stderr.count("note: "), names in run.stderr) == (0, 1, True)
        assert "note: " not in kcompact("verify", dump, dump, question, *NOW).stderr


@pytest.mark.parametrize(
    ("key", "is_the_same"), [('{"b": 2, "a": 1.0}', True), ('{"a": 3}', False), ("a", False)]
)
def test_keys_that_are_the_same_json_are_called_so(
    key: str, is_the_same: bool, tmp_path: Path, kcompact: Cli
) -> None:
    before = write_kcat(tmp_path / "b.jsonl", [record('{"a":1,"b":2}', "1", offset=0)])
    after = write_kcat(tmp_path / "a.jsonl", [record(key, "1", offset=0)])
    run = kcompact("verify", before, after)
    assert (run.exit_code, "hint: --canonical-keys" in run.stdout) == (1, is_the_same)
    run = kcompact("verify", before, after, "--canonical-keys")
    assert (run.exit_code, "hint: --canonical-keys" in run.stdout) == (0 if is_the_same else 1, False)


@pytest.mark.parametrize("word", ["\\N", "NULL"])
def test_what_databases_write_for_null_is_asked_about_beside_the_dump_of_another_tool(
    word: str, tmp_path: Path, kcompact: Cli
) -> None:
    """As text it would be a deleted key that came back."""
    (tmp_path / "after.csv").write_text(f'offset,key,value\n1,"a",{word}\n')
    rows = [{"key": "a", "value": value, "offset": at} for at, value in enumerate(["1", None])]
    (tmp_path / "before.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    pair = (tmp_path / "before.jsonl", tmp_path / "after.csv")
    asked = kcompact("verify", *pair)
    assert asked.exit_code == 2
    assert f"1 value is the text {word}, which tools write for null" in asked.stderr
    answer = f"missing,literal:{word}"  # a value that is not there stays a tombstone in the other dump
    assert f"--tombstone {shlex.quote(answer)} where it is null" in asked.stderr
    assert kcompact("verify", *pair, "--tombstone", answer).exit_code == 0
    refused = kcompact("verify", *pair, "--tombstone", f"literal:{word},missing")  # no text that a dump has
    assert (refused.exit_code, "missing,literal:TEXT" in refused.stderr) == (2, True)


def test_what_databases_write_for_null_is_asked_about_beside_kcompact_s_own_csv(
    tmp_path: Path, kcompact: Cli
) -> None:
    before, after = tmp_path / "before.csv", tmp_path / "after.csv"
    before.write_text("topic,partition,offset,timestamp,key,value\nt,0,0,17,a,x\nt,0,1,17,a,\\N\n")
    answer = ("--tombstone", "literal:\\N")
    assert kcompact("compact", before, "-o", after, "--to=csv", "--no-report", *answer).exit_code == 0
    asked = kcompact("verify", before, after)
    assert (asked.exit_code, "1 value is the text \\N" in asked.stderr) == (2, True)
    assert kcompact("verify", before, after, *answer).exit_code == 0


def test_the_word_for_null_is_asked_about_so_that_nothing_at_all_stays_a_tombstone_in_the_other_dump(
    tmp_path: Path, kcompact: Cli
) -> None:
    deleted = [record("a", "1", offset=0), tombstone("a", offset=1), record("b", "2", offset=2)]
    line = "CreateTime:{}\tPartition:0\tOffset:{}\t{}\t{}\n"
    text_lines = [
        line.format(r.timestamp_ms, r.offset, text(r.key), text(r.value) or "null") for r in deleted
    ]
    (tmp_path / "b.txt").write_text("".join(text_lines))
    pair = (tmp_path / "b.txt", write_csv(tmp_path / "a.csv", deleted[1:]))
    asked = kcompact("verify", *pair)
    assert (asked.exit_code, "--tombstone missing,literal:null where it is a" in asked.stderr) == (2, True)
    run = kcompact("verify", *pair, "--tombstone", "missing,literal:null")
    assert run.exit_code == 0, run.stdout

    # Nothing at all is an empty value in one of them, a tombstone in the other: each option misreads one.
    (tmp_path / "b.txt").write_text("".join(text_lines) + line.format(1_766_544_000_000, 3, "c", ""))
    asked = kcompact("verify", *pair)
    assert (asked.exit_code, "no option reads both right" in asked.stderr) == (2, True)

    # Not where it is known to be null in the other, whatever is said of the word.
    rows = ["key,value,topic,partition,offset,timestamp,timestampType"]
    for key, value, offset in [("[61]", "", 1), ("[62]", "[32]", 2), ("[63]", "[]", 3)]:
        rows.append(f"{key},{value},{deleted[0].topic},0,{offset},2023-11-14T22:13:20.000Z,0")
    (tmp_path / "spark.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "b.txt").write_text("".join(text_lines) + line.format(deleted[0].timestamp_ms, 3, "c", ""))
    pair = (tmp_path / "b.txt", tmp_path / "spark.csv")
    asked = kcompact("verify", *pair)
    assert (asked.exit_code, "--tombstone literal:null where it is a" in asked.stderr) == (2, True)
    assert "no option reads both right" not in asked.stderr
    run = kcompact("verify", *pair, "--tombstone", "literal:null")
    assert run.exit_code == 0, run.stdout


@pytest.mark.parametrize("mode", ["compaction", "state"])
@pytest.mark.parametrize("before", ["", "*.jsonl"])
def test_after_is_not_taken_for_a_part_of_before(
    before: str, mode: str, tmp_path: Path, kcompact: Cli
) -> None:
    records = [record(key, str(at), offset=at) for at, key in enumerate("aba")]
    write_kcat(tmp_path / "orders.jsonl", records)
    after = write_kcat(tmp_path / "orders.compacted.jsonl", [*records[1:], record("x", "1", offset=3)])

    run = kcompact("verify", "--mode", mode, tmp_path / before, after)

    assert (run.exit_code, run.stdout) == (2, "")
    assert f"{after} of AFTER is among the files of BEFORE" in run.stderr
    assert kcompact("verify", "--mode", mode, tmp_path / "orders.jsonl", after).exit_code == 1
    assert kcompact("verify", "--mode", mode, after, after).exit_code == 0


@pytest.mark.parametrize("old", ["csv", "jsonl", "dump-log"])
@pytest.mark.parametrize(
    ("changed", "exit_code"), [({}, 0), ({"headers": ()}, 1), ({"timestamp_ms": 7}, 1), ({"value": b"3"}, 1)]
)
def test_what_only_some_files_have_is_compared_where_it_is(
    changed: dict[str, Any], exit_code: int, old: str, tmp_path: Path, kcompact: Cli
) -> None:
    sent = [record(key, "1", offset=at, topic="t", headers=(("h", b"1"),)) for at, key in enumerate("abac")]
    if old == "dump-log":  # the names of headers alone
        logged = [Logged(r.offset, f"{text(r.key)}=1", timestamp_ms=r.timestamp_ms) for r in sent[:2]]
        first = write_dump_log(tmp_path / "old.txt", {0: logged})
        first.write_text(first.read_text().replace("headerKeys: []", "headerKeys: [h]"))
    else:
        first = tmp_path / f"old.{old}"
        lines = [f"t,0,{r.offset},{text(r.key)},1\n" for r in sent[:2]]
        first.write_text("topic,partition,offset,key,value\n" + "".join(lines))
        if old == "jsonl":  # no timestamps
            write_kcat(first, [r._replace(timestamp_ms=-1) for r in sent[:2]])
    new = write_kcat(tmp_path / "new.jsonl", sent[2:])
    after = write_kcat(tmp_path / "after.jsonl", [*sent[1:3], sent[3]._replace(**changed)])

    run = kcompact("verify", first, new, after)

    assert run.exit_code == exit_code, run.stdout
    assert run.stdout.count(" changed-record") == 2 * exit_code
    assert "not compared where a file does not have them" in run.stdout


def test_nobody_can_tell_whether_json_of_no_known_tool_lost_its_headers(
    tmp_path: Path, kcompact: Cli
) -> None:
    """No record has the field: as Spark writes columns cast to text, or kcompact where there are none."""
    sent = [
        record("a", "1", offset=0, topic="t", timestamp_ms=1_766_544_000_000, headers=(("h", b"1"),)),
        record("b", "1", offset=1, topic="t", timestamp_ms=1_766_544_000_000),
    ]
    full = write_kcat(tmp_path / "full.jsonl", sent)
    bare = write_kcat(tmp_path / "bare.jsonl", [each._replace(headers=()) for each in sent])
    row = {"topic": "t", "partition": 0, "timestamp": 1_766_544_000_000, "value": "1"}
    rows: list[dict[str, object]] = [row | {"offset": 0, "key": "a"}, row | {"offset": 1, "key": "b"}]
    text = tmp_path / "text.jsonl"
    text.write_text("".join(json.dumps(each) + "\n" for each in rows))
    for pair in (full, text), (text, full):
        run = kcompact("verify", *pair)
        assert (run.exit_code, "1 changed-record" in run.stdout) == (2, True), run.stdout
        assert "--fields headers= leaves them out" in run.stdout
        assert kcompact("verify", *pair, "--fields", "headers=").exit_code == 0
    for pair in (text, text), (bare, text), (text, bare):
        run = kcompact("verify", *pair)
        assert (run.exit_code, "headers" in run.stdout) == (0, False), run.stdout

    for headers, changed in (({"h": "1"}, 2), ({}, 1), (None, 1)):  # that of the first record is lost
        rows[1]["headers"] = headers
        text.write_text("".join(json.dumps(each) + "\n" for each in rows))
        run = kcompact("verify", full, text)
        assert (run.exit_code, f"{changed} changed-record" in run.stdout) == (1, True), run.stdout


@pytest.mark.parametrize("tool", ["kafkactl", "spark-json"])
def test_nobody_can_tell_whether_a_tool_was_asked_for_headers(
    tool: str, tmp_path: Path, kcompact: Cli
) -> None:
    """By --print-headers, or the option includeHeaders: neither writes the field for a record without any."""
    sent = record("orders", "1", offset=0, timestamp_ms=1_766_544_000_123, headers=(("h", b"1"),))
    full = write_kcat(tmp_path / "orders.jsonl", [sent, sent._replace(offset=1, key=b"others")])

    def write(name: str, headers: dict[str, str]) -> Path:
        path = tmp_path / name / "orders.json"
        path.parent.mkdir()
        rows = []
        for offset, key in enumerate(("orders", "others")):
            has_headers = offset == 0 and headers
            if tool == "kafkactl":
                start = {"Partition": 0, "Offset": offset} | ({"Headers": headers} if has_headers else {})
                rows.append(start | {"Key": key, "Value": "1", "Timestamp": "2025-12-24T02:40:00.123Z"})
                continue
            row = {"key": base64.b64encode(key.encode()).decode(), "value": "MQ==", "topic": "orders"}
            row |= {"partition": 0, "offset": offset, "timestamp": "2025-12-24T02:40:00.123Z"}
            texts = [
                {"key": name, "value": base64.b64encode(text.encode()).decode()}
                for name, text in headers.items()
            ]
            rows.append(row | {"timestampType": 0} | ({"headers": texts} if has_headers else {}))
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    bare, some = write("bare", {}), write("some", {"h": "1"})
    for pair in (full, bare), (bare, full), (some, bare):
        run = kcompact("verify", *pair)
        assert run.exit_code == 2, (run.stdout, run.stderr)
        assert "--fields headers= leaves them out" in run.stdout
        assert kcompact("verify", *pair, "--fields", "headers=").exit_code == 0
    run = kcompact("verify", full, some)  # where the second record lost its own
    assert (run.exit_code, "hint: --fields headers= leaves headers out" in run.stdout) == (1, True)
    assert kcompact("verify", some, some).exit_code == 0


@pytest.mark.parametrize("target", ["jsonl", "csv", "avro", "parquet"])
def test_a_converted_dump_does_not_claim_headers_that_nobody_exported(
    target: str, tmp_path: Path, kcompact: Cli
) -> None:
    sent = record("a", "1", offset=0, topic="t", timestamp_ms=1_766_544_000_000, headers=(("h", b"1"),))
    full = write_kcat(tmp_path / "full.jsonl", [sent, sent._replace(offset=1, key=b"b", headers=())])
    rows = (f"t,0,{offset},{sent.timestamp_ms},{key},1\n" for offset, key in enumerate("ab"))
    bare, copy, wrong = (tmp_path / name for name in ("bare.csv", f"copy.{target}", f"wrong.{target}"))
    bare.write_text("topic,partition,offset,timestamp,key,value\n" + "".join(rows))
    for source, output in ((bare, copy), (full, wrong)):
        assert kcompact("compact", source, "-o", output, "--to", target, "--no-report").exit_code == 0

    assert kcompact("verify", full, bare).exit_code == 0
    for pair in (full, copy), (copy, full), (wrong, copy):
        run = kcompact("verify", *pair)
        assert (run.exit_code, "1 changed-record" in run.stdout) == (2, True), run.stdout
        assert "--fields headers= leaves them out" in run.stdout
        assert kcompact("verify", *pair, "--fields", "headers=").exit_code == 0
    assert kcompact("verify", full, wrong).exit_code == 0
    other = write_kcat(tmp_path / "other.jsonl", [sent, sent._replace(offset=1, key=b"b")])
    assert kcompact("verify", other, wrong).exit_code == 1  # which has some


@pytest.mark.parametrize(("value", "exit_code"), [(b"1", 0), (b"2", 1)])
def test_headers_that_a_tool_writes_in_part_are_compared_with_those_of_the_same_tool_alone(
    value: bytes, exit_code: int, tmp_path: Path, kcompact: Cli
) -> None:
    sent = record("a", "1", offset=0, topic="t", timestamp_ms=1_766_544_000_000, headers=(("h", b"1"),))
    full = write_kcat(tmp_path / "full.jsonl", [sent])
    akhq = {
        "partition": 0,
        "offset": 0,
        "timestamp": 1_766_544_000,
        "keySchemaId": None,
        "valueSchemaId": None,
        "headers": [{}],
        "key": "a",
        "value": value.decode(),
    }
    (tmp_path / "akhq.json").write_text(json.dumps([akhq]))
    run = kcompact("verify", full, tmp_path / "akhq.json")
    assert (run.exit_code, "headers not compared" in run.stdout) == (exit_code, True)

    logs = [write_dump_log(tmp_path / name, {0: [Logged(0, "a=1")]}) for name in ("h.txt", "i.txt")]
    for log in logs:
        log.write_text(log.read_text().replace("headerKeys: []", f"headerKeys: [{log.stem}]"))
    assert kcompact("verify", full, logs[0]).exit_code == 0
    run = kcompact("verify", *logs)
    assert (run.exit_code, "other headers" in run.stdout) == (1, True)


def test_values_of_which_kafka_dump_log_lost_bytes_are_compared_with_its_own_alone(
    tmp_path: Path, kcompact: Cli
) -> None:
    sent = record("a", None, offset=0, topic="t", timestamp_ms=1_766_544_000_000)._replace(value=b"\xff\xfe1")
    full = write_kcat(tmp_path / "full.jsonl", [sent])
    printed = {0: [Logged(0, "a=\ufffd\ufffd1")]}
    logs = [write_dump_log(tmp_path / name, printed) for name in ("h.txt", "i.txt")]
    assert "valueSize: 3 " in logs[0].read_text()

    for mode in ("compaction", "state"):
        run = kcompact("verify", "--mode", mode, full, logs[0])
        assert (run.exit_code, "give both dumps as kcat -J writes them" in run.stdout) == (2, True)
    other_time = write_kcat(tmp_path / "other.jsonl", [sent._replace(timestamp_ms=1)])
    assert kcompact("verify", other_time, logs[0]).exit_code == 1
    run = kcompact("verify", *logs)
    assert (run.exit_code, "1 value with U+FFFD" in run.stderr) == (0, True)

    converted = tmp_path / "out.avro"
    assert kcompact("compact", logs[0], "-o", converted).exit_code == 0
    assert kcompact("verify", logs[0], converted).exit_code == 0


def test_headers_that_are_printed_without_quotes_are_compared_with_those_of_the_same_tool_alone(
    tmp_path: Path, kcompact: Cli
) -> None:
    types = b'{"a":"long","b":"long"}'  # as Spring writes them: where the next header begins nobody can tell
    sent = record("a", "1", offset=0, topic="t", timestamp_ms=1_766_544_000_000, headers=(("types", types),))
    full = write_kcat(tmp_path / "full.jsonl", [sent, sent._replace(offset=1, key=b"b", headers=())])
    lines = "".join(
        f"CreateTime:{sent.timestamp_ms}\tPartition:0\tOffset:{offset}\t{headers}\t{key}\t1\n"
        for offset, headers, key in ((0, f"types:{types.decode()}", "a"), (1, "NO_HEADERS", "b"))
    )
    for name, content in (("t.txt", lines), ("u.txt", lines), ("v.txt", lines.replace("long", "int"))):
        (tmp_path / name).write_text(content)

    run = kcompact("verify", full, tmp_path / "t.txt")
    assert (run.exit_code, "--fields headers= leaves them out" in run.stdout) == (2, True), run.stdout
    assert kcompact("verify", full, tmp_path / "t.txt", "--fields", "headers=").exit_code == 0
    assert kcompact("verify", tmp_path / "t.txt", tmp_path / "u.txt").exit_code == 0
    assert kcompact("verify", tmp_path / "t.txt", tmp_path / "v.txt").exit_code == 1


def test_nobody_can_tell_whether_timestamps_cut_to_seconds_were_changed(
    tmp_path: Path, kcompact: Cli
) -> None:
    """As ``strftime("%Y-%m-%d %H:%M:%S")`` and columns of databases cut them; kcat does not."""
    first_ms = 1_766_544_000_123
    sent = [record(key, "1", offset=at, timestamp_ms=first_ms + at * 1_333) for at, key in enumerate("ab")]
    full = write_kcat(tmp_path / "full.jsonl", sent)
    cut = [each._replace(timestamp_ms=each.timestamp_ms // 1000 * 1000) for each in sent]

    def write(name: str, records: list[Record]) -> Path:
        rows = (f"{r.topic},0,{r.offset},{r.timestamp_ms},{r.key!r},{r.value!r}" for r in records)
        path = tmp_path / f"{name}.csv"
        path.write_text("\n".join(["topic,partition,offset,timestamp,key,value", *rows, ""]))
        return path

    for pair in (full, write("cut", cut)), (write("cut", cut), full):
        run = kcompact("verify", *pair)
        assert (run.exit_code, "2 changed-record" in run.stdout) == (2, True), run.stderr
        assert "--fields timestamp=" in run.stdout
        assert kcompact("verify", *pair, "--fields", "timestamp=").exit_code == 0
    others = {
        "later": [each._replace(timestamp_ms=each.timestamp_ms + 2_000) for each in cut],
        "value": [each._replace(value=b"2") for each in cut],
        "one": [cut[0], sent[1]],
    }
    for name, records in others.items():
        assert kcompact("verify", full, write(name, records)).exit_code == 1, name
    assert kcompact("verify", full, write_kcat(tmp_path / "whole.jsonl", cut)).exit_code == 1
    seconds = [
        record(key, "1", offset=at, timestamp_ms=(first_ms // 1000 + at) * 1000)
        for at, key in enumerate("abc")
    ]
    changed = [seconds[0], seconds[1]._replace(timestamp_ms=seconds[1].timestamp_ms + 1), seconds[2]]
    both_whole = write_kcat(tmp_path / "seconds.jsonl", seconds), write("changed", changed)
    assert kcompact("verify", *both_whole).exit_code == 1


@pytest.mark.parametrize("tool", ["kafkactl", "avro map", "parquet map"])
def test_headers_that_a_tool_writes_in_no_order_are_no_finding_beside_those_of_another(
    tool: str, tmp_path: Path, kcompact: Cli
) -> None:
    """As kafkactl and Flink write them."""
    headers = (("trace", b"9"), ("app", b"x"), ("app", b"y"))
    sent = record("a", "1", offset=0, topic="t", timestamp_ms=1_766_544_000_000, headers=headers)
    full = write_kcat(tmp_path / "full.jsonl", [sent])
    paths = [
        write_unordered(tmp_path / f"{name}.unordered", tool, {"app": value, "trace": "9"})
        for name, value in (("a", "y"), ("b", "y"), ("c", "z"))
    ]

    for before, after in ((full, paths[0]), (paths[0], full)):
        run = kcompact("verify", before, after)
        assert (run.exit_code, "--fields headers= leaves them out" in run.stdout) == (2, True), run.stdout
        assert kcompact("verify", before, after, "--fields", "headers=").exit_code == 0
    assert kcompact("verify", *paths[:2]).exit_code == 0
    assert kcompact("verify", paths[0], paths[2]).exit_code == 1


def test_headers_that_an_unknown_program_writes_in_another_order_each_time_are_no_finding(
    tmp_path: Path, kcompact: Cli
) -> None:
    """As Rust's serde writes a HashMap."""
    row: dict[str, Any] = {
        "topic": "t",
        "partition": 0,
        "offset": 0,
        "timestamp": 1,
        "key": "a",
        "value": "1",
    }
    for name, headers in {"a": {"x": "1", "y": "2"}, "b": {"y": "2", "x": "1"}}.items():
        (tmp_path / name).write_text(json.dumps(row | {"headers": headers}) + "\n")

    assert kcompact("verify", tmp_path / "a", tmp_path / "a").exit_code == 0
    run = kcompact("verify", tmp_path / "a", tmp_path / "b")
    assert (run.exit_code, "--fields headers= leaves them out" in run.stdout) == (2, True), run.stdout


def write_unordered(path: Path, tool: str, headers: dict[str, str]) -> Path:
    """One record, with headers in an object or a map."""
    if tool == "kafkactl":
        row = {"Partition": 0, "Offset": 0, "Headers": headers, "Key": "a", "Value": "1"}
        path.write_text(json.dumps(row | {"Timestamp": "2025-12-24T02:40:00Z"}) + "\n")
        return path
    fields: dict[str, Any] = {"topic": "t", "partition": 0, "offset": 0, "timestamp": 1_766_544_000_000}
    fields |= {"key": b"a", "value": b"1"}
    as_bytes = {name: value.encode() for name, value in headers.items()}
    if tool == "avro map":
        types = {"topic": "string", "partition": "int", "offset": "long", "timestamp": "long"}
        types |= {"key": "bytes", "value": "bytes"}
        kinds: list[dict[str, Any]] = [{"name": name, "type": kind} for name, kind in types.items()]
        kinds.append({"name": "headers", "type": {"type": "map", "values": "bytes"}})
        with path.open("wb") as out:
            fastavro.writer(
                out, {"type": "record", "name": "Row", "fields": kinds}, [fields | {"headers": as_bytes}]
            )
        return path
    columns = {name: [value] for name, value in fields.items()}
    column = pa.array([list(as_bytes.items())], pa.map_(pa.string(), pa.binary()))
    parquet.write_table(pa.table(columns | {"headers": column}), path)
    return path


def test_nothing_in_csv_with_few_quotes_may_be_null_or_an_empty_value(tmp_path: Path, kcompact: Cli) -> None:
    """As pandas and Rust's csv write it, beside a dump that tells the two apart."""
    values = [b"", b"1,2", None]
    records = [Record("t", 0, at, 1, b"%d" % at, value) for at, value in enumerate(values)]
    full = write_kcat(tmp_path / "full.jsonl", records)
    few, other = tmp_path / "few.csv", tmp_path / "other.csv"
    few.write_text('topic,partition,offset,timestamp,key,value\nt,0,0,1,0,\nt,0,1,1,1,"1,2"\nt,0,2,1,2,\n')
    other.write_text(few.read_text().replace("t,0,2,1,2,", "t,0,2,1,2,x"))

    for pair in ((full, few), (few, full)):
        run = kcompact("verify", *pair)
        assert (run.exit_code, "--tombstone missing, empty or literal:TEXT" in run.stdout) == (2, True)
        assert kcompact("verify", *pair, "--tombstone", "missing").exit_code == 1
    assert kcompact("verify", few, few).exit_code == 0
    assert kcompact("verify", full, other).exit_code == 1


@pytest.mark.parametrize("copied", [False, True])
def test_nothing_in_csv_with_few_quotes_may_be_no_key_or_an_empty_one(
    copied: bool, tmp_path: Path, kcompact: Cli
) -> None:
    """``copied``: kcompact's own CSV, as pandas' to_csv and csvkit write it anew."""
    times = {at: 1_766_544_000_000 + at for at in range(3)}
    sent = [Record("t", 0, at, times[at], key, b"1,2") for at, key in enumerate([b"", b"a", b""])]
    full = write_kcat(tmp_path / "full.jsonl", sent)

    def write(name: str, keys: dict[int, str], value: str = '"1,2"') -> Path:
        path = tmp_path / f"{name}.csv"
        columns = "timestampType,key,value,headers,key_encoding,value_encoding" if copied else "key,value"
        cells = "create,{},{},,," if copied else "{},{}"
        rows = (f"t,0,{at},{times[at]},{cells.format(key, value)}" for at, key in keys.items())
        path.write_text("\n".join([f"topic,partition,offset,timestamp,{columns}", *rows, ""]))
        return path

    after, before = write("after", {1: "a", 2: ""}), write("before", {0: "", 1: "a", 2: ""})
    for pair in (full, after), (before, after), (before, write_kcat(tmp_path / "new.jsonl", sent[1:])):
        run = kcompact("verify", *pair)
        assert (run.exit_code, "--missing-key null|empty" in run.stderr) == (2, True), run.stdout
    assert kcompact("verify", full, after, "--missing-key", "empty").exit_code == 0
    assert kcompact("verify", full, after, "--missing-key", "null").exit_code == 1
    assert kcompact("verify", before, after, "--missing-key", "empty").exit_code == 0
    lost = write("lost", {1: "a"})
    assert kcompact("verify", before, lost).exit_code == 2  # an empty key would be lost
    assert kcompact("verify", before, lost, "--missing-key", "empty").exit_code == 1
    assert kcompact("verify", before, lost, "--missing-key", "null").exit_code == 0
    other = write("other", {1: "a", 2: ""}, '"2"')
    assert kcompact("verify", full, other, "--missing-key", "empty").exit_code == 1
    assert kcompact("compact", before, "-o", tmp_path / "x.csv").exit_code == 2
    assert kcompact("compact", before, "-o", tmp_path / "x.csv", "--missing-key", "empty").exit_code == 0


@pytest.mark.parametrize("is_large", [False, True])
def test_values_that_a_dump_has_as_json_are_compared_by_what_they_say(
    is_large: bool, tmp_path: Path, kcompact: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of kcat -s value=avro through ``jq .``, and of tools that parse values, beside kcat's text.

    Of a large dump, one row a key is sent at first.
    """
    if is_large:
        monkeypatch.setattr("kcompact.verify.rows.indexed.DUMP_BYTES_PER_TASK", 500)
    values = ['{"a": 1, "b": [1.0, {"c": null}]}', '{"a":2}', "[1, 2]", "text", None, "1e2"]
    sent = [
        Record("t", 0, offset, 1_766_544_000_000 + offset, f"k{offset}".encode(), value and value.encode())
        for offset, value in enumerate(values)
    ]
    full = write_kcat(tmp_path / "full.jsonl", sent)

    def write(name: str, spelt: list[str]) -> Path:
        path = tmp_path / name
        rows = (
            f'{{"topic": "t", "partition": 0, "offset": {record.offset},\n'
            f' "timestamp": {record.timestamp_ms}, "key": "k{record.offset}",\n "value": {value}}}\n'
            for record, value in zip(sent, spelt, strict=True)
        )
        path.write_text("".join(rows))
        return path

    parsed = ['{\n  "b": [1, {"c":null}],\n  "a": 1.0}', '{"a":\n 2}', "[1,2]", '"text"', "null", "100"]
    after = write("after.json", parsed)
    for pair in (full, after), (after, full):
        run = kcompact("verify", *pair)
        assert (run.exit_code, "compared by what they say" in run.stdout) == (0, True), run.stdout
        assert kcompact("verify", *pair, "--mode", "state").exit_code == 0
    others = ['{"a":1,"b":[1,{"c":0}]}', '{"a":"2"}', "[2,1]", '"Text"', '""', "101"]
    for place, other in enumerate(others):
        wrong = write(f"wrong-{place}.json", [*parsed[:place], other, *parsed[place + 1 :]])
        run = kcompact("verify", full, wrong, "--format", "json")
        assert run.exit_code == 1, run.stdout
        assert {finding["offset"] for finding in json.loads(run.stdout)["findings"]} == {place}
        assert kcompact("verify", full, wrong, "--mode", "state").exit_code == 1
    texts = write("texts.json", [json.dumps(value) for value in ['{"a": 1}', *values[1:]]])
    respelt = write("respelt.json", [json.dumps(value) for value in ['{"a":1}', *values[1:]]])
    assert kcompact("verify", texts, respelt).exit_code == 1


@pytest.mark.parametrize("options", [[], ["--max-findings=0"]])
def test_any_number_of_keys_may_be_empty_ones(options: list[str], tmp_path: Path, kcompact: Cli) -> None:
    """As Commons CSV writes them, first columns apart; more records than an answer names."""
    keys = [b"", b"a", b"", b"", b"", b"", b"b"]
    sent = [Record("t", 0, at, 1_766_544_000_000 + at, key, b"1,2") for at, key in enumerate(keys)]
    full, file = write_kcat(tmp_path / "full.jsonl", sent), tmp_path / "dump.csv"
    rows = [f't,0,{r.offset},{r.timestamp_ms},{(r.key or b"").decode()},"1,2"' for r in sent]
    file.write_text("\n".join(["topic,partition,offset,timestamp,key,value", *rows, ""]))
    for pair in (full, file), (file, full):
        run = kcompact("verify", *pair, *options)
        assert (run.exit_code, "--missing-key null|empty" in run.stderr) == (2, True), run.stdout
        assert kcompact("verify", *pair, *options, "--missing-key", "empty").exit_code == 0
        assert kcompact("verify", *pair, *options, "--missing-key", "null").exit_code == 1
    lost = write_kcat(tmp_path / "lost.jsonl", sent[:-1])  # b is missing, whatever the others are
    assert kcompact("verify", file, lost, *options).exit_code == 1


def test_nothing_in_csv_of_base64_may_be_an_empty_value(tmp_path: Path, kcompact: Cli) -> None:
    """As Flink writes columns of bytes; the hint on base64 names the dialect."""
    file, target = tmp_path / "dump.csv", tmp_path / "out.jsonl"
    rows = ["t,0,0,1766544000000,azE=,", "t,0,1,1766544000001,azI=,dg=="]
    file.write_text("\n".join(["topic,partition,offset,timestamp,key,value", *rows, ""]))
    for options, is_open in ([], True), (["--tombstone", "missing"], False), (["--tombstone", "none"], False):
        run = kcompact("compact", file, "-o", target, "--overwrite", "--dialect", "plain-base64", *options)
        assert ("for a tombstone and for an empty value alike" in run.stderr) is is_open
    assert [json.loads(line)["value"] for line in target.read_text().splitlines()] == ["", "v"]


def test_a_word_for_null_in_csv_may_be_a_null(tmp_path: Path, kcompact: Cli) -> None:
    """As polars (null_value="null") and QuixStreams write it; pandas writes None with na_rep."""
    values = [b"x", None, b""]
    records = [Record("t", 0, at, 1, b"%d" % at, value) for at, value in enumerate(values)]
    full = write_kcat(tmp_path / "full.jsonl", records)
    for word in ("null", "None"):
        words, other = tmp_path / f"{word}.csv", tmp_path / f"other-{word}.csv"
        words.write_text(
            f'topic,partition,offset,timestamp,key,value\nt,0,0,1,0,x\nt,0,1,1,1,{word}\nt,0,2,1,2,""\n'
        )
        other.write_text(words.read_text().replace("t,0,0,1,0,x", f"t,0,0,1,0,{word}"))

        for pair in ((full, words), (words, full)):
            run = kcompact("verify", *pair)
            assert (run.exit_code, "--tombstone missing, empty or literal:TEXT" in run.stdout) == (2, True)
            assert kcompact("verify", *pair, "--tombstone", "none").exit_code == 1
        assert kcompact("verify", full, words, "--tombstone", f"literal:{word}").exit_code == 0
        assert kcompact("verify", full, other).exit_code == 1


def test_headers_that_kafka_go_writes_as_null_may_have_been_empty(tmp_path: Path, kcompact: Cli) -> None:
    sent = record("a", "1", offset=0, topic="t", timestamp_ms=1_766_544_000_000, headers=(("h", b""),))
    full = write_kcat(tmp_path / "full.jsonl", [sent])
    message = {"Topic": "t", "Partition": 0, "Offset": 0, "HighWaterMark": 1, "Key": "YQ==", "Value": "MQ=="}
    message |= {"Headers": [{"Key": "h", "Value": None}], "WriterData": None, "Time": "2025-12-24T02:40:00Z"}
    (tmp_path / "go.jsonl").write_text(json.dumps(message) + "\n")

    run = kcompact("verify", full, tmp_path / "go.jsonl")
    assert (run.exit_code, "--fields headers= leaves them out" in run.stdout) == (2, True), run.stdout


def test_headers_that_a_sign_of_the_users_divides_are_no_finding(tmp_path: Path, kcompact: Cli) -> None:
    """kafka-console-consumer with ``headers.separator=;``, which no line tells."""
    headers = (("trace", b"9"), ("span", b"7"))
    sent = record("a", "1", offset=0, topic="t", timestamp_ms=1_766_544_000_000, headers=headers)
    full = write_kcat(tmp_path / "full.jsonl", [sent, sent._replace(offset=1, key=b"b", headers=())])
    place = f"CreateTime:{sent.timestamp_ms}\tPartition:0\tOffset:"
    lines = f"{place}0\ttrace:9;span:7\ta\t1\n{place}1\tNO_HEADERS\tb\t1\n"
    (tmp_path / "t.txt").write_text(lines)
    (tmp_path / "u.txt").write_text(lines.replace(";span:7", ""))

    run = kcompact("verify", full, tmp_path / "t.txt")
    assert (run.exit_code, "--fields headers= leaves them out" in run.stdout) == (2, True), run.stdout
    assert kcompact("verify", full, tmp_path / "u.txt").exit_code == 1  # a header less, for certain


def text(part: bytes | None) -> str | None:
    return None if part is None else part.decode()


def test_a_right_pair_holds(tmp_path: Path, kcompact: Cli) -> None:
    before, after = write_kcat(tmp_path / "b.jsonl", BEFORE), write_avro(tmp_path / "a.avro", AFTER)
    run = kcompact("verify", before, after, *NOW)
    assert run.exit_code == 0
    assert run.stdout.splitlines()[:2] == [f"is {after} a compaction of {before}?", "yes"]
    assert "assumed: 1 tombstone expired: gone, and old enough for that" in run.stdout


def test_what_is_left_over_is_a_finding_with_strict(tmp_path: Path, kcompact: Cli) -> None:
    before = write_kcat(tmp_path / "b.jsonl", BEFORE)
    after = write_kcat(tmp_path / "a.jsonl", [at(4), *AFTER])
    assert kcompact("verify", before, after, *NOW).exit_code == 0
    run = kcompact("verify", before, after, *NOW, "--strict")
    assert run.exit_code == 1
    assert "finding: 1 duplicate-left in orders-0\n    orders-0@4 key c: expected no record" in run.stdout


def test_a_duplicate_is_a_finding_only_where_a_checkpoint_file_shows_that_cleaning_began_before_it(
    tmp_path: Path, kcompact: Cli
) -> None:
    before = [record(key, "1", offset=offset, topic="t") for offset, key in enumerate("kxkjjz")]
    pair = (
        write_kcat(tmp_path / "b.jsonl", before),
        write_kcat(tmp_path / "a.jsonl", [r for r in before if r.offset != 3]),
    )
    without_file = kcompact("verify", *pair)
    assert (without_file.exit_code, "note: 1 duplicate-left" in without_file.stdout) == (0, True)
    checkpoint = tmp_path / "cleaner-offset-checkpoint"
    for text, outcome in {"0\n0\n": (1, True), "0\n1\nt 0 3\n": (0, False)}.items():
        checkpoint.write_text(text)
        run = kcompact("verify", *pair, "--checkpoint", checkpoint)
        assert (run.exit_code, "duplicate-left" in run.stdout) == outcome, run.stdout


def test_an_empty_after_is_judged(tmp_path: Path, kcompact: Cli) -> None:
    before, after = write_kcat(tmp_path / "b.jsonl", BEFORE), tmp_path / "a.jsonl"
    after.touch()
    run = kcompact("verify", before, after, *NOW)
    assert run.exit_code == 2
    assert run.stdout.splitlines()[1] == "nobody can tell: 2 missing-log"
    assert "found AFTER has no orders at all, nor orders-0; give --cleanup-policy: compact" in run.stdout
    decided = kcompact("verify", before, after, *NOW, *COMPACT)
    assert decided.exit_code == 1  # records behind the last gap, at 13, cannot have been aborted


def test_bounds_of_every_round_are_obeyed(tmp_path: Path, kcompact: Cli) -> None:
    records = [record("k", str(n), offset=n) for n in range(6)]
    before = write_kcat(tmp_path / "b.jsonl", records)
    after = write_kcat(tmp_path / "a.jsonl", records[5:])
    segments = tmp_path / "segments"
    segments.write_text("orders 0 0 100\norders 0 4 100\n")
    assert kcompact("verify", before, after, *NOW).exit_code == 0
    run = kcompact("verify", before, after, *NOW, "--segments", segments, *COMPACT)
    assert run.exit_code == 1
    assert "no: 2 lost-above-end" in run.stdout


@pytest.mark.parametrize("offset", [3, 6])
def test_a_checkpoint_is_read_as_what_explains_more(offset: int, tmp_path: Path, kcompact: Cli) -> None:
    records = [record("k", str(n), offset=n) for n in range(6)]
    before = write_kcat(tmp_path / "b.jsonl", records)
    after = write_kcat(tmp_path / "a.jsonl", records[5:])
    checkpoint = tmp_path / "cleaner-offset-checkpoint"
    checkpoint.write_text(f"0\n1\norders 0 {offset}\n")
    run = kcompact("verify", before, after, *NOW, "--checkpoint", checkpoint)
    assert run.exit_code == 0
    assert f"the cleaning {'began' if offset == 3 else 'ended'} (1 log)" in run.stdout


@pytest.mark.parametrize(("left", "offsets"), [(0, [1, 3]), (1, [0, 1, 3])])
def test_a_checkpoint_is_read_as_what_leaves_less_over_where_both_readings_explain_what_is_gone(
    left: int, offsets: list[int], tmp_path: Path, kcompact: Cli
) -> None:
    # Cleaned below 2, as which 0 went for 1; a round from 2 on would have taken 0 and 1 for 3.
    records = [record(key, str(n), offset=n) for n, key in enumerate("kkak")]
    after = [r for r in records if r.offset in offsets or r.key == b"a"]
    pair = write_kcat(tmp_path / "b.jsonl", records), write_kcat(tmp_path / "a.jsonl", after)
    checkpoint = tmp_path / "cleaner-offset-checkpoint"
    checkpoint.write_text("0\n1\norders 0 2\n")
    run = kcompact("verify", *pair, *NOW, "--checkpoint", checkpoint, "--strict")
    assert (run.exit_code, "left over" in run.stdout) == (0, False), run.stdout
    assert f"the cleaning {'began' if left else 'ended'} (1 log)" in run.stdout


def test_records_above_the_last_stable_offset_must_be_there(tmp_path: Path, kcompact: Cli) -> None:
    records = [record("k", str(n), offset=n) for n in range(6)]
    before = write_kcat(tmp_path / "b.jsonl", records)
    after = write_kcat(tmp_path / "a.jsonl", records[5:])
    run = kcompact("verify", before, after, *NOW, "--last-stable-offset", 3, *COMPACT)
    assert run.exit_code == 1
    assert "no: 3 lost-above-end" in run.stdout


def test_the_state_folder_tells_what_a_cleaning_knew(tmp_path: Path, kcompact: Cli) -> None:
    first = write_kcat(tmp_path / "first.jsonl", [record("a", "1", offset=0), tombstone("a", offset=1)])
    second = write_kcat(tmp_path / "second.jsonl", [record("b", "1", offset=2)])
    state = ("--state", tmp_path / "state", "--delete-retention-ms", 1000)
    kcompact("compact", first, *state, "--now", NOW_MS)
    cleaned, later = tmp_path / "first.compacted.jsonl", tmp_path / "next.jsonl"
    kcompact("compact", cleaned, second, *state, "--now", NOW_MS + 1000, "-o", later)

    run = kcompact("verify", cleaned, second, later, *state, "--now", NOW_MS + 1000)

    assert (run.exit_code, run.stderr) == (0, "")
    assert "2 -> 1 records (1 expired tombstone); cleaned up to offset 3\n" in run.stdout
    # A second early the horizon that the state remembers is not over, whatever the tombstone's own time.
    early = kcompact("verify", cleaned, second, later, *state, "--now", NOW_MS + 999, *COMPACT)
    assert early.exit_code == 1
    assert "tombstone-too-early" in early.stdout
    unrelated = kcompact("verify", first, cleaned, *state, "--now", NOW_MS + 1000)
    assert unrelated.exit_code == 2
    assert "belongs to next.jsonl, and neither BEFORE nor AFTER is that dump unchanged" in unrelated.stderr


@pytest.mark.parametrize(
    ("case", "before", "after", "side_files"),
    [
        ("w04-tombstones-stay", "before", "after", ["segments", "batches"]),
        ("w07-compact-delete", "before", "after", ["segments"]),
        ("w10-transactions", "before", "after", ["segments", "batches"]),
        ("w15-unkeyed", "before", "after", ["segments", "batches"]),
        ("w29-all-expired", "before", "after", ["segments"]),
    ],
)
def test_what_a_broker_left_holds_strictly(
    case: str, before: str, after: str, side_files: list[str], kcompact: Cli
) -> None:
    folder = GOLDEN / case
    options = [word for name in side_files for word in (f"--{name}", folder / f"{before}.{name}")]
    checkpoint = ("--checkpoint", folder / "cleaner-offset-checkpoint")
    taken_ms = json.loads((folder / "facts.json").read_text())["stages"][after]["takenAtMs"]
    run = kcompact(
        "verify", folder / f"{before}.jsonl", folder / f"{after}.jsonl", *options, *checkpoint,
        "--topic-config", folder / "topic.properties", "--now", taken_ms, "--strict",
    )  # fmt: skip
    assert (run.exit_code, run.stdout.splitlines()[1]) == (0, "yes")


def test_a_read_committed_dump_tells_what_was_aborted(kcompact: Cli) -> None:
    folder = GOLDEN / "w10-transactions"
    dumps = ("verify", folder / "before.jsonl", folder / "after.jsonl", "--strict")
    assert kcompact(*dumps).exit_code == 1
    run = kcompact(*dumps, "--read-committed", folder / "before.read_committed.jsonl")
    assert run.exit_code == 0
    assert "31 aborted" in run.stdout


def test_one_dump_alone_is_asked_what_could_still_go(tmp_path: Path, kcompact: Cli) -> None:
    assert kcompact("verify", write_kcat(tmp_path / "a.jsonl", AFTER), *NOW).exit_code == 0
    run = kcompact("verify", write_kcat(tmp_path / "b.jsonl", BEFORE), *NOW)
    assert run.exit_code == 1
    assert "no: 10 duplicate-left, 1 keyless-left" in run.stdout


@pytest.mark.parametrize(
    ("write", "doubt"), [(write_avro, ()), (write_csv, ("--tombstone", "missing", "--missing-key", "empty"))]
)
def test_states_are_compared_whatever_the_offsets(
    write: Write, doubt: tuple[str, ...], tmp_path: Path, kcompact: Cli
) -> None:
    before = write_kcat(tmp_path / "b.jsonl", BEFORE)
    restored = [r._replace(offset=n) for n, r in enumerate(r for r in AFTER if r.value is not None)]
    after = write(tmp_path / "after", restored)
    run = kcompact("verify", "--mode", "state", before, after, *doubt)
    assert (run.exit_code, run.stdout.splitlines()[1]) == (0, "yes")
    changed = write(tmp_path / "changed", [*restored[:-1], restored[-1]._replace(value=b"x")])
    run = kcompact("verify", "--mode", "state", before, changed, *doubt)
    assert run.exit_code == 1
    assert "different-value" in run.stdout


def test_text_names_three_of_a_kind_and_json_all(tmp_path: Path, kcompact: Cli) -> None:
    before = write_kcat(tmp_path / "b.jsonl", [record(f"k{n}", "1", offset=n) for n in range(9)])
    after = write_kcat(tmp_path / "a.jsonl", [record("k0", "1", offset=0)])
    lines = kcompact("verify", before, after, *NOW).stdout.splitlines()
    assert lines[2] == "finding: 8 missing-key in orders-0"
    assert lines[6] == "    and 5 more (--max-findings shows more)"
    report = json.loads(kcompact("verify", before, after, *NOW, "--format", "json").stdout)
    assert [finding["offset"] for finding in report["findings"]] == list(range(1, 9))


def test_state_takes_exactly_two_dumps(tmp_path: Path, kcompact: Cli) -> None:
    dump = write_kcat(tmp_path / "a.jsonl", AFTER)
    run = kcompact("verify", "--mode", "state", dump)
    assert run.exit_code == 2
    assert "two dumps, not 1" in run.stderr


def test_absent_keys_come_with_evidence_and_without_the_keys(tmp_path: Path, kcompact: Cli) -> None:
    dump = write_kcat(tmp_path / "a.jsonl", AFTER)
    keys = tmp_path / "keys.txt"
    keys.write_text("i\nb\nbase64:Zg==\n")
    run = kcompact("verify", "--absent-keys", keys, dump, "--format", "json", "--hash-keys")
    assert run.exit_code == 1
    report = json.loads(run.stdout)
    assert [key["verdict"] for key in report["keys"]] == ["absent", "tombstone-only", "present"]
    assert (
        report["keys"][2]["key"] == "sha256:252f10c83610ebca1a059c0bae8255eba2f95be4d1d7bcfa89d7248a82d9f111"
    )
    assert set(report["sha256"]) == {str(dump), str(keys)}


@pytest.mark.parametrize("mode", ["--absent-keys {1} {0}", "--mode state {0} {0}"])
def test_an_answer_about_whole_dumps_says_which_logs_it_is_of(
    mode: str, tmp_path: Path, kcompact: Cli
) -> None:
    other = [r._replace(partition=1, key=b"elsewhere") for r in AFTER]
    dump, keys = write_kcat(tmp_path / "a.jsonl", [*AFTER, *other]), tmp_path / "keys.txt"
    keys.write_text("elsewhere\n")
    line = ("verify", *mode.format(dump, keys).split())
    said = "assumed: logs other than those of --partitions 0 were not looked at"
    run = kcompact(*line, "--partitions", "0")
    assert (run.exit_code, said in run.stdout.splitlines()) == (0, True)
    assert said not in kcompact(*line).stdout


def test_keys_that_a_tool_has_parsed_are_looked_for_by_their_values_alone(
    tmp_path: Path, kcompact: Cli
) -> None:
    dump, keys = tmp_path / "d.jsonl", tmp_path / "keys.txt"
    record = {"topic": "t", "partition": 0, "offset": 0, "timestamp": 5, "key": {"id": 1}, "value": "x"}
    dump.write_text(json.dumps(record) + "\n")
    keys.write_text('{"id":1}\n')
    run = kcompact("verify", "--absent-keys", keys, dump)
    assert run.exit_code == 2
    assert "hint: compare keys by their values: --canonical-keys" in run.stderr
    run = kcompact("verify", "--absent-keys", keys, dump, "--canonical-keys", "--format", "json")
    assert [key["verdict"] for key in json.loads(run.stdout)["keys"]] == ["present"]


@pytest.mark.parametrize("name", ["d.avro", "topics/t/partition=0/t+0+0000000000.avro"])
def test_keys_that_are_records_of_avro_are_looked_for_by_their_bytes_alone(
    name: str, tmp_path: Path, kcompact: Cli
) -> None:
    dump, keys = tmp_path / name, tmp_path / "keys.txt"
    dump.parent.mkdir(parents=True, exist_ok=True)
    kind = {"type": "record", "name": "Key", "fields": [{"name": "id", "type": "int"}]}
    fields: dict[str, Any] = {"offset": "long", "key": kind, "value": "string"}
    if dump.parent == tmp_path:
        files = {dump: (fields, {"offset": 0, "key": {"id": 1}, "value": "x"})}
    else:
        files = {dump: ({"a": "int"}, {"a": 1}), dump.with_suffix(".keys.avro"): ({"id": "int"}, {"id": 1})}
    for path, (columns, row) in files.items():
        schema = [{"name": column, "type": column_type} for column, column_type in columns.items()]
        with path.open("wb") as out:
            fastavro.writer(out, {"type": "record", "name": "Row", "fields": schema}, [row])
    keys.write_text('{"id":1}\n')
    for line in (("verify", "--absent-keys", keys, dump), ("inspect", dump, "--key", '{"id":1}')):
        run = kcompact(*line)
        assert (run.exit_code, "each would seem to be gone" in run.stderr) == (2, True)
    keys.write_text("base64:Ag==\n")  # 1 in Avro's own encoding
    assert kcompact("verify", "--absent-keys", keys, dump).exit_code == 1


def test_a_key_that_no_dump_has_may_be_misspelt(tmp_path: Path, kcompact: Cli) -> None:
    dump, keys = write_kcat(tmp_path / "a.jsonl", AFTER), tmp_path / "keys.txt"
    keys.write_text("F\n")  # the dump has f
    run = kcompact("verify", "--absent-keys", keys, dump)
    assert (run.exit_code, "1 key in no record of the dump: spelt right?" in run.stdout) == (0, True)


def test_an_event_that_deletes_a_row_may_hold_the_row(tmp_path: Path, kcompact: Cli) -> None:
    row, dump, keys = {"id": 7, "email": "a@example.com"}, tmp_path / "a.jsonl", tmp_path / "keys.txt"
    events = [{"before": row, "after": None, "op": "d"}, {"before": None, "after": {"id": 8}, "op": "c"}]
    dump.write_text("".join(json.dumps(event | {"source": {"table": "t"}}) + "\n" for event in events))
    keys.write_text("7\n")
    options = ("--cdc", "debezium", "--key-field", "id")
    run = kcompact("verify", "--absent-keys", keys, dump, *options)
    assert (run.exit_code, "no: 1 present" in run.stdout) == (1, True)
    done = kcompact("compact", dump, "-o", tmp_path / "b.jsonl", *options, "--drop-tombstones")
    gone = kcompact("verify", "--absent-keys", keys, tmp_path / "b.jsonl", *options)
    assert (done.exit_code, gone.exit_code) == (0, 0)


def test_a_deletion_without_a_value_holds_nothing_among_change_events_either(
    tmp_path: Path, kcompact: Cli
) -> None:
    event = {"before": {"id": 7}, "after": None, "source": {"table": "t"}, "op": "d"}
    values = (json.dumps(event), None, json.dumps(event))
    records = [record(key, v, offset=o) for o, (key, v) in enumerate(zip("778", values, strict=True))]
    dump, keys = write_kcat(tmp_path / "a.jsonl", records[1:]), tmp_path / "keys.txt"
    keys.write_text("7\n")
    assert kcompact("verify", "--absent-keys", keys, dump, "--cdc", "debezium").exit_code == 0


def test_a_list_of_keys_may_be_packed(tmp_path: Path, kcompact: Cli) -> None:
    dump, keys = write_kcat(tmp_path / "a.jsonl", AFTER), tmp_path / "keys.gz"
    keys.write_bytes(gzip.compress(b"f\n"))
    assert kcompact("verify", "--absent-keys", keys, dump).exit_code == 1


def test_keys_that_come_through_a_pipe_are_those_whose_digest_is_told(
    tmp_path: Path, kcompact: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    dump, keys = write_kcat(tmp_path / "a.jsonl", AFTER), b"f\n"
    reader, writer = os.pipe()
    with os.fdopen(reader), os.fdopen(writer, "wb") as out:
        out.write(keys)
        out.close()
        by_pipe = kcompact("verify", "--absent-keys", f"/dev/fd/{reader}", dump, "--format", "json")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(keys)))
    by_name = kcompact("verify", "--absent-keys", "-", dump, "--format", "json")
    for run, name in ((by_pipe, f"/dev/fd/{reader}"), (by_name, "-")):
        assert (run.exit_code, run.stderr) == (1, "")
        assert json.loads(run.stdout)["sha256"][name] == hashlib.sha256(keys).hexdigest()


@pytest.mark.parametrize("is_packed", [False, True])
def test_of_a_dump_from_a_pipe_the_digest_is_that_of_what_came(
    is_packed: bool, tmp_path: Path, kcompact: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = write_kcat(tmp_path / "a.jsonl", AFTER).read_bytes()
    keys, pipe = tmp_path / "keys.txt", tmp_path / "pipe"
    keys.write_text("f\n")
    os.mkfifo(pipe)
    piped = gzip.compress(data) if is_packed else data
    writer = threading.Thread(target=pipe.write_bytes, args=(piped,), daemon=True)
    writer.start()
    by_pipe = kcompact("verify", "--absent-keys", keys, pipe, "--format", "json")
    writer.join()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(piped)))
    by_name = kcompact("verify", "--absent-keys", keys, "-", "--format", "json")
    for run, name in ((by_pipe, str(pipe)), (by_name, "-")):
        assert (run.exit_code, run.stderr) == (1, "")
        digests = json.loads(run.stdout)["sha256"]
        assert digests[name + " (unpacked)" * is_packed] == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be"])
def test_a_list_of_keys_may_begin_with_a_byte_order_mark(
    encoding: str, tmp_path: Path, kcompact: Cli
) -> None:
    dump = write_kcat(tmp_path / "a.jsonl", AFTER)
    keys = tmp_path / "keys.txt"
    keys.write_bytes(("\ufeff" * (encoding == "utf-16-be") + "f\r\ni\r\n").encode(encoding))
    run = kcompact("verify", "--absent-keys", keys, dump, "--format", "json")
    assert [key["verdict"] for key in json.loads(run.stdout)["keys"]] == ["present", "absent"]


def test_a_dump_without_offsets_cannot_be_judged(tmp_path: Path, kcompact: Cli) -> None:
    before, after = tmp_path / "b.csv", write_csv(tmp_path / "a.csv", AFTER)
    before.write_text("key,value\na,1\nb,2\n")
    run = kcompact("verify", before, after)
    assert run.exit_code == 2
    assert "--mode state" in run.stderr


def test_before_that_contradicts_itself_cannot_be_judged_by(tmp_path: Path, kcompact: Cli) -> None:
    before = write_kcat(tmp_path / "b.jsonl", [*BEFORE, at(14)._replace(value=b"other")])
    run = kcompact("verify", before, write_kcat(tmp_path / "a.jsonl", AFTER), *NOW)
    assert run.exit_code == 2
    assert "offset 14 of orders-0 is there twice, with different content" in run.stderr


def test_a_lost_last_record_may_belong_to_a_transaction_that_ended_behind_the_dump(
    tmp_path: Path, kcompact: Cli
) -> None:
    before = write_kcat(tmp_path / "b.jsonl", BEFORE)  # lacks offsets, as if markers lay there
    after = write_kcat(tmp_path / "a.jsonl", without(14))
    run = kcompact("verify", before, after, *NOW)
    assert run.exit_code == 2
    assert "nobody can tell: 1 missing-key" in run.stdout
    assert "BEFORE itself as --read-committed, if the topic has no transactions" in run.stdout
    for option in (("--read-committed", before), ("--log-end-offset", "orders-0=15")):
        run = kcompact("verify", before, after, *NOW, *option)
        assert (run.exit_code, "no: 1 missing-key" in run.stdout) == (1, True)


def test_github_gets_annotations_and_a_summary(
    tmp_path: Path, kcompact: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    before = write_kcat(tmp_path / "b.jsonl", BEFORE)
    after = write_kcat(tmp_path / "a.jsonl", without(14))
    command = ("verify", "--read-committed", before, before, after, *NOW)
    run = kcompact(*command)
    assert f"::error file={after},title=missing-key in orders-0@14::key f: expected" in run.stderr
    assert "`missing-key in orders-0@14`" in summary.read_text()
    quiet = kcompact(*command, "--no-annotations")
    assert (quiet.exit_code, quiet.stderr) == (1, "")


def test_the_answer_goes_to_a_file_that_is_not_there_yet(tmp_path: Path, kcompact: Cli) -> None:
    dump, answer = write_kcat(tmp_path / "a.jsonl", AFTER), tmp_path / "answer.xml"
    command = ("verify", dump, *NOW, "--format", "junit", "-o", answer)
    run = kcompact(*command)
    assert (run.exit_code, run.stdout) == (0, "")
    assert answer.read_text().startswith("<?xml")
    assert kcompact(*command).exit_code == 2
    assert kcompact(*command, "--overwrite").exit_code == 0
    assert kcompact("verify", dump, *NOW, "-o", dump, "--overwrite").exit_code == 2
    assert dump.read_bytes().startswith(b'{"topic"')


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "avro", "parquet"])
def test_a_delete_event_is_a_delete_in_what_it_was_converted_to(
    suffix: str, tmp_path: Path, kcompact: Cli
) -> None:
    """One set of options for both dumps: the converted one has keys, and values that are events still."""
    events = [(None, {"id": 1}, "c"), (None, {"id": 2}, "c"), ({"id": 1}, None, "d")]
    before, after = tmp_path / "rows.jsonl", tmp_path / f"converted.{suffix}"
    rows = [{"before": old, "after": new, "source": {}, "op": op, "ts_ms": 1} for old, new, op in events]
    before.write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = ("--cdc", "debezium", "--key-field", "id")

    assert kcompact("compact", before, "-o", after, "--to", suffix, *options).exit_code == 0

    same = kcompact("verify", "--mode", "state", before, after, *options)
    assert (same.exit_code, "1 live keys in A, 1 in B" in same.stdout) == (0, True), same.stdout
    inspection = kcompact("inspect", after, *options)
    assert inspection.stdout.startswith("2 records, 1 live of 2 keys"), inspection.stderr


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "avro", "parquet"])
def test_a_dialect_that_is_named_is_that_of_the_dump_that_was_converted(
    suffix: str, tmp_path: Path, kcompact: Cli
) -> None:
    before, after = tmp_path / "before.jsonl", tmp_path / f"after.{suffix}"
    line = '{"topic":"t","partition":0,"offset":%d,"ts":1,"key":"azE=","payload":"dg=="}\n'
    before.write_text("".join(line % offset for offset in range(3)))
    dialect = ("--dialect", "kcat-base64")

    assert kcompact("compact", before, "-o", after, "--to", suffix, *dialect).exit_code == 0

    same = kcompact("verify", before, after, *dialect)
    assert (same.exit_code, "t-0: 3 -> 1 records (2 superseded)" in same.stdout) == (0, True), same.stderr


@pytest.mark.parametrize(
    ("key", "value"), [(b"k1", b"v"), (b"\xff", b"v"), (b"user1234", b"abcd"), (b"k1", b'{"a":1}')]
)
@pytest.mark.parametrize("target", ["jsonl", None])
def test_base64_of_the_plain_envelope_may_be_converted_or_copied(
    key: bytes, value: bytes, target: str | None, tmp_path: Path, kcompact: Cli
) -> None:
    """Both dumps have the same names in the same order; only their content tells which one has base64."""
    before, after = tmp_path / "before.jsonl", tmp_path / "after.jsonl"
    encoded = [base64.b64encode(data).decode() for data in (key, value)]
    texts = f'"key":"{encoded[0]}","value":"{encoded[1]}"'
    line = f'{{"topic":"t","partition":0,"offset":%d,"timestamp":1,{texts}}}\n'
    before.write_text("".join(line % offset for offset in range(3)))
    dialect = ("--dialect", "plain-base64")

    made = kcompact("compact", before, "-o", after, *dialect, *(("--to", target) if target else ()))
    assert made.exit_code == 0, made.stderr

    same = kcompact("verify", before, after, *dialect)
    assert (same.exit_code, "t-0: 3 -> 1 records (2 superseded)" in same.stdout) == (0, True), same.stderr
    after.write_text(after.read_text().replace(encoded[0] if target is None else '"key":"', '"key":"!', 1))
    assert kcompact("verify", before, after, *dialect).exit_code in (1, 2)


def test_a_file_about_other_topics_is_noted_once(tmp_path: Path, kcompact: Cli) -> None:
    dump, config = tmp_path / "dump.jsonl", tmp_path / "topic.properties"
    write_kcat(dump, BEFORE)
    config.write_text("cleanup.policy=compact\n")
    run = kcompact("verify", dump, dump, *NOW, "--topic-config", f"others={config}")
    assert run.stderr.count("others") == 1


def test_a_dump_taken_later_is_compared_once_what_came_in_between_is_given(
    tmp_path: Path, kcompact: Cli
) -> None:
    log = [
        record(key, value, offset=offset)
        for offset, (key, value) in enumerate([("a", "1"), ("b", "1"), ("c", "1"), ("b", "2"), ("a", None)])
    ]
    before, new = write_kcat(tmp_path / "b.jsonl", log[:3]), write_kcat(tmp_path / "new.jsonl", log[3:])
    after = write_kcat(tmp_path / "a.jsonl", log[2:])
    told = (*NOW, *COMPACT)

    asked = kcompact("verify", before, after, *told)
    assert asked.exit_code == 1
    assert asked.stdout.count("(if AFTER was dumped later, a dump of what came since") == 2
    assert "found only records of this key that BEFORE does not have, the last at 3" in asked.stdout

    assert kcompact("verify", before, new, after, *told).exit_code == 0
    lossy = write_kcat(tmp_path / "lossy.jsonl", log[3:])
    assert kcompact("verify", before, new, lossy, *told).exit_code == 1
