"""The command line: every command with its groups of options, and the options that belong to no command."""

from typing import Annotated, Any

import typer

from kcompact.commands.starting import spark_starting
from kcompact.options.compact_options import CleaningOptions
from kcompact.options.completion import Shell, complete_for_shells, completion_script
from kcompact.options.dump_options import ReadingOptions
from kcompact.options.groups import CommandWithGroups, spread_options
from kcompact.options.inspect_options import ExpectationOptions, InspectOutputOptions, KeyOptions
from kcompact.options.log_options import LogOptions
from kcompact.options.output_options import DirtyRatioOutputOptions, OutputOptions
from kcompact.options.policy_options import PolicyOptions
from kcompact.options.run_options import RunOptions
from kcompact.options.verify_options import AnswerOptions, VerifyOptions

app = typer.Typer(
    add_completion=False,  # --completion asks for the shell; Typer's own guesses it from a parent process
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["--help", "-h", "--help-all"], "max_content_width": 100},
    help="Compact an exported Kafka topic dump exactly as the broker's log cleaner would.",
    epilog="Exit codes: 0 fine, 1 finding, 2 could not do the job, 3 a bug in kcompact, 130 interrupted.",
)
complete_for_shells()


def _argument(metavar: str, help_text: str) -> Any:
    return typer.Argument(metavar=metavar, help=help_text, show_default=False)


_Dumps = Annotated[list[str], _argument("DUMP...", "Files, folders or globs; - for standard input.")]
_BeforeAndAfter = Annotated[
    list[str],
    _argument(
        "[BEFORE...] AFTER",
        "The last one is AFTER, all before it are BEFORE. One alone: is it fully compacted?",
    ),
]


@app.command("inspect", cls=CommandWithGroups)
@spread_options
def _inspect(
    dumps: _Dumps,
    *,
    output: InspectOutputOptions,
    keys: KeyOptions,
    expectations: ExpectationOptions,
    reading: ReadingOptions,
    run: RunOptions,
) -> int:
    """Say what a dump holds: records, keys, gaps, tombstones, and keys in several partitions and why.

    Nothing is written but the report.
    """
    with spark_starting(dumps, run, "kcompact.inspect.pipeline"):
        if keys.is_given:
            from kcompact.commands.inspect_keys_run import KeyCommand

            return KeyCommand(dumps, reading, run, keys, output, expectations).execute()
        from kcompact.commands.inspect_run import InspectCommand

        return InspectCommand(dumps, reading, run, output, expectations).execute()


@app.command("dirty-ratio", cls=CommandWithGroups)
@spread_options
def _dirty_ratio(
    dumps: _Dumps,
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
    with spark_starting(dumps, run, "kcompact.dirtiness.dirty_dump"):
        from kcompact.commands.dirty_ratio_run import DirtyRatioCommand

        return DirtyRatioCommand(dumps, reading, run, output, policy, log_options).execute()


@app.command("compact", cls=CommandWithGroups)
@spread_options
def _compact(
    dumps: _Dumps,
    *,
    output: OutputOptions,
    cleaning: CleaningOptions,
    policy: PolicyOptions,
    log_options: LogOptions,
    reading: ReadingOptions,
    run: RunOptions,
) -> int:
    """Keep the latest record of every key, at its offset, and say what was removed and why."""
    with spark_starting(dumps, run, "kcompact.compact.pipeline"):
        from kcompact.commands.compact_run import CompactCommand

        return CompactCommand(dumps, reading, run, output, cleaning, policy, log_options).execute()


@app.command("verify", cls=CommandWithGroups)
@spread_options
def _verify(
    dumps: _BeforeAndAfter,
    *,
    verification: VerifyOptions,
    answer: AnswerOptions,
    log_options: LogOptions,
    policy: PolicyOptions,
    reading: ReadingOptions,
    run: RunOptions,
) -> int:
    """Prove that a compaction lost nothing: exit code 0 if it holds, 1 if not, 2 if nobody can tell.

    Without the options that say how far the broker had cleaned, AFTER gets the benefit of the doubt, and
    the answer names what was assumed.
    """
    with spark_starting(dumps, run, "kcompact.verify.pipeline"):
        from kcompact.commands.verify_run import VerifyCommand

        return VerifyCommand(dumps, reading, run, verification, answer, log_options, policy).execute()


def _show_version(value: bool) -> None:
    if value:
        from importlib.metadata import version  # some hundredths of a second that no other run needs

        typer.echo(f"kcompact {version('kcompact')}")
        raise typer.Exit


def _show_completion(shell: Shell | None) -> None:
    if shell:
        typer.echo(completion_script(shell))
        raise typer.Exit


@app.callback()
def _options_of_no_command(
    *,
    show_version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
    completion: Annotated[
        Shell | None,
        typer.Option(
            callback=_show_completion,
            is_eager=True,
            help="Print the completion script of a shell: source <(kcompact --completion bash).",
        ),
    ] = None,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an unexpected error.")
    ] = False,
) -> None:
    del show_version, completion, debug  # the callbacks have answered, and app.main looks for --debug itself
