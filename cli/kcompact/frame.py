"""The command line's frame: the commands, and the options that belong to none of them."""

from typing import Annotated

import typer

from kcompact import commands
from kcompact.options.completion import Shell, complete_for_shells, completion_script

app = typer.Typer(
    add_completion=False,  # --completion asks for the shell; Typer's own guesses it from a parent process
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["--help", "-h", "--help-all"], "max_content_width": 100},
    help="Compact an exported Kafka topic dump exactly as the broker's log cleaner would.",
    epilog="Exit codes: 0 fine, 1 finding, 2 could not do the job, 3 a bug of ours, 130 interrupted.",
)
commands.register(app)
complete_for_shells()


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
def _frame(
    ctx: typer.Context,
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
    del show_version, completion
    ctx.obj = {"debug": debug}
