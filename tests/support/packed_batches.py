"""Batches of a log as the engine gets them, in blocks so small that most logs have several."""

from collections.abc import Iterable
from dataclasses import dataclass

from kcompact.broker.batches import ABORT, COMMIT, NONE, Batch, Batches, PackedBatches, behind_one_another

BATCHES_PER_BLOCK = 5
MARKERS = {"COMMIT": COMMIT, "ABORT": ABORT, None: NONE}


@dataclass(frozen=True)
class ListedBatch:
    """A batch as a list of batches describes it: with the names of codec and marker, None if not given."""

    base_offset: int
    last_offset: int
    record_count: int
    size_bytes: int
    segment_base_offset: int | None = None
    codec: str = "none"
    timestamp_type: str = "create"  # "create" or "logappend"
    max_timestamp_ms: int = -1
    producer_id: int = -1
    producer_epoch: int = -1
    is_transactional: bool = False
    is_control: bool = False
    marker: str | None = None  # "COMMIT" or "ABORT"
    delete_horizon_ms: int | None = None

    def as_batch(self) -> Batch:
        return Batch(
            self.base_offset,
            self.last_offset,
            self.record_count,
            self.size_bytes,
            NONE if self.segment_base_offset is None else self.segment_base_offset,
            self.codec != "none",
            self.timestamp_type == "logappend",
            self.max_timestamp_ms,
            self.producer_id,
            self.producer_epoch,
            self.is_transactional,
            self.is_control,
            MARKERS[self.marker],
            NONE if self.delete_horizon_ms is None else self.delete_horizon_ms,
        )


def packed(batches: Iterable[ListedBatch]) -> PackedBatches:
    parts = _parts([batch.as_batch() for batch in batches])
    return PackedBatches.of(map(Batches.of, parts))


def _parts(batches: list[Batch]) -> Iterable[list[Batch]]:
    return (batches[at : at + BATCHES_PER_BLOCK] for at in range(0, len(batches), BATCHES_PER_BLOCK))


def columns(batches: PackedBatches | None) -> dict[str, list[int]]:
    """All batches of a log, column by column."""
    assert batches is not None
    return {name: column.tolist() for name, column in behind_one_another(*batches.parts()).columns().items()}
