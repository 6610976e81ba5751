"""The registry: every check of verification, in the order in which reports show them."""

from kcompact.verify.check import Check
from kcompact.verify.checks import (
    aborted_left,
    changed_record,
    duplicate_left,
    duplicate_offset,
    key_resurrected,
    keyless_left,
    lost_above_end,
    lost_below_first_dirty,
    missing_key,
    missing_log,
    moved_offset,
    reordered_records,
    stale_value,
    tombstone_too_early,
    unexpected_record,
)

ROW_CHECKS: tuple[Check, ...] = (
    missing_key.CHECK,
    stale_value.CHECK,
    key_resurrected.CHECK,
    tombstone_too_early.CHECK,
    lost_above_end.CHECK,
    lost_below_first_dirty.CHECK,
    changed_record.CHECK,
    moved_offset.CHECK,
    unexpected_record.CHECK,
    duplicate_left.CHECK,
    keyless_left.CHECK,
    aborted_left.CHECK,
)
"""Checks that look at one classified row."""

CHECKS: tuple[Check, ...] = (
    missing_log.CHECK,
    *ROW_CHECKS[:9],
    reordered_records.CHECK,
    duplicate_offset.CHECK,
    *ROW_CHECKS[9:],
)
"""All of them; the first looks at whole logs, two at the order of AFTER's files."""

CHECK_NAMES = tuple(check.name for check in CHECKS)
"""The checks that reports list."""

NEED_EVIDENCE = frozenset(check.name for check in CHECKS if check.is_loss or check.is_certain is not None)
"""Checks whose findings rest on why records went."""
