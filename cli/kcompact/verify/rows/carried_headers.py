"""Which files have headers, and whether in full, as far as their records and fields show."""

from collections.abc import Mapping

from kcompact.dumps.dialects.dialect import JSON
from kcompact.dumps.dump import Dump
from kcompact.dumps.parquet.parquet_output import is_ours
from kcompact.dumps.records.layout import FILLED_HEADERS, DumpFile, SplitNotes
from kcompact.dumps.text.csv_reader import CsvShape
from kcompact.dumps.writers.avro_writer import SCHEMA
from kcompact.dumps.writers.text_writers import COLUMNS
from kcompact.engine.passes.index_pass import IndexPlan


def with_incomplete_headers(plan: IndexPlan) -> dict[int, str]:
    """By split id, the name of the dialect, for splits that do not hold headers in full."""
    dialects = {split_id: plan.file_of(split).dialect for split_id, split in plan.splits.items()}
    return {split_id: dialect.name for split_id, dialect in dialects.items() if dialect.incomplete_headers}


def carries_headers(file: DumpFile) -> bool:
    """Whether a file has a field or column for headers."""
    name = file.dialect.headers
    return name in file.shape.columns if isinstance(file.shape, CsvShape) else name is not None


def may_lack_headers(dump: Dump, by_file: Mapping[int, SplitNotes]) -> bool:
    """Whether a dump without headers may come from a topic with headers, which were not exported.

    In JSON no record has the field then, and the tool is unknown or writes headers only if asked to. A file
    that kcompact wrote has the field in any case; it is empty in all records then.
    """
    return all(_may_lack_headers(file, by_file[file.file_id].fields_seen) for file in dump.files)


def _may_lack_headers(file: DumpFile, seen: Mapping[str, int]) -> bool:
    if file.layout in JSON:
        return not seen.get("headers") and (not file.dialect.sure or file.dialect.asked_headers)
    return not seen.get(FILLED_HEADERS) and _is_converted(file)


def _is_converted(file: DumpFile) -> bool:
    """Whether kcompact wrote the file, perhaps from a dump in another format."""
    if isinstance(file.shape, CsvShape):
        return file.shape.columns == COLUMNS
    if file.layout == "avro":
        return bool(file.shape.header.schema == SCHEMA)
    return file.layout == "parquet" and is_ours(file.shape.schema)


def writer_of(file: DumpFile) -> str:
    """A name for what decided on the order of headers in JSON objects: a tool, or an unknown program's run.

    Each file of an unknown program counts as a run of its own, since Rust's HashMap and Swift's Dictionary
    have another order in every run.
    """
    return file.path if file.layout in JSON and not file.dialect.sure else file.dialect.name
