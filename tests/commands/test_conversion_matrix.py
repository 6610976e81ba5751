"""Every layout to every format and back, through the command line, against the oracle and foreign readers.

Everyday: each layout into each format, with all pairs of the other axes spread over them.
``KCOMPACT_MATRIX=whole`` runs the whole product, as CI does every night.
"""

import itertools
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from conftest import Run
from independent_readers import READERS, read_keys_and_values
from kcompact.dumps.records.record import Record
from laid_out import LAYOUTS, Form, LaidOut, Layout, is_cell, place
from oracle import Settings, clean

pytestmark = pytest.mark.usefixtures("spark")
Cli = Callable[..., Run]
SAMPLES = Path(__file__).parents[2] / "samples"
NOW_MS = 1_760_040_000_000
ALIKE, KCAT = "the same", "kcat"
FORMATS = [ALIKE, *READERS, KCAT]
COPIES = 5  # of the sample make a dump that is read many lines at a time


class Axes(NamedTuple):
    """What may change how a dump is read beside its layout and the format asked for."""

    line_end: bytes
    final: bool  # whether the last line has its line end
    quoted: bool  # whether the last cell is, where that is a choice
    large: bool
    state: bool

    @property
    def form(self) -> Form:
        return Form(self.line_end, self.final, self.quoted)


class Cell(NamedTuple):
    """One run."""

    layout: str
    format: str
    axes: Axes

    @property
    def name(self) -> str:
        """For pytest."""
        axes = self.axes
        words = [
            "crlf" if axes.line_end == b"\r\n" else "lf",
            "final" if axes.final else "cut",
            "quoted" if axes.quoted else "bare",
            "large" if axes.large else "small",
            "state" if axes.state else "once",
        ]
        return f"{self.layout} to {self.format}, {' '.join(words)}"


BOTH = (True, False)
PRODUCT = [Axes(*values) for values in itertools.product((b"\n", b"\r\n"), BOTH, BOTH, BOTH, BOTH)]


def cells(*, whole: bool) -> list[Cell]:
    """All of them, or each layout into each format with one combination of the axes, another every time."""
    pairs = list(itertools.product(LAYOUTS, FORMATS))
    if whole:
        distinct = {(pair, _as_it_matters(pair[0], axes)) for pair in pairs for axes in PRODUCT}
        return [Cell(*pair, axes) for pair, axes in sorted(distinct)]
    return [Cell(*pair, PRODUCT[7 * number % len(PRODUCT)]) for number, pair in enumerate(pairs)]


def _as_it_matters(layout: str, axes: Axes) -> Axes:
    """Axes that make no difference to a layout, at one of their values."""
    usual = {"line_end": b"\n", "final": True, "quoted": True}
    return axes._replace(**{name: usual[name] for name in usual.keys() - LAYOUTS[layout].forms})


CELLS = cells(whole=os.environ.get("KCOMPACT_MATRIX") == "whole")


def sample() -> list[Record]:
    """The records of the samples, by the standard library."""
    rows = map(json.loads, (SAMPLES / "orders.jsonl").read_text().splitlines())
    return [
        Record(
            row["topic"],
            row["partition"],
            row["offset"],
            row["ts"],
            row["key"].encode(),
            None if row["payload"] is None else row["payload"].encode(),
        )
        for row in rows
    ]


ODD_VALUES = [
    b"",
    b"null",
    b"NULL",
    b"bare",
    b" blanks ",
    b'a\r\nb\nc,"q"\t;\r\n',
    "\u00e9\u2028\ufffd".encode(),
    b"\xff\xfe\x00\r",
    b"\\N",
    b'{"op":"d"}',
    None,
]
ODD_KEYS = [b"", b'say "hi", x', b"a\nb", b"null", b"\xff\x00", b"plain"]


