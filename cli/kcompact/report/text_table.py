"""Tables on a terminal, and in a pipe: no number and no partition is ever cut.

In a pipe or a file lines are as long as they need to be. On a terminal topics are shortened in the middle
and texts are folded; columns that still do not fit follow in a second table below, after the first column.
"""

import re
from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from kcompact.printable import terminal
from kcompact.report.table import Table

_GAP = 2  # blanks between columns
_LEAST_WIDTH = 16  # of a column of text that is folded or shortened
_PARTITION = re.compile(r"(?<=.)-\d+\Z")
_LOGS = {"log", "topic"}  # columns that hold names of logs or topics

Rows = list[list[str]]


def print_tables(tables: Sequence[Table], console: Console) -> None:
    """Print each under its title, one below the other."""
    width = console.width if console.is_terminal else None
    for number, table in enumerate(tables):
        if number:
            console.print()
        for line in table_lines(table, width):
            console.print(line)


def table_lines(table: Table, width: int | None) -> Iterator[Text]:
    """The title, the headers, the rows, and the remark; ``width`` in characters, None: unlimited."""
    table = table.without_zeros()
    if table.title:
        yield Text(terminal(table.title), style="bold")
    cells = [[terminal(cell) for cell in row] for row in (table.headers, *table.rows)]
    for number, columns in enumerate(_blocks(table, cells, width)):
        if number:
            yield Text()
        yield from _block(table, cells, columns, width)
    if table.remark:
        yield Text(terminal(table.remark))


def _blocks(table: Table, cells: Rows, width: int | None) -> Iterator[list[int]]:
    """The columns of each part of the table that fits into ``width``; as a rule there is one part."""
    widths = [_width(cells, at) for at in range(len(table.headers))]
    least = [min(width, _LEAST_WIDTH) if table.is_text(at) else width for at, width in enumerate(widths)]
    block = [0]
    for at in range(1, len(least)):
        needed_width = sum(least[column] + _GAP for column in block) + least[at]
        if width is not None and needed_width > width and len(block) > 1:
            yield block
            block = [0]
        block.append(at)
    yield block


def _width(cells: Rows, at: int) -> int:
    return max(cell_len(row[at]) for row in cells)


def _block(table: Table, cells: Rows, columns: list[int], width: int | None) -> Iterator[Text]:
    widths = _fitting(table, cells, columns, width)
    last = len(cells) - 1
    for number, row in enumerate(cells):
        style = "dim" if not number else "bold" if table.has_total and number == last else ""
        folded = [_folded(table, row[at], at, room) for at, room in zip(columns, widths, strict=True)]
        for line in range(max(map(len, folded))):
            shown = [part[line] if line < len(part) else "" for part in folded]
            yield Text(_line(table, shown, columns, widths), style=style)


def _fitting(table: Table, cells: Rows, columns: list[int], width: int | None) -> list[int]:
    """The width of each column; to fit, the widest columns of text are narrowed first."""
    widths = [_width(cells, at) for at in columns]
    if width is None:
        return widths
    texts = [place for place, at in enumerate(columns) if table.is_text(at)]
    while sum(widths) + _GAP * (len(widths) - 1) > width:
        widest = max(texts, key=lambda place: widths[place], default=None)
        if widest is None or widths[widest] <= _LEAST_WIDTH:
            break
        widths[widest] -= 1
    return widths


def _folded(table: Table, cell: str, at: int, room: int) -> list[str]:
    """The lines of a cell."""
    if cell_len(cell) <= room:
        return [cell]
    if table.headers[at] in _LOGS:
        return [shortened(cell, room)]
    return [line.plain.rstrip() for line in Text(cell).wrap(Console(width=room), room)]


def _line(table: Table, shown: list[str], columns: list[int], widths: list[int]) -> str:
    cells = []
    for cell, at, room in zip(shown, columns, widths, strict=True):
        blanks = " " * (room - cell_len(cell))
        cells.append(cell + blanks if table.is_text(at) else blanks + cell)
    return (" " * _GAP).join(cells).rstrip()


def shortened(name: str, room: int) -> str:
    """A log's or topic's name cut in its middle: ``prod.payments.…orders.v2-117``; the partition stays."""
    if cell_len(name) <= room:
        return name
    match = _PARTITION.search(name)
    partition = match.group() if match else ""
    topic = name.removesuffix(partition)
    room = max(room - len(partition) - 1, 2)
    head, tail = topic[: room - room // 2], topic[-(room // 2) :]
    while cell_len(head) + cell_len(tail) > room:  # wide characters take two cells
        head, tail = head[:-1], tail[1:]
    return f"{head}…{tail}{partition}"
