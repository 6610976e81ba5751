"""The geometry of the pictures in HTML reports, in the units of their view boxes. No text is drawn here."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

WIDTH = 640.0  # of a picture's drawing area
BINS = 80  # of an axis of offsets
MOST_PICTURED_LOGS = 20  # of a report


@dataclass(frozen=True)
class Part:
    """A stretch of a bar. ``kind`` names its colour."""

    kind: str
    label: str
    amount: int
    x: float
    width: float


@dataclass(frozen=True)
class Bar:
    """A labelled bar of parts side by side; ``note`` is written at its end."""

    label: str
    parts: tuple[Part, ...]
    note: str


def bar(label: str, amounts: Sequence[tuple[str, str, int]], largest: int, note: str) -> Bar:
    """A bar of (kind, label, amount); ``largest`` is the amount that takes the whole width."""
    parts, x = [], 0.0
    for kind, words, amount in amounts:
        width = WIDTH * amount / largest if largest else 0.0
        if amount:
            parts.append(Part(kind, words, amount, round(x, 1), max(round(width, 1), 0.5)))
        x += width
    return Bar(label, tuple(parts), note)


@dataclass(frozen=True)
class Axis:
    """A log's offsets from left to right: in each of its bins the share that is kept, removed, missing.

    ``paths`` (kind -> path data) fill an area of WIDTH x 1.
    """

    label: str
    first_offset: int
    last_offset: int
    paths: dict[str, str]
    note: str


class GapColumns(NamedTuple):
    """Gaps of a log, ascending: int64 columns with one element for each."""

    first_offsets: np.ndarray
    last_offsets: np.ndarray
    missing_before: np.ndarray  # offsets that were not in the dump


def offset_axis(label: str, span: tuple[int, int], gaps: GapColumns, note: str) -> Axis:
    """The axis of a log; ``span`` is its first and its last offset."""
    first, last = span
    # Offsets are counted from the first one, as floats cannot tell large neighbouring numbers apart.
    gaps = gaps._replace(first_offsets=gaps.first_offsets - first, last_offsets=gaps.last_offsets - first)
    edges = np.linspace(0, last + 1 - first, min(BINS, last - first + 1) + 1)
    missing = _within(gaps, edges, gaps.missing_before)
    removed = _within(gaps, edges, gaps.last_offsets - gaps.first_offsets + 1 - gaps.missing_before)
    offsets = np.diff(edges)
    shares = {"removed": removed / offsets, "missing": missing / offsets}
    shares = {"kept": 1 - shares["removed"] - shares["missing"], **shares}
    return Axis(label, first, last, _stacked(shares, WIDTH / len(offsets)), note)


def _within(gaps: GapColumns, edges: np.ndarray, amounts: np.ndarray) -> np.ndarray:
    """How much of ``amounts``, each spread evenly over its gap, lies between neighbouring edges."""
    if not len(gaps.first_offsets):
        return np.zeros(len(edges) - 1)
    # The running sum rises within gaps and is level between them: looked up at the last gap before each edge.
    last = np.searchsorted(gaps.first_offsets, edges, "right") - 1
    starts, ends = gaps.first_offsets[last], gaps.last_offsets[last] + 1
    within = np.clip((edges - starts) / (ends - starts), 0, 1)
    sums = (np.cumsum(amounts) - amounts)[last] + amounts[last] * within
    return np.diff(np.where(last < 0, 0, sums))


def _stacked(shares: dict[str, np.ndarray], width: float) -> dict[str, str]:
    """Columns stacked from the ground up: path data by kind."""
    ground = np.ones(len(next(iter(shares.values()))))
    paths = {}
    for kind, heights in shares.items():
        top = ground - np.clip(heights, 0, 1)
        columns = [
            f"M{at * width:.1f} {ground[at]:.3f}h{width:.1f}V{top[at]:.3f}h-{width:.1f}z"
            for at in np.flatnonzero(ground - top > 0.0005)  # noqa: PLR2004  less cannot be seen
        ]
        if columns:
            paths[kind] = "".join(columns)
        ground = top
    return paths


@dataclass(frozen=True)
class Curve:
    """A line through (x, y) points of an area of WIDTH x 200, y growing downwards."""

    label: str
    kind: str
    points: tuple[tuple[float, float], ...]


def curves(series: Sequence[tuple[str, Sequence[int]]]) -> tuple[list[Curve], int]:
    """A curve for each series, all with the same number of values, and the value that has the full height."""
    largest = max((value for _, values in series for value in values), default=0)
    lines = []
    for number, (label, values) in enumerate(series):
        step = WIDTH / max(len(values) - 1, 1)
        points = tuple(
            (round(at * step, 1), round(200 - 200 * value / (largest or 1), 1))
            for at, value in enumerate(values)
        )
        lines.append(Curve(label, f"curve{number % 6}", points))
    return lines, largest
