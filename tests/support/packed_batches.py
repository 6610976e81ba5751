"""Batches of a log as the engine is told of them, in blocks so small that most logs have several."""

from collections.abc import Iterable

from kcompact.broker.batches import Batch, Batches, PackedBatches, behind_one_another

BATCHES_PER_BLOCK = 5


def packed(batches: Iterable[Batch]) -> PackedBatches:
    return PackedBatches.of(Batches.of(part) for part in _parts(list(batches)))


def _parts(batches: list[Batch]) -> Iterable[list[Batch]]:
    return (batches[at : at + BATCHES_PER_BLOCK] for at in range(0, len(batches), BATCHES_PER_BLOCK))


def columns(batches: PackedBatches | None) -> dict[str, list[int]]:
    """All batches of a log, column by column."""
    assert batches is not None
    return {name: column.tolist() for name, column in behind_one_another(*batches.parts()).columns().items()}
