"""``inspect --key``: the whole life of a key, with the reason for each record's fate."""

import base64
import io
import json
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import html5lib
import pytest

from conftest import Run

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]
Cli = Callable[..., Run]
HOSTILE = "<script>alert(1)</script>\u202e|`"


def line(partition: int, offset: int, time: int, key: str | None, payload: str | None) -> str:
    values = {"topic": "t", "partition": partition, "offset": offset, "tstype": "create", "ts": time}
    return json.dumps({**values, "key": key, "payload": payload}) + "\n"


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """Key a: twice in t-0, then deleted in t-1; key b: once; a record without key; a hostile key."""
    path = tmp_path / "dump.jsonl"
    path.write_text(
        line(0, 5, 1_000, "a", "one")
        + line(0, 7, 3_000, "a", "two")
        + line(0, 9, 2_000, "b", "x")
        + line(0, 10, 2_000, None, "x")
        + line(0, 11, 2_000, HOSTILE, "x")
        + line(1, 2, 4_000, "a", None)
    )
    return path


def records(run: Run) -> list[tuple[object, ...]]:
    (history,) = json.loads(run.stdout)["keys"]
    names = ("partition", "offset", "is_tombstone", "superseded_by_offset")
    return [tuple(record[name] for name in names) for record in history["records"]]


def test_every_record_is_told_in_time_with_what_supersedes_it(kcompact: Cli, dump: Path) -> None:
    run = kcompact("inspect", dump, "--key", "a", "--format", "json")
    assert run.exit_code == 0
    assert records(run) == [(0, 5, False, 7), (0, 7, False, None), (1, 2, True, None)]
    (key,) = json.loads(run.stdout)["keys"]
    assert [record["fate"].split(" (")[0].split(":")[0] for record in key["records"]] == [
        "goes",
        "stays",
        "stays for now",
    ]
    assert key["remarks"] == [
        "it is in t-0, t-1: each partition keeps its own latest record",
        "it is deleted in one partition of t and alive in another",
    ]


def test_a_record_that_overlapping_exports_repeat_does_not_supersede_itself(
    kcompact: Cli, dump: Path, tmp_path: Path
) -> None:
    later = tmp_path / "later.jsonl"
    later.write_text(line(0, 7, 3_000, "a", "two") + line(1, 2, 4_000, "a", None))
    run = kcompact("inspect", dump, later, "--key", "a", "--format", "json")
    assert {*records(run)} == {(0, 5, False, 7), (0, 7, False, None), (1, 2, True, None)}


def test_a_key_of_several_topics_is_not_in_several_partitions_of_one(kcompact: Cli, dump: Path) -> None:
    with dump.open("a") as file:
        file.write(line(3, 0, 5_000, "b", None).replace('"topic": "t"', '"topic": "u"'))
    run = kcompact("inspect", dump, "--key", "b", "--format", "json")
    assert json.loads(run.stdout)["keys"][0]["remarks"] == []


