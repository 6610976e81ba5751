"""missing-key: lost state. The key lives in BEFORE, and AFTER has no record of it."""

from kcompact.verify.check import Check
from kcompact.verify.rows.key_history import NOTHING_KEPT

CHECK = Check(
    name="missing-key",
    finds=lambda s: s.is_lost_last_record & ~s.rows.is_tombstone & (s.history.kept_offset == NOTHING_KEPT),
    expected="the key's last value, at offset {offset}",
    actual="no record of this key",
    is_loss=True,
)
