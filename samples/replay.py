"""Replay a dump into a topic without loss: keys, values, tombstones, headers, timestamps, partitions.

Any dump that kcompact reads, compacted or not. Records go to the partition they came from, in the dump's
order; the new topic numbers them itself, so offsets are the one thing that differs::

    pip install confluent-kafka
    kcompact compact orders.jsonl
    python samples/replay.py orders.compacted.jsonl --bootstrap-servers localhost:9092 --topic orders-copy

Create the topic first, with as many partitions as the dump has. To keep the timestamps, leave the topic's
``message.timestamp.type`` at ``CreateTime``; mind that a short ``retention.ms`` removes old records at once.
"""

import argparse
import sys
from collections.abc import Iterator

try:
    from confluent_kafka import KafkaException, Producer
except ImportError:
    sys.exit("replay.py needs a client of Kafka: pip install confluent-kafka")

from kcompact.dumps.dump import open_dump
from kcompact.dumps.layouts import LAYOUTS
from kcompact.dumps.options import ReadOptions
from kcompact.dumps.records.record import Record
from kcompact.errors import KcompactError

WHOLE_FILE = 1 << 62


def records(paths: list[str]) -> Iterator[Record]:
    """All records of a dump, in its order, decoded."""
    with open_dump(paths, ReadOptions()) as dump:
        for split in dump.splits(WHOLE_FILE):
            file = dump.files[split.file_id]
            for _, _, record in LAYOUTS[file.layout].records(file, split):
                yield record


def replay(producer: Producer, found: Iterator[Record], topic: str | None) -> int:
    """Produce the records and wait until the broker has them all. Raises KafkaException."""
    refused: list[KafkaException] = []
    sent = 0
    for record in found:
        arguments = {
            "topic": topic or record.topic,
            "partition": record.partition,
            "key": record.key,
            "value": record.value,  # None stays null: a tombstone
            "headers": list(record.headers),
            "on_delivery": lambda error, _: refused.append(KafkaException(error)) if error else None,
        }
        if record.timestamp_ms >= 0:
            arguments["timestamp"] = record.timestamp_ms
        while True:
            try:
                producer.produce(**arguments)
                break
            except BufferError:  # the queue is full: let it drain
                producer.poll(1)
        producer.poll(0)
        if refused:
            raise refused[0]
        sent += 1
    producer.flush()
    if refused:
        raise refused[0]
    return sent


def main() -> int:
    """Read the command line and replay."""
    parser = argparse.ArgumentParser(description="Replay a dump into a topic without loss.")
    parser.add_argument("dump", nargs="+", help="files, folders or globs")
    parser.add_argument("--bootstrap-servers", required=True, metavar="HOST:PORT")
    parser.add_argument("--topic", help="the topic to produce into (default: the one each record names)")
    given = parser.parse_args()
    settings = {
        "bootstrap.servers": given.bootstrap_servers,
        "enable.idempotence": True,  # no record twice, and none overtakes another
        "compression.type": "zstd",
    }
    try:
        sent = replay(Producer(settings), records(given.dump), given.topic)
    except KcompactError as error:
        print(
            f"error: {error.message}", f"hint: {error.hint}" if error.hint else "", sep="\n", file=sys.stderr
        )
        return 2
    except KafkaException as error:
        print(f"error: the broker refused a record: {error}", file=sys.stderr)
        return 2
    print(f"{sent:,} records replayed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
