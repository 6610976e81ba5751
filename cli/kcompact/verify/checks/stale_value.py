"""stale-value: the record that AFTER keeps is not the latest of its key."""

from kcompact.verify.check import Check
from kcompact.verify.rows.key_history import NOTHING_KEPT

CHECK = Check(
    name="stale-value",
    finds=lambda s: s.is_lost_last_record & ~s.rows.is_tombstone & (s.history.kept_offset != NOTHING_KEPT),
    expected="the key's last value, at offset {offset}",
    actual=lambda row: (
        f"an older {'tombstone' if row.kept_is_tombstone else 'value'}, at offset {row.kept_offset}"
    ),
    is_loss=True,
)
