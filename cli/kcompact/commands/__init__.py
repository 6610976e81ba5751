"""The commands: options to policy, work, report, exit code. No rule lives here."""

import typer

from kcompact.commands import compact, dirty_ratio, inspect, verify
from kcompact.options.full_help import CommandWithGroups


def register(app: typer.Typer) -> None:
    """Add every command to the frame, in the order of the help text."""
    app.command("inspect", cls=CommandWithGroups)(inspect.inspect)
    app.command("dirty-ratio", cls=CommandWithGroups)(dirty_ratio.dirty_ratio)
    app.command("compact", cls=CommandWithGroups)(compact.compact)
    app.command("verify", cls=CommandWithGroups)(verify.verify)
