"""A group of options is a frozen dataclass with annotated fields; commands take it as one parameter."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, get_type_hints


def spread_options(command: Callable[..., int]) -> Callable[..., int]:
    """Turn each parameter that is a dataclass into one option per field, as Typer wants to see them.

    ``def compact(dumps: ..., *, policy: PolicyOptions)`` becomes a command with every option of
    PolicyOptions; the fields' annotations are Typer's (``Annotated[str | None, typer.Option(...)]``).
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
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=_default(field),
            annotation=hints[field.name],
        )
        for field in fields(group)
    ]


def _default(field: Field[Any]) -> object:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return inspect.Parameter.empty if field.default is MISSING else field.default
