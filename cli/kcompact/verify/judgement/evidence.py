"""Evidence in removals about the rounds that a log went through (R12, R16, R17, R21)."""

from dataclasses import dataclass

from kcompact.verify.rows.key_rows import BEFORE_ALL, BEHIND_ALL


@dataclass(frozen=True)
class Evidence:
    """Certain facts about one log's rounds; offsets are inclusive.

    Rounds go on where the one before ended, so together they mapped one range of offsets. It begins at
    ``first_dirty_at_most`` or before, and holds all from there to ``mapped_up_to``: a record that one in
    between replaces cannot have stayed. Segments that hold offsets up to ``rewritten_up_to`` were rewritten.
    """

    first_dirty_at_most: int = BEHIND_ALL
    mapped_up_to: int = BEFORE_ALL
    rewritten_up_to: int = BEFORE_ALL

    def plus(self, other: "Evidence") -> "Evidence":
        """Of the records of both."""
        return Evidence(
            min(self.first_dirty_at_most, other.first_dirty_at_most),
            max(self.mapped_up_to, other.mapped_up_to),
            max(self.rewritten_up_to, other.rewritten_up_to),
        )
