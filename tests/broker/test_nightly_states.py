"""Nights: the last output, what is new, and a state leave what a live broker leaves of the whole log.

``KCOMPACT_BROKER_SEEDS=1000:200`` runs a tenth as many here, from seed 201000 on.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from cleaned_topics import CleanedTopic, cleaned_topics, files, known_checkpoint, options
from cleaning import read_checkpoint
from conftest import Run
from dump_files import kcat_offsets
from live_broker import LiveBroker
from workloads import FIRST_SEED, SEEDS, over_nights, workload

pytestmark = [pytest.mark.broker, pytest.mark.usefixtures("spark")]
Cli = Callable[..., Run]

FIRST = 200_000 + FIRST_SEED
COUNT = max(4, SEEDS // 10)


@dataclass
class Nights:
    """A topic exported and compacted night after night, into a folder."""

    folder: Path
    dump: str  # the file of a stage that is exported
    with_batches: bool
    exported: dict[int, int] = field(default_factory=dict)  # by partition, the end offset of the last export

    def compact(self, topic: CleanedTopic, kcompact: Cli) -> None:
        """One night: the broker left the same records and the same checkpoint."""
        stage, night = topic.before, f"seed {topic.work.seed}, night {topic.number}, {self.dump}"
        new = self.folder / f"new-{topic.number}.jsonl"
        new.write_bytes(lines_from(stage.folder / self.dump, self.exported))
        last, output = (self.folder / f"out-{number}.jsonl" for number in (topic.number - 1, topic.number))
        dumps = [path for path in (last, new) if path.exists() and path.stat().st_size]
        for partition, offsets in stage.offsets.items():
            self.exported[partition] = offsets.end if self.with_batches else offsets.stable
        if not dumps:  # nothing is committed yet, or nothing is left: kcompact refuses an empty file
            return

        given = [*options(topic), *files(stage.folder, topic.now_ms)]
        if not self.with_batches:
            given = [option for option in given if not option.startswith("--batches")]

        run = kcompact(
            "compact",
            *dumps,
            f"--output={output}",
            f"--state={self.folder / 'state'}",
            "--respect-dirty-ratio",
            "--null-keys=drop",
            *given,
        )

        assert (run.exit_code, run.stderr if run.exit_code else "") == (0, ""), night
        left = topic.after.folder / self.dump
        assert sorted(kcat_offsets(output)) == sorted(kcat_offsets(left)), night
        checkpoint = read_checkpoint(self.folder / "state" / "cleaner-offset-checkpoint")
        assert checkpoint == topic.after.checkpoint, night
        run = kcompact("verify", *dumps, left, *known_checkpoint(stage.folder), *given)
        assert run.exit_code == 0, f"{night}: {run.stdout}{run.stderr}"


def lines_from(dump: Path, first_offsets: dict[int, int]) -> bytes:
    """The lines of a kcat dump from an offset of each partition on."""
    lines = dump.read_bytes().splitlines(keepends=True)
    rows = [json.loads(line.decode("utf-8", "surrogateescape")) for line in lines]
    is_new = [row["offset"] >= first_offsets.get(row["partition"], 0) for row in rows]
    return b"".join(line for line, new in zip(lines, is_new, strict=True) if new)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_nights_with_a_state_leave_what_the_broker_leaves(
    seed: int, broker: LiveBroker, tmp_path: Path, kcompact: Cli
) -> None:
    """As read_uncommitted with batches, and as read_committed without."""
    exports = [
        Nights(tmp_path / "all", "dump.jsonl", with_batches=True),
        Nights(tmp_path / "committed", "committed.jsonl", with_batches=False),
    ]
    for nights in exports:
        nights.folder.mkdir()
    for topic in cleaned_topics(over_nights(workload(seed)), broker, tmp_path / "topic", committed=True):
        try:
            for nights in exports:
                nights.compact(topic, kcompact)
        except AssertionError:
            topic.save()
            raise
