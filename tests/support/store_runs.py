"""Command lines in processes of their own, with a store's environment; and dumps for them."""

import gzip
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from s3_server import S3

SECONDS = 180
SAMPLE = Path(__file__).parents[2] / "samples" / "orders.jsonl"
CODE = "import sys; from kcompact.app import main; sys.exit(main(sys.argv[1:]))"


def run_kcompact(
    *arguments: object, environment: Mapping[str, str], folder: Path
) -> subprocess.CompletedProcess[str]:
    """One command line; ``folder`` takes its temporary files."""
    return subprocess.run(
        [sys.executable, "-c", CODE, *map(str, arguments)],
        env=os.environ | {"TMPDIR": str(folder)} | environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def put_sample(store: S3, prefix: str, objects: int = 4, *, packed: bool = True) -> None:
    """The sample dump as so many objects, cut at lines, besides what no reader of a prefix counts."""
    lines = SAMPLE.read_bytes().splitlines(keepends=True)
    for number in range(objects):
        part = b"".join(lines[number * len(lines) // objects : (number + 1) * len(lines) // objects])
        name = f"{prefix}orders-{number}.jsonl"
        store.put(f"{name}.gz" if packed else name, gzip.compress(part) if packed else part)
    store.put(f"{prefix}_hidden", b"not of the dump")


def records_of(objects: Mapping[str, bytes]) -> bytes:
    """The bytes of all part files, unpacked, one after another."""
    parts = (content for name, content in sorted(objects.items()) if name.startswith("part-"))
    return b"".join(gzip.decompress(part) if part.startswith(b"\x1f\x8b") else part for part in parts)
