"""Delete horizons (R25 to R27), which no dump carries: for each log and round, an end offset and a time."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kcompact.broker.log_names import LogName
from kcompact.broker.text_lines import numbers_by_log
from kcompact.errors import InputError

HORIZONS_NAME = "delete-horizons"

_LINE = "topic partition rewritten_end_offset delete_horizon_ms"


class DeleteHorizon(NamedTuple):
    """The horizon of the tombstones that one round stamped.

    These are the tombstones below ``rewritten_end_offset`` that no earlier round has stamped.
    """

    rewritten_end_offset: int  # exclusive
    delete_horizon_ms: int


def parse_delete_horizons(text: str, path: str) -> dict[LogName, tuple[DeleteHorizon, ...]]:
    """Horizons by log, in the order of the rounds. Raises InputError that names ``path`` and the line."""
    horizons: dict[LogName, list[DeleteHorizon]] = {}
    lines = enumerate(text.split("\n"), 1)
    for number, log, (end_offset, horizon_ms) in numbers_by_log(lines, path, _LINE):
        of_log = horizons.setdefault(log, [])
        if of_log and end_offset <= of_log[-1].rewritten_end_offset:
            raise InputError(f"{path}:{number}: a later round of {log} ends below an earlier one")
        of_log.append(DeleteHorizon(end_offset, horizon_ms))
    return {log: tuple(of_log) for log, of_log in horizons.items()}


def format_delete_horizons(horizons: Mapping[LogName, Iterable[DeleteHorizon]]) -> str:
    """The file's text, sorted by log; within a log in the order of the rounds."""
    return "".join(
        f"{topic} {partition} {horizon.rewritten_end_offset} {horizon.delete_horizon_ms}\n"
        for (topic, partition), of_log in sorted(horizons.items())
        for horizon in of_log
    )
