"""Sightings of keys as producers with a given partitioner would have left them."""

from collections.abc import Sequence

import numpy as np

from kcompact.inspect.placement.hashes import KeyMatrix
from kcompact.inspect.placement.partitioners import PARTITIONERS, Partitioner
from kcompact.inspect.placement.partitioning import Sightings

BY_NAME = {partitioner.name: partitioner for partitioner in PARTITIONERS}


def partitions_of(keys: Sequence[bytes], partitioner: Partitioner, count: int) -> list[int]:
    """The partition of each key."""
    return [int(one) for one in partitioner.to_partition(partitioner.hashes(KeyMatrix.of(keys)), count)]


def sightings(sends: Sequence[tuple[bytes, int]]) -> Sightings:
    """Keys and partitions in the order sent; offsets count up per partition."""
    ends: dict[int, int] = {}
    seen: dict[tuple[bytes, int], tuple[int, int]] = {}
    for key, partition in sends:
        offset = ends.get(partition, 0)
        ends[partition] = offset + 1
        first, _ = seen.get((key, partition), (offset, offset))
        seen[key, partition] = first, offset
    return Sightings(
        [key for key, _ in seen],
        np.array([partition for _, partition in seen], np.int64),
        np.array([first for first, _ in seen.values()], np.int64),
        np.array([last for _, last in seen.values()], np.int64),
    )