def test_what_stays_is_what_compact_keeps(kcompact: Cli, dump: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    kcompact("compact", dump, "-o", out, "--null-keys", "drop")
    kept = [json.loads(line) for line in out.read_text().splitlines()]
    history = records(kcompact("inspect", dump, "--key", "a", "--format", "json"))
    assert {(row["partition"], row["offset"]) for row in kept if row["key"] == "a"} == {
        (partition, offset) for partition, offset, _, superseded_by in history if superseded_by is None
    }


def test_a_record_leads_to_its_key(kcompact: Cli, dump: Path) -> None:
    by_offset = kcompact("inspect", dump, "--offset", "t-0=7", "--format", "json")
    assert by_offset.stdout == kcompact("inspect", dump, "--key", "a", "--format", "json").stdout


def test_keys_come_as_bytes_and_from_files_too(kcompact: Cli, dump: Path, tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("a\nnowhere\n")
    b = base64.b64encode(b"b").decode()
    run = kcompact("inspect", dump, "--key", f"@{tmp_path / 'keys'}", "--key-base64", b, "--format", "json")
    counts = {history["key"]: len(history["records"]) for history in json.loads(run.stdout)["keys"]}
    assert counts == {"b": 1, "a": 3, "nowhere": 0}


def test_logs_that_were_not_looked_at_are_named(kcompact: Cli, dump: Path) -> None:
    note = "note: logs other than those of --topic t --partitions 0 were not looked at"
    run = kcompact("inspect", dump, "--key", "a", "--topic", "t", "--partitions", "0")
    assert (run.exit_code, run.stderr.splitlines().count(note)) == (0, 1)


def test_a_file_of_keys_may_be_standard_input_and_is_not_overwritten(
    kcompact: Cli, dump: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a\n")))
    run = kcompact("inspect", dump, "--key", "@-", "--format", "json")
    assert run.stdout == kcompact("inspect", dump, "--key", "a", "--format", "json").stdout
    keys = tmp_path / "keys"
    keys.write_text("a\n")
    run = kcompact("inspect", dump, "--key", f"@{keys}", "-o", keys, "--overwrite")
    assert (run.exit_code, keys.read_text()) == (2, "a\n")


def test_a_key_of_the_samples_stands_where_the_java_client_puts_it(kcompact: Cli) -> None:
    orders = Path(__file__).parents[2] / "samples" / "orders.jsonl"
    run = kcompact("inspect", orders, "--key", "order-1003", "--format", "json")
    (key,) = json.loads(run.stdout)["keys"]
    assert {record["partition"] for record in key["records"]} == {key["belongs_to"]["orders"]["murmur2"]}


def test_text_names_the_rules(kcompact: Cli, dump: Path) -> None:
    text = kcompact("inspect", dump, "--key", "a").stdout
    assert "goes: superseded at 7 (Cleaner.shouldRetainRecord)" in text
    assert "the next round sets its horizon (MemoryRecords.filterTo)" in text


def test_a_hostile_key_is_inert_in_every_form(kcompact: Cli, dump: Path) -> None:
    for form in ("text", "markdown", "html"):
        shown = kcompact("inspect", dump, "--offset", "t-0=11", "--format", form).stdout
        assert "\u202e" not in shown
        if form == "html":
            tree: ET.Element = html5lib.HTMLParser(strict=True).parse(shown)
            assert not list(tree.iter("{http://www.w3.org/1999/xhtml}script"))


def test_a_key_is_no_markup_in_a_heading(kcompact: Cli, tmp_path: Path) -> None:
    path = tmp_path / "dump.jsonl"
    path.write_text(line(0, 5, 1_000, "##[error] <b> @all", "one"))
    shown = kcompact("inspect", path, "--key", "##[error] <b> @all", "--format", "markdown").stdout
    assert r"## `key \x23#[error] <b> @all`" in shown.splitlines()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--offset", "t-0=6"], "t-0: no record at offset 6"),
        (["--offset", "t-0=10"], "t-0: the record at offset 10 has no key"),
        (["--offset", "7"], "--offset 7: of which log?"),
        (["--key-base64", "?"], "--key-base64 ?: not base64"),
        (["--key", "@nowhere"], "nowhere: No such file or directory"),
        (["--key", "a", "--max-gaps", "0"], "--max-gaps: expectations are not checked for histories of keys"),
        (["--key", "a", "--format", "junit"], "--format junit cannot show histories of keys"),
    ],
)
def test_what_cannot_be_followed_is_said(options: list[str], message: str, kcompact: Cli, dump: Path) -> None:
    run = kcompact("inspect", dump, *options)
    assert (run.exit_code, run.stdout) == (2, "")
    assert run.stderr.startswith(f"error: {message}")


def test_a_key_that_a_tool_has_parsed_is_looked_for_by_its_value_alone(kcompact: Cli, tmp_path: Path) -> None:
    dump = tmp_path / "parsed.jsonl"
    record = {"topic": "t", "partition": 0, "offset": 0, "timestamp": 5, "key": {"id": 1}, "value": "x"}
    dump.write_text(json.dumps(record) + "\n")
    run = kcompact("inspect", dump, "--key", '{"id":1}')
    assert (run.exit_code, "hint: compare keys by their values: --canonical-keys" in run.stderr) == (2, True)
    run = kcompact("inspect", dump, "--key", '{"id":1}', "--canonical-keys", "--format", "json")
    assert records(run) == [(0, 0, False, None)]
