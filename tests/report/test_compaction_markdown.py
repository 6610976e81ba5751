"""report.md is for people, and for pull requests: of ten thousand files it names a few."""

from kcompact.report.compaction import CompactionReport
from kcompact.report.compaction_markdown import render_markdown


def report_of(files: int) -> CompactionReport:
    inputs = [f"d/part{number}" for number in range(files)]
    return CompactionReport(logs=[], inputs=inputs, outputs=["out"], policies={}, recognised=["JSON lines"])


def test_every_file_is_named_where_they_are_few() -> None:
    text = render_markdown(report_of(20))

    assert "* Read: `d/part19`\n" in text
    assert "more" not in text


def test_some_files_are_named_where_they_are_many() -> None:
    text = render_markdown(report_of(10_000))

    assert "* Read: `d/part0`\n" in text
    assert "d/part20`" not in text
    assert "* Read: 9,980 more, which report.json names\n" in text
