"""The commands: options to policy, work, report, exit code. No rule lives here."""

import typer

from kcompact.commands import compact, dirty_ratio, inspect, verify


def register(app: typer.Typer) -> None:
    """Add every command to the frame, in the order of the help text."""
    app.command("inspect")(inspect.inspect)
    app.command("dirty-ratio")(dirty_ratio.dirty_ratio)
    app.command("compact")(compact.compact)
    app.command("verify")(verify.verify)
