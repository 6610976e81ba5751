"""``kcompact dirty-ratio``: would a broker clean these logs yet, and what would that bring?"""

from typing import Annotated

import typer

from kcompact.commands.starting import spark_starting
from kcompact.options.dump_options import ReadingOptions
from kcompact.options.groups import spread_options
from kcompact.options.log_options import LogOptions
from kcompact.options.output_options import DirtyRatioOutputOptions
from kcompact.options.policy_options import PolicyOptions
from kcompact.options.run_options import RunOptions


@spread_options
def dirty_ratio(
    dumps: Annotated[
        list[str],
        typer.Argument(
            metavar="DUMP...", help="Files, folders or globs; - for standard input.", show_default=False
        ),
    ],
    *,
    output: DirtyRatioOutputOptions,
    policy: PolicyOptions,
    log_options: LogOptions,
    reading: ReadingOptions,
    run: RunOptions,
) -> int:
    """Say how dirty each log is, whether a broker would clean it yet, and what cleaning would bring.

    A config given as a list (--segment-bytes 16MiB,64MiB) adds a what-if row per value.
    """
    with spark_starting(dumps, run):
        from kcompact.dumps.files.sources import find_files

        find_files(dumps)  # a missing file is reported before Spark is imported
        from kcompact.commands.dirty_ratio_run import DirtyRatioCommand

        return DirtyRatioCommand(dumps, reading, run, output, policy, log_options).execute()
