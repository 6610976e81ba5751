"""Which files have headers, or all of them, as far as their records or their fields tell."""

from collections.abc import Mapping

from kcompact.dumps.dialects.dialect import JSON
from kcompact.dumps.dump import Dump
from kcompact.dumps.records.layout import DumpFile, SplitNotes
from kcompact.dumps.text.csv_reader import CsvShape
from kcompact.engine.passes.index_pass import IndexPlan


def with_incomplete_headers(plan: IndexPlan) -> dict[int, str]:
    """The dialects of splits that do not have all of the headers."""
    dialects = {split_id: plan.file_of(split).dialect for split_id, split in plan.splits.items()}
    return {split_id: dialect.name for split_id, dialect in dialects.items() if dialect.incomplete_headers}


def carries_headers(file: DumpFile) -> bool:
    """Whether a file has a field or column for them."""
    name = file.dialect.headers
    return name in file.shape.columns if isinstance(file.shape, CsvShape) else name is not None


def may_lack_headers(dump: Dump, by_file: Mapping[int, SplitNotes]) -> bool:
    """Whether no record has the field, in JSON of which nothing tells whether they were exported."""
    return all(
        file.layout in JSON and not file.dialect.sure and not by_file[file.file_id].fields_seen.get("headers")
        for file in dump.files
    )


def writer_of(file: DumpFile) -> str:
    """Whoever gave the headers of an object their order: a tool, or one run of a program that nobody knows.

    Rust's HashMap and Swift's Dictionary have another order in every run.
    """
    return file.path if file.layout in JSON and not file.dialect.sure else file.dialect.name
