"""A group of options is a frozen dataclass, a field for each option; commands take it as one parameter.

A group's ``panel`` is the heading of its options in ``--help-all``.
"""

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, field, fields, is_dataclass
from typing import Annotated, Any, get_type_hints

import typer

_NAMES, _SETTINGS = "names", "settings"


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
    groups: dict[str, type[Any]] = {}
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        if is_dataclass(parameter.annotation) and isinstance(parameter.annotation, type):
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


def _parameters(group: type[Any]) -> list[inspect.Parameter]:
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
