"""``kcompact verify``: is one dump a compaction of another, do two hold the same state, are keys gone?"""

from typing import Annotated

import typer

from kcompact.commands.starting import spark_starting
from kcompact.options.dump_options import ReadingOptions
from kcompact.options.groups import spread_options
from kcompact.options.log_options import LogOptions
from kcompact.options.policy_options import PolicyOptions
from kcompact.options.run_options import RunOptions
from kcompact.options.verify_options import AnswerOptions, VerifyOptions


@spread_options
def verify(
    dumps: Annotated[
        list[str],
        typer.Argument(
            metavar="[BEFORE...] AFTER",
            help="The last one is AFTER, all before it are BEFORE. One alone: is it fully compacted?",
            show_default=False,
        ),
    ],
    *,
    verification: VerifyOptions,
    answer: AnswerOptions,
    log_options: LogOptions,
    policy: PolicyOptions,
    reading: ReadingOptions,
    run: RunOptions,
) -> int:
    """Prove that a compaction lost nothing: exit code 0 if it holds, 1 if not, 2 if nobody can tell.

    Without the options that say how far the broker had cleaned, AFTER has the benefit of the doubt, and
    what was assumed is said.
    """
    with spark_starting(dumps, run):
        from kcompact.dumps.files.sources import find_files

        find_files(dumps)  # a missing file is reported before Spark is imported
        from kcompact.commands.verify_run import VerifyCommand

        return VerifyCommand(dumps, reading, run, verification, answer, log_options, policy).execute()
