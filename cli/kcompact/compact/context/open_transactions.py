"""Open transactions, known from a log's batches: nothing is cleaned from their first data on (R5)."""

from collections.abc import Mapping
from dataclasses import replace

from kcompact.broker.log_context import LogContext
from kcompact.broker.log_names import LogName
from kcompact.errors import InputError
from kcompact.rules.transactions import transaction_data


def with_open_transactions(
    contexts: Mapping[int, LogContext], names: Mapping[int, LogName]
) -> tuple[dict[int, LogContext], list[str]]:
    """``contexts`` with the last stable offset that batches tell, and notes. Raises InputError.

    A given offset counts if it lies at or below that one: the high watermark may have held the broker back.
    Above it, nobody could tell whether the data in between were committed, so it is refused.
    """
    completed, notes = dict(contexts), []
    for log_id, log in contexts.items():
        undecided = () if log.batches is None else tuple(transaction_data(log.batches.parts()).undecided)
        if not undecided:
            continue
        first_offset, name = undecided[0].first_offset, names[log_id]
        if log.last_stable_offset is None:
            completed[log_id] = replace(log, last_stable_offset=first_offset, undecided=undecided)
            notes.append(
                f"{name}: by its batches the transaction at offset {first_offset} is open; a broker cleans"
                " nothing from there on (if it has ended since: give --batches anew)"
            )
        elif log.last_stable_offset > first_offset:
            raise InputError(
                f"--last-stable-offset {name}={log.last_stable_offset}: by its batches the transaction at"
                f" offset {first_offset} is open",
                hint="give the --batches of a moment at which the transaction had ended,"
                " or leave --last-stable-offset out",
            )
    return completed, notes
