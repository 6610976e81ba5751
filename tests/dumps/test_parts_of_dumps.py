"""Parts of a dump are read as they are in the whole: its first lines, and each record, converted alone."""

from pathlib import Path

import pytest

from dialect_fixtures import FIXTURES, TOLD
from dump_pipeline import judged, records_of
from kcompact.dumps.records.record import Record
from kcompact.dumps.writers.targets import TARGETS
from kcompact.errors import InputError

OF_LINES = [
    name
    for name, told in TOLD.items()
    if told.layout in {"json_lines", "csv_lines"} and (FIXTURES / name).is_file() and "utf16" not in name
]


@pytest.mark.parametrize("name", OF_LINES)
def test_the_first_lines_are_read_as_in_the_whole(name: str, tmp_path: Path) -> None:
    """``head`` leaves them; less may be known of how they were written, and they are refused."""
    options, lines = TOLD[name].options, (FIXTURES / name).read_bytes().splitlines(keepends=True)
    whole = records_of(FIXTURES / name, **options)
    heads: list[list[Record]] = []
    for count in range(1, len(lines)):
        path = tmp_path / name
        path.write_bytes(b"".join(lines[:count]))
        try:
            judged(path, **options)
        except InputError:
            continue
        heads.append(records_of(path, **options))
    assert any(heads)
    for records in heads:
        assert records == whole[: len(records)]


@pytest.mark.everyday(70)
@pytest.mark.parametrize("target", ["jsonl", "csv", "avro"])
@pytest.mark.parametrize("name", TOLD)
def test_a_record_that_is_converted_alone_is_read_back(name: str, target: str, tmp_path: Path) -> None:
    writer, path = TARGETS[target](name), tmp_path / f"out.{target}"
    for record in records_of(FIXTURES / name, **TOLD[name].options):
        path.write_bytes(writer.begin() + b"".join(writer.encode([record])))
        judged(path)
        assert records_of(path) == [record]
