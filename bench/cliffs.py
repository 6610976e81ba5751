"""Dumps of unusual shape, each as large as a regular one: none may be much slower per byte.

    python bench/cliffs.py --scratch DIR [--megabytes 300] [--only many-files]
    python bench/cliffs.py --scratch DIR --megabytes 6000 --files 20000 --only one-partition --only many-files
    python bench/cliffs.py --scratch DIR --only keys-beyond-memory --keys 50000000

Shapes take turns, times are medians, and the last column is the time a byte as a ratio to the first shape's.
``keys-beyond-memory`` runs with ``--driver-memory 1g``: what matters there is that it ends, and its memory.
"""

import argparse
import json
import os
import statistics
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

from contestants import remove
from process_tree import run

from dumps import DumpSpec, write_dump

KCOMPACT = "import sys; from kcompact.app import main; sys.exit(main())"
LINE_BYTES = 368  # of a regular record
BEYOND_MEMORY = "keys-beyond-memory"
CONSOLE = "CreateTime:{ts}\tPartition:{partition}\tOffset:{offset}\t{key}\t{value}\n"


def one_dump(**shape: Any) -> Callable[[Path, int], Path]:
    """Makes a single file of regular records, except for ``shape`` (fields of DumpSpec)."""

    def make(folder: Path, size_bytes: int) -> Path:
        records = size_bytes // LINE_BYTES
        fields: dict[str, Any] = {"layout": "kcat", "records": records, "keys": records // 10, **shape}
        return write_dump(DumpSpec(**fields), folder / "dump.jsonl")

    return make


def many_files(files: int) -> Callable[[Path, int], Path]:
    """Makes a folder of so many files."""

    def make(folder: Path, size_bytes: int) -> Path:
        whole = one_dump(partitions=1)(folder, size_bytes)
        cut = folder / "files"
        cut.mkdir()
        per_file = -(-(size_bytes // LINE_BYTES) // files)
        with whole.open("rb") as lines:
            for number in range(files):
                if data := b"".join(islice(lines, per_file)):
                    (cut / f"orders-{number:05}.jsonl").write_bytes(data)
        whole.unlink()
        return cut

    return make


def one_large_record(folder: Path, size_bytes: int) -> Path:
    """A regular record, one of nearly all the bytes, and another regular one."""
    path = folder / "dump.jsonl"
    fields = {"topic": "t", "partition": 0, "offset": 0, "tstype": "create", "ts": 1, "broker": 0, "key": "k"}
    with path.open("w") as out:
        for offset, payload in enumerate(["v", "x" * size_bytes, "w"]):
            fields |= {"offset": offset, "key": f"k{offset}", "payload": payload}
            out.write(json.dumps(fields, separators=(",", ":")) + "\n")
    return path


def as_text(line_format: str) -> Callable[[Path, int], Path]:
    """Makes regular records as a console prints them, a line each; ``null`` where there is no value."""

    def make(folder: Path, size_bytes: int) -> Path:
        regular = one_dump()(folder, size_bytes)
        path = folder / "dump.txt"
        with regular.open() as lines, path.open("w") as out:
            for line in lines:
                record = json.loads(line)
                value = "null" if record["payload"] is None else record["payload"]
                out.write(line_format.format(value=value, **record))
        regular.unlink()
        return path

    return make


def shapes(files: int) -> dict[str, Callable[[Path, int], Path]]:
    """By shape, a function that makes a dump of about so many bytes in a folder."""
    return {
        "regular": one_dump(),
        "one-partition": one_dump(partitions=1),
        "hot-key": one_dump(key_shape="hot"),
        "keys-distinct": one_dump(key_shape="distinct"),
        "keys-equal": one_dump(key_shape="equal"),
        "many-logs": one_dump(partitions=10_000),
        "many-files": many_files(files),
        "one-large-record": one_large_record,
        "console-text": as_text(CONSOLE),
        "no-offsets": as_text("{key}\t{value}\n"),
    }


def compact(source: Path, folder: Path, *options: str) -> dict[str, float]:
    """Run kcompact once, into a new folder; return wall and CPU seconds, and peak memory of all processes."""
    folder.mkdir(parents=True)
    output = folder / ("out" if source.is_dir() else f"out{source.suffix}")
    command = [sys.executable, "-c", KCOMPACT, "compact", str(source), "-o", str(output), *options]
    log = folder / "log"
    usage = run(command, log)
    if usage.exit_code:
        sys.exit(f"exit code {usage.exit_code}:\n{log.read_text(errors='replace')[-2000:]}")
    return {"wall_s": usage.wall_s, "cpu_s": usage.cpu_s, "memory_mb": usage.memory_bytes / 1e6}


def size_of(path: Path) -> int:
    """Bytes of a file, or of a folder's files."""
    return sum(file.stat().st_size for file in path.iterdir()) if path.is_dir() else path.stat().st_size


def made(name: str, scratch: Path, options: argparse.Namespace) -> Path:
    """The dump of a shape, in a folder of its own."""
    folder = scratch / name
    folder.mkdir(parents=True)
    if name == BEYOND_MEMORY:
        fields = {"records": options.keys, "key_shape": "distinct", "value_bytes": 20}
        return one_dump(**fields)(folder, options.keys)
    return shapes(options.files)[name](folder, options.megabytes * 1_000_000)


def tell(name: str, source: Path, runs: list[dict[str, float]], first: float | None) -> float:
    """Print a row of the table; return the seconds that a byte takes."""
    size = size_of(source)
    found = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
    per_byte = found["wall_s"] / size
    print(
        f"{name:20} {size / 1e6:8.0f} MB {found['wall_s']:7.2f} s {size / 1e6 / found['wall_s']:6.0f} MB/s"
        f" {found['cpu_s']:7.1f} CPU s {found['memory_mb']:7.0f} MB of memory"
        f" {per_byte / (first or per_byte):5.2f}",
        flush=True,
    )
    return per_byte


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--scratch", type=Path, required=True)
    parser.add_argument("--megabytes", type=int, default=300, help="size of each dump")
    parser.add_argument("--files", type=int, default=10_000, help="of many-files")
    parser.add_argument("--keys", type=int, default=50_000_000, help="of keys-beyond-memory")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--only", action="append", choices=[*shapes(0), BEYOND_MEMORY], default=[])
    options = parser.parse_args()
    names = options.only or list(shapes(0))
    sources = {name: made(name, options.scratch, options) for name in names}
    os.sync()
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    outputs = options.scratch / "outputs"
    for number in range(options.runs):
        for name, source in sources.items():
            memory = ["--driver-memory", "1g"] if name == BEYOND_MEMORY else []
            runs[name].append(compact(source, outputs / f"{name}-{number}", *memory))
    remove(outputs)  # only now: ext4 creates files slowly for minutes after many were removed
    first = None
    for name, source in sources.items():
        per_byte = tell(name, source, runs[name], first)
        first = first or per_byte
        remove(source.parent)


if __name__ == "__main__":
    main()
