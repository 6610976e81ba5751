"""Values are called by nouns: a pronoun or a participle does not tell a reader what it holds."""

import ast
from collections.abc import Iterator
from pathlib import Path

CLI = Path(__file__).parents[1] / "cli"
NO_NOUNS = frozenset(
    {"found", "one", "ones", "mine", "rest", "here", "there", "told", "said", "what", "those"}
)
ALLOWED = {("verify/outcome.py", "found")}  # a finding's field in JSON: what was there instead


def names_in(source: str) -> Iterator[str]:
    """The names that a module gives to values: of variables, parameters and fields."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg


def test_no_value_is_called_by_a_pronoun() -> None:
    package = CLI / "kcompact"
    called = {
        (str(file.relative_to(package)), name)
        for file in package.rglob("*.py")
        for name in names_in(file.read_text())
        if name in NO_NOUNS
    }
    assert called == ALLOWED


def test_names_are_found_wherever_a_value_gets_one() -> None:
    source = (
        "class A:\n    one: int\ndef f(told, *, mine=1):\n    return [here for here in told if (rest := 1)]"
    )
    assert {"one", "told", "mine", "here", "rest"} <= set(names_in(source))
