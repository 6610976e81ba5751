"""Refusing segments, batches and bounds that contradict the records: they must be of another log."""

from collections.abc import Iterable

from kcompact.broker.log_context import LogContext
from kcompact.cleaner.batch_shares import StretchFigures
from kcompact.errors import InputError


def refuse_misfits(name: str, context: LogContext, first_offset: int, last_offset: int) -> None:
    """Raise InputError if segments or log end contradict the offsets of the records."""
    if context.segments and first_offset < context.segments[0].base_offset:
        raise InputError(
            f"{name}: the first segment told starts at {context.segments[0].base_offset}, but the dump holds"
            f" offset {first_offset}",
            hint="the segments are those of another log, or of a later moment than the dump",
        )
    if context.log_end_offset is not None and last_offset >= context.log_end_offset:
        raise InputError(
            f"{name}: the log end is told to be {context.log_end_offset}, but the dump holds offset"
            f" {last_offset}",
            hint="a log ends behind its last record: --log-end-offset is the next offset to be written",
        )


def refuse_overfull_batch(name: str, figures: Iterable[StretchFigures]) -> None:
    """Raise InputError if the dump holds more records of a batch than its header counts."""
    for of_stretch in figures:
        batch = of_stretch.opening.overfull
        if batch is not None:
            raise InputError(
                f"{name}: the batch at offset {batch.base_offset} is told to hold {batch.record_count}"
                f" records, but the dump holds {batch.records_held} of them",
                hint="the batches are those of another log, or of a later moment than the dump",
            )
