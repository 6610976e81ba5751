"""Whole numbers as text: ASCII digits, and not thousands of them."""

import re

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1
LARGEST_OFFSET = LONG_MAX - 1  # so that the end after it is a long, too
_WHOLE = re.compile(r"[+-]?[0-9]{1,400}")  # leading zeros are allowed, up to a limit


def whole_number(text: str) -> int | None:
    """The number that the text spells; None for anything else, such as ``²``, ``1_000`` or ``٣``.

    ``str.isdigit`` and ``int`` accept other digits than ASCII's, and ``int`` refuses thousands of them.
    """
    return int(text) if _WHOLE.fullmatch(text) else None
