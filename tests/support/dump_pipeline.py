"""A compaction in a few lines, for tests of dumps: index all splits, take the latest of each key, copy."""

import io
from pathlib import Path

import numpy as np
import pyarrow as pa

from kcompact.dumps.dump import Dump, open_dump
from kcompact.dumps.layouts import LAYOUTS
from kcompact.dumps.note_checks import check_notes, notes_by_file
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.output.outputs import OutputChoice, OutputPlan, name_outputs
from kcompact.dumps.records.layout import Chosen, DumpFile, Split, SplitNotes, SplitToIndex
from kcompact.dumps.records.record import Record, index_schema
from kcompact.engine.passes.index_pass import TaskReader, plan_index
from siphash import SECRET

ONE_SPLIT = 1 << 40


def open_one(path: Path, **options: object) -> Dump:
    """Open a dump of one file or folder."""
    return open_dump([str(path)], ReadOptions(**options))  # type: ignore[arg-type]  # of many types


def records_of(path: Path, **options: object) -> list[Record]:
    """All records of a dump, read without compiled loops."""
    with open_one(path, **options) as dump:
        splits = [(dump.files[split.file_id], split) for split in dump.splits(ONE_SPLIT)]
        parts = [LAYOUTS[file.layout].records(file, split) for file, split in splits]
        return [record for part in parts for _, _, record in part]


def index_all(
    dump: Dump, split_bytes: int = ONE_SPLIT, extra: frozenset[str] = frozenset()
) -> tuple[pa.Table, dict[int, SplitNotes]]:
    """All index rows of a dump, and the notes of each file."""
    notes: dict[int, SplitNotes] = {}
    batches = []
    splits = dump.splits(split_bytes)
    for split in splits:
        file = dump.files[split.file_id]
        notes[split.split_id] = SplitNotes()
        batches += LAYOUTS[file.layout].index(SplitToIndex(file, split, notes[split.split_id], SECRET), extra)
    return pa.Table.from_batches(batches, index_schema(extra)), notes_by_file(dump, splits, notes)


def read_by_tasks(dump: Dump, folder: Path) -> tuple[pa.Table, dict[int, SplitNotes]]:
    """As ``index_all``, by the tasks of a run; ``folder`` is where they record their progress."""
    plan, notes, batches = plan_index(dump, folder), {}, []
    for task in range(len(plan.tasks)):
        reader = TaskReader(plan, task)
        batches += reader.rows()
        notes |= {split_id: summary.notes for split_id, summary in reader.summaries.items()}
    return pa.Table.from_batches(batches, index_schema()), notes_by_file(dump, plan.splits.values(), notes)


def judged(path: Path, split_bytes: int = ONE_SPLIT, **options: object) -> list[str]:
    """The notes for the user on a dump's records. Raises InputError for records that cannot be read."""
    with open_one(path, **options) as dump:
        _, notes = index_all(dump, split_bytes)
        return check_notes(dump, notes)


def compacted(dump: Dump, split_bytes: int = ONE_SPLIT) -> bytes:
    """The latest record of each key, copied from all files of the dump into one."""
    table, _ = index_all(dump, split_bytes)
    rows = table.to_pylist()
    latest = {(row["log_id"], row["key"]): row["offset"] for row in sorted(rows, key=lambda r: r["offset"])}
    kept = [row for row in rows if latest[row["log_id"], row["key"]] == row["offset"]]
    return copied(dump, kept, split_bytes)


def copied(dump: Dump, rows: list[dict[str, int]], split_bytes: int = ONE_SPLIT) -> bytes:
    """An output file that holds the given rows' records."""
    out = io.BytesIO()
    first = dump.files[0]
    begin, between, end = LAYOUTS[first.layout].around(first)
    out.write(begin)
    fragments = [_fragment(dump.files[split.file_id], split, rows) for split in dump.splits(split_bytes)]
    out.write(between.join(filter(None, fragments)))
    out.write(end)
    return out.getvalue()


def _fragment(file: DumpFile, split: Split, rows: list[dict[str, int]]) -> bytes:
    mine = [row for row in rows if row["split_id"] == split.split_id]
    if not mine:
        return b""
    out = io.BytesIO()
    positions = np.array([row["position"] for row in mine], dtype=np.int64)
    record_bytes = np.array([row["record_bytes"] for row in mine], dtype=np.int32)
    written = LAYOUTS[file.layout].copy(Chosen(file, split, positions, record_bytes), out)
    assert written == len(out.getvalue())
    return out.getvalue()


def planned(dump: Dump, arguments: list[str], output: str | Path) -> OutputPlan:
    """The outputs of a dump with ``-o``."""
    names = name_outputs(arguments, [file.path for file in dump.files], OutputChoice(str(output)))
    return names.plan(dump.files, dump.numbers)
