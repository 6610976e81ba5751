"""Hostile keys, topics, header names and file names in every rendering, read by parsers of each format.

What a terminal, a browser, a spreadsheet, a CI runner or a Markdown page would take for more than text must
not be there; what is there must parse as its format says.
"""

import csv
import io
import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import html5lib
import pytest
from markdown_it import MarkdownIt

from conftest import Run

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark", "place")]
Cli = Callable[..., Run]

HOSTILE = [
    "\x1b[31mred\x1b]0;title\x07\x1b[2J",
    "\x9b31m",
    "\u202egpj.exe\u2066\u2069\u200f",
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "\"><svg/onload=alert(1)>' onmouseover='alert(1)",
    "=cmd|'/C calc'!A0",
    '=HYPERLINK("http://evil.example","x")',
    "@SUM(1)",
    "+1;=1+1",
    "\tx\r\n::error file=a::pwned",
    "::error file=a,line=1::pwned",
    "##[error]x ##vso[task.setvariable]y ##teamcity[z]",
    "nul\0byte",
    "]]></failure></testcase><testcase name='x'/>&bogus;",
    "[click](javascript:alert(1)) ![i](http://evil.example/x.png) <http://evil.example>",
    "| a | b |\n|---|---|\n# head\n* @team #1 `code` www.evil.example",
    "[bold red]x[/] :smile: [link=http://evil.example]y[/link]",
    "../../../etc/passwd",
    "{{ 7 * 7 }} {% raw %} ${x}",
    "m" * 1_000_000,
]
TOPICS = ["../../up", "<b>t</b>", "=t|1", "::warning::t", "[t](javascript:1)", "\x1b[31mt", "\u202et"]
BIDI = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
FIELDS = ["topic", "partition", "offset", "timestamp", "key", "value"]
FORMULA = ("=", "+", "-", "@", "\t", "\r")
HARMFUL_TAGS = {
    "script",
    "img",
    "iframe",
    "object",
    "embed",
    "link",
    "base",
    "form",
    "input",
    "video",
    "audio",
}


def rows() -> Iterator[dict[str, Any]]:
    """Two records a key and log, a tombstone for some; every other key in a second partition, too."""
    for partition, topic in enumerate(["orders", *TOPICS]):
        offset = 0
        for number, key in enumerate(HOSTILE if partition == 0 else HOSTILE[partition : partition + 3]):
            for copy in range(2):
                value = None if copy and number % 3 == 0 else f"<b>{HOSTILE[number % 5]}</b>"
                yield row(topic, partition, offset, key, value)
                offset += 2 + number % 2
    for offset, key in enumerate(HOSTILE[:-1:2]):
        yield row("orders", 9, offset, key, "elsewhere")


def row(topic: str, partition: int, offset: int, key: str, value: str | None) -> dict[str, Any]:
    return {
        "topic": topic,
        "partition": partition,
        "offset": offset,
        "timestamp": 1_700_000_000_000 + offset,
        "key": key,
        "value": value,
        "headers": {HOSTILE[offset % 19]: "x"},
    }


def write(path: Path, records: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A dump, and what a wrong cleaner left of it."""
    records = list(rows())
    write(tmp_path / "before.jsonl", records)
    wrong = [one | {"value": "changed"} if number % 7 == 0 else one for number, one in enumerate(records)]
    write(tmp_path / "after.jsonl", [one for number, one in enumerate(wrong) if number % 5])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check_lines(text: str, longest: int = 20_000) -> None:
    """What a terminal and a CI runner's log may be given."""
    for line in text.split("\n"):
        assert all(char.isprintable() for char in line), line[:200]
        assert not BIDI & set(map(unicodedata.bidirectional, line)), line[:200]
        assert not line.lstrip().startswith("::"), line[:200]
        assert not re.search(r"##\w*\[", line), line[:200]
        assert len(line) < longest


def check_json(text: str) -> None:
    check_lines(text, longest=2_000_000)  # which holds keys whole
    assert isinstance(json.loads(text), dict)


def check_markdown(text: str) -> None:
    check_lines(text)
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(text)
    inner = [child for token in tokens for child in token.children or []]
    assert not [token.content for token in [*tokens, *inner] if token.type.startswith("html")]
    assert not [token.content for token in inner if token.type == "image"]
    links = [str(token.attrGet("href")) for token in inner if token.type == "link_open"]
    assert not [href for href in links if not re.fullmatch(r"[\w.-]+", href)]
    spoken = "".join(token.content for token in inner if token.type == "text")
    assert not re.search(r"(^|\s)@\w", spoken)


def check_html(text: str) -> None:
    document = html5lib.HTMLParser(strict=True).parse(text)
    for element in document.iter():
        tag = str(element.tag).rpartition("}")[2]
        assert tag not in HARMFUL_TAGS
        for name, value in element.attrib.items():
            assert not str(name).lower().startswith("on")
            assert not (str(name).rpartition("}")[2] in {"href", "src", "action"} and ":" in value), value
    for words in document.itertext():
        assert "evil.example" not in words or "<" not in words or "alert" in words
        assert all(char.isprintable() or char.isspace() for char in words)
        assert not BIDI & set(map(unicodedata.bidirectional, words))


def check_junit(text: str) -> None:
    check_lines(text)
    root = ET.fromstring(text)  # noqa: S314  as CI servers read it
    assert {element.tag for element in root.iter()} <= {
        *("testsuites", "testsuite", "testcase", "failure", "skipped", "system-out", "properties", "property")
    }
    assert all(suite.get("tests") == str(len(suite.findall("testcase"))) for suite in root.iter("testsuite"))


def check_github(text: str) -> None:
    """Every line is a workflow command of ours, about files that there are, or harmless."""
    for line in filter(None, text.split("\n")):
        if line.startswith("::"):
            command = re.fullmatch(r"::(error|warning|notice)( [^:]*)?::(.*)", line)
            assert command, line[:200]
            given = dict(pair.split("=", 1) for pair in (command[2] or "").strip().split(",") if pair)
            assert given.keys() <= {"file", "line", "endLine", "col", "title"}
            assert given.get("file", "before.jsonl") in {"before.jsonl", "after.jsonl"}
            check_lines(command[3])
        else:
            check_lines(line)


def check_gitlab(text: str) -> None:
    check_lines(text)
    issues = json.loads(text)
    assert isinstance(issues, list)
    for issue in issues:
        assert issue["severity"] in {"info", "minor", "major", "critical", "blocker"}
        assert re.fullmatch(r"[0-9a-f]{32,}", issue["fingerprint"])
        assert issue["location"]["path"] in {"before.jsonl", "after.jsonl"}
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)


