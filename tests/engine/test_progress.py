"""The bar: on a terminal only, and only where there is time to see it."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

_SLOW_JOB = """
import time
from kcompact.engine.session import SessionOptions, open_session

def slow(batches):
    time.sleep(3)
    yield from batches

with open_session(SessionOptions(master="local[2]")) as spark:
    print(spark.range(0, 4, 1, 4).mapInArrow(slow, "id long").count())
"""


def test_a_terminal_shows_tasks_and_ends_clean(tmp_path: Path) -> None:
    terminal, side = pty.openpty()
    environment = os.environ | {"TMPDIR": str(tmp_path), "TERM": "xterm"}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen(
        [sys.executable, "-c", _SLOW_JOB], stdout=subprocess.PIPE, stderr=side, text=True, env=environment
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
    assert (process.returncode, out) == (0, "4\n")
    assert b"tasks" in shown
    assert b"/5" in shown or b"/4" in shown
    assert b"Traceback" not in shown
