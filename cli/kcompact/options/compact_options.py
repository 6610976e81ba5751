"""Options of ``compact`` about records to remove, beside Kafka's configs."""

import enum
from dataclasses import dataclass

from kcompact.digits import INT_MAX, whole_number
from kcompact.errors import PolicyError
from kcompact.options.groups import OptionGroup, flag, option


class NullKeys(enum.StrEnum):
    """The fate of records without key that the run would remove (R20)."""

    ERROR = "error"
    DROP = "drop"
    KEEP = "keep"


def parse_rounds(text: str) -> int | None:
    """``--rounds``: a number from 1, or None for ``until-clean``. Raises PolicyError."""
    if text == "until-clean":
        return None
    rounds = whole_number(text)
    if rounds is not None and 0 < rounds <= INT_MAX:
        return rounds
    raise PolicyError(
        f"--rounds {text}: not a number of rounds", hint="write --rounds 3, or --rounds until-clean"
    )


@dataclass(frozen=True)
class CleaningOptions(OptionGroup):
    """Decisions about a cleaning for which a broker has no config."""

    panel = "Cleaning"
    drop_tombstones: bool = flag("Remove latest tombstones at once, as if their horizon had passed.")
    null_keys: NullKeys = option("Records without key: a broker drops them.", default=NullKeys.ERROR)
    rounds: str = option(
        "How many rounds of cleaning, where the offset map is limited.", "N|until-clean", default="1"
    )
    respect_dirty_ratio: bool = flag("Leave logs alone that a broker would not clean yet.")