def check_broker_log(text: str) -> None:
    """Its second lines begin with a tabulator of ours."""
    check_lines(re.sub(r"^(INFO \[[^]]*\]: )?\t", "", text, flags=re.MULTILINE))
    assert "leaner" in text


def check_csv(text: str) -> None:
    check_lines(text)
    cells = list(csv.reader(io.StringIO(text), strict=True))
    assert len({len(line) for line in cells}) == 1
    for cell in (cell for line in cells for cell in line):
        assert not cell.startswith(FORMULA), cell[:100]
        assert ";" not in cell
        assert len(cell) < 32_767  # as many characters as a spreadsheet's cell may have


CHECKS = {
    "text": check_lines,
    "json": check_json,
    "markdown": check_markdown,
    "html": check_html,
    "broker-log": check_broker_log,
    "junit": check_junit,
    "github": check_github,
    "code-quality": check_gitlab,
}
COMMANDS = {
    "compact before.jsonl -o out.jsonl --no-report": ["text", "json", "markdown", "html", "broker-log"],
    "dirty-ratio before.jsonl": list(CHECKS),
    "inspect before.jsonl": [name for name in CHECKS if name != "broker-log"],
    "verify before.jsonl after.jsonl": [n for n in CHECKS if n != "broker-log"],
}


@pytest.mark.parametrize(
    ("command", "form"), [(command, form) for command, forms in COMMANDS.items() for form in forms]
)
def test_a_rendering_holds_hostile_text_as_text(command: str, form: str, kcompact: Cli) -> None:
    run = kcompact(*command.split(), "--format", form)
    assert run.exit_code in (0, 1), run.stderr
    assert run.stdout
    CHECKS[form](run.stdout)
    check_lines(run.stderr)


def test_each_file_of_a_report_holds_hostile_text_as_text(place: Path, kcompact: Cli) -> None:
    assert kcompact("compact", "before.jsonl", "-o", "out.jsonl").exit_code == 0
    checks = {".json": check_json, ".md": check_markdown, ".html": check_html, ".csv": check_csv}
    files = sorted((place / "out.report").iterdir())
    assert {path.suffix for path in files} == set(checks)
    for path in files:
        checks[path.suffix](path.read_bytes().decode())
    assert "1000000 bytes" in (place / "out.report" / "removed-keys.csv").read_text()
    assert sorted(path.name for path in place.iterdir()) == [
        *("after.jsonl", "before.jsonl", "out.jsonl", "out.report")
    ]


@pytest.mark.parametrize("form", ["text", "json", "html"])
def test_the_history_of_a_hostile_key_is_text(form: str, kcompact: Cli) -> None:
    for key in (HOSTILE[0], HOSTILE[3], HOSTILE[10]):
        run = kcompact("inspect", "before.jsonl", "--key", key, "--format", form)
        assert run.exit_code in (0, 1), run.stderr
        CHECKS[form](run.stdout)
        check_lines(run.stderr)


def test_a_step_s_summary_holds_hostile_text_as_text(
    place: Path, kcompact: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = place / "summary.md"
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    for command in COMMANDS:
        assert kcompact(*command.split()).exit_code in (0, 1)
    check_markdown(summary.read_text())


@pytest.mark.parametrize("field", FIELDS)
def test_an_error_quotes_hostile_text_as_text(field: str, place: Path, kcompact: Cli) -> None:
    for text in HOSTILE[FIELDS.index(field) :: len(FIELDS)]:
        spoilt = row("t", 0, 5, "k", "v") | {field: [text] if field in {"topic", "key", "value"} else text}
        write(place / "bad.jsonl", [row("t", 0, 4, "k", "v"), spoilt])
        run = kcompact("inspect", "bad.jsonl")
        assert run.exit_code in (0, 2), run.stderr
        assert (run.exit_code == 2) or field in {"key", "value"}, run.stderr
        check_lines(run.stdout + run.stderr)
        assert len(run.stderr) < 2_000


@pytest.mark.parametrize("name", [text.replace("/", "_") for text in HOSTILE[:12:2]])
def test_a_file_of_a_hostile_name_is_named_as_text(name: str, place: Path, kcompact: Cli) -> None:
    path = place / f"{name}.jsonl"
    path.write_text("no dump\n")
    run = kcompact("inspect", path)
    assert run.exit_code == 2
    check_lines(run.stdout + run.stderr)


def test_a_line_feed_in_a_file_name_begins_no_line_of_its_own(place: Path, kcompact: Cli) -> None:
    (place / "a\nerror: nothing.jsonl").write_text("no dump\n")
    run = kcompact("inspect", "a\nerror: nothing.jsonl")
    first_words = [line.partition(":")[0] for line in run.stderr.splitlines()]
    assert (run.exit_code, first_words) == (2, ["error", "hint"])
    assert r"a\nerror: nothing.jsonl" in run.stderr
