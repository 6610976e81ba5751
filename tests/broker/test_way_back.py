"""The way back: a compacted dump is replayed into a new topic, and the state is the same."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cleaning import consume, create, take_stage
from conftest import Run
from dump_files import write_kcat
from live_broker import LiveBroker
from producing import produce
from workloads import Workload, workload

pytestmark = [pytest.mark.broker, pytest.mark.usefixtures("spark")]
ROOT = Path(__file__).parents[2]
Cli = Callable[..., Run]
KCOMPACT = [sys.executable, "-c", "import sys; from kcompact.app import main; sys.exit(main())"]


def filled(broker: LiveBroker, topic: str, **changes: object) -> Workload:
    """A topic with one round of records that all go as text."""
    work = Workload(
        **{**vars(workload(501)), "topic": topic, "keys": "few", "producers": ("plain",), **changes}
    )
    create(broker, work)
    produce(work, 0, broker.bootstrap)
    return work


def test_a_replayed_dump_holds_the_same_state(broker: LiveBroker, tmp_path: Path, kcompact: Cli) -> None:
    work = filled(broker, "replayed")
    stage = take_stage(broker, work, tmp_path / "before")
    compacted = tmp_path / "compacted.jsonl"
    assert kcompact("compact", stage.dump, "-o", compacted, "--null-keys", "drop").exit_code == 0
    copy = Workload(**{**vars(work), "topic": "replayed-copy"})
    create(broker, copy)

    subprocess.run(
        [
            *(sys.executable, ROOT / "samples" / "replay.py", compacted),
            *("--bootstrap-servers", broker.bootstrap, "--topic", copy.topic),
        ],
        check=True,
        capture_output=True,
        timeout=120,
    )

    renamed = [record._replace(topic=work.topic) for record in consume(broker, copy.topic)]
    restored = write_kcat(tmp_path / "restored.jsonl", renamed)
    run = kcompact("verify", "--mode", "state", stage.dump, restored)
    assert run.exit_code == 0, run.stdout


@pytest.mark.skipif(shutil.which("kcat") is None, reason="kcat is not installed")
def test_kcat_pipes_through_kcompact_and_back_into_kcat(
    broker: LiveBroker, tmp_path: Path, kcompact: Cli
) -> None:
    work = filled(broker, "piped", partitions=1)
    create(broker, Workload(**{**vars(work), "topic": "piped-copy"}))
    kcat = ["kcat", "-q", "-b", broker.bootstrap]
    printed = output_of([*kcat, "-C", "-t", "piped", "-e", "-J", "-o", "beginning"])
    # kcat -P cannot take empty keys and values, nor line ends and tabs.
    lines = [line for line in printed.splitlines(keepends=True) if line.isascii() and b"\\u" not in line]
    dump = tmp_path / "dump.jsonl"
    dump.write_bytes(
        b"".join(line for line in lines if b'"key":""' not in line and b'"payload":""' not in line)
    )

    through = output_of([*KCOMPACT, "compact", "-"], dump.read_bytes())
    records = output_of([*KCOMPACT, "compact", dump, "-o", "-", "--to", "kcat"])
    output_of([*kcat, "-P", "-t", "piped-copy", "-p", "0", "-K", "\t", "-Z"], records)

    (tmp_path / "through.jsonl").write_bytes(through)
    assert kcompact("verify", dump, tmp_path / "through.jsonl").exit_code == 0
    renamed = [record._replace(topic="piped") for record in consume(broker, "piped-copy")]
    restored = write_kcat(tmp_path / "restored.jsonl", renamed)
    assert kcompact("verify", "--mode", "state", dump, restored).exit_code == 0


def output_of(command: list[object], stdin: bytes = b"") -> bytes:
    """What a command prints when it is given something."""
    done = subprocess.run(list(map(str, command)), input=stdin, capture_output=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout
