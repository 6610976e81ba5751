"""``--help-all``: every option of a command, group by group, nothing cut however narrow the terminal."""

from collections import defaultdict
from typing import Any

from typer.core import TyperCommand

_NAMES_WIDTH = 26  # a longer name has a line of its own


class CommandWithGroups(TyperCommand):
    """A command whose full help is plain text under the headings of its option groups."""

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        """Write the usage line, with the argument as it is called in all texts."""
        arguments = [argument.metavar for argument in self.params if argument.param_type_name == "argument"]
        formatter.write_usage(ctx.command_path, " ".join(["[OPTIONS]", *map(str, arguments)]))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options of each group, in the order of the command line's declaration."""
        groups: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for parameter in self.params:
            record = parameter.get_help_record(ctx)
            if record is not None and parameter.param_type_name == "option":
                groups[getattr(parameter, "rich_help_panel", "")].append(record)
        for title, records in groups.items():
            with formatter.section(title):
                formatter.write_dl(records, col_max=_NAMES_WIDTH)
        formatter.write(f"\n{ctx.command_path} --help shows examples, and the options used most.\n")
