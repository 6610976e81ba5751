"""The tests of the loops once more with loops that check every index."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

MODE = "NUMBA_BOUNDSCHECK"


@pytest.mark.at_length
@pytest.mark.skipif(MODE in os.environ, reason="this is that run")
def test_loops_stay_within_their_arrays() -> None:
    engine = Path(__file__).parents[2] / "engine"
    tests = [str(path) for path in Path(__file__).parent.glob("test_*_loop.py")]
    tests += [str(Path(__file__).parent / "test_words.py")]
    tests += [str(engine / "test_grouping.py"), str(engine / "test_summaries.py")]
    command = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, env=os.environ | {MODE: "1"}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
