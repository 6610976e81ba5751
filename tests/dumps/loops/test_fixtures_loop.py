"""Each tool's dump is read by loops as the reference reads it."""

from pathlib import Path

import pytest

from dialect_fixtures import ANSWERED, FIXTURES
from dump_pipeline import index_all, open_one
from kcompact.dumps.loops import readiness
from kcompact.dumps.records.indexing import CONTENT_EXTRA
from kcompact.dumps.records.layout import SplitNotes
from kcompact.errors import InputError

for layout in ("json_lines", "csv_lines", "avro"):
    assert readiness.load_loops(layout)
DUMPS = sorted(path.name for path in FIXTURES.iterdir() if not path.name.startswith((".", "README")))
Rows = tuple[list[object], dict[int, SplitNotes], list[object], list[object]]


def rows_of(path: Path) -> Rows | str:
    """Rows, notes, rows with hashes of values, and their sizes alone; or why the dump is refused."""
    try:
        with open_one(path, **ANSWERED.get(path.name, {})) as dump:
            table, notes = index_all(dump)
            contents, _ = index_all(dump, extra=CONTENT_EXTRA)
            sizes, _ = index_all(dump, extra=frozenset({"log_bytes"}))
    except InputError as error:
        return error.message
    return table.to_pylist(), notes, contents.to_pylist(), sizes.to_pylist()


@pytest.mark.parametrize("name", DUMPS)
def test_loops_read_what_tools_write_as_the_reference_does(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = FIXTURES / name
    by_reference = rows_of(path)
    for read_as in readiness.SMALLEST_DUMP_BYTES:
        monkeypatch.setitem(readiness.SMALLEST_DUMP_BYTES, read_as, 0)

    assert rows_of(path) == by_reference


def test_most_of_these_dumps_can_be_read() -> None:
    """Else the test above would compare refusals."""
    assert sum(not isinstance(rows_of(FIXTURES / name), str) for name in DUMPS) > 70
