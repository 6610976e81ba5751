"""No hint proposes an option that loses a record or a delete without saying so."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "cli" / "kcompact"
LOSING = {
    "--null-keys drop": ("lose", "drops"),
    "remove the": ("close the array",),
    "leave it out": ("larger", "record"),
    "leave the tombstone folder out": ("deleted keys then stay",),
}
"""What loses records or deletes when it is followed, and the words of which one has to say so."""


def texts_of(node: ast.AST) -> str:
    """The constant parts of a text, however it is put together."""
    return "".join(
        part.value
        for part in ast.walk(node)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    )


def hint_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """``hint=...``, what reasons of unreadable records are followed by, and constants called ..._HINT."""
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "hint":
            yield node.value
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in REASONS:
            yield from node.args[1:]
        elif isinstance(node, ast.Assign) and any("HINT" in getattr(to, "id", "") for to in node.targets):
            yield node.value
        elif isinstance(node, ast.Tuple | ast.Return):  # (reason, hint), which a function or a table gives
            value = node.value if isinstance(node, ast.Return) else node
            yield from value.elts[1:] if isinstance(value, ast.Tuple) else ()


REASONS = {"UnreadableError", "BadBlock", "BadRow", "Reject"}


def hints() -> Iterator[tuple[str, str]]:
    """(file:line, text) of everything in the package that tells a user what to do."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in hint_nodes(ast.parse(path.read_text())):
            text = texts_of(node)
            if " " in text:
                yield f"{path.relative_to(PACKAGE)}:{node.lineno}", text


HINTS = list(hints())


def test_hints_are_found_at_all() -> None:
    assert len(HINTS) > 100
    assert any("--null-keys drop" in text for _, text in HINTS)


def test_no_hint_proposes_to_drop_tombstones() -> None:
    options = ("options/", "report/")  # where the option itself is described
    assert not [
        place for place, text in HINTS if "--drop-tombstones" in text and not place.startswith(options)
    ]


@pytest.mark.parametrize("losing", LOSING)
def test_what_loses_something_says_so(losing: str) -> None:
    silent = [
        (place, text)
        for place, text in HINTS
        if losing in text and not any(word in text for word in LOSING[losing])
    ]
    assert silent == []
