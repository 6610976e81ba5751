"""Runs rounds by key and by record in this process, on dumps cut so small that each has many stages."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

from kcompact.broker.log_names import LogName
from kcompact.broker.state.cleaner_state import CleanerState
from kcompact.broker.state.state_of_dump import state_beside
from kcompact.broker.state.state_output import OutputFile, output_file
from kcompact.compact.context.beside import Beside
from kcompact.compact.offset_maps import full_maps
from kcompact.compact.offset_maps.decided_keys import decide_by_key
from kcompact.compact.output import survivor_copying
from kcompact.compact.pipeline import compacted
from kcompact.compact.request import Compacted, Form, Request
from kcompact.compact.totals import piece_bytes
from kcompact.compact.whole_logs import record_index
from kcompact.compact.whole_logs.decided_records import decide_by_record
from kcompact.dumps.dump import open_dump
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.output.workplace import Workplace
from kcompact.dumps.writers.converting import Copier
from kcompact.engine.passes import grouping
from kcompact.engine.passes import index_pass as indexing
from kcompact.engine.passes.index_pass import plan_index
from kcompact.engine.shuffle import send_in_process
from kcompact.rules.policy import Policy, TopicPolicies

MERGE_TASKS = 3


def cut_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make tasks, receivers, shares, passes and stretches so small that a test has many of each."""
    monkeypatch.setattr(indexing, "SMALLEST_SPLIT_BYTES", 5_000)
    monkeypatch.setattr(record_index, "ROWS_PER_RECEIVER", 100)
    monkeypatch.setattr(record_index, "RECORDS_PER_SHARE", 60)
    monkeypatch.setattr(full_maps, "STEPS_PER_SHARE", 50)
    monkeypatch.setattr(full_maps, "_STEPS_AT_A_TIME", 20)
    monkeypatch.setattr(grouping, "MOST_ROWS", 7)
    monkeypatch.setattr(grouping, "MOST_KEYS", 7)
    monkeypatch.setattr(survivor_copying, "_SAMPLED", 2)


@dataclass(frozen=True)
class Left:
    """All results of a run: the dump, the report's CSVs, facts about logs, the state."""

    dump: bytes
    reports: list[bytes]
    facts: dict[str, Any]
    state: CleanerState

    @classmethod
    def by(cls, done: Compacted, folder: Path) -> "Left":
        outcome = done.outcome
        parts = [(folder / part.part).read_bytes()[part.start : part.end] for part in outcome.fragments]
        pieces = (outcome.removed_keys, outcome.gaps)
        logs = [(LogName(log.topic, log.partition), log) for log in outcome.logs]
        facts = {
            "logs": [asdict(log) for log in outcome.logs],
            "shared keys": done.shared_keys,
            "notes": done.notes,
            "ranges": {name: done.cleanings[log.log_id].range for name, log in logs},
            "removed": {name: +done.cleanings[log.log_id].removed for name, log in logs},
        }
        checkpoints = {name: done.cleanings[log.log_id].checkpoint_offset for name, log in logs}
        state = CleanerState(
            {name: offset for name, offset in checkpoints.items() if offset is not None},
            {name: done.cleanings[log.log_id].horizons for name, log in logs},
            {name: log.last_kept_offset for name, log in logs},
            (),
            {name: done.known.get(log.log_id, ()) for name, log in logs},
        )
        return cls(b"".join(parts), [b"".join(piece_bytes(folder, lines)) for lines in pieces], facts, state)


@dataclass(frozen=True)
class State:
    """A state of a cleaner that lies in memory, not in a folder."""

    state: CleanerState
    output: Path

    def beside(self, paths: Iterable[Path]) -> Any:
        known = {file.sha256 for file in self.state.files or ()}
        outputs = {str(path): output_file(path) for path in paths}
        own: dict[str, OutputFile] = {path: one for path, one in outputs.items() if one.sha256 in known}
        return state_beside("state", [self.state], [*map(str, paths)], own)


def run(
    paths: list[Path],
    folder: Path,
    policy: Policy,
    beside: Beside,
    form: Form = Form.KEYS,
    *,
    tells_sizes: bool = True,
) -> Left | None:
    """Run a compaction in one of the two forms; None: rounds by key cannot answer this request."""
    folder.mkdir()
    with open_dump([*map(str, paths)], ReadOptions()) as dump:
        place = Workplace(str(folder))
        request = Request(TopicPolicies(policy), beside, folder, place, Copier({}), form, tells_sizes)
        if form is Form.RECORDS:
            decided = decide_by_record(send_in_process, dump, request)
        else:
            plan = plan_index(dump, folder)
            decided = decide_by_key(send_in_process, dump, request, plan, MERGE_TASKS)
        return None if decided is None else Left.by(compacted(dump, decided), folder)


def by_both(paths: list[Path], folder: Path, policy: Policy, beside: Beside) -> Left:
    """The result of both forms, which must be the same."""
    folder.mkdir()
    whole = run(paths, folder / "records", policy, beside, Form.RECORDS)
    assert whole is not None
    rounds = run(paths, folder / "rounds", policy, beside)
    assert rounds is not None, "every record was to be looked at"
    assert rounds.facts == whole.facts
    assert rounds.state == whole.state
    assert rounds.reports == whole.reports
    assert rounds.dump == whole.dump
    return whole
