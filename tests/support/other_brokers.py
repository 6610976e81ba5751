"""The records that a broker with an offset map of another size could have left of a golden log."""

from dataclasses import replace

from broker_model import byte_sums, cleanable_range
from broker_rounds import clean_round
from golden_cases import GoldenCase, Log
from golden_model import config_of, model_log


def map_size_that_leaves(case: GoldenCase, pair_index: int, log: Log, offsets: set[int]) -> int | None:
    """The size of an offset map, in keys, with which rounds leave exactly these offsets; None: there is none.

    The size follows from ``log.cleaner.dedupe.buffer.size``, ``log.cleaner.threads`` and the load factor,
    configs of the broker, not the topic, that may change while it runs. The dirty ratio is ignored, as it
    only decides when a round begins.
    """
    config = config_of(case.configs(pair_index, log[0]))
    keys = {r.key for batch in model_log(case, pair_index, log).batches() for r in batch.records}
    (now_ms,) = {one.now_ms for one in case.rounds(pair_index) if one.log == log} or {
        case.facts["stages"][case.pairs[pair_index][1]]["takenAtMs"]
    }
    for limit in range(1, len(keys) + 1):
        model = model_log(case, pair_index, log)
        while byte_sums(model, found := cleanable_range(model, config, now_ms))[1]:
            clean_round(model, replace(config, offset_map_limit=limit), now_ms, found)
            if {r.offset for batch in model.batches() for r in batch.records} == offsets:
                return limit
    return None
