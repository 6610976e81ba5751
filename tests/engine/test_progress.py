"""The bar: on a terminal only, from the first second, by bytes of the whole job, and never going back."""

import io
import itertools
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from kcompact.engine import progress
from kcompact.engine.meter import READ, Meter, done_bytes

MAIN = "import sys; from kcompact.app import main; sys.exit(main())"
PHASES = ["starting", "reading", "merging", "writing"]
UNITS = {"bytes": 1, "kB": 10**3, "MB": 10**6}


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some 24 MB of kcat lines, which two tasks read."""
    path = tmp_path_factory.mktemp("progress") / "big.jsonl"
    line = '{"topic":"t","partition":0,"offset":%d,"tstype":"create","ts":1,"key":"%d","payload":"%s"}\n'
    with path.open("w") as file:
        file.writelines(line % (offset, offset % 9_000, "x" * 150) for offset in range(110_000))
    return path


def on_a_terminal(*arguments: object) -> tuple[int, str, str]:
    """Exit code, standard output, and what a terminal saw of standard error."""
    terminal, side = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    command = [sys.executable, "-c", MAIN, *map(str, arguments)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=side, text=True, env=environment | {"TERM": "xterm"}
    ) as process:
        os.close(side)
        shown = b""
        try:
            while part := os.read(terminal, 4096):
                shown += part
        except OSError:  # the other side of a terminal ends with an error on Linux
            pass
        out, _ = process.communicate()
    os.close(terminal)
    return process.returncode, out, re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())


def states(shown: str) -> list[tuple[str, float]]:
    """(phase, bytes done) of each time the bar was drawn; numbers are rounded to what is shown."""
    drawn = re.findall(rf"({'|'.join(PHASES)})\s+\S+\s+([\d.]+)/([\d.]+) (\w+)", shown)
    return [(phase, float(done) * UNITS[unit]) for phase, done, _, unit in drawn]


@pytest.mark.spark
def test_the_bar_of_a_compaction_goes_through_its_phases_and_never_back(dump: Path, tmp_path: Path) -> None:
    code, out, shown = on_a_terminal("compact", dump, "-o", tmp_path / "out.jsonl")

    drawn = states(shown)
    assert code == 0
    assert drawn[0] == ("starting", 0.0)
    assert all(before <= after for (_, before), (_, after) in itertools.pairwise(drawn))
    order = [PHASES.index(phase) for phase, _ in drawn]
    assert order == sorted(order)
    assert drawn[-1][0] in {"merging", "writing"}
    assert "tasks" not in shown
    assert out.splitlines()[0].split() == ["log", "records", "kept", "superseded", "gaps", "bytes", "saved"]


@pytest.mark.spark
def test_a_quiet_run_shows_no_bar(dump: Path) -> None:
    assert on_a_terminal("compact", dump, "--dry-run", "-q") == (0, "", "")


@pytest.mark.spark
def test_a_log_with_colours_shows_no_bar(dump: Path) -> None:
    command = [sys.executable, "-c", MAIN, "compact", str(dump), "--dry-run", "--format", "json"]
    run = subprocess.run(command, env=os.environ | {"FORCE_COLOR": "1"}, capture_output=True, check=True)
    assert run.stderr == b""


def test_bytes_of_all_tasks_are_added_up_and_none_counts_more_than_it_has(tmp_path: Path) -> None:
    meter, other = Meter(tmp_path, READ, "0", 100), Meter(tmp_path, READ, "1", 50)
    meter.add(30)
    other.add(80)  # records of a compressed block may be more than its bytes
    assert done_bytes(tmp_path, READ) == 80
    meter.finish()
    assert done_bytes(tmp_path, READ) == 150


def test_a_folder_that_is_gone_disturbs_nobody(tmp_path: Path) -> None:
    Meter(tmp_path / "gone", READ, "0", 100).add(1)
    assert done_bytes(tmp_path / "gone", READ) == 0


@pytest.mark.parametrize("width", [36, 40, 64, 65, 80, 200])
def test_the_bar_is_one_line_in_a_terminal_of_any_width(width: int) -> None:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=True, color_system=None)
    bar = progress._bar(console)
    bar.add_task("starting", total=999_900_000_000, completed=123_400_000_000)
    bar.tasks[0].finished_speed = 999_900_000.0
    console.print(bar.get_renderable())
    [line] = out.getvalue().splitlines()
    assert "999.9 GB" in line
    assert ("999.9 MB/s" in line) == (width > 64)
    assert len(line) <= width
