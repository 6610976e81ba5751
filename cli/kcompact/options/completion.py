"""Completion in a shell: the script, and the names of dialects and formats."""

import enum

_COMPLETE_VAR = "_KCOMPACT_COMPLETE"


class Shell(enum.StrEnum):
    """Shells that completion is for."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"
    PWSH = "pwsh"


def completion_script(shell: Shell) -> str:
    """The script that the shell has to source."""
    from typer._completion_shared import get_completion_script

    return get_completion_script(prog_name="kcompact", complete_var=_COMPLETE_VAR, shell=shell.value)


def complete_for_shells() -> None:
    """Let Typer answer the requests of completion scripts, as it does where it offers them itself."""
    from typer._completion_classes import completion_init

    completion_init()


def dialect_names(incomplete: str) -> list[str]:
    """The names that complete the value of ``--dialect``."""
    from kcompact.dumps.describing import dialect_rows

    return [row.name for row in dialect_rows() if row.name.startswith(incomplete)]


def target_names(incomplete: str) -> list[str]:
    """The names that complete the value of ``--to``."""
    from kcompact.dumps.writers.targets import TARGETS

    return [name for name in TARGETS if name.startswith(incomplete)]
