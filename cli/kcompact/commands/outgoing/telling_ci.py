"""Results that GitHub Actions gets without an option: whether it runs this, and the summary of the step."""

import os
from pathlib import Path

from kcompact.errors import OutputError

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"


def add_to_summary(markdown: str, annotations: bool | None) -> None:
    """Add a section to the summary of the step, if there is one."""
    summary = summary_file(annotations)
    if summary is not None:
        try:
            with summary.open("a", encoding="utf-8") as file:
                file.write(markdown)
        except OSError as error:
            raise OutputError(
                f"{summary} cannot be written: {error.strerror}",
                hint=f"{STEP_SUMMARY} names it; --no-annotations leaves it alone",
            ) from error


def summary_file(annotations: bool | None) -> Path | None:
    """The file that holds the summary of the step; None where there is none, or annotations are off."""
    path = os.environ.get(STEP_SUMMARY)
    return Path(path) if path and listens(annotations) else None


def listens(annotations: bool | None) -> bool:
    """Whether to write annotations for GitHub; ``annotations`` None: under GitHub Actions only."""
    return os.environ.get("GITHUB_ACTIONS") == "true" if annotations is None else annotations
