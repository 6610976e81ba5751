"""Text from a dump is hostile: here it is made inert, once per medium that shows it.

Keys, topics and field names are chosen by whoever produced the records. Each function takes text as it is
(keys go through ``printable_key`` first) and returns what may be put into its medium.
"""

import json
import re
from typing import Any

import orjson

from kcompact.printable import terminal

_MARKDOWN_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|<>~&-])")
# Not only ASCII: spreadsheets of East Asian locales take the fullwidth forms for formulas too.
_FORMULA_START = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_XML_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"})
_HASH_COMMAND = re.compile(r"#(?=#\w*\[)")  # in a log of GitHub, Azure or TeamCity
_JSON_OPTIONS = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE


def json_document(values: dict[str, Any] | list[dict[str, Any]]) -> str:
    """``values`` in their order as lines of JSON: stable, readable, and nothing in it that does not show.

    What is no Unicode, such as a file name of odd bytes, is spelled out. JSON's own escapes replace what does
    not show, and keep a CI runner from finding ``##[command]`` in its log.
    """
    text = orjson.dumps(_spelled_out(values), option=_JSON_OPTIONS).decode()
    if not text.replace("\n", "").isprintable():
        text = "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)
    return _HASH_COMMAND.sub(r"\\u0023", text)


def _spelled_out(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_spelled_out(key): _spelled_out(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_spelled_out(item) for item in value]
    return value


def markdown(text: str) -> str:
    """Text that is no markup, link, image, HTML, mention or table cell border in Markdown."""
    quiet = _MARKDOWN_SPECIAL.sub(r"\\\1", terminal(text))
    # Entities keep links and mentions from being made of plain words, without zero-width characters.
    return quiet.replace("@", "&#64;").replace("://", ":&#47;&#47;").replace("www.", "www&#46;")


def markdown_code(text: str) -> str:
    """A code span, also within a table: the one place where mentions and issue numbers stay text.

    GitHub looks for mentions in the rendered text, where escapes are gone. A backtick would end the span and
    a bar the table's cell: both are spelled out.
    """
    return "`" + terminal(text).replace("`", r"\x60").replace("|", r"\x7c") + "`" if text else ""


def xml(text: str) -> str:
    """Text for an XML element or attribute (XML 1.0 knows no control characters, not even escaped)."""
    return terminal(text).translate(_XML_ENTITIES)


def csv_cell(text: str) -> str:
    """Text that a spreadsheet does not take for a formula; quoting is the CSV writer's business.

    A leading apostrophe is always ours (it stands before an apostrophe, too). Where commas are decimal
    points, spreadsheets split at semicolons, quotes or not: so these are spelled out.
    """
    plain = terminal(text).replace(";", r"\x3b")
    return f"'{plain}" if plain.startswith((*_FORMULA_START, "'")) else plain


def github_message(text: str) -> str:
    """The message part of a GitHub workflow command; ``terminal`` leaves no line ends in it."""
    return terminal(text).replace("%", "%25")


def github_property(text: str) -> str:
    """A property of a GitHub workflow command (``file=``, ``title=``)."""
    return github_message(text).replace(":", "%3A").replace(",", "%2C")
