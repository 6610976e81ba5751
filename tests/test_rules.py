"""Numbers of rules, losses and cases that code and tests cite are defined in RULES.md, with their source."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from case_files import read_cases

ROOT = Path(__file__).parents[1]
(RULES,) = (ROOT / "cli").rglob("RULES.md")
NUMBER = re.compile(r"\b(?:R[1-9]\d?|L[1-9]\d?|L0\d|[A-K]\d\d)\b")
DEFINITION = re.compile(rf"^\* \*\*({NUMBER.pattern})\*\* (.*(?:\n  .*)*)", re.MULTILINE)
SOURCE = re.compile(r"`[A-Z]\w+(\.\w+)?`|KIP-\d+|KAFKA-\d+|\bR[1-9]\d?\b")
NUMBER_ALONE = re.compile(rf"\W*{NUMBER.pattern}(?:(?:\W|and|to|or)*{NUMBER.pattern})*\W*")

Documented = ast.Module | ast.ClassDef | ast.FunctionDef


def defined() -> list[tuple[str, str]]:
    """(number, text) of every definition."""
    return DEFINITION.findall(RULES.read_text())


def python_files() -> list[Path]:
    return sorted([*(ROOT / "cli").rglob("*.py"), *(ROOT / "tests").rglob("*.py")])


def docstrings(file: Path) -> Iterator[str]:
    """The docstrings of a file, those of constants included."""
    documented: list[ast.AST] = [ast.parse(file.read_text())]
    while documented:
        body = documented.pop().body
        documented += (part for part in body if isinstance(part, Documented))
        texts = [part.value for part in body if isinstance(part, ast.Expr)]
        constants = [text.value for text in texts if isinstance(text, ast.Constant)]
        yield from (text for text in constants if isinstance(text, str))


def test_every_cited_number_is_defined() -> None:
    numbers = {number for number, _ in defined()}
    undefined = {
        f"{file.relative_to(ROOT)}: {number}"
        for file in [*python_files(), ROOT / "README.md", ROOT / "tests/cases/README.md"]
        for number in NUMBER.findall(file.read_text())
        if number not in numbers
    }
    assert len(numbers) > 100
    assert not undefined


def test_every_case_file_holds_defined_cases() -> None:
    names = {case.name.partition("-")[0] for case in read_cases()}
    assert names
    assert names <= {number for number, _ in defined()}


def test_no_number_is_defined_twice() -> None:
    numbers = [number for number, _ in defined()]
    assert sorted(set(numbers)) == sorted(numbers)


def test_definitions_name_their_source() -> None:
    without = [number for number, text in defined() if not SOURCE.search(text)]
    assert set(without) <= {"L17", "L20", "L21"}  # of dumps alone: no broker knows of them


def test_definitions_cite_only_what_is_defined() -> None:
    assert set(NUMBER.findall(RULES.read_text())) <= {number for number, _ in defined()}


def test_no_docstring_is_a_number_alone() -> None:
    bare = {
        f"{file.relative_to(ROOT)}: {text}"
        for file in python_files()
        if NUMBER.search(file.read_text())
        for text in docstrings(file)
        if NUMBER_ALONE.fullmatch(text)
    }
    assert not bare
