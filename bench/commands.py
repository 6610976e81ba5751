"""Time and memory of the other commands beside a plain ``compact`` of the same dump; processes take turns.

    python bench/commands.py --scratch DIR --dump dump.jsonl [--runs 3] [--only verify-wrong]
    python bench/commands.py --scratch DIR [--records 20000000]        makes the dump, and deletes it again

The dump holds lines of ``kcat -J``. Before any time counts, it is compacted once: that is what ``verify``
compares with the dump. ``verify-wrong`` compares it without one line, and has to end with 1. Runs of
``compact`` have to write the same bytes as the plain one. Each starts without state and output of an earlier
run.
"""

import argparse
import filecmp
import json
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contestants import remove
from process_tree import Usage, run
from run import KCOMPACT, machine, summary
from table import described

from dumps import DumpSpec, write_dump

HERE = Path(__file__).parent
BASELINE = "compact"
MEMORY_GOAL = 1.2
LAG = ("--min-compaction-lag-ms", "1h")
ROUNDS = ("--log-cleaner-dedupe-buffer-size", "2MiB", "--rounds", "until-clean")


@dataclass(frozen=True)
class Files:
    """The files that the commands read and write."""

    dump: Path
    compacted: Path  # the output of a plain run for the dump
    wrong: Path  # a copy of ``compacted`` without one of its lines
    out: Path  # emptied after every run


@dataclass(frozen=True)
class Command:
    """A command line, the time that it may take, as a multiple of the plain run's, and its exit code."""

    arguments: tuple[str | Path, ...]
    goal: float
    exit_code: int = 0


def commands(files: Files) -> dict[str, Command]:
    """By name; the plain run comes first."""
    compact = ("compact", files.dump, "-o", files.out / "dump.jsonl")
    return {
        BASELINE: Command(compact, 1.0),
        "compact-state": Command((*compact, "--state", files.out / "state", *LAG), 1.5),
        "compact-rounds": Command((*compact, *ROUNDS), 2.5),
        "verify": Command(("verify", files.dump, files.compacted), 1.5),
        "verify-wrong": Command(("verify", files.dump, files.wrong), 1.5, exit_code=1),
        "inspect": Command(("inspect", files.dump), 1.1),
    }


def timed(command: Command, log: Path) -> Usage:
    """Run one process. Exits if its exit code is not the one expected."""
    line = [sys.executable, "-c", KCOMPACT, *map(str, command.arguments)]
    usage = run(line, log, {**os.environ, "PYSPARK_PYTHON": sys.executable})
    if usage.exit_code != command.exit_code:
        text = log.read_text(errors="replace")[-3000:]
        sys.exit(f"{command.arguments} ended with {usage.exit_code}:\n{text}")
    return usage


def run_once(name: str, command: Command, files: Files) -> Usage:
    """Run a command once, compare its output with that of the plain run, and delete it."""
    files.out.mkdir()
    usage = timed(command, files.out.with_suffix(".log"))
    output = files.out / "dump.jsonl"
    if command.arguments[0] == "compact" and not filecmp.cmp(output, files.compacted, shallow=False):
        sys.exit(f"{name} wrote another dump than {BASELINE}")
    remove(files.out)
    print(
        f"  {name:16} {usage.wall_s:7.2f} s {usage.cpu_s:7.1f} CPU s {usage.memory_bytes / 1e6:8.0f} MB",
        flush=True,
    )
    return usage


def without_a_line(source: Path, target: Path) -> None:
    """Copy all lines but one in the middle."""
    middle = source.stat().st_size // 2
    with source.open("rb") as lines, target.open("wb") as out:
        end = 0
        for line in lines:
            start, end = end, end + len(line)
            if not start <= middle < end:
                out.write(line)


def prepared(dump: Path, scratch: Path) -> Files:
    """Compact the dump, and make a copy of the output without one of its lines."""
    files = Files(dump, scratch / "compacted.jsonl", scratch / "wrong.jsonl", scratch / "out")
    remove(files.out)
    plain = ("compact", dump, "-o", files.compacted, "--overwrite", "--no-report")
    timed(Command(plain, 1.0), scratch / "prepare.log")
    without_a_line(files.compacted, files.wrong)
    return files


def in_turns(files: Files, runs: int, only: Iterable[str]) -> dict[str, list[Usage]]:
    """Run all chosen commands in turns; return their usages, always with those of the plain run."""
    chosen = {name: each for name, each in commands(files).items() if name in {BASELINE, *only}}
    usages: dict[str, list[Usage]] = {name: [] for name in chosen}
    for _ in range(runs):
        for name, command in chosen.items():
            usages[name].append(run_once(name, command, files))
    return usages


def results_of(files: Files, usages: dict[str, list[Usage]]) -> dict[str, Any]:
    """Medians and ratios of every command."""
    plain: dict[str, Any] = summary(usages[BASELINE], usages[BASELINE])
    found = {}
    for name, command in commands(files).items():
        if name in usages:
            own: dict[str, Any] = summary(usages[name], usages[BASELINE])
            ratios = {f"{key}_ratio": own[key] / plain[key] for key in ("cpu_s", "memory_bytes")}
            found[name] = {"goal": command.goal, **own, **ratios}
    return {"dump_bytes": files.dump.stat().st_size, "commands": found}


def markdown(results: dict[str, Any]) -> str:
    """A table of the results, with the size of the dump and the machine."""
    lines = [
        "| command | wall s (range) | ratio (range) | goal | CPU s | ratio | peak memory MB | ratio |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, found in results["commands"].items():
        low, high = found["wall_s_range"]
        low_ratio, high_ratio = found["ratio_range"]
        lines.append(
            f"| {name} | {found['wall_s']:.2f} ({low:.2f} to {high:.2f})"
            f" | {found['ratio']:.2f} ({low_ratio:.2f} to {high_ratio:.2f}) | {found['goal']}"
            f" | {found['cpu_s']:.1f} | {found['cpu_s_ratio']:.2f}"
            f" | {found['memory_bytes'] / 1e6:,.0f} | {found['memory_bytes_ratio']:.2f} |"
        )
    size = f"A dump of {results['dump_bytes'] / 1e9:.2f} GB; goal for memory: {MEMORY_GOAL}."
    return "\n".join([*lines, "", size, described(results["machine"]), ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--scratch", type=Path, required=True)
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--dump", type=Path, help="lines of kcat -J, such as dumps.py writes; kept")
    source.add_argument("--records", type=int, default=20_000_000, help="of the dump to make")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", action="append", default=[], help="beside the plain run; repeatable")
    parser.add_argument("--results", type=Path, help="JSON; the table goes beside it (default: in scratch)")
    options = parser.parse_args()
    options.scratch.mkdir(parents=True, exist_ok=True)
    spec = DumpSpec("kcat", options.records, max(options.records // 10, 2))
    dump = options.dump or write_dump(spec, options.scratch / "dump.jsonl")
    results = {"machine": machine()}
    files = prepared(dump, options.scratch)
    usages = in_turns(files, options.runs, options.only or commands(files))
    results |= results_of(files, usages)
    target = options.results or options.scratch / "commands.json"
    target.write_text(json.dumps(results, indent=1) + "\n")
    text = markdown(results)
    target.with_suffix(".md").write_text(text)
    print(text)
    for path in (files.compacted, files.wrong, *([] if options.dump else [dump])):
        remove(path)


if __name__ == "__main__":
    main()
