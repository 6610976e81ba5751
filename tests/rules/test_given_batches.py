"""Records that none of the batches given of a log holds are found, in however many blocks the batches lie."""

import random
from itertools import pairwise

import numpy as np
import pytest

from kcompact.broker.batches import Batches, PackedBatches
from kcompact.broker.log_context import LogContext
from kcompact.broker.log_names import LogName
from kcompact.compact.context.given_batches import refuse_holes
from kcompact.engine.passes.offset_runs import runs_of
from kcompact.engine.passes.summaries import LogSummary
from kcompact.errors import InputError
from packed_batches import ListedBatch, packed

NAME = LogName("t", 0)


def in_blocks(rng: random.Random, batches: list[ListedBatch]) -> PackedBatches:
    cuts = sorted({0, len(batches), *(rng.randrange(len(batches)) for _ in range(3))})
    blocks = [packed(batches[start:end]) for start, end in pairwise(cuts)]
    parts: list[Batches] = [part for block in blocks for part in block.parts()]
    return PackedBatches.of(parts)


@pytest.mark.everyday(20)
@pytest.mark.parametrize("seed", range(200))
def test_the_first_record_in_no_batch_is_named(seed: int) -> None:
    rng = random.Random(seed)
    offset, batches, held = rng.choice([0, 7]), [], set[int]()
    for _ in range(rng.choice([1, 2, 30])):
        count = rng.choice([1, 1, 4])
        batches.append(ListedBatch(offset, offset + count - 1, count, 70))
        held |= {*range(offset, offset + count)}
        offset += count + rng.choice([0, 0, 0, 3])
    first, end = batches[0].base_offset, batches[-1].last_offset + 1
    lost = set(rng.sample(range(first, end), k=rng.choice([0, 0, 1])))
    offsets = sorted({*rng.sample(sorted(held), k=len(held) - len(held) // 4), *lost, end + 2})
    checkpoint = rng.choice([None, None, rng.randint(first, end)])
    outside = [at for at in offsets if (checkpoint or 0) <= at < end and at not in held]

    summary = LogSummary(0, 1, *NAME, runs=runs_of(np.array(offsets), np.array([0]))[0])
    context = LogContext(batches=in_blocks(rng, batches), checkpoint_offset=checkpoint)
    if not outside:
        refuse_holes({1: context}, [summary])
        return
    with pytest.raises(InputError, match=f"t-0: no batch given holds offset {outside[0]}, which"):
        refuse_holes({1: context}, [summary])
