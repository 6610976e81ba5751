"""No hint proposes an option that loses a record or a delete without saying so."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "cli" / "kcompact"
LOSING = re.compile(
    r"--null-keys drop|--keep-going leaves|\b(?<!never )(?<!do not )remove (?:the|what|a|it)\b"
    r"|\b(?:skip|delete|cut off) (?:the|what|it)\b"
    r"|\bwithout it\b|\bgo on without\b|\bleave (?:it|the \w+(?: \w+)?|what \w+|them) out\b|\bleave out (?!-)"
)
"""What loses records, deletes or headers when it is followed."""
SAYS_SO = re.compile(
    r"\blose\b|\blost\b|comes? back|then stay|logs may then be incomplete|leaves out the logs"
    r"|No broker holds such a record|leave the option out|keys were exported, and are used"
)
"""The words of which one has to stand beside it; or that nothing of the dump is meant."""


def texts_of(node: ast.AST) -> str:
    """The constant parts of a text, however it is put together."""
    return "".join(
        part.value
        for part in ast.walk(node)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    )


def hint_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """``hint=...``, what reasons of unreadable records are followed by, and whatever is called hint."""
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "hint":
            yield node.value
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in REASONS:
            yield from node.args[1:]
        elif isinstance(node, ast.Assign) and any(
            "hint" in getattr(to, "id", "").lower() for to in node.targets
        ):
            yield node.value
        elif isinstance(node, ast.Tuple | ast.Return):  # (reason, hint), which a function or a table gives
            value = node.value if isinstance(node, ast.Return) else node
            yield from value.elts[1:] if isinstance(value, ast.Tuple) else ()


REASONS = {"UnreadableError", "bad_block", "bad_row", "bad_row_group", "Reject"}


@cache
def hints() -> list[tuple[str, str]]:
    """(file:line, text) of everything in the package that tells a user what to do."""
    texts = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in hint_nodes(ast.parse(path.read_text())):
            text = texts_of(node)
            if " " in text:
                texts.append((f"{path.relative_to(PACKAGE)}:{node.lineno}", text))
    return texts


def test_hints_are_found_at_all() -> None:
    assert len(hints()) > 100
    assert any("--null-keys drop" in text for _, text in hints())


def test_no_hint_proposes_to_drop_tombstones() -> None:
    options = ("options/", "report/")  # where the option itself is described
    assert not [
        place for place, text in hints() if "--drop-tombstones" in text and not place.startswith(options)
    ]


def test_what_loses_something_says_so() -> None:
    assert [
        (place, text) for place, text in hints() if LOSING.search(text) and not SAYS_SO.search(text)
    ] == []


@pytest.mark.parametrize(
    "text",
    [
        "remove what is no record",
        "export the dump again, or remove the last record",
        "export the dump again, or leave the record out",
        "add --null-keys drop",
    ],
)
def test_hints_that_lost_records_once_would_be_noticed(text: str) -> None:
    assert LOSING.search(text)
    assert not SAYS_SO.search(text)


def test_no_sentence_with_a_hint_s_words_escapes() -> None:
    """A hint that is put together elsewhere than where it is passed is found by the words it begins with."""
    proposal = re.compile(r"(?:export|leave|remove|name|add|say) (?:the|it|them|what|again)\b")
    seen = {place.partition(":")[0] for place, _ in hints()}
    modules = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if proposal.search(path.read_text())
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if proposal.match(node.value)
    }
    assert modules - seen == set()