def records_of(*, large: bool) -> list[Record]:
    """The sample, and what is odd, over and over; the last record is a tombstone in the first partition."""
    records, offsets = [], dict.fromkeys(range(3), 0)
    keys = itertools.product(ODD_KEYS, ODD_VALUES)
    odd = [
        Record("orders", n % 3, 0, NOW_MS - 5, *pair, (("h", b"1"), ("n", None)))
        for n, pair in enumerate(keys)
    ]
    for record in (sample() + odd) * (COPIES if large else 1):
        offsets[record.partition] += 2 if record.offset % 50 == 0 else 1
        records.append(record._replace(offset=offsets[record.partition]))
    return [*records, records[0]._replace(partition=0, offset=offsets[0] + 1, value=None)]


RECORDS = {large: records_of(large=large) for large in BOTH}


def laid_out(layout: Layout, cell: Cell) -> LaidOut:
    """The records that layout and format can both hold."""
    holds = [layout.holds, *([lambda r: r.partition == 0 and is_cell(r)] if cell.format == KCAT else [])]
    records = [record for record in RECORDS[cell.axes.large] if all(held(record) for held in holds)]
    return layout.lay(records, cell.axes.form)


@pytest.mark.parametrize("cell", CELLS, ids=[cell.name for cell in CELLS])
def test_what_the_oracle_keeps_arrives_whole_and_comes_back(
    cell: Cell, tmp_path: Path, kcompact: Cli
) -> None:
    layout = LAYOUTS[cell.layout]
    laid = laid_out(layout, cell)
    source = laid.write(tmp_path / f"orders{layout.suffix}")
    suffix = {ALIKE: layout.suffix, KCAT: ".txt"}.get(cell.format, f".{cell.format}")
    output = tmp_path / f"out{suffix}"
    state = ["--state", tmp_path / "state"] if cell.axes.state else []
    target = ["--to", cell.format] if cell.format in {KCAT, *READERS} else []

    run = kcompact("compact", source, "-o", output, "--now", NOW_MS, *target, *layout.options, *state)

    assert run.exit_code == 0, run.stderr
    retained = {place(record) for record in clean(laid.carried, Settings(NOW_MS)).retained}
    expected = [record for record in laid.carried if place(record) in retained]
    if cell.format == KCAT:
        assert read_keys_and_values(output) == [(record.key, record.value) for record in expected]
        return
    check_format(cell, output, expected, laid)
    verified = kcompact("verify", source, output, "--now", NOW_MS, *layout.options, *state)
    assert verified.exit_code == 0, (verified.stdout, verified.stderr)
    if cell.format != ALIKE:
        check_the_way_back(cell, output, expected, kcompact)


def check_format(cell: Cell, output: Path, expected: list[Record], laid: LaidOut) -> None:
    if cell.format in READERS:
        assert READERS[cell.format](output) == expected
    elif cell.layout in {"avro", "parquet"}:
        assert READERS[cell.layout](output) == expected
    else:
        kept = {place(record) for record in expected}
        wanted = laid.write(output.with_name("wanted"), kept).read_bytes()
        # A last line without a line end is given one, so that what is appended does not grow onto it.
        unfinished = not laid.end and not wanted.endswith(b"\n")
        assert output.read_bytes() == wanted + cell.axes.line_end * unfinished


def check_the_way_back(cell: Cell, output: Path, expected: list[Record], kcompact: Cli) -> None:
    """What was converted is converted to the family that it came from, and to Avro where that is the same."""
    family = LAYOUTS[cell.layout].suffix.removeprefix(".")
    back = family if family in READERS and family != cell.format else "avro"
    again = output.with_name(f"back.{back}")
    run = kcompact("compact", output, "-o", again, "--to", back, "--now", NOW_MS, "--no-report")
    assert run.exit_code == 0, run.stderr
    assert READERS[back](again) == expected


def test_everyday_meets_each_layout_in_each_format_and_all_pairs_of_axes() -> None:
    everyday = cells(whole=False)
    assert {(cell.layout, cell.format) for cell in everyday} == set(itertools.product(LAYOUTS, FORMATS))
    for axis, other in itertools.combinations(range(len(Axes._fields)), 2):
        assert len({(cell.axes[axis], cell.axes[other]) for cell in everyday}) == 4
