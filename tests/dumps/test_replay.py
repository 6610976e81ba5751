import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kcompact.dumps.records.record import Record
from kcompact.dumps.writers.targets import TARGETS

SCRIPT = Path(__file__).parents[2] / "samples" / "replay.py"
RECORDS = [
    Record("t", 1, 5, 1_700_000_000_000, b"k\xff", b"\0v", (("h", b"x"), ("h", None))),
    Record("t", 0, 9, -1, None, b""),
    Record("t", 1, 6, 7, b"", None),
]


class Producer:
    """Takes what librdkafka's producer takes, with a queue of two."""

    def __init__(self, refuse: object = None) -> None:
        self.sent: list[dict[str, Any]] = []
        self.waiting: list[Any] = []
        self.refuse = refuse

    def produce(self, **arguments: Any) -> None:
        if len(self.waiting) == 2:
            raise BufferError
        self.waiting.append(arguments.pop("on_delivery"))
        self.sent.append(arguments)

    def poll(self, timeout: float) -> None:
        if timeout:
            self.flush()

    def flush(self) -> None:
        for delivery in self.waiting:
            delivery(self.refuse, None)
        self.waiting.clear()


@pytest.fixture
def replay(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    client = ModuleType("confluent_kafka")
    vars(client).update(KafkaException=RuntimeError, Producer=Producer)
    monkeypatch.setitem(sys.modules, "confluent_kafka", client)
    spec = importlib.util.spec_from_file_location("replay", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_everything_but_offsets_is_replayed(replay: ModuleType, tmp_path: Path) -> None:
    writer = TARGETS["avro"]("")
    (tmp_path / "dump.avro").write_bytes(writer.begin() + b"".join(writer.encode(RECORDS)))
    producer = Producer()
    assert replay.replay(producer, replay.records([str(tmp_path / "dump.avro")]), None) == 3
    assert not producer.waiting
    assert [(m["topic"], m["partition"], m["key"], m["value"]) for m in producer.sent] == [
        (record.topic, record.partition, record.key, record.value) for record in RECORDS
    ]
    assert producer.sent[0]["headers"] == [("h", b"x"), ("h", None)]
    assert producer.sent[0]["timestamp"] == 1_700_000_000_000
    assert "timestamp" not in producer.sent[1]


def test_a_refused_record_stops_the_replay(replay: ModuleType) -> None:
    with pytest.raises(RuntimeError, match="no such partition"):
        replay.replay(Producer("no such partition"), iter(RECORDS[:1]), "copy")


def test_without_a_client_of_kafka_the_script_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "confluent_kafka.py").write_text("raise ImportError")
    run = subprocess.run(
        [sys.executable, SCRIPT, "--help"],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(tmp_path)},
    )
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == "replay.py needs a client of Kafka: pip install confluent-kafka\n"
