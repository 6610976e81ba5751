"""Docstrings say what a thing is in a plain sentence: none opens with "What" or with a rule's number."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

CLI = Path(__file__).parents[1] / "cli"


def texts(file: Path) -> Iterator[tuple[int, str]]:
    """(line, text) of every docstring of a file, those of constants included."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            value = node.value.value
            if isinstance(value, str):
                yield node.lineno, value


def opens_badly(text: str) -> bool:
    return re.match(r"\s*(What|R\d+)\b", text) is not None


def test_no_docstring_opens_with_what_or_with_a_rule() -> None:
    places = [
        f"{file.relative_to(CLI)}:{line}"
        for file in sorted(CLI.rglob("*.py"))
        if re.search(r"\b(What|R\d)", file.read_text())
        for line, text in texts(file)
        if opens_badly(text)
    ]
    assert places == []


@pytest.mark.parametrize(
    "quoted", ['"""What a round does."""', '"""\n    What it does.\n    """', '"""R7: dirty."""']
)
def test_the_search_finds_one_wherever_it_is(quoted: str, tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text(f'"""A module."""\n\nLIMIT = 1\n{quoted}\n\ndef look():\n    """Look."""\n')
    assert [line for line, text in texts(file) if opens_badly(text)] == [4]
