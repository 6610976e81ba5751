"""Parts of messages: values of a dump, cut to fit a line, and options and commands as hints spell them."""

import json
import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

LONGEST = 60
_COMMA = re.compile(r"(?<!\\),")  # within a name, not escaped yet
_PLAIN_MEMBER = re.compile(r"[A-Za-z_]\w*", re.ASCII)  # jq wants others in quotes


def by_jq(program: str) -> str:
    """A hint's command that rewrites all records with jq. jq 1.6 rounds numbers that a double cannot hold."""
    return f"jq -c {shlex.quote(program)} FILE > NEW (with jq 1.7 or newer, which leaves numbers as they are)"


def in_jq(path: Iterable[str]) -> str:
    """The path of a member as a jq program spells it; ``path`` has names from the outermost one on."""
    return "".join(f".{name if _PLAIN_MEMBER.fullmatch(name) else json.dumps(name)}" for name in path)


def fields_option(places: Mapping[str, str]) -> str:
    """The option that names the field of each part of a record, as it is typed in a shell."""
    return f"--fields {_comma_separated(f'{role}={name}' for role, name in places.items())}"


def key_field_option(names: Iterable[str]) -> str:
    """The option that names the fields of a value that make its key, as it is typed in a shell."""
    return f"--key-field {_comma_separated(names)}"


def columns_option(names: Iterable[str]) -> str:
    """The option that names the columns of text, as it is typed in a shell."""
    return f"--columns {_comma_separated(names)}"


def _comma_separated(items: Iterable[str]) -> str:
    return shlex.quote(",".join(_COMMA.sub(r"\,", item) for item in items))


def delimiter_option(delimiter: str) -> str:
    """The option that names the delimiter of text, as it is typed in a shell: always in quotes."""
    typed = delimiter.replace("\t", r"\t").replace("'", r"'\''")
    return f"--delimiter '{typed}'"


def shown(raw: Any) -> str:
    """A parsed value, cut where it is long."""
    try:
        text = repr(raw[:LONGEST] if isinstance(raw, str | bytes) else raw)
    except (ValueError, RecursionError):  # thousands of digits; nested too deeply
        return f"a {type(raw).__name__}"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def some_files(paths: list[str]) -> str:
    """The file that a note is about, or the number of files and the first one."""
    return paths[0] if len(paths) == 1 else f"{len(paths)} files ({paths[0]}, ...)"


def name_list(names: list[str], most: int = 20) -> str:
    """The first of many names, each cut where it is long."""
    shortened = [name if len(name) <= LONGEST else f"{name[:LONGEST]}..." for name in names[:most]]
    more = f", and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(shortened) + more
