"""The facts that the broker of a golden case knew beside the records, as options of kcompact."""

from pathlib import Path

from golden_cases import GoldenCase


def options_of(case: GoldenCase, number: int, scratch: Path) -> list[str]:
    """Configs, segments, offsets, map and clock of one pair of stages; files go into ``scratch``."""
    before, after = case.pairs[number]
    options = []
    for topic in case.facts["topics"]:
        path = scratch / f"{topic}.properties"
        configs = case.configs(number, topic)
        path.write_text("".join(f"{name}={value}\n" for name, value in configs.items()))
        options.append(f"--topic-config={topic}={path}")
    lines = []
    for topic, partition in case.logs:
        told = case.stage_log(before, (topic, partition))
        options += [
            f"--{name.replace('_', '-')}={topic}-{partition}={getattr(told, name)}"
            for name in ("log_start_offset", "log_end_offset", "last_stable_offset")
        ]
        lines += [
            f"{topic} {partition} {segment.base_offset} {segment.size_bytes} {segment.mtime_ms}\n"
            for segment in told.segments
        ]
    (scratch / "segments").write_text("".join(lines))
    rounds = case.rounds(number)
    now_ms = rounds[0].now_ms if rounds else case.facts["stages"][after]["takenAtMs"]
    return [*options, f"--segments={scratch / 'segments'}", f"--now={now_ms}", *map_options(case)]


def map_options(case: GoldenCase) -> list[str]:
    """The options for the size of the broker's offset map; empty where it was not made small."""
    return [
        f"--{name.replace('.', '-')}={value}"
        for name, value in case.facts.get("map", {}).items()
        if name in {"log.cleaner.dedupe.buffer.size", "log.cleaner.io.buffer.load.factor"}
    ]


def write_checkpoint(case: GoldenCase, number: int, path: Path) -> bool:
    """Write the checkpoint that a pair's rounds started from, as Kafka's file; False if it has no entries."""
    entries = case.checkpoint_before(number)
    lines = [f"{topic} {partition} {offset}" for (topic, partition), offset in entries.items()]
    path.write_text("\n".join(["0", str(len(lines)), *lines, ""]))
    return bool(entries)
