"""Runs command lines in processes of their own, with a store's environment, and puts dumps for them there."""

import gzip
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from conftest import AT_LENGTH
from engine_runs import FULL_JDK
from s3_server import S3
from spark_cluster import cluster_environment

SECONDS = 300
needs_jdk = pytest.mark.skipif(
    FULL_JDK is None, reason="executors need a full JDK, and this machine has none"
)
FORMS = [pytest.param((), id="plain")] + [
    pytest.param(("--min-compaction-lag-ms", "1"), id="full")
] * AT_LENGTH
_WHAT_MADE_IT = ("--read-committed", "s3://bucket/in/")
QUESTIONS = [
    pytest.param(("inspect", "s3://bucket/in/"), id="inspect"),
    pytest.param(("inspect", "s3://bucket/in/", "--key", "key-7", "--offset", "large-1=4"), id="inspect-key"),
    pytest.param(("dirty-ratio", "s3://bucket/in/", *_WHAT_MADE_IT, "--now", "1"), id="dirty-ratio"),
    pytest.param(("verify", "s3://bucket/in/", "s3://bucket/after/", *_WHAT_MADE_IT), id="verify"),
    pytest.param(("verify", "s3://bucket/after/"), id="verify-alone"),
    pytest.param(
        ("verify", "s3://bucket/in/", "s3://bucket/after/", "--absent-keys", "@keys"), id="verify-absent"
    ),
]
"""Command lines that ask about the dumps of ``put_compacted``; ``@keys`` is a file of the driver's."""
SAMPLE = Path(__file__).parents[2] / "samples" / "orders.jsonl"
CODE = "import sys; from kcompact.app import main; sys.exit(main(sys.argv[1:]))"


