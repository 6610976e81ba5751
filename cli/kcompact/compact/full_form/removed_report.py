"""removed-keys.csv in the full form: found where the records of a key meet, written by share."""

import pickle
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kcompact.cleaner.cleaning import Cleaning
from kcompact.cleaner.shares import aggregated, slices_by_log
from kcompact.cleaner.tracked import rows_of_keys
from kcompact.compact.decided_rows import REMOVED_SCHEMA
from kcompact.compact.full_form import remembering
from kcompact.compact.full_form.full_job import REASON_NAMES, FullJob
from kcompact.compact.full_form.remembering import KnownByLog, records_to_know
from kcompact.compact.keys_across_partitions import SharedKeys, find_shared_keys, together
from kcompact.compact.task_files import results_of
from kcompact.compact.totals import LogOutcome, PartRange, Piece
from kcompact.engine.blocks import row_blocks, rows_in
from kcompact.engine.shuffle import DRIVER, Block, Sent
from kcompact.rules.decisions import with_verdicts
from kcompact.rules.verdicts import Verdict

_LOST, _FIGURES = "lost keys", "figures"


@dataclass(frozen=True)
class KeysReport:
    """All that is found where the records of each key meet."""

    pieces: list[Piece]  # of removed-keys.csv
    shared: SharedKeys
    known: KnownByLog  # by log id, for a state to remember; empty where there is none


def report_removed_keys(cleaning: Cleaning, job: FullJob, logs: Mapping[int, LogOutcome]) -> KeysReport:
    """Write the keys that lost records into parts, in the order of last offsets; find shared keys.

    How many keys there are, and how many of them lost records, is added to ``logs``.
    """
    tracked, plans, names = cleaning.tracked, cleaning.plans, job.names
    shares, lookups = tracked.shares, tracked.lookups

    def send_lost(_: int, blocks: list[Block]) -> Sent:
        rows = with_verdicts(rows_of_keys(blocks, lookups), plans)
        keys = _keys(rows)
        log_ids = keys["log_id"].to_numpy()
        counts = Counter(
            dict(zip(*(part.tolist() for part in np.unique(log_ids, return_counts=True)), strict=True))
        )
        known = records_to_know(rows) if job.has_state else {}
        yield DRIVER, Block(_FIGURES, pickle.dumps((counts, find_shared_keys(keys, names), known)))
        lost = keys.filter(pc.greater(keys["records_removed"], 0))
        yield from row_blocks(
            _LOST, lost, shares.of(lost["log_id"].to_numpy(), lost["last_offset"].to_numpy())
        )

    sent = tracked.keyed.then(shares.count, send_lost)
    parts, figures = results_of(sent, [0] * shares.count, job, _write)
    shared, known = [], []
    for block in figures:
        keys, shared_keys, to_know = pickle.loads(block.content)  # noqa: S301  pickled by send_lost
        shared.append(shared_keys)
        known.append(to_know)
        for log_id, count in keys.items():
            logs[log_id].keys += count
    pieces: dict[int, list[Piece]] = {log_id: [] for log_id in logs}
    for part in parts:
        for log_id, lines, piece in part:
            logs[log_id].removed_keys += lines
            pieces[log_id].append(piece)
    in_order = [piece for of_log in pieces.values() for piece in of_log]
    return KeysReport(in_order, together(shared), remembering.together(known))


def _keys(rows: pa.Table) -> pa.Table:
    """One row per log and key of rows with a verdict."""
    rows = rows.filter(rows["key"].is_valid()).sort_by("offset")
    verdict = rows["verdict"]
    retained = pc.equal(verdict, int(Verdict.RETAINED))
    removed = pc.and_not(pc.invert(retained), pc.equal(verdict, int(Verdict.REPEATED)))
    columns: dict[str, tuple[pa.ChunkedArray, str]] = {
        "records_removed": (removed.cast(pa.int64()), "sum"),
        "first_offset_removed": (pc.if_else(removed, rows["offset"], None), "min"),
        "retained_offset": (pc.if_else(retained, rows["offset"], None), "max"),
        "last_verdict": (pc.if_else(removed, verdict, None), "last"),  # rows come in the order of offsets
        "last_offset": (rows["offset"], "max"),
    }
    return aggregated(rows, ["log_id", "key"], columns)


def _write(job: FullJob, share: int, blocks: list[Block]) -> list[tuple[int, int, PartRange]]:
    """Write one share's lines; per log how many they are, and where."""
    batches = rows_in(blocks, _LOST)
    if not batches:
        return []
    rows = pa.Table.from_batches(batches).combine_chunks()
    rows = rows.take(np.lexsort((rows["last_offset"].to_numpy(), rows["log_id"].to_numpy())))
    name = f"removed-{share:06}"
    ranges = []
    with job.workplace.create(name) as part:
        for log_id, lost in slices_by_log(rows):
            start = part.tell()
            part.write(job.render_removed(*job.names[log_id], _removed_rows(lost)))
            ranges.append((log_id, lost.num_rows, PartRange(name, start, part.tell())))
    return ranges


def _removed_rows(lost: pa.Table) -> pa.Table:
    """REMOVED_SCHEMA rows; the reason why a key is gone is that of its last record."""
    stays = lost["retained_offset"].combine_chunks().is_valid().to_numpy(zero_copy_only=False)
    reasons = [REASON_NAMES[Verdict(code)] for code in lost["last_verdict"].to_pylist()]
    columns = [lost[name] for name in REMOVED_SCHEMA.names[:-1]]
    return pa.table([*columns, pa.array(reasons, pa.string(), mask=stays)], schema=REMOVED_SCHEMA)
