"""A command line that cannot be understood, in the words of its options.

Typer's messages use the words of the library that parses values. Its error classes are not public, so they
are recognised by their attributes.
"""

import os
import shlex
from collections.abc import Sequence
from typing import Any

from kcompact.errors import KcompactError
from kcompact.short_help import HELP

_LIMITS = {"greater_than_equal": ("ge", "at least"), "less_than_equal": ("le", "at most")}
_KINDS = {"int_parsing": "a whole number", "float_parsing": "a number"}


def is_usage_error(error: Exception) -> bool:
    """Whether Typer raised it about the command line."""
    return hasattr(error, "format_message")


def plain_error(error: Any, arguments: Sequence[str]) -> KcompactError:
    """A usage error of Typer as one of ours. If it does not name its command, ``arguments`` do."""
    context = getattr(error, "ctx", None)
    commands = [word for word in arguments if word in HELP]
    command = " ".join(["kcompact", *commands[:1]]) if context is None else context.command_path
    hint = f"{command} --help shows how it is called"
    possibilities = getattr(error, "possibilities", None)
    files = [word for word in arguments if word.startswith("-") and os.path.lexists(word)]
    if files and hasattr(error, "option_name"):
        hint = f"to name the file: {shlex.quote(f'./{files[0]}')}"
    elif owners := _commands_with(context, getattr(error, "option_name", None)):
        hint = f"it is an option of {', '.join(owners)}; {hint}"
    elif possibilities:
        hint = f"did you mean {' or '.join(sorted(possibilities))}? {command} --help-all lists all options"
    return KcompactError(_sentence(error), hint=hint)


def _commands_with(context: Any, option: str | None) -> list[str]:
    """The commands that have an option which the context's command lacks."""
    if context is None or option is None:
        return []
    commands = context.find_root().command.commands
    return [name for name, command in commands.items() if any(option in p.opts for p in command.params)]


def _sentence(error: Any) -> str:
    parameter = getattr(error, "param", None)
    if parameter is None:
        text = error.format_message().partition(" (Possible options")[0].rstrip(".")
        return text[:1].lower() + text[1:]
    name = parameter.opts[0] if parameter.param_type_name == "option" else str(parameter.metavar)
    if hasattr(error, "param_type"):  # only an error about a parameter that is missing has it
        return f"{name} is missing"
    return f"{name}{_value_and_why(error, parameter)}"


def _value_and_why(error: Any, parameter: Any) -> str:
    """The value and what is wrong with it, as in ``" yaml: not one of text, json, markdown"``."""
    details = _details(error)
    kind = details.get("type", "")
    entered_text = details.get("input")
    value = f" {entered_text}" if isinstance(entered_text, str) else ""
    choices = parameter.type_descriptor.choices
    if choices:
        return f"{value}: not one of {', '.join(str(choice.value) for choice in choices)}"
    if kind in _LIMITS:
        limit, words = _LIMITS[kind]
        return f"{value}: must be {words} {details['ctx'][limit]:g}"
    if kind in _KINDS:
        return f"{value}: not {_KINDS[kind]}"
    return f"{value}: {error.message.removeprefix('Value error, ')}"


def _details(error: Any) -> dict[str, Any]:
    """The fault that pydantic found, with the value as it was given."""
    cause = error.__cause__
    faults = cause.errors() if hasattr(cause, "errors") else []
    return dict(faults[0]) if faults else {}
