"""``kcompact inspect``: what is in this dump, and what is odd about it?"""

from typing import Annotated

import typer

from kcompact.commands.starting import spark_starting
from kcompact.options.dump_options import ReadingOptions
from kcompact.options.groups import spread_options
from kcompact.options.inspect_options import ExpectationOptions, InspectOutputOptions, KeyOptions
from kcompact.options.run_options import RunOptions


def _show_dialects(value: bool) -> None:
    if value:
        from kcompact.console import stdout
        from kcompact.dumps.describing import dialect_rows
        from kcompact.report.inspect.dialect_table_text import print_dialects

        print_dialects(dialect_rows(), stdout)
        raise typer.Exit


@spread_options
def inspect(
    dumps: Annotated[
        list[str],
        typer.Argument(
            metavar="DUMP...", help="Files, folders or globs; - for standard input.", show_default=False
        ),
    ],
    *,
    dialects: Annotated[
        bool,
        typer.Option(
            "--dialects",
            callback=_show_dialects,
            is_eager=True,
            help="List the dialects that are recognised, and exit.",
            rich_help_panel="Output",
        ),
    ] = False,
    output: InspectOutputOptions,
    keys: KeyOptions,
    expectations: ExpectationOptions,
    reading: ReadingOptions,
    run: RunOptions,
) -> int:
    """Say what a dump holds: records, keys, gaps, tombstones, and keys in several partitions and why.

    Nothing is written but the report.
    """
    del dialects
    with spark_starting(dumps, run):
        from kcompact.dumps.files.sources import find_files

        find_files(dumps)  # a missing file is reported before Spark is imported
        if keys.is_given:
            from kcompact.commands.inspect_keys_run import KeyCommand

            return KeyCommand(dumps, reading, run, keys, output).execute()
        from kcompact.commands.inspect_run import InspectCommand

        return InspectCommand(dumps, reading, run, output, expectations).execute()
