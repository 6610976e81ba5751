"""Produce the records of a random workload: batches, transactions, keys, values and timestamps of a round."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from confluent_kafka import Producer

from live_broker import CLIENT_SECONDS
from workloads import DAY_MS, SEGMENT_MS, Workload

FIRST_DAYS_AGO = 4.75  # and from there on half days: some hours from each whole one
LEAP_MS = DAY_MS // 2
LEAPS_A_ROUND = 3
HUGE_BYTES = 300_000
TRANSACTION_MS = 900_000  # the longest that a broker allows: one that is left open stays so


@dataclass
class Sender:
    """A producer of a round. A transaction that is open at its end is left so, as by a crash."""

    producer: Producer
    is_transactional: bool
    is_open: bool = False

    def begin(self) -> None:
        """See that a transaction is open, if it takes one."""
        if self.is_transactional and not self.is_open:
            self.producer.begin_transaction()
            self.is_open = True

    def end(self, chance: random.Random) -> None:
        """Flush; mostly commit or abort what is open."""
        self.flush()
        if not self.is_open or chance.random() < 0.2:
            return
        finish: Callable[[float], None] = (
            self.producer.abort_transaction if chance.random() < 0.35 else self.producer.commit_transaction
        )
        finish(CLIENT_SECONDS)
        self.is_open = False

    def flush(self) -> None:
        """Wait until the broker has all records."""
        waiting = self.producer.flush(CLIENT_SECONDS)
        if waiting:
            raise TimeoutError(f"{waiting} records did not reach the broker")


def produce(work: Workload, round_number: int, bootstrap: str) -> None:
    """Produce the records of one round (from 0), in batches of varying size."""
    chance = random.Random(work.seed * 1000 + round_number)
    clock = _clock(work, round_number, chance)
    senders = [_sender(kind, work, bootstrap) for kind in work.producers]
    without_keys = work.begins_as_delete and round_number == 0
    for timestamp_ms in clock:
        sender = chance.choice(senders)
        sender.begin()
        for _ in range(chance.choice([1, 1, 2, 5, 12])):
            key = None if without_keys and chance.random() < 0.2 else _key(work.keys, chance)
            late_ms = chance.choice([0, 1, 400, -300]) - (DAY_MS if chance.random() < 0.03 else 0)
            sender.producer.produce(
                work.topic,
                key=key,
                value=_value(chance, largest=work.segment_bytes // 3),
                partition=chance.randrange(work.partitions),
                timestamp=timestamp_ms + late_ms,
                headers=[("trace", chance.randbytes(4)), ("", None)] if chance.random() < 0.1 else None,
            )
            if chance.random() < 0.3:
                sender.flush()
        sender.end(chance)
    wait_for_markers(work, senders, bootstrap)


def wait_for_markers(work: Workload, senders: list[Sender], bootstrap: str) -> None:
    """Wait until the markers of every ended transaction are in the logs.

    Commit and abort return before: the coordinator writes the markers on its own. Only a successor is
    kept waiting for them.
    """
    for kind, sender in zip(work.producers, senders, strict=True):
        if sender.is_transactional and not sender.is_open:
            _sender(kind, work, bootstrap)


def _clock(work: Workload, round_number: int, chance: random.Random) -> Iterator[int]:
    """When (ms) each group of a round is from: soon after the one before, a segment later, or half a day."""
    first_ms = work.started_ms - int(FIRST_DAYS_AGO * DAY_MS)
    groups = chance.randint(8, 30)
    leaps = [chance.randrange(groups) for _ in range(chance.randrange(LEAPS_A_ROUND))]
    since_ms = 0
    for group in range(groups):
        if chance.random() < 0.25:
            since_ms += SEGMENT_MS + chance.randint(1, 5000)
        leapt = round_number * LEAPS_A_ROUND + sum(leap <= group for leap in leaps)
        since_ms += 10
        yield first_ms + leapt * LEAP_MS + since_ms


def _sender(kind: str, work: Workload, bootstrap: str) -> Sender:
    is_transactional = kind.startswith("transactional")
    config: dict[str, object] = {
        "bootstrap.servers": bootstrap,
        "linger.ms": 20,
        "batch.size": work.segment_bytes // 2,  # a batch must fit into a segment, or the broker refuses it
        "compression.type": work.codec,
        "log_level": 0,
        "on_delivery": must_arrive,
    }
    if kind == "idempotent":
        config["enable.idempotence"] = True
    if is_transactional:
        config["transactional.id"] = f"{work.topic}-{kind}"
        config["transaction.timeout.ms"] = TRANSACTION_MS
    producer = Producer(config)
    if is_transactional:
        producer.init_transactions(CLIENT_SECONDS)  # aborts what an earlier round left open
    return Sender(producer, is_transactional)


def must_arrive(error: object, _: object) -> None:
    if error is not None:
        raise RuntimeError(f"not delivered: {error}")


def _key(kind: str, chance: random.Random) -> bytes:
    number = min(int(chance.expovariate(1 / 6)), 60)
    if kind == "few":
        number %= 3
    shapes = {
        "plain": f"key-{number}".encode(),
        "few": f"k{number}".encode(),
        "unicode": f"clé-{number}-日本-\u202e".encode(),
        "binary": bytes([0xFF, 0x00, number, 0x22, 0x5C]),
        "long": f"{number:>300}".encode(),
    }
    return b"" if number == 0 else shapes[kind]


def _value(chance: random.Random, largest: int) -> bytes | None:
    shape = chance.random()
    if shape < 0.15:
        return None
    if shape < 0.2:
        return b""
    if shape < 0.3:
        return chance.randbytes(40)
    if shape < 0.32:
        return b"x" * min(3000, largest)
    if shape < 0.325:
        return chance.randbytes(min(HUGE_BYTES, largest))
    return f'{{"v": {chance.randrange(10_000)}, "s": "{"y" * chance.randrange(30)}"}}'.encode()
