"""report.md is for people, and for pull requests: of ten thousand files it names a few."""

from kcompact.compact.totals import LogOutcome
from kcompact.report.compact.compaction_report import CompactionReport, render_markdown


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


def test_the_figures_that_matter_come_first_and_no_column_of_zeros() -> None:
    log = LogOutcome(0, "orders", 0, 228, 43_203, 68, 12_763, tombstones_kept=8, keys=68, gaps=33)
    log.removed["superseded"] = 160
    log.removed["expired_tombstone"] = 0
    report = CompactionReport(
        [log], ["in.jsonl"], ["out.jsonl"], {}, ["JSON lines"], warnings=["mind the gap"]
    )

    assert (
        render_markdown(report)
        == """\
# Compaction report

**228 records in 1 log: 68 kept, 160 removed \\(160 superseded\\); 30,440 \\(70 %\\) bytes saved**

## Warnings

* mind the gap

## Logs

| log | records | kept | superseded | tombstones kept | gaps | bytes saved |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
| `orders-0` | 228 | 68 | 160 | 8 | 33 | 30,440 \\(70 %\\) |

## Keys, bytes, offsets

| log | keys | bytes before | bytes after |
| --- | ---: | ---: | ---: |
| `orders-0` | 68 | 43,203 | 12,763 |

## Files

* Read: `in.jsonl`
* Recognised: JSON lines
* Written: `out.jsonl`
"""
    )
