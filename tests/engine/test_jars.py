"""Spark's jars: those on the class path, and the script that leaves the others out of the image."""

import subprocess
import sys
from pathlib import Path

from kcompact.engine.startup.jars import class_path, jars_folder

SLIM = Path(__file__).parents[2] / ".ci" / "slim"


def test_the_class_path_has_most_jars_and_begins_with_sparks_own() -> None:
    jars = class_path()
    assert set(jars) < set(jars_folder().glob("*.jar"))
    assert jars[0].name.startswith("spark-core_")


def test_the_images_script_runs_and_keeps_to_the_installation_that_it_is_given(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-P", SLIM, tmp_path], capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 1
    assert run.stderr.endswith(f"is not in {tmp_path}\n")
    assert "Traceback" not in run.stderr
