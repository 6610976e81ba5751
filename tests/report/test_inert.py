"""Hostile text stays text, in every medium."""

import io
import json
import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from kcompact import inert
from kcompact.printable import terminal, terminal_lines

HOSTILE = [
    "\x1b]0;title\x07\x1b[2J",
    "\x9b31m",
    "a\r\nb",
    "\u202etxt.exe",
    "[bold red]x[/] :smile: [link=http://x]y[/link]",
    "| a | `b` | <img src=x onerror=alert(1)> ![x](http://x) @team #12 \\",
    "]]></testcase><failure/>&amp;\"'<!--",
    '=HYPERLINK("http://x")',
    "+1",
    "@SUM(A1)",
    "a;=1+1",
    "::error file=x::pwned",
    "  ::add-mask::x",
    "x ##[error]y ##vso[task.setvariable]z",
    "%0A::set-output name=x::y",
    "\ud800 lone \ufffe",
    "",
]
hostile = st.one_of(
    st.sampled_from(HOSTILE), st.text(), st.text(alphabet="|`\\<>&\"'=;:#[%,\r\n\t\x1b\u202e ab")
)


@given(hostile)
def test_a_terminal_gets_one_line_of_printable_characters(text: str) -> None:
    shown = terminal(text)
    assert shown.isprintable()
    assert not shown.lstrip().startswith("::")
    assert not re.search(r"##\w*\[", shown)
    assert terminal(shown) == shown


def test_lines_of_a_message_stay_apart_and_each_is_inert() -> None:
    assert terminal_lines("a\n::error::b\x07") == "a\n\\x3a:error::b\\x07"


@given(hostile)
def test_rich_shows_markup_and_emoji_names_as_they_are(text: str) -> None:
    console = Console(file=io.StringIO(), width=10_000, force_terminal=False, color_system=None)
    with console.capture() as capture:
        console.print(Text(terminal(text)), end="", soft_wrap=True)
    assert capture.get() == terminal(text)


@given(st.text())
def test_markdown_has_no_markup_left(text: str) -> None:
    shown = inert.markdown(text)

    assert not re.search(r"(?<!\\)(?:\\\\)*[`*_\[\]<>|]", shown)
    assert "@" not in shown
    assert "://" not in shown


@given(hostile)
def test_markdown_code_is_one_span_that_no_cell_or_backtick_ends(text: str) -> None:
    shown = inert.markdown_code(text)
    assert (shown == "") == (text == "")
    if text:
        assert shown[0] == shown[-1] == "`"
        assert not set(shown[1:-1]) & set("`|\n\r")


@given(hostile)
def test_xml_gives_the_text_back_from_element_and_attribute(text: str) -> None:
    safe = inert.xml(text)
    element = ET.fromstring(f'<a b="{safe}">{safe}</a>')  # noqa: S314  text of our own making
    assert element.attrib["b"] == terminal(text)
    assert (element.text or "") == terminal(text)
    assert len(element) == 0


@given(hostile)
def test_a_csv_cell_is_no_formula_even_where_semicolons_split(text: str) -> None:
    shown = inert.csv_cell(text)
    assert not shown.startswith(("=", "+", "-", "@", "\t", "\r"))
    assert not set(shown) & set(";\r\n\t")


@pytest.mark.parametrize(("text", "cell"), [("-5", "'-5"), ("'x", "''x"), ('a"b', 'a"b'), ("x", "x")])
def test_a_leading_apostrophe_in_a_csv_cell_is_always_ours(text: str, cell: str) -> None:
    assert inert.csv_cell(text) == cell


@given(st.lists(hostile))
def test_json_keeps_its_values_and_shows_nothing_hidden(texts: list[str]) -> None:
    values = [text.encode("utf-8", "replace").decode() for text in texts]
    shown = inert.json_document({"texts": values})
    assert json.loads(shown) == {"texts": values}
    assert all(character.isprintable() or character == "\n" for character in shown)
    assert not re.search(r"##\w*\[", shown)


@given(hostile)
def test_an_annotation_is_one_command_and_its_properties_end_where_they_should(text: str) -> None:
    command = f"::error title={inert.github_property(text)}::{inert.github_message(text)}"
    assert len(command.splitlines()) == 1
    title = re.fullmatch(r"::error title=([^:,]*)::.*", command)
    assert title is not None
    assert not re.search("%(?!25|3A|2C)", title[1])
