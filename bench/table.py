"""The results as a Markdown table, for people and for the README.

python bench/table.py bench/results.json
"""

import json
import sys
from pathlib import Path
from typing import Any


def markdown(results: dict[str, Any], published: dict[str, Any] | None = None) -> str:
    """One table for all matches, and a description of the machine.

    A ratio is marked as moved if its range does not overlap that of the ``published`` results.
    """
    known = {match["name"]: match["contestants"] for match in (published or {"matches": []})["matches"]}
    lines = [
        "| dump | contestant | wall s (range) | ratio (range) | CPU s | peak memory MB |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for match in results["matches"]:
        title = f"{match['title']}, {match['survivors']:,} survivors"
        for name, found in match["contestants"].items():
            moved = moved_from(found, known.get(match["name"], {}).get(name))
            lines.append(f"| {title} | {row(name, found, match['baseline'], moved)} |")
            title = ""
    return "\n".join([*lines, "", described(results["machine"]), ""])


def moved_from(found: dict[str, Any], before: dict[str, Any] | None) -> str:
    """The words for a ratio that moved by more than its spread; empty for others."""
    if before is None:
        return ""
    (low, high), (low_before, high_before) = found["ratio_range"], before["ratio_range"]
    return f", moved from {before['ratio']:.2f}" if low > high_before or high < low_before else ""


def row(name: str, found: dict[str, Any], baseline: str, moved: str) -> str:
    low, high = found["wall_s_range"]
    wall = f"{found['wall_s']:.2f}" + (f" ({low:.2f} to {high:.2f})" if len(found["runs"]) > 1 else "")
    low, high = found["ratio_range"]
    ratio = "1" if name == baseline else f"{found['ratio']:.2f} ({low:.2f} to {high:.2f}){moved}"
    shown = f"**{name}**" if name == "kcompact" else name
    return f"{shown} | {wall} | {ratio} | {found['cpu_s']:.1f} | {found['memory_bytes'] / 1e6:,.0f}"


def described(machine: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    return (
        f"{machine['cores']} cores of {machine['processor']}, {machine['memory_bytes'] / 2**30:.0f} GiB,"
        f" {machine['system']}, Python {machine['python']}, {versions}; {machine['date']},"
        f" load before the first run {machine['load_at_start']:.1f}.\n"
        "Ratios are to the contestant with ratio 1, their range is that of all pairs of runs: a change within"
        " it means nothing. Memory: all processes together, shared pages once, without pages of mapped files."
    )


if __name__ == "__main__":
    print(markdown(json.loads(Path(sys.argv[1]).read_text())))
