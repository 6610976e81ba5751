"""Runs whole processes that use Spark through the engine, and checks that they leave nothing behind."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

SECONDS = 120  # far more than any of these runs takes, even on a busy machine


def _full_jdk() -> str | None:
    """A JDK for executors, which pip cannot install: JAVA_HOME's, or one where Linux keeps them."""
    homes = [Path(os.environ.get("JAVA_HOME", "/")), *Path("/usr/lib/jvm").glob("*")]
    return next((str(home) for home in homes if (home / "jmods/jdk.incubator.vector.jmod").exists()), None)


FULL_JDK = _full_jdk()


def start_python(code: str, temporary_folder: Path, **environment: str) -> subprocess.Popen[str]:
    """Start ``code`` in a process of its own, with all its temporary files below ``temporary_folder``."""
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(temporary_folder)} | environment,
    )


def run_python(code: str, temporary_folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run ``code`` to its end."""
    with start_python(code, temporary_folder, **environment) as process:
        out, err = process.communicate(timeout=SECONDS)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def wait_until(condition: Callable[[], bool], seconds: float = SECONDS) -> bool:
    """Whether ``condition`` came true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def processes_of(temporary_folder: Path) -> dict[int, str]:
    """Running processes of a run (they all inherit its TMPDIR): process id and command line."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            environment = (process / "environ").read_bytes()
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # ended meanwhile
            continue
        if f"TMPDIR={temporary_folder}\0".encode() in environment and command:
            found[int(process.name)] = command
    return found


def is_clean(temporary_folder: Path) -> bool:
    """Assert that no process and no file of a run is left."""
    return not processes_of(temporary_folder) and not list(temporary_folder.iterdir())
