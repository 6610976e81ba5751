"""The law of Kafka's LogCompactionTester, through a live broker: the final message of each key is the same.

Produces records with repeats and deletes, dumps them, compacts the dump, and compares every key's final value
with what was produced. A script, as it takes some minutes for a million records::

    PYTHONPATH=tests:tests/broker python tests/broker/log_compaction_law.py --records 1000000 --seed 1
"""

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from confluent_kafka import Producer

from cleaning import consume, create
from dump_files import kcat_line
from kcompact.app import main as kcompact
from live_broker import LiveBroker, start_broker
from workloads import Workload

REPEATS = 10  # of each key, on average
DELETED = 0.1


def main() -> int:
    """Run the law once; 0 if it holds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, start_broker(Path(folder)) as broker:
        return check(broker, Path(folder), options.records, options.seed)


def check(broker: LiveBroker, folder: Path, records: int, seed: int) -> int:
    """Produce, dump, compact, compare."""
    work = Workload(seed, 2, 1, {}, {"retention.ms": "-1"}, "plain", ("plain",), "law")
    create(broker, work)
    started = time.monotonic()
    final = produce(broker, records, seed)
    dump = folder / "law.jsonl"
    dump.write_bytes(b"".join(kcat_line(record) for record in consume(broker, work.topic)))
    dumped = time.monotonic()
    compacted = folder / "law.compacted.jsonl"
    if kcompact(["compact", str(dump), "-o", str(compacted)]) or kcompact(
        ["verify", str(dump), str(compacted)]
    ):
        return 1
    kept = state(compacted)
    wrong = [key for key, value in final.items() if kept.get(key) != value]
    print(
        f"{records:,} records, {len(final):,} keys, seed {seed}: {len(wrong)} final values differ,"
        f" {len(kept) - len(final)} keys too many; produced and dumped in {dumped - started:.0f} s,"
        f" compacted and verified in {time.monotonic() - dumped:.0f} s"
    )
    return int(bool(wrong) or len(kept) != len(final))


def produce(broker: LiveBroker, records: int, seed: int) -> dict[bytes, bytes | None]:
    """Produce; the final value of each key (None: deleted)."""
    chance = random.Random(seed)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 50, "partitioner": "murmur2"})
    final: dict[bytes, bytes | None] = {}
    for number in range(records):
        key = b"%d" % chance.randrange(records // REPEATS)
        final[key] = None if chance.random() < DELETED else b"%d" % number
        producer.produce("law", key=key, value=final[key])
        if number % 10_000 == 0:
            producer.flush()
    producer.flush()
    return final


def state(dump: Path) -> dict[bytes, bytes | None]:
    """The final value of each key of a kcat dump."""
    import orjson

    rows = map(orjson.loads, dump.read_bytes().splitlines())
    return {row["key"].encode(): None if row["payload"] is None else row["payload"].encode() for row in rows}


if __name__ == "__main__":
    sys.exit(main())
