"""Tables for people: whole numbers and partitions at any width, no width assumed in a pipe."""

import io
import re

import pytest
from rich.cells import cell_len
from rich.console import Console

from kcompact.inspect.inspection import Inspection, KeyPlace, SharedKey, TopicFacts
from kcompact.report.inspect.inspection_sections import sections
from kcompact.report.table import Foreign, Table, markdown_table
from kcompact.report.text_table import print_tables, shortened, table_lines

LONG = "prod.payments.reconciliation.ledger-entries.compacted.v2-117"
WIDE = "漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字-3"
TABLE = Table.of(
    "Logs",
    ("log", "records", "kept", "keyless", "why", "bytes saved"),
    [
        (Foreign("orders-0"), "228", "68", "0", "ratio above 0.5", "30,440 (70 %)"),
        (
            Foreign(LONG),
            "123,456,789",
            "10",
            "0",
            "a transaction is open at offset 1,234,567",
            "23,456,788,010 (100 %)",
        ),
        (Foreign(WIDE), "5", "5", "0", "nothing dirty", "0"),
    ],
    ("log", "why"),
)
NUMBERS = {"228", "68", "30,440", "123,456,789", "10", "23,456,788,010"}


def lines(width: int | None, table: Table = TABLE) -> list[str]:
    return [line.plain for line in table_lines(table, width)]


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
def test_no_line_is_wider_than_the_terminal_and_no_number_is_cut(width: int) -> None:
    shown = lines(width)
    assert max(map(cell_len, shown)) <= width
    assert set(re.findall(r"(?<!\S)[\d,]+(?!\S)", "\n".join(shown))) >= NUMBERS
    assert all(any(re.match(rf"\S+-{partition}( |$)", line) for line in shown) for partition in (0, 117, 3))


def test_a_pipe_gets_lines_as_long_as_they_need_to_be() -> None:
    out = io.StringIO()
    print_tables([TABLE], Console(file=out, width=40, soft_wrap=True, highlight=False))
    title, head, *rows = out.getvalue().splitlines()
    assert (title, head.split()) == ("Logs", ["log", "records", "kept", "why", "bytes", "saved"])
    assert rows[1].startswith(LONG)
    assert rows[1].endswith("10  a transaction is open at offset 1,234,567  23,456,788,010 (100 %)")
    assert len(rows) == 3


def test_a_narrow_terminal_folds_texts_and_shortens_topics() -> None:
    assert lines(80) == [
        "Logs",
        "log                    records  kept  why                            bytes saved",
        "orders-0                   228    68  ratio above 0.5              30,440 (70 %)",
        "prod.p…ted.v2-117  123,456,789    10  a transaction is    23,456,788,010 (100 %)",
        "                                      open at offset",
        "                                      1,234,567",
        "漢字漢…字漢字-3              5     5  nothing dirty                            0",
    ]


def test_what_does_not_fit_goes_on_below_with_the_logs_again() -> None:
    assert lines(60)[1].split() == ["log", "records", "kept", "why"]
    below = lines(60)[lines(60).index("") + 1 :]
    assert below[0].split() == ["log", "bytes", "saved"]
    assert below[1].startswith("orders-0 ")


def test_columns_that_are_all_zero_are_left_out_of_text_and_markdown() -> None:
    assert "keyless" not in "".join(lines(None)) + markdown_table(TABLE)
    row = (*TABLE.rows[0][:3], "1", *TABLE.rows[0][4:])
    assert "keyless" in markdown_table(Table.of("", TABLE.headers, [*TABLE.rows, row], TABLE.texts))


@pytest.mark.parametrize(
    ("name", "room", "shown"),
    [
        ("orders-0", 8, "orders-0"),
        ("payments.ledger-entries-117", 16, "paymen…tries-117"),
        ("payments.ledger-entries", 10, "payme…ries"),
    ],
)
def test_a_topic_is_shortened_in_its_middle(name: str, room: int, shown: str) -> None:
    assert shortened(name, room) == shown


def test_of_many_rows_some_are_shown_the_rest_counted_and_the_total_kept() -> None:
    rows = [(f"t-{at}", 1) for at in range(50)]
    table = Table.of("", ("log", "records"), [*rows, ("total", 50)], has_total=True)
    shown = lines(None, table.shortened(40, "report.json has all"))
    assert shown[-3:] == ["t-39         1", "total       50", "and 10 more rows (report.json has all)"]
    assert len(shown) == 43


def test_of_a_key_in_ten_thousand_partitions_some_are_shown_and_the_rest_counted() -> None:
    places = (KeyPlace(n, 1, 0, 0, 0, is_tombstone=False, is_newest=not n) for n in range(10_000))
    topic = TopicFacts("t", shared_key_examples=[SharedKey(b"k", False, tuple(places))])
    table = next(table for table in sections(Inspection(topics=[topic])) if "several" in table.title)
    assert table.remark == f"and {10_000 - len(table.rows):,} more rows (--format json has all)"
    assert len(table.rows) < 100


def test_hostile_cells_move_nothing() -> None:
    cell = Foreign("\x1b[2J\n::error::x-0")
    (_, row) = lines(80, Table.of("", ("log",), [(cell,)]))
    assert row == r"\x1b[2J\n::error::x-0"
