"""Text and bytes from a dump in a form that can be printed and cannot be misread."""

import hashlib
import re

LIMIT_BYTES = 64
"""How much of a key is shown before it is cut; enough for a UUID in text, a schema id and some more."""

# Printable for Python, yet drawn as nothing: joiners, fillers, variation selectors.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
# Text that would read as something else than a text key: null, 0x.., quoted, cut, empty or blank at its ends.
_NEEDS_QUOTES = re.compile(r'null\Z|0x|"|\s|.*\s\Z|\Z', re.DOTALL)

# What a CI runner takes for a command when it sees it in a log: GitHub's ::error:: at the start of a line and
# ##[error] anywhere, Azure's ##vso[...], TeamCity's ##teamcity[...].
_RUNNER_COMMAND = re.compile(r"^(\s*):(?=:)|#(?=#\w*\[)")


def escaped(text: str) -> str:
    """``text`` with every character that does not show (controls, bidi marks, odd blanks) as an escape.

    Backslashes stay, so that applying this twice changes nothing more.
    """
    if text.isprintable() and (text.isascii() or not _INVISIBLE.search(text)):
        return text
    return "".join(map(_escaped_character, text))


def terminal(text: str) -> str:
    """The text as one line that cannot move the cursor, change colours, hide text or turn its direction.

    A CI runner that has it in its log finds no command in it. Applying this twice changes nothing more.
    """
    return _RUNNER_COMMAND.sub(_spelled_out, escaped(text))


def terminal_lines(text: str) -> str:
    """As ``terminal``, but line feeds stay: for a traceback that quotes a dump."""
    return "\n".join(map(terminal, text.split("\n")))


def printable_key(key: bytes | None, limit_bytes: int = LIMIT_BYTES) -> str:
    r"""A key for people: different keys look different, and what is shown can be turned back.

    ``null`` is no key; UTF-8 is shown as text with escapes (a backslash as two), in quotes where it would
    read as something else; other bytes as ``0x`` and hexadecimal digits. A key longer than ``limit_bytes``
    is cut and ends with its length and 32 bits of its BLAKE2b: ``user-17…[300 bytes, 1f0c9a2e]``.
    """
    if key is None:
        return "null"
    shown = key[:limit_bytes]
    fingerprint = hashlib.blake2b(key, digest_size=4).hexdigest()
    cut = "" if len(key) <= limit_bytes else f"…[{len(key)} bytes, {fingerprint}]"
    try:
        text = _whole_characters(shown, key).decode()
    except UnicodeDecodeError:
        return f"0x{shown.hex()}{cut}"
    # A character of a key must not look like the mark of a cut key.
    text = escaped(text.replace("\\", r"\\")).replace("…", r"\u2026")
    if _NEEDS_QUOTES.match(text):
        text = '"' + text.replace('"', r"\"") + '"'
    return text + cut


def _escaped_character(character: str) -> str:
    if character.isprintable() and not _INVISIBLE.match(character):
        return character
    return character.encode("unicode_escape").decode()


def _whole_characters(shown: bytes, key: bytes) -> bytes:
    """``shown`` without the character that the cut went through; ``shown`` itself if it is no UTF-8."""
    for end in range(len(shown), max(len(shown) - 4, -1), -1):
        if end == len(key) or key[end] & 0xC0 != 0x80:  # noqa: PLR2004  UTF-8's trailing bytes are 10xxxxxx
            return shown[:end]
    return shown


def _spelled_out(match: re.Match[str]) -> str:
    return r"\x23" if match.group() == "#" else f"{match.group(1)}\\x3a"
