"""Patterns that are looked for in a dump's text: none goes over a long text again and again.

One that does takes an hour for a field of a million letters, and no other test is slow enough to tell.
"""

import ast
import importlib
import pkgutil
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType, ModuleType

import pytest

import kcompact

PACKAGES = ("kcompact.dumps.", "kcompact.broker.", "kcompact.console")
COMPILED = "kcompact.dumps.loops."  # takes half a minute to import
OF_SHORT_NAMES = {
    "_SHARD",
    "_COUNTER",
    "_LIKE_A_PARTITION",
    "_PIECE_OF_A_GLOB",
}  # of files, which no system lets be long
METHODS = {"match", "fullmatch", "search", "sub", "split", "findall", "finditer"}
LENGTH = 50_000
SECONDS = 2  # of processor time; a pattern that reads such a text once takes a thousandth of that
UNITS = ["m", " ", "-", ".", "0", '"', "\\", "{", "[", ",", "\n", "\t", "'", "a.", "a-", "a=1,", "0 ", "a\n"]
UNITS += [
    "1-",
    "ab: ",
    '""',
    '\\"',
    '{"a":',
    "-- a\n",
    "% \n",
    "+-",
    "a\t",
    "\\x",
    "orders-0",
    "k\tv\n",
    "{}\n",
]
BEGINNINGS = ["", '{"', "1", "-- "]


def patterns() -> Iterator[tuple[str, re.Pattern[str] | re.Pattern[bytes], set[str]]]:
    """The patterns of the modules, each with the methods that its module calls of it."""
    for info in pkgutil.walk_packages(kcompact.__path__, "kcompact."):
        if info.name.startswith(PACKAGES) and not info.name.startswith(COMPILED):
            module = importlib.import_module(info.name)
            yield from _of_module(module)


def _of_module(module: ModuleType) -> Iterator[tuple[str, re.Pattern[str] | re.Pattern[bytes], set[str]]]:
    source = Path(str(module.__file__)).read_text()
    for name, value in vars(module).items():
        methods = METHODS & set(re.findall(rf"\b{name}\.(\w+)\b", source))
        if isinstance(value, re.Pattern) and methods and name not in OF_SHORT_NAMES:
            yield f"{module.__name__}.{name}", value, methods
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="re"), attr=method), args=[ast.Constant(value=text), *_]
            ) if method in METHODS and isinstance(text, str | bytes):
                yield f"{module.__name__}:{node.lineno}", re.compile(text), {method}


def look(pattern: re.Pattern[str] | re.Pattern[bytes], method: str, text: str) -> None:
    data = text if isinstance(pattern.pattern, str) else text.encode()
    arguments = (data,) if method != "sub" else (data[:0], data)
    result = getattr(pattern, method)(*arguments)
    if method == "finditer":
        list(result)


def is_slow(pattern: re.Pattern[str] | re.Pattern[bytes], method: str) -> bool:
    """Whether any of the long texts takes longer than SECONDS of this process's own time."""
    try:
        for beginning in BEGINNINGS:
            for unit in UNITS:
                signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
                look(pattern, method, beginning + unit * (LENGTH // len(unit)) + "\x01")
    except TimeoutError:
        return True
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return False


@pytest.mark.slow
def test_no_pattern_reads_a_long_text_again_and_again() -> None:
    def late(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError

    cases = [(name, pattern, method) for name, pattern, methods in patterns() for method in methods]
    before = signal.signal(signal.SIGVTALRM, late)
    try:
        assert [f"{name}.{method}" for name, pattern, method in cases if is_slow(pattern, method)] == []
    finally:
        signal.signal(signal.SIGVTALRM, before)


def test_the_patterns_are_found() -> None:
    assert len(list(patterns())) > 50
