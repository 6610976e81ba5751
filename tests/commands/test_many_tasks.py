"""Runs whose dump is read by many tasks of Spark leave and tell what one task does."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kcompact.compact.whole_logs import record_index
from kcompact.engine import shuffle, tasks
from kcompact.engine.passes import index_pass as indexing
from kcompact.verify.rows import indexed

pytestmark = pytest.mark.usefixtures("spark")
SAMPLE = "samples/orders.jsonl"
ASKED = {
    "plain": ["--now", "1760030000000"],
    "lag and state": ["--state", "STATE", "--min-compaction-lag-ms", "1h", "--now", "1760000000000"],
    "small segments": ["--segment-bytes", "4KiB", "--now", "1760030000000"],
    "retention": [
        "--cleanup-policy",
        "compact,delete",
        "--retention-bytes",
        "9KiB",
        "--retention-ms=-1",
        "--now",
        "1760030000000",
    ],
}


def files_in(folder: Path) -> dict[str, Any]:
    """The output, the report and the state; what depends on the run and on names is left out."""
    contents: dict[str, Any] = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name, content = str(path.relative_to(folder)), path.read_bytes()
        if path.name == "report.json":
            report = json.loads(content)
            contents[name] = {key: report[key] for key in report.keys() - {"run", "outputs", "policies"}}
        elif path.suffix not in {".md", ".html"} and path.name != "output.json":
            contents[name] = content
    return contents


def cut_into_many_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "SMALLEST_SPLIT_BYTES", 20_000)
    monkeypatch.setattr(record_index, "ROWS_PER_RECEIVER", 100)
    monkeypatch.setattr(record_index, "RECORDS_PER_SHARE", 100)
    monkeypatch.setattr(indexed, "DUMP_BYTES_PER_TASK", 20_000)


@pytest.mark.parametrize("asked", ASKED)
def test_tasks_show_in_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kcompact: Callable[..., Any], asked: str
) -> None:
    for name in ("one", "many"):
        folder = tmp_path / name
        folder.mkdir()
        if name == "many":
            cut_into_many_tasks(monkeypatch)
        options = [str(folder / "state") if option == "STATE" else option for option in ASKED[asked]]
        run = kcompact("compact", SAMPLE, "-o", folder / "out.jsonl", *options)
        assert run.exit_code == 0, run.stderr

    assert files_in(tmp_path / "many") == files_in(tmp_path / "one")
    assert (tmp_path / "one" / "out.jsonl").stat().st_size > 0


def killers(folder: Path) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """In place of ``messages_of`` and ``result_of``: the first try of each stage's first task is killed.

    After its first block, or with all its work done; a file is left for each. Nested, so that they travel to
    the workers as they are.
    """
    messages_of, result_of = shuffle.messages_of, shuffle.result_of

    def die_if_first() -> None:
        from pyspark import TaskContext

        context = TaskContext.get()
        if context is not None and context.partitionId() == context.attemptNumber() == 0:
            (folder / f"{context.stageId()}").touch(exist_ok=False)
            os.kill(os.getpid(), signal.SIGKILL)

    def messages(*arguments: Any) -> Iterator[Any]:
        for message in messages_of(*arguments):
            yield message
            die_if_first()

    def result(work: Callable[[], Any]) -> Any:
        done = result_of(work)
        die_if_first()
        return done

    return messages, result


@pytest.mark.parametrize(("asked", "stages"), [("plain", 3), ("lag and state", 3), ("small segments", 4)])
def test_a_worker_killed_in_every_stage_changes_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kcompact: Callable[..., Any],
    asked: str,
    stages: int,
) -> None:
    cut_into_many_tasks(monkeypatch)
    killed = tmp_path / "killed"
    killed.mkdir()
    for name in ("undisturbed", "disturbed"):
        folder = tmp_path / name
        folder.mkdir()
        if name == "disturbed":
            messages, result = killers(killed)
            monkeypatch.setattr(shuffle, "messages_of", messages)
            monkeypatch.setattr(shuffle, "result_of", result)
            monkeypatch.setattr(tasks, "result_of", result)
        options = [str(folder / "state") if option == "STATE" else option for option in ASKED[asked]]
        run = kcompact("compact", SAMPLE, "-o", folder / "out.jsonl", *options)
        assert run.exit_code == 0, run.stderr

    assert len(list(killed.iterdir())) >= stages
    assert files_in(tmp_path / "disturbed") == files_in(tmp_path / "undisturbed")


def test_tasks_do_not_show_in_dirty_ratio(
    monkeypatch: pytest.MonkeyPatch, kcompact: Callable[..., Any]
) -> None:
    asked = ("dirty-ratio", SAMPLE, "--segment-bytes", "4KiB,16KiB", "--now", "1760030000000")
    single = kcompact(*asked, "--format", "json")
    cut_into_many_tasks(monkeypatch)
    many = kcompact(*asked, "--format", "json")

    assert single.exit_code == many.exit_code == 0
    reports = [json.loads(run.stdout) for run in (single, many)]
    for report in reports:
        del report["run"]
    assert reports[0] == reports[1]


def test_tasks_do_not_show_in_verify(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kcompact: Callable[..., Any]
) -> None:
    lines = Path(SAMPLE).read_bytes().splitlines(keepends=True)
    moved = [line.replace(b'"order-', b'"other-') for line in lines[40:50]]  # their offsets, with other keys
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_bytes(b"".join([*lines[30:40], *reversed(lines[20:30]), *moved, *lines[60:], *lines[-3:]]))
    taken = tmp_path / "taken.jsonl"  # in order: keys are missing, and one is at another one's place
    taken.write_bytes(b"".join([*lines[30:40], lines[40].replace(b'"order-', b'"other-'), *lines[60:-3]]))
    asked = [
        ("verify", *dumps, "--now", "1760030000000", "--format", "json")
        for dumps in ((SAMPLE, wrong), (SAMPLE, taken), (wrong,))
    ]
    singles = [kcompact(*question) for question in asked]
    cut_into_many_tasks(monkeypatch)
    many = [kcompact(*question) for question in asked]

    assert [run.exit_code for run in singles] == [1, 1, 1]
    assert [run.stdout for run in many] == [run.stdout for run in singles]
    checks = {finding["check"] for finding in json.loads(singles[0].stdout)["findings"]}
    assert {"missing-key", "duplicate-offset", "reordered-records", "changed-record"} <= checks
