"""Write the sample dumps: the same 600 records as kcat JSON lines, as Avro and as CSV.

A small shop's topic ``orders`` in three partitions: an order is updated a few times, some are cancelled and
deleted (a tombstone). Run it from anywhere; it writes beside itself, always the same bytes::

    python samples/make_samples.py
"""

import json
import random
from dataclasses import dataclass
from pathlib import Path

import fastavro

FOLDER = Path(__file__).parent
PARTITIONS = 3
RECORDS = 600
FIRST_TIMESTAMP_MS = 1_760_000_000_000
STATES = ["placed", "paid", "packed", "shipped", "delivered"]
SCHEMA = {
    "type": "record",
    "name": "orders_record",
    "namespace": "samples",
    "fields": [
        {"name": "topic", "type": "string"},
        {"name": "partition", "type": "int"},
        {"name": "offset", "type": "long"},
        {"name": "timestamp", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "key", "type": ["null", "bytes"]},
        {"name": "value", "type": ["null", "bytes"]},
    ],
}


@dataclass(frozen=True)
class Order:
    """One record of the topic."""

    partition: int
    offset: int
    timestamp_ms: int
    key: str
    value: str | None


def murmur2(data: bytes) -> int:
    """Kafka's own hash of a key (``Utils.murmur2``), unsigned."""
    mask, m = 0xFFFFFFFF, 0x5BD1E995
    h = (0x9747B28C ^ len(data)) & mask
    for start in range(0, len(data) & ~3, 4):
        k = int.from_bytes(data[start : start + 4], "little") * m & mask
        h = (h * m & mask) ^ ((k ^ k >> 24) * m & mask)
    if rest := data[len(data) & ~3 :]:
        h = (h ^ int.from_bytes(rest, "little")) * m & mask
    h = (h ^ h >> 13) * m & mask
    return h ^ h >> 15


def orders() -> list[Order]:
    """The records in the order in which a consumer met them."""
    chance = random.Random(20_261_121)
    offsets = [1200, 1180, 1215]  # older records fell to retention long ago
    progress: dict[str, int] = {}
    records = []
    timestamp_ms = FIRST_TIMESTAMP_MS
    for _ in range(RECORDS):
        key = f"order-{1000 + min(int(chance.expovariate(1 / 60)), 239)}"
        partition = (murmur2(key.encode()) & 0x7FFFFFFF) % PARTITIONS
        step = progress.get(key, -1) + 1
        timestamp_ms += chance.randint(50, 90_000)
        value = None
        if step < len(STATES) and chance.random() > 0.04:
            value = json.dumps(
                {"order": key, "state": STATES[step], "total": chance.randint(500, 90_000) / 100}
            )
            progress[key] = step
        else:
            progress.pop(key, None)  # deleted; the number may be used again
        records.append(Order(partition, offsets[partition], timestamp_ms, key, value))
        # A transaction's commit marker takes an offset now and then, and no consumer ever sees it.
        offsets[partition] += 2 if chance.random() < 0.02 else 1
    return records


def write_kcat(records: list[Order], path: Path) -> None:
    """As ``kcat -C -t orders -e -J`` prints them."""
    with path.open("w", encoding="utf-8", newline="\n") as out:
        for record in records:
            line = {
                "topic": "orders",
                "partition": record.partition,
                "offset": record.offset,
                "tstype": "create",
                "ts": record.timestamp_ms,
                "broker": 1,
                "key": record.key,
                "payload": record.value,
            }
            out.write(json.dumps(line, separators=(",", ":")) + "\n")


def write_avro(records: list[Order], path: Path) -> None:
    """As an Avro object container with the plain envelope."""
    rows = [
        {
            "topic": "orders",
            "partition": record.partition,
            "offset": record.offset,
            "timestamp": record.timestamp_ms,
            "key": record.key.encode(),
            "value": None if record.value is None else record.value.encode(),
        }
        for record in records
    ]
    marker = b"kcompact samples"  # fixed, so that the file is the same each time
    with path.open("wb") as out:
        fastavro.writer(out, SCHEMA, rows, codec="deflate", sync_marker=marker)


def write_csv(records: list[Order], path: Path) -> None:
    """As CSV with a header line: an unquoted empty field is null, a quoted one is an empty text."""
    with path.open("w", encoding="utf-8", newline="") as out:
        out.write("topic,partition,offset,timestamp,key,value\n")
        for record in records:
            value = "" if record.value is None else '"' + record.value.replace('"', '""') + '"'
            out.write(
                f"orders,{record.partition},{record.offset},{record.timestamp_ms},{record.key},{value}\n"
            )


def main() -> None:
    """Write the three files."""
    records = orders()
    write_kcat(records, FOLDER / "orders.jsonl")
    write_avro(records, FOLDER / "orders.avro")
    write_csv(records, FOLDER / "orders.csv")


if __name__ == "__main__":
    main()