def run_kcompact(
    *arguments: object, environment: Mapping[str, str], folder: Path
) -> subprocess.CompletedProcess[str]:
    """Run one command line; ``folder`` takes its temporary files."""
    return subprocess.run(
        [sys.executable, "-c", CODE, *map(str, arguments)],
        env=os.environ | {"TMPDIR": str(folder)} | environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def put_sample(store: S3, prefix: str, objects: int = 4, *, packed: bool = True) -> None:
    """Put the sample dump as so many objects, cut at lines, with others that a reader of a prefix ignores."""
    lines = SAMPLE.read_bytes().splitlines(keepends=True)
    for number in range(objects):
        part = b"".join(lines[number * len(lines) // objects : (number + 1) * len(lines) // objects])
        name = f"{prefix}orders-{number}.jsonl"
        store.put(f"{name}.gz" if packed else name, gzip.compress(part) if packed else part)
    store.put(f"{prefix}_temporary/0", b"not of the dump")


def put_large(store: S3, prefix: str) -> None:
    """Put a dump that two tasks read: two packed objects, with keys that are in both."""
    for number in range(2):
        lines = [_line(offset) for offset in range(number * 4_500, (number + 1) * 4_500)]
        store.put(f"{prefix}large-{number}.jsonl", b"".join(lines))


def _line(offset: int) -> bytes:
    partition, key = offset % 3, f"key-{offset * 7919 % 1_501}"
    value = "null" if offset % 11 == 0 else f'"{offset:06}{"x" * 2_000}"'
    return (
        f'{{"topic":"large","partition":{partition},"offset":{offset},"tstype":"create","ts":{offset},'
        f'"broker":0,"key":"{key}","payload":{value}}}\n'
    ).encode()


def records_of(objects: Mapping[str, bytes]) -> bytes:
    """The bytes of all part files, unpacked, one after another."""
    parts = (content for name, content in sorted(objects.items()) if name.startswith("part-"))
    return b"".join(gzip.decompress(part) if part.startswith(b"\x1f\x8b") else part for part in parts)


NOTEBOOK = """
import sys
from pyspark.sql import SparkSession

place, *lines = sys.argv[1:]
builder = SparkSession.builder
spark = (builder.remote(place) if place.startswith("sc:") else builder.master(place)).getOrCreate()
from kcompact.app import main

print([int(main(line.split())) for line in lines], spark.range(3).count())
"""


def check_a_notebook_s_session_opens_dumps_where_workers_are(store: S3, folder: Path, place: str) -> None:
    """Run kcompact within a caller's Spark session; ``folder`` is the driver's, which workers cannot see."""
    unseen = folder / "orders.jsonl"
    unseen.write_bytes(SAMPLE.read_bytes())
    put_sample(store, "s3://bucket/notebook/")
    line = "compact {} -o s3://bucket/of-notebook/ --no-report -q"
    lines = [f"inspect {unseen}", line.format(unseen), line.format("s3://bucket/notebook/")]

    run = subprocess.run(
        [sys.executable, "-c", NOTEBOOK, place, *lines],
        env=os.environ | {"TMPDIR": str(folder)} | store.environment | cluster_environment(),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )

    assert run.stdout.splitlines()[-1] == "[2, 2, 0] 3", run.stderr
    assert run.stderr.count(f"{unseen}: workers on") == 2
    assert run.stderr.count("hint: put the dump on a store") == 2
    assert "--master" not in run.stderr  # an option that has no meaning within a session
    assert records_of(store.objects("s3://bucket/of-notebook/")).count(b"\n") == 163


@dataclass(frozen=True)
class CompactedThere:
    """The output of a run on the store: part files by number, the CSVs of the report, its logs."""

    parts: dict[str, bytes]
    csv: tuple[bytes, bytes]
    logs: Any


NOW = "1760030000000"  # fixed, as horizons that rounds stamp depend on it
_numbers = itertools.count()


def compacted(store: S3, folder: Path, place: str, *options: str) -> CompactedThere:
    """Compact ``s3://bucket/in/`` at ``place`` (a master); ``folder`` takes the driver's files."""
    output = f"s3://bucket/out-{next(_numbers)}/"
    _compact(store, folder, place, output, *options)
    objects, report = store.objects(output), store.objects(output.rstrip("/") + ".report/")
    parts = {name[:11]: part for name, part in objects.items() if name.startswith("part-")}
    logs = json.loads(report["report.json"])["logs"]
    return CompactedThere(parts, (report["removed-keys.csv"], report["gaps.csv"]), logs)


def _compact(store: S3, folder: Path, place: str, output: object, *options: str) -> None:
    run = run_kcompact(
        *("compact", "s3://bucket/in/", "-o", output, "--master", place, "--now", NOW, *options),
        environment=store.environment | cluster_environment(),
        folder=folder,
    )
    assert run.returncode == 0, run.stderr


def check_parts_are_alike(store: S3, folder: Path, place: str, *options: str) -> None:
    """Assert that a run at ``place`` leaves the same of a dump in two parts as a run on this machine."""
    put_large(store, "s3://bucket/in/")
    here = compacted(store, folder, "local[2]", *options)
    there = compacted(store, folder, place, *options)
    assert len(here.parts) == 2
    assert there == here


def check_answers_are_alike(store: S3, folder: Path, place: str, *line: str) -> None:
    """Assert that a run at ``place`` gives the same answer to one of QUESTIONS as one on this machine."""
    put_compacted(store, folder)
    assert answered(store, folder, place, *line) == answered(store, folder, "local[2]", *line)


def check_files_are_alike(store: S3, folder: Path, place: str, *options: str) -> None:
    """Assert that a run at ``place`` writes the same file and report to ``folder`` as one on this machine."""
    put_large(store, "s3://bucket/in/")
    here = brought(store, folder, "local[2]", *options)
    there = brought(store, folder, place, *options)
    assert here.dump.count(b"\n") > 1_000
    assert there == here


@dataclass(frozen=True)
class Brought:
    """The output of a run in a file on this machine, with its report."""

    dump: bytes
    csv: tuple[bytes, bytes]
    logs: Any


def brought(store: S3, folder: Path, place: str, *options: str) -> Brought:
    """Compact ``s3://bucket/in/`` at ``place`` into a file in ``folder``."""
    name = f"brought-{next(_numbers)}"
    _compact(store, folder, place, folder / f"{name}.jsonl", *options)
    report = folder / f"{name}.report"
    return Brought(
        (folder / f"{name}.jsonl").read_bytes(),
        ((report / "removed-keys.csv").read_bytes(), (report / "gaps.csv").read_bytes()),
        json.loads((report / "report.json").read_bytes())["logs"],
    )


def put_compacted(store: S3, folder: Path) -> None:
    """Put the large dump into ``s3://bucket/in/``, and its survivors into ``s3://bucket/after/``."""
    put_large(store, "s3://bucket/in/")
    if not store.objects("s3://bucket/after/"):
        run = run_kcompact(
            *("compact", "s3://bucket/in/", "-o", "s3://bucket/after/", "--no-report"),
            environment=store.environment,
            folder=folder,
        )
        assert run.returncode == 0, run.stderr


def answered(store: S3, folder: Path, place: str, *line: str) -> Any:
    """The answer to one of QUESTIONS by a run at ``place``; ``folder`` takes the driver's files."""
    keys = folder / "keys"
    keys.write_text("key-7\nno such key\n")
    run = run_kcompact(
        *(str(keys) if word == "@keys" else word for word in line),
        *("--format", "json", "--master", place),
        environment=store.environment | cluster_environment(),
        folder=folder,
    )
    assert run.returncode in {0, 1}, run.stderr
    answer = json.loads(run.stdout)
    if isinstance(answer, dict):
        answer.pop("run", None)
    return run.returncode, answer
