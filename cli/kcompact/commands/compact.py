"""``kcompact compact``: a dump goes in, the records that a broker would keep come out, with a report."""

from typing import Annotated

import typer

from kcompact.commands.starting import spark_starting
from kcompact.options.compact_options import CleaningOptions
from kcompact.options.dump_options import ReadingOptions
from kcompact.options.groups import spread_options
from kcompact.options.log_options import LogOptions
from kcompact.options.output_options import OutputOptions, ReportFormat
from kcompact.options.policy_options import PolicyOptions
from kcompact.options.run_options import RunOptions


@spread_options
def compact(
    dumps: Annotated[
        list[str],
        typer.Argument(
            metavar="DUMP...", help="Files, folders or globs; - for standard input.", show_default=False
        ),
    ],
    *,
    output: OutputOptions,
    report_format: Annotated[
        ReportFormat, typer.Option("--format", help="How the report is shown.", rich_help_panel="Output")
    ] = ReportFormat.TEXT,
    cleaning: CleaningOptions,
    policy: PolicyOptions,
    log_options: LogOptions,
    reading: ReadingOptions,
    run: RunOptions,
) -> int:
    """Keep the latest record of every key, at its offset, and say what was removed and why."""
    with spark_starting(dumps, run):
        from kcompact.dumps.files.sources import find_files

        find_files(dumps)  # a missing file is reported before Spark is imported
        from kcompact.commands.compact_run import CompactCommand

        return CompactCommand(
            dumps, reading, run, output, report_format, cleaning, policy, log_options
        ).execute()
