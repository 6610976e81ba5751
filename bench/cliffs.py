"""Dumps of unusual shape, each as large as a regular one: none may be much slower per byte.

    python bench/cliffs.py --scratch DIR [--megabytes 300] [--only many-files]
    python bench/cliffs.py --scratch DIR --only keys-beyond-memory --keys 50000000

``keys-beyond-memory`` runs with ``--driver-memory 1g``: what matters there is that it ends, and its memory.
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from contestants import remove
from process_tree import run

from dumps import DumpSpec, write_dump

KCOMPACT = "import sys; from kcompact.app import main; sys.exit(main())"
LINE_BYTES = 368  # of a regular record
FILES = 10_000


def one_dump(**shape: Any) -> Callable[[Path, int], Path]:
    """A single file of regular records but for ``shape`` (fields of DumpSpec)."""

    def make(folder: Path, size_bytes: int) -> Path:
        records = size_bytes // LINE_BYTES
        fields: dict[str, Any] = {"layout": "kcat", "records": records, "keys": records // 10, **shape}
        return write_dump(DumpSpec(**fields), folder / "dump.jsonl")

    return make


def many_files(folder: Path, size_bytes: int) -> Path:
    """A folder of 10,000 files."""
    whole = one_dump(partitions=1)(folder, size_bytes)
    lines = whole.read_bytes().splitlines(keepends=True)
    whole.unlink()
    files = folder / "files"
    files.mkdir()
    per_file = -(-len(lines) // FILES)
    for number in range(FILES):
        data = b"".join(lines[number * per_file : (number + 1) * per_file])
        if data:
            (files / f"orders-{number:05}.jsonl").write_bytes(data)
    return files


def one_large_record(folder: Path, size_bytes: int) -> Path:
    """A regular record, one of nearly all the bytes, and another regular one."""
    path = folder / "dump.jsonl"
    fields = {"topic": "t", "partition": 0, "offset": 0, "tstype": "create", "ts": 1, "broker": 0, "key": "k"}
    with path.open("w") as out:
        for offset, payload in enumerate(["v", "x" * size_bytes, "w"]):
            fields |= {"offset": offset, "key": f"k{offset}", "payload": payload}
            out.write(json.dumps(fields, separators=(",", ":")) + "\n")
    return path


SHAPES: dict[str, Callable[[Path, int], Path]] = {
    "regular": one_dump(),
    "one-partition": one_dump(partitions=1),
    "hot-key": one_dump(key_shape="hot"),
    "keys-distinct": one_dump(key_shape="distinct"),
    "keys-equal": one_dump(key_shape="equal"),
    "many-files": many_files,
    "one-large-record": one_large_record,
}


def compact(source: Path, scratch: Path, *options: str) -> dict[str, float]:
    """Run kcompact once; wall and CPU seconds, peak memory of all processes."""
    output = scratch / ("out" if source.is_dir() else "out.jsonl")
    command = [sys.executable, "-c", KCOMPACT, "compact", str(source), "-o", str(output), *options]
    log = scratch / "log"
    usage = run(command, log)
    for path in (output, scratch / "out.report"):
        remove(path)
    if usage.exit_code:
        sys.exit(f"exit code {usage.exit_code}:\n{log.read_text(errors='replace')[-2000:]}")
    return {"wall_s": usage.wall_s, "cpu_s": usage.cpu_s, "memory_mb": usage.memory_bytes / 1e6}


def size_of(path: Path) -> int:
    """Bytes of a file, or of a folder's files."""
    return sum(file.stat().st_size for file in path.iterdir()) if path.is_dir() else path.stat().st_size


def measure(name: str, scratch: Path, options: argparse.Namespace) -> None:
    folder = scratch / name
    folder.mkdir(parents=True, exist_ok=True)
    if name == "keys-beyond-memory":
        records = options.keys
        source = one_dump(records=records, key_shape="distinct", value_bytes=20)(folder, records)
        found = compact(source, folder, "--driver-memory", "1g")
    else:
        source = SHAPES[name](folder, options.megabytes * 1_000_000)
        found = compact(source, folder)
    speed = size_of(source) / 1e6 / found["wall_s"]
    print(
        f"{name:20} {size_of(source) / 1e6:8.0f} MB {found['wall_s']:7.2f} s {speed:6.0f} MB/s"
        f" {found['cpu_s']:7.1f} CPU s {found['memory_mb']:7.0f} MB of memory",
        flush=True,
    )
    remove(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--scratch", type=Path, required=True)
    parser.add_argument("--megabytes", type=int, default=300, help="size of each dump")
    parser.add_argument("--keys", type=int, default=50_000_000, help="of keys-beyond-memory")
    parser.add_argument("--only", action="append", choices=[*SHAPES, "keys-beyond-memory"], default=[])
    options = parser.parse_args()
    for name in options.only or SHAPES:
        measure(name, options.scratch, options)


if __name__ == "__main__":
    main()
