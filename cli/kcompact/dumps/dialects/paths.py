r"""Dotted paths to members of JSON objects: ``payload.body``; a dot of a name itself is ``\.``."""

import re

Path = tuple[str, ...]
_BETWEEN = re.compile(r"(?<!\\)\.")


def path_of(dotted: str) -> Path:
    """The names on a path; "" is the whole record."""
    return tuple(map(unescaped, _BETWEEN.split(dotted))) if dotted else ()


def escaped(name: str) -> str:
    """A name as it is written in a path."""
    return name.replace(".", r"\.")


def unescaped(name: str) -> str:
    """A name as it is, written so in a path."""
    return name.replace(r"\.", ".")
