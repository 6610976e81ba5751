"""Groups of options: frozen dataclasses with a field for each option, which commands take as one parameter.

``--help-all`` shows every option of a command under its group's heading; however narrow the terminal is,
nothing is cut.
"""

import functools
import inspect
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Annotated, Any, ClassVar, get_type_hints

import typer
from typer.core import TyperCommand

from kcompact.errors import InputError

_NAMES, _SETTINGS = "names", "settings"
_NAMES_WIDTH = 26  # a longer name has a line of its own
_MAY_BE_EMPTY = {"key", "key_base64"}  # an empty key is a key


@dataclass(frozen=True)
class OptionGroup:
    """Some options of a command. ``panel`` is their heading in ``--help-all``."""

    panel: ClassVar[str]

    @property
    def files(self) -> Sequence[str | None]:
        """Files to read that its options name, other than dumps and states; None where one is not given."""
        return ()


def option(help_text: str, metavar: str | None = None, *names: str, default: Any = None, **more: Any) -> Any:
    """A field that is an option with a value, called after the field if it has no ``names``.

    ``more`` is as ``typer.Option`` takes it.
    """
    settings = {"help": help_text, "metavar": metavar, "show_default": default is not None, **more}
    return field(default=default, metadata={_NAMES: names, _SETTINGS: settings})


def repeatable(help_text: str, metavar: str, **more: Any) -> Any:
    """A field that is an option which may be given several times: a list of values."""
    settings = {"help": help_text, "metavar": metavar, "show_default": False, **more}
    return field(default_factory=list, metadata={_NAMES: (), _SETTINGS: settings})


def flag(help_text: str, *names: str, **more: Any) -> Any:
    """A field that is an option without a value."""
    return option(help_text, None, *names, default=False, **more)


def overwrite_flag() -> Any:
    """``--overwrite``, as most commands have it."""
    return flag("Replace an output that exists.")


def annotations_option() -> Any:
    """``--annotations``, for all commands."""
    help_text = "GitHub annotations and step summary. (default: under GitHub Actions)"
    return option(help_text, None, "--annotations/--no-annotations")


def spread_options(command: Callable[..., int]) -> Callable[..., int]:
    """Turn each parameter that is a group into one parameter per option, as Typer wants to see them.

    ``def compact(dumps: ..., *, policy: PolicyOptions)`` becomes a command with every option of
    PolicyOptions.
    """
    shown: list[inspect.Parameter] = []
    groups: dict[str, type[OptionGroup]] = {}
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        if isinstance(parameter.annotation, type) and issubclass(parameter.annotation, OptionGroup):
            groups[parameter.name] = parameter.annotation
            shown += _parameters(parameter.annotation)
        else:
            shown.append(parameter)

    @functools.wraps(command)
    def spread(*arguments: object, **values: Any) -> int:
        packed = {
            name: group(**{field.name: values.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        return command(*arguments, **values, **packed)

    spread.__signature__ = inspect.Signature(shown, return_annotation=int)  # type: ignore[attr-defined]  # for Typer
    spread.__annotations__ = {}  # else Typer resolves those of the unspread command
    return spread


def given_options(group: OptionGroup) -> list[str]:
    """The names of a group's options that have another value than their default."""
    return [
        member.metadata[_NAMES][0] if member.metadata[_NAMES] else f"--{member.name.replace('_', '-')}"
        for member in fields(group)
        if getattr(group, member.name)
        != (member.default if member.default_factory is MISSING else member.default_factory())
    ]


def _parameters(group: type[OptionGroup]) -> list[inspect.Parameter]:
    hints = get_type_hints(group)
    parameters = []
    for member in fields(group):
        names = member.metadata[_NAMES] or (f"--{member.name.replace('_', '-')}",)
        made = typer.Option(*names, rich_help_panel=group.panel, **member.metadata[_SETTINGS])
        default = member.default if member.default_factory is MISSING else member.default_factory()
        annotation: Any = Annotated[hints[member.name], made]
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter(member.name, kind, default=default, annotation=annotation))
    return parameters


class CommandWithGroups(TyperCommand):
    """A command whose full help is plain text under the headings of its option groups.

    It refuses an option that is given twice but counts once, as the first of two ``--partitions`` would have
    no effect. It also refuses a value that is empty, or is the option that follows: a script's unset variable
    leaves a command line like this.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line. Raises InputError for an option that is given twice, or names nothing."""
        values, _, given = self.make_parser(ctx).parse_args([*args])
        names = {name for parameter in self.params for name in (*parameter.opts, *parameter.secondary_opts)}
        for parameter, times in Counter([] if ctx.resilient_parsing else given).items():
            value = values[parameter.name]
            several = value if isinstance(value, list | tuple) else [value]
            is_option = parameter.param_type_name == "option"
            name = min(parameter.opts, key=len) if is_option else parameter.metavar
            hint = "is a variable empty? what is not meant is not typed at all"
            if "" in several and parameter.name not in _MAY_BE_EMPTY:
                raise InputError(f"{name} names nothing", hint=hint)
            taken = next((text for text in several if text in names), None)
            if is_option and taken is not None:
                raise InputError(f"{name} names nothing but {taken}, which is an option", hint=hint)
            counts_more = parameter.nargs != 1 or parameter.multiple or getattr(parameter, "is_flag", False)
            if times > 1 and not counts_more:
                name = max(parameter.opts, key=len)
                raise InputError(
                    f"{name} is given {times} times, and counts once",
                    hint=f"{ctx.command_path} --help-all shows how to give several values, if it takes them",
                )
        return super().parse_args(ctx, args)

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        """Write the usage line, with the name of the argument that all texts use."""
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
