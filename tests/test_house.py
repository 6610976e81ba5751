"""The code stays in pieces that a reader can find: short functions and files, small folders, unique names."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "cli/kcompact"
MODULES = sorted(PACKAGE.rglob("*.py"))
MOST_LINES_OF_A_FUNCTION = 40
MOST_LINES_OF_A_FILE = 300
MOST_MODULES_OF_A_FOLDER = 15
SAME_PART_IN_EACH_FOLDER = {"__init__", "pipeline"}


def functions(source: str) -> Iterator[tuple[str, int]]:
    """Name and number of lines of every function, without its decorators."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


def test_functions_are_short() -> None:
    long = {
        (str(module.relative_to(PACKAGE)), name): lines
        for module in MODULES
        for name, lines in functions(module.read_text())
        if lines > MOST_LINES_OF_A_FUNCTION
    }
    assert long == {}


def test_a_long_function_is_seen_wherever_it_is() -> None:
    source = "class A:\n    def look(self):\n" + "        x = 1\n" * 50
    assert dict(functions(source)) == {"look": 51}


def test_files_are_short() -> None:
    lines = {str(module.relative_to(PACKAGE)): len(module.read_text().splitlines()) for module in MODULES}
    assert {name: count for name, count in lines.items() if count > MOST_LINES_OF_A_FILE} == {}


def test_folders_are_small() -> None:
    modules = Counter(
        str(module.parent.relative_to(PACKAGE)) for module in MODULES if module.stem != "__init__"
    )
    assert {folder: count for folder, count in modules.items() if count > MOST_MODULES_OF_A_FOLDER} == {}


def test_a_module_s_name_tells_which_one_it_is() -> None:
    names = Counter(module.stem for module in MODULES)
    assert {name for name, count in names.items() if count > 1} <= SAME_PART_IN_EACH_FOLDER
