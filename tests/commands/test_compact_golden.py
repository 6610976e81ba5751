"""The broker's golden data through the command line, as a user would give it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Run
from dump_files import kcat_offsets
from golden_cases import GOLDEN, GoldenCase, Log, golden_cases

pytestmark = pytest.mark.usefixtures("spark")
Cli = Callable[..., Run]

# All of them run in the engine's own test; here those that reach every option and form.
CHOSEN = (
    "w01",
    "w03",
    "w05",
    "w06",
    "w07-",
    "w10-",
    "w12",
    "w15",
    "w18b",
    "w21",
    "w22",
    "w25",
    "w26",
    "w28",
    "w31",
)
PAIRS = [
    (case, number)
    for case in golden_cases()
    for number in range(len(case.pairs))
    if case.name.startswith(CHOSEN)
]
IDS = [f"{case.name}-{case.pairs[number][1]}" for case, number in PAIRS]


@pytest.mark.parametrize(("case", "number"), PAIRS, ids=IDS)
def test_the_command_line_leaves_what_the_broker_left(
    case: GoldenCase, number: int, tmp_path: Path, kcompact: Cli
) -> None:
    before, after = case.pairs[number]
    dump = tmp_path / "before.jsonl"
    dump.write_bytes(case.dump_path(before, tmp_path).read_bytes())

    run = kcompact(
        "compact", dump, "--state", _state(case, number, tmp_path), *_options(case, number, tmp_path)
    )

    assert (run.exit_code, run.stderr if run.exit_code else "") == (0, "")
    kept: dict[Log, list[int]] = {log: [] for log in case.logs}
    for topic, partition, offset in kcat_offsets(tmp_path / "before.compacted.jsonl"):
        kept[topic, partition].append(offset)
    assert {log: sorted(offsets) for log, offsets in kept.items()} == case.offsets(after)
    assert _entries(tmp_path / "state" / "cleaner-offset-checkpoint") == case.checkpoint(after)


@pytest.mark.parametrize("case", [case for case in golden_cases() if case.name[:3] in {"w06", "w24", "w30"}])
def test_batches_without_their_segments_are_rolled_into_the_broker_s(
    case: GoldenCase, tmp_path: Path, kcompact: Cli
) -> None:
    before, after = case.pairs[0]
    options = _options(case, 0, tmp_path)
    at = options.index("--segments")
    del options[at : at + 2]
    rows = [line.split("\t") for line in case.path(before, "batches").read_text().splitlines()]
    assert rows[0][2] == "segment"
    table = tmp_path / "batches"
    table.write_text("".join("\t".join([*row[:2], *row[3:]]) + "\n" for row in rows))
    options[options.index("--batches") + 1] = str(table)
    output = tmp_path / "out.jsonl"

    run = kcompact("compact", case.dump_path(before, tmp_path), "-o", output, *options)

    assert (run.exit_code, run.stderr if run.exit_code else "") == (0, "")
    left = case.offsets(after)
    assert sorted(kcat_offsets(output)) == sorted((*log, offset) for log in left for offset in left[log])


@pytest.mark.parametrize(("policy", "is_said"), [("compact", False), ("compact,delete", True)])
def test_bytes_that_only_the_broker_can_tell_are_called_an_estimate(
    policy: str, is_said: bool, tmp_path: Path, kcompact: Cli
) -> None:
    compressed = GOLDEN / "w09-batches-compressed"
    known_files = [
        f"--segments={compressed / 'before.segments'}",
        f"--batches={compressed / 'before.batches'}",
    ]
    limit = ["--retention-bytes=1GiB"] if is_said else []

    run = kcompact(
        *("compact", compressed / "before.jsonl", "-o", tmp_path / "out.jsonl", *known_files),
        *(f"--cleanup-policy={policy}", *limit),
    )

    assert run.exit_code == 0, run.stderr
    assert ("that were written anew are estimated" in run.stderr) == is_said


@pytest.mark.parametrize("policy", ["compact", "compact,delete"])
@pytest.mark.parametrize(("threshold", "is_near"), [(0.5, True), (0.99, False)])
def test_a_round_that_estimated_bytes_decide_on_is_told(
    policy: str, threshold: float, is_near: bool, tmp_path: Path, kcompact: Cli
) -> None:
    compressed, settings = GOLDEN / "w09-batches-compressed", tmp_path / "w09.properties"
    settings.write_text(
        f"cleanup.policy={policy}\nmin.cleanable.dirty.ratio={threshold}\n"
        "log.cleaner.dedupe.buffer.size=1048577\nlog.cleaner.io.buffer.load.factor=0.0004\n"
        f"retention.bytes={1 << 30}\n"
    )

    run = kcompact(
        *("compact", compressed / "before.jsonl", "-o", tmp_path / "out.jsonl", "--respect-dirty-ratio"),
        *(f"--segments={compressed / 'before.segments'}", f"--batches={compressed / 'before.batches'}"),
        *("--rounds=until-clean", f"--topic-config=w09={settings}"),
    )

    assert run.exit_code == 0, run.stderr
    assert ("a broker may have cleaned once more or less" in run.stderr) == is_near


def _state(case: GoldenCase, number: int, folder: Path) -> Path:
    """A state folder with the checkpoint that the round started from, as if copied from the broker."""
    state = folder / "state"
    state.mkdir()
    entries = case.checkpoint_before(number)
    lines = ["0", str(len(entries)), *(f"{topic} {part} {at}" for (topic, part), at in entries.items())]
    (state / "cleaner-offset-checkpoint").write_text("\n".join(lines) + "\n")
    return state


def _options(case: GoldenCase, number: int, folder: Path) -> list[str]:
    before, after = case.pairs[number]
    options = ["--null-keys", "drop", "--respect-dirty-ratio"]
    for topic in case.facts["topics"]:
        path = folder / f"{topic}.properties"
        configs = case.configs(number, topic)
        path.write_text("".join(f"{name}={value}\n" for name, value in configs.items()))
        options += ["--topic-config", f"{topic}={path}"]
    has_batches = case.path(before, "batches").exists()
    offsets = ["log_start_offset", "log_end_offset", *([] if has_batches else ["last_stable_offset"])]
    lines = []
    for topic, partition in case.logs:
        stage = case.stage_log(before, (topic, partition))
        for name in offsets:
            options += [f"--{name.replace('_', '-')}", f"{topic}-{partition}={getattr(stage, name)}"]
        lines += [
            f"{topic} {partition} {segment.base_offset} {segment.size_bytes} {segment.mtime_ms}"
            for segment in stage.segments
        ]
    (folder / "segments").write_text("\n".join(lines) + "\n")
    options += ["--segments", str(folder / "segments")]
    if has_batches:
        options += ["--batches", str(case.path(before, "batches"))]
    rounds = case.rounds(number)
    now_ms = rounds[0].now_ms if rounds else case.facts["stages"][after]["takenAtMs"]
    return [*options, "--now", str(now_ms), *_map_options(case)]


def _map_options(case: GoldenCase) -> list[str]:
    if "map" not in case.facts:
        return []
    map_facts = case.facts["map"]
    return [
        "--log-cleaner-dedupe-buffer-size",
        str(map_facts["log.cleaner.dedupe.buffer.size"]),
        "--log-cleaner-io-buffer-load-factor",
        str(map_facts["log.cleaner.io.buffer.load.factor"]),
    ]


def _entries(path: Path) -> dict[Log, int]:
    lines = path.read_text().splitlines()[2:]
    return {(topic, int(part)): int(offset) for topic, part, offset in map(str.split, lines)}
