"""The dirty-ratio report for programs."""

from dataclasses import asdict
from typing import Any

from kcompact.dirtiness.dirtiness import Dirtiness, Gain
from kcompact.report.dirty_ratio.dirty_ratio_report import DirtyRatioReport, LogReport
from kcompact.report.json_document import json_document

SCHEMA_VERSION = 1


def render_json(report: DirtyRatioReport) -> str:
    """The report as JSON, keys in a stable order; bytes are the broker's, as far as they are known."""
    return json_document(
        {
            "schema_version": SCHEMA_VERSION,
            "command": "dirty-ratio",
            "inputs": report.inputs,
            "logs": [_log(log) for log in report.logs],
            "notes": report.notes,
            "run": report.run,
        }
    )


def _log(log: LogReport) -> dict[str, Any]:
    bounds, tombstones = log.dirtiness.bounds, log.perfect
    return {
        "topic": log.log.topic,
        "partition": log.log.partition,
        "records": log.records,
        "log_start_offset": bounds.log_start_offset,
        "log_end_offset": bounds.log_end_offset,
        "last_stable_offset": bounds.last_stable_offset,
        "checkpoint_offset": log.checkpoint_offset,
        "checkpoint_reset": log.dirtiness.range.checkpoint_reset,
        "segments": None if log.dirtiness.segments is None else len(log.dirtiness.segments),
        **_dirtiness(log.dirtiness),
        "estimate": _dirtiness(log.estimate) if log.estimate else None,
        "gain": _gain(log.dirtiness.gain, log.dirtiness.buffer_bytes),
        "gain_if_nothing_were_held_back": _gain(log.perfect, None),
        "tombstones": {
            "latest": tombstones.tombstones,
            "with_horizon": tombstones.stamped_tombstones,
            "due": tombstones.due_tombstones,
            "next_due_ms": log.next_due_ms,
            "last_due_ms": log.last_due_ms,
        },
        "smallest_change": asdict(log.remedy) if log.remedy else None,
        "what_if": [
            {
                "configs": dict(row.values),
                **_dirtiness(row.dirtiness),
                "gain": _gain(row.dirtiness.gain, row.dirtiness.buffer_bytes),
            }
            for row in log.what_if
        ],
    }


def _dirtiness(dirtiness: Dirtiness) -> dict[str, Any]:
    ratio = dirtiness.ratio
    return {
        "first_dirty_offset": dirtiness.range.first_dirty_offset,
        "first_uncleanable_offset": dirtiness.range.first_uncleanable_offset,
        "bounded_by": dirtiness.range.bounded_by,
        "clean_bytes": ratio.clean_bytes,
        "cleanable_bytes": ratio.cleanable_bytes,
        "uncleanable_bytes": ratio.uncleanable_bytes,
        "dirty_ratio": ratio.ratio,
        "min_cleanable_dirty_ratio": ratio.min_cleanable_dirty_ratio,
        "max_compaction_delay_ms": ratio.compaction_delay_ms,
        "eligible": dirtiness.eligible,
        "binding_limit": dirtiness.binding_limit,
    }


def _gain(gain: Gain, buffer_bytes: int | None) -> dict[str, Any]:
    figures = asdict(gain) | {
        "removable_records": gain.removable_records,
        "removable_bytes": gain.removable_bytes,
    }
    return figures if buffer_bytes is None else figures | {"dedupe_buffer_bytes_for_one_round": buffer_bytes}
