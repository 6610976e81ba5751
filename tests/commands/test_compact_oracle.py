"""``compact`` against the plain-Python oracle: many random logs in one dump, in every format."""

import csv
import random
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from conftest import Run
from dump_files import avro_offsets, kcat_offsets, write_avro, write_csv, write_kcat
from kcompact.dumps.records.record import Record
from oracle import Settings, clean

pytestmark = pytest.mark.usefixtures("spark")
Cli = Callable[..., Run]
Place = tuple[str, int, int]

TEXT_KEYS = [
    b"",
    b"a",
    b"A",
    b"a ",
    b"null",
    b"0",
    "\u00e9".encode(),
    b'say "hi"',
    b"x,y",
    b"line\nbreak",
    b"=1+1",
]
ODD_KEYS = [b"\xff", b"\xff\x00", b"\x00", b"\xc3\x28"]
LOGS = 40
KCOMPACT = [sys.executable, "-c", "import sys; from kcompact.app import main; sys.exit(main())"]


def random_records(chance: random.Random, keys: list[bytes], *, keyless: bool) -> list[Record]:
    """Logs with gaps, tombstones, empty values, repeated keys; records of different logs interleaved."""
    records = []
    for log in range(LOGS):
        offset = chance.randrange(1000)
        pool = chance.sample(keys, chance.randint(1, len(keys)))
        for _ in range(chance.randrange(25)):
            offset += chance.choice([1, 1, 1, 2, 50])
            key = None if keyless and chance.random() < 0.1 else chance.choice(pool)
            value = chance.choice([None, b"", b"null", b"v%d" % offset])
            records.append(Record(f"t{log // 3}", log % 3, offset, 1_700_000_000_000 + offset, key, value))
    order = {id(record): chance.random() for record in records}
    by_log: dict[tuple[str, int], list[Record]] = {}
    for record in sorted(records, key=lambda record: order[id(record)]):
        by_log.setdefault(record[:2], []).append(record)
    # Interleaved as a consumer meets them: any log next, each log in its order.
    queues = {
        log: sorted(log_records, key=lambda record: record.offset) for log, log_records in by_log.items()
    }
    mixed = []
    while queues:
        log = chance.choice(sorted(queues))
        mixed.append(queues[log].pop(0))
        queues = {name: queue for name, queue in queues.items() if queue}
    return mixed


def csv_offsets(path: Path) -> list[Place]:
    with path.open(newline="") as source:
        return [(row["topic"], int(row["partition"]), int(row["offset"])) for row in csv.DictReader(source)]


FORMATS: list[tuple[str, Callable[[Path, Iterable[Record]], Path], Callable[[Path], list[Place]]]] = [
    ("jsonl", write_kcat, kcat_offsets),
    ("avro", write_avro, avro_offsets),
    ("csv", write_csv, csv_offsets),
]


@pytest.mark.parametrize(("suffix", "write", "read"), FORMATS, ids=[name for name, _, _ in FORMATS])
def test_compact_keeps_what_the_oracle_keeps_in_its_order(
    suffix: str,
    write: Callable[[Path, Iterable[Record]], Path],
    read: Callable[[Path], list[Place]],
    tmp_path: Path,
    kcompact: Cli,
) -> None:
    chance = random.Random(20_261_121)
    keys = TEXT_KEYS if suffix == "csv" else TEXT_KEYS + ODD_KEYS
    records = random_records(chance, keys, keyless=suffix != "csv")
    drops = suffix == "avro"
    cut = len(records) // 3
    write(tmp_path / f"a.{suffix}", records[:cut])
    write(tmp_path / f"b.{suffix}", records[cut:])
    options = ["--null-keys", "drop", *(["--drop-tombstones"] if drops else [])]

    run = kcompact(
        "compact", tmp_path / f"a.{suffix}", tmp_path / f"b.{suffix}", "-o", f"{tmp_path}/o/", *options
    )

    assert run.exit_code == 0, run.stderr
    settings = Settings(drop_tombstones=drops)
    retained = {record[:3] for record in clean(records, settings).retained}
    expected = [[r[:3] for r in part if r[:3] in retained] for part in (records[:cut], records[cut:])]
    assert [read(tmp_path / "o" / f"{name}.{suffix}") for name in "ab"] == expected


def test_the_state_per_key_is_unchanged_and_a_second_run_changes_nothing(
    tmp_path: Path, kcompact: Cli
) -> None:
    records = random_records(random.Random(3), TEXT_KEYS + ODD_KEYS, keyless=False)
    dump = write_kcat(tmp_path / "d.jsonl", records)
    once, twice = tmp_path / "once.jsonl", tmp_path / "twice.jsonl"

    kcompact("compact", dump, "-o", once)
    kcompact("compact", once, "-o", twice)

    by_place = {record[:3]: record for record in records}
    assert live_state(records) == live_state(by_place[place] for place in kcat_offsets(once))
    assert once.read_bytes() == twice.read_bytes()


def live_state(records: Iterable[Record]) -> dict[tuple[str, int, bytes | None], bytes]:
    latest = {(r.topic, r.partition, r.key): r.value for r in sorted(records, key=lambda r: r.offset)}
    return {key: value for key, value in latest.items() if value is not None}


def test_the_number_of_cores_does_not_show(tmp_path: Path) -> None:
    """Same input, same bytes: dump, removed keys and gaps; a run of its own, as a session keeps its cores."""
    records = random_records(random.Random(4), TEXT_KEYS + ODD_KEYS, keyless=False)
    dump = write_avro(tmp_path / "d.avro", records)

    for cores in ("1", "2"):
        output = tmp_path / cores / "d.avro"
        command = [*KCOMPACT, "compact", dump, "-o", output, "--master", f"local[{cores}]"]
        subprocess.run(list(map(str, command)), check=True, capture_output=True, timeout=120)

    for name in ("d.avro", "d.report/removed-keys.csv", "d.report/gaps.csv"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()
