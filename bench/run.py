"""Compare kcompact with other tools doing the same work, in one command.

    python bench/run.py --scratch DIR            all dumps, within a quarter of an hour on two cores
    python bench/run.py --scratch DIR --only small --only kcat

Contestants take turns, so that a busy moment hits all of them; times are those of whole processes, memory
that of whole process trees. Before any time counts, what each of them kept is compared record by record.
"""

import argparse
import json
import os
import platform
import statistics
import sys
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from contestants import remove
from process_tree import Usage, run
from survivors import Survivors, survivors_of
from table import markdown

from dumps import SUFFIX, DumpSpec, write_dump

HERE = Path(__file__).parent
KCOMPACT = "import sys; from kcompact.app import main; sys.exit(main())"
KCOMPACT_OPTIONS = {"kcompact": ["compact"], "kcompact-no-report": ["compact", "--no-report"]}


@dataclass(frozen=True)
class Match:
    """One dump, and how often each contestant compacts it (slow ones less often)."""

    name: str
    title: str
    spec: DumpSpec
    contestants: dict[str, int]
    baseline: str  # the contestant that ratios refer to


def matches(records: int, runs: int) -> list[Match]:
    """The matches that are played by default; ``records``: the number in the large dump."""

    def spec(layout: str, records: int, value_shape: str = "text") -> DumpSpec:
        return DumpSpec(layout, records, max(records // 10, 2), value_shape=value_shape)

    sql = {"duckdb-semi-join": runs, "duckdb-window": runs, "polars-streaming": runs}
    ours = {"kcompact": runs, "kcompact-no-report": runs}
    small = {"kcompact": 5, "pyspark-hello": 5, "pyspark-usual": 3}
    slow = {"dict-orjson": 1, "pyspark-usual": 1}
    avro = {"kcompact": runs, "polars-avro": runs, "dict-fastavro": 1}
    documents = spec("kcat", 1_700_000, "json")
    best = "duckdb-window"  # the faster one of its two forms, of DuckDB 2.0.1 at least
    return [
        Match("small", "2,000 records of kcat -J", spec("kcat", 2000), small, "pyspark-hello"),
        Match("kcat", "0.66 GB of kcat -J", spec("kcat", 1_800_000), ours | sql | slow, best),
        Match("kcat-json", "0.66 GB of kcat -J, JSON values", documents, {"kcompact": runs} | sql, best),
        Match(
            "csv", "0.6 GB of CSV", spec("csv", 1_900_000), {"kcompact": runs} | sql | {"dict-csv": 1}, best
        ),
        Match("avro", "1 GB of Avro, snappy", spec("avro", 3_400_000), avro, "dict-fastavro"),
        Match("large", "6.6 GB of kcat -J", spec("kcat", records), ours | sql | {"pyspark-usual": 1}, best),
    ]


def command(contestant: str, source: Path, output: Path) -> list[str]:
    if contestant in KCOMPACT_OPTIONS:
        options = KCOMPACT_OPTIONS[contestant]
        return [sys.executable, "-c", KCOMPACT, *options, str(source), "-o", str(output)]
    return [sys.executable, str(HERE / "contestants.py"), contestant, str(source), str(output)]


def run_once(contestant: str, source: Path) -> tuple[Usage, Survivors | None]:
    """Run one process; return its usage and the survivors. Its output is deleted again."""
    folder = source.parent / "out"
    folder.mkdir(exist_ok=True)
    output = folder / f"{contestant}{source.suffix}"
    log = folder / f"{contestant}.log"
    # Spark's workers must use the Python that has pyarrow, as they do in an active virtual environment.
    usage = run(command(contestant, source, output), log, {**os.environ, "PYSPARK_PYTHON": sys.executable})
    if usage.exit_code:
        sys.exit(f"{contestant} ended with {usage.exit_code}:\n{log.read_text(errors='replace')[-3000:]}")
    kept = None if contestant == "pyspark-hello" else survivors_of(output, source.suffix)
    for path in folder.iterdir():
        remove(path)
    print(f"  {contestant:20} {usage.wall_s:7.2f} s {usage.memory_bytes / 1e6:8.0f} MB", flush=True)
    return usage, kept


def play(match: Match, scratch: Path) -> dict[str, object]:
    """All runs of a match in turns. Exits if two contestants disagree about what stays."""
    source = write_dump(match.spec, scratch / f"{match.name}.{SUFFIX[match.spec.layout]}")
    source.read_bytes() if source.stat().st_size < 1 << 30 else None  # puts it into the page cache for all
    print(f"{match.title} ({source.stat().st_size / 1e9:.2f} GB)", flush=True)
    usages: dict[str, list[Usage]] = {name: [] for name in match.contestants}
    kept: dict[str, Survivors] = {}
    for turn in range(max(match.contestants.values())):
        for name, runs in match.contestants.items():
            if turn < runs:
                usage, survivors = run_once(name, source)
                usages[name].append(usage)
                if survivors is not None:
                    kept[name] = survivors
    if len(set(kept.values())) != 1:
        sys.exit(f"the contestants disagree: {kept}")
    dump_bytes = source.stat().st_size
    return {
        **{key: getattr(match, key) for key in ("name", "title", "baseline")},
        "spec": asdict(match.spec),
        "dump_bytes": dump_bytes,
        "survivors": next(iter(kept.values())).records,
        "contestants": {name: summary(runs, usages[match.baseline]) for name, runs in usages.items()},
    }


def summary(runs: list[Usage], baseline: list[Usage]) -> dict[str, object]:
    """Medians, spread, and the ratio to the baseline with the spread of both."""
    walls = sorted(usage.wall_s for usage in runs)
    base = sorted(usage.wall_s for usage in baseline)
    return {
        "runs": [asdict(usage) for usage in runs],
        "wall_s": statistics.median(walls),
        "wall_s_range": [walls[0], walls[-1]],
        "cpu_s": statistics.median(usage.cpu_s for usage in runs),
        "memory_bytes": max(usage.memory_bytes for usage in runs),
        "memory_with_files_bytes": max(usage.memory_with_files_bytes for usage in runs),
        "ratio": statistics.median(walls) / statistics.median(base),
        "ratio_range": [walls[0] / base[-1], walls[-1] / base[0]],
    }


def machine() -> dict[str, object]:
    """The machine and the versions that figures were measured with."""
    model = "unknown processor"
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        model = names[0].partition(":")[2].strip() if names else model
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    packages = ("kcompact", "pyspark", "duckdb", "polars", "pyarrow", "numpy", "fastavro", "orjson")
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "memory_bytes": memory_bytes,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: version(name) for name in packages},
        "load_at_start": os.getloadavg()[0],
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--scratch", type=Path, required=True, help="folder for dumps and outputs (20 GB free)"
    )
    parser.add_argument("--only", action="append", default=[], help="name of a match; may be repeated")
    parser.add_argument("--without", action="append", default=[], help="leave a contestant out")
    parser.add_argument("--runs", type=int, default=3, help="runs of each contestant")
    parser.add_argument("--records", type=int, default=18_000_000, help="records of the large dump")
    parser.add_argument("--keep-dumps", action="store_true", help="leave the dumps for the next run")
    parser.add_argument("--results", type=Path, default=HERE / "results.json")
    options = parser.parse_args()
    options.scratch.mkdir(parents=True, exist_ok=True)
    published = json.loads(options.results.read_text()) if options.results.exists() else None
    played: list[dict[str, object]] = []
    results = {"machine": machine(), "matches": played}
    for match in matches(options.records, options.runs):
        for name in options.without:
            match.contestants.pop(name, None)
        if options.only and match.name not in options.only:
            continue
        played.append(play(match, options.scratch))
        if not options.keep_dumps:
            remove(options.scratch / f"{match.name}.{SUFFIX[match.spec.layout]}")
        options.results.write_text(json.dumps(results, indent=1) + "\n")
    text = markdown(results, published)
    options.results.with_suffix(".md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
