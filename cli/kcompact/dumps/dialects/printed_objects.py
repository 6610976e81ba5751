"""Texts that programs print in the place of bytes: addresses and names of objects."""

import re
from collections.abc import Iterable
from typing import Any

from kcompact.dumps.dialects.sampled_values import texts_among
from kcompact.dumps.text.csv_reader import NULL_TEXTS
from kcompact.errors import InputError

_OBJECTS = {  # what programs print of an object that has no text of its own
    "addresses of Java": r"(?:\[(?:[A-Z]|L[\w.$]+;)|(?:\w+\.)+[A-Z][\w$]*)@[0-9a-f]{1,8}",
    "names of Java": r"java\.nio\.\w+\[pos=\d+ lim=\d+ cap=\d+\]",
    "addresses of Python": r"<\w[-\w. <]* at 0x[0-9a-fA-F]+>+",
    "addresses of Ruby": r"#<[\w:]+:0x[0-9a-f]+>",
    "names of .NET": r"System\.\w+(?:<\w+>)?\[\d*\]",
    "names of JavaScript": r"\[object \w+\]",
    "Node's prints of Buffer": r"<Buffer(?: [0-9a-f]{2})*(?: \.\.\. \d+ more bytes?)?>",  # cut, and no bytes
}


def refuse_addresses(path: str, role: str, values: Iterable[Any]) -> None:
    """Raise InputError where all keys or values, except words for null, are addresses or names of objects.

    Values that are names of JavaScript objects are not refused, as producers have really sent them.
    """
    texts = [text for text in texts_among(values) if text not in NULL_TEXTS.values()]
    kinds = [*map(kind_of_object, texts)]
    if kinds and all(kinds) and (role == "key" or kinds[0] != "names of JavaScript"):
        raise InputError(
            f"{path}: {role}s such as {texts[0][:80]} are {kinds[0]} objects: the data were not exported",
            hint="cast to strings or base64 before writing CSV (Spark: CAST(key AS STRING), base64(key));"
            " or export as JSON lines (kcat -J)",
        )


def kind_of_object(text: str) -> str:
    """The kind of object, as in ``_OBJECTS``, that a program prints like this; empty for other text."""
    if not _ANY_OBJECT.fullmatch(text):
        return ""
    return next(kind for kind, pattern in _OBJECTS.items() if re.fullmatch(pattern, text))


_ANY_OBJECT = re.compile("|".join(_OBJECTS.values()))
