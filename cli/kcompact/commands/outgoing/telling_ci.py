"""Results for GitHub Actions, without being asked for: annotations in the log, a summary of the step."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from kcompact.report.ci import CiReport, render_annotations, render_code_quality, render_junit
from kcompact.storage import disk

CI_RENDERINGS: Mapping[str, Callable[[CiReport], str]] = {
    "junit": render_junit,
    "github": render_annotations,
    "code-quality": render_code_quality,
}
"""By the word of ``--format``."""

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"


def add_to_summary(markdown: str, annotations: bool | None) -> None:
    """Add a section to the summary of the step, if there is one."""
    summary = summary_file(annotations)
    if summary is not None:
        with disk.explained(summary), summary.open("a", encoding="utf-8") as file:
            file.write(markdown)


def summary_file(annotations: bool | None) -> Path | None:
    """The file that holds the summary of the step; None where there is none, or annotations are off."""
    path = os.environ.get(STEP_SUMMARY)
    return Path(path) if path and listens(annotations) else None


def listens(annotations: bool | None) -> bool:
    """Whether GitHub is to be told; ``annotations`` None: under GitHub Actions only."""
    return os.environ.get("GITHUB_ACTIONS") == "true" if annotations is None else annotations
