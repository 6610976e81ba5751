"""From one worker of one core to two: the speed-up of a compaction, beside that of two bare scans.

    python bench/workers.py --scratch DIR [--megabytes 6700] [--runs 3]

Workers are executors of ``local-cluster``. Two cores of a machine share caches
and memory, and the driver needs some of them: two copies of the scan alone side by side, each over the whole
dump in a process of its own, show what the machine gives. The last figure is the speed-up of the
compaction as a part of that of the two scans.

Each run starts Java, the executors and their Python anew, on the same cores. A run over 2,000 records shows
how long that takes; the speed-up is shown without it, too.
"""

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

from cliffs import LINE_BYTES
from contestants import remove
from process_tree import run

from dumps import DumpSpec, write_dump

FEW_RECORDS = 2_000
KCOMPACT = "import sys; from kcompact.app import main; sys.exit(main())"
SCAN = """
import sys
from pathlib import Path
from kcompact.dumps.dump import open_dump
from kcompact.dumps.options import ReadOptions
from kcompact.engine.passes.index_pass import TaskReader, plan_index
with open_dump([sys.argv[1]], ReadOptions()) as dump:
    plan = plan_index(dump, Path(sys.argv[2]))
    for task in range(len(plan.tasks)):
        for rows in TaskReader(plan, task).rows():
            pass
"""


def scan_s(dump: Path, scratch: Path, copies: int) -> float:
    """Wall seconds of so many scans of the dump, side by side."""
    started = time.monotonic()
    scans = [subprocess.Popen([sys.executable, "-c", SCAN, dump, scratch]) for _ in range(copies)]
    codes = [scan.wait() for scan in scans]
    if any(codes):
        sys.exit("a scan failed")
    return time.monotonic() - started


def compact_s(dump: Path, scratch: Path, workers: int) -> float:
    """Wall seconds of a compaction by so many workers."""
    output, log = scratch / "out.jsonl", scratch / "log"
    master = f"local-cluster[{workers},1,1024]"
    line = [sys.executable, "-c", KCOMPACT, "compact", str(dump), "-o", str(output), "--master", master]
    usage = run(line, log)
    if usage.exit_code:
        sys.exit(f"exit code {usage.exit_code}:\n{log.read_text(errors='replace')[-2000:]}")
    for path in (output, scratch / "out.report"):
        remove(path)
    return usage.wall_s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--scratch", type=Path, required=True)
    parser.add_argument("--megabytes", type=int, default=6_700)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    options.scratch.mkdir(parents=True, exist_ok=True)
    records = options.megabytes * 1_000_000 // LINE_BYTES
    dump = write_dump(DumpSpec("kcat", records, records // 10), options.scratch / "dump.jsonl")
    few = write_dump(DumpSpec("kcat", FEW_RECORDS, FEW_RECORDS // 10), options.scratch / "few.jsonl")
    measured = {
        "start of one worker": lambda: compact_s(few, options.scratch, 1),
        "start of two workers": lambda: compact_s(few, options.scratch, 2),
        "one worker": lambda: compact_s(dump, options.scratch, 1),
        "two workers": lambda: compact_s(dump, options.scratch, 2),
        "one scan": lambda: scan_s(dump, options.scratch, 1),
        "two scans side by side": lambda: scan_s(dump, options.scratch, 2),
    }
    seconds: dict[str, list[float]] = {name: [] for name in measured}
    for _ in range(options.runs):
        for name, measure in measured.items():
            seconds[name].append(measure())
            print(f"{name:24} {seconds[name][-1]:8.2f} s", flush=True)
    start, starts, one, two, scan, scans = (statistics.median(seconds[name]) for name in measured)
    of_scans = 2 * scan / scans
    for what, speed_up in (("whole runs", one / two), ("without the start", (one - start) / (two - starts))):
        print(f"{what}: speed-up {speed_up:.2f}, of two scans {of_scans:.2f}: {speed_up / of_scans:.2f}")
    dump.unlink()
    few.unlink()


if __name__ == "__main__":
    main()
