"""``kcompact compact`` on what other tools write: each layout keeps its form, and the same records stay."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Run
from dump_pipeline import index_all, open_one

pytestmark = pytest.mark.usefixtures("spark")
FIXTURES = Path(__file__).parents[1] / "dumps" / "fixtures"
SURVIVORS = [(0, 2), (0, 3), (0, 5), (0, 6), (1, 0)]


def places(path: Path) -> list[tuple[int, int]]:
    """(partition, offset) of every record of a dump."""
    with open_one(path) as dump:
        table, notes = index_all(dump)
    logs = {log_id: log for note in notes.values() for log_id, log in note.logs.items()}
    rows = zip(table["log_id"].to_pylist(), table["offset"].to_pylist(), strict=True)
    return [(logs[log_id][1], offset) for log_id, offset in rows]


@pytest.mark.parametrize(
    "name",
    [
        "rpk-24.3.json",  # pretty objects
        "rest-proxy-7-json.json",  # several arrays
        "control-center-7.json",  # an array on one line, newest first
        "redpanda-console-2.json",  # a pretty array
        "aws-lambda-msk.json",  # a wrapper
        "gui-capitals-bom.csv",
        "console-consumer-3.7.txt",
        "dump-log-3.7",  # a folder of text
        "spark-3.5-json",  # a folder of parts in no order, with _SUCCESS
        "aiven-3-json",  # topic and partition in file names
    ],
)
def test_every_layout_compacts_to_the_same_records(
    name: str, tmp_path: Path, kcompact: Callable[..., Run]
) -> None:
    source = tmp_path / name
    if (FIXTURES / name).is_dir():
        shutil.copytree(FIXTURES / name, source)
        output = tmp_path / f"{name}.compacted"
    else:
        shutil.copy(FIXTURES / name, source)
        output = source.with_name(f"{source.stem}.compacted{source.suffix}")

    run = kcompact("compact", source)

    assert run.exit_code == 0, run.stderr
    assert sorted(places(output)) == SURVIVORS
    with open_one(source) as before, open_one(output) as after:
        assert {file.layout for file in before.files} == {file.layout for file in after.files}
        assert {file.topic for file in before.files} == {file.topic for file in after.files}


@pytest.mark.parametrize("line_end", ["\n", "\r\n", ""])
def test_a_tombstone_in_the_last_column_is_converted_to_a_tombstone(
    line_end: str, tmp_path: Path, kcompact: Callable[..., Run]
) -> None:
    rows = ["topic,partition,offset,key,value", "t,0,0,a,x", 't,0,1,b,"y"', "t,0,2,a,"]
    source, output = tmp_path / "a.csv", tmp_path / "a.jsonl"
    source.write_bytes(((line_end or "\n").join(rows) + line_end).encode())

    run = kcompact("compact", source, "-o", output)

    assert run.exit_code == 0, run.stderr
    records = [json.loads(line) for line in output.read_text().splitlines()]
    assert [(record["key"], record["value"]) for record in records] == [("b", "y"), ("a", None)]


def test_a_doubtful_null_is_refused_only_where_it_counts(
    tmp_path: Path, kcompact: Callable[..., Run]
) -> None:
    source = shutil.copy(FIXTURES / "rpk-23.3.json", tmp_path)

    assert kcompact("compact", source).exit_code == 0
    refused = kcompact("compact", source, "--overwrite", "--drop-tombstones")
    assert refused.exit_code == 2
    assert "--drop-tombstones depends on which it is" in refused.stderr
    assert "--tombstone" in refused.stderr
    decided = kcompact("compact", source, "--overwrite", "--drop-tombstones", "--tombstone", "null")
    assert decided.exit_code == 0
    assert (0, 3) in places(tmp_path / "rpk-23.3.compacted.json")


def test_keys_that_may_be_null_or_empty_are_asked_about(tmp_path: Path, kcompact: Callable[..., Run]) -> None:
    source = tmp_path / "keyless.json"
    source.write_text(
        '{"topic":"t","value":"a","timestamp":1,"partition":0,"offset":0}\n'
        '{"topic":"t","key":"k","value":"b","timestamp":1,"partition":0,"offset":1}\n'
        '{"topic":"t","value":"c","timestamp":1,"partition":0,"offset":2}\n'
    )

    refused = kcompact("compact", source, "--null-keys", "drop")
    assert refused.exit_code == 2
    assert "--missing-key null|empty" in refused.stderr
    assert kcompact("compact", source, "--missing-key", "empty").exit_code == 0
    assert places(tmp_path / "keyless.compacted.json") == [(0, 1), (0, 2)]


def test_a_row_that_was_deleted_stays_deleted(tmp_path: Path, kcompact: Callable[..., Run]) -> None:
    source = FIXTURES / "debezium-2-values.jsonl"
    output = tmp_path / "rows.jsonl"

    run = kcompact(
        "compact", source, "-o", output, "--cdc", "debezium", "--key-field", "id", "--drop-tombstones"
    )

    assert run.exit_code == 0, run.stderr
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    assert [(row["op"], row["after"]["title"]) for row in rows] == [("u", "short spade"), ("u", "Dutch hoe")]
    same = kcompact("verify", source, output, "--mode", "state", "--cdc", "debezium", "--key-field", "id")
    assert same.exit_code == 0, same.stdout + same.stderr


def test_no_hint_on_the_way_loses_a_delete(tmp_path: Path, kcompact: Callable[..., Run]) -> None:
    source = tmp_path / "rows.jsonl"
    source.write_text('{"row": {"id": 1}}\n{"row": null, "was": {"id": 1}}\n')

    run = kcompact("compact", source, "-o", tmp_path / "out.jsonl", "--key-field", "row.id")

    assert run.exit_code == 2
    assert "lose them, deletes among them, with --null-keys drop" in run.stderr.replace("\n", " ")
