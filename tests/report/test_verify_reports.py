"""Renderings of a verification: complete, in their own syntax, and inert whatever a dump holds."""

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from kcompact.printable import printable_key
from kcompact.report import ci
from kcompact.report.verify.verify_report import (
    SCHEMA_VERSION,
    ci_report,
    render_json,
    render_markdown,
    render_text,
)
from kcompact.report.verify.verify_words import Keys
from kcompact.verify.check import Severity
from kcompact.verify.outcome import KeyEvidence, KeyVerdict, Tally, VerifiedLog, VerifyFinding, VerifyOutcome

Render = Callable[[VerifyOutcome, Keys], str]
HOSTILE = "\x1b[31m\r\n::error::x|<b>&]]>\u202e=1+1\x00"

FINDING = VerifyFinding(
    check="missing-key",
    severity=Severity.FINDING,
    topic="orders",
    partition=1,
    offset=17,
    key=b"k\xff",
    expected="the key's last value, at offset 17",
    found="no record of this key",
)
NOTE = replace(FINDING, check="duplicate-left", severity=Severity.NOTE, offset=3, key=b"old")
OUTCOME = VerifyOutcome(
    mode="compaction",
    before=("b.jsonl",),
    after="a.jsonl",
    now_ms=5,
    checks=("missing-key", "stale-value", "duplicate-left"),
    tallies=(
        Tally("missing-key", Severity.FINDING, 3, "orders", 1),
        Tally("duplicate-left", Severity.NOTE, 1, "orders", 1),
    ),
    findings=(FINDING, NOTE),
    logs=(VerifiedLog("orders", 1, 9, 4, {"lost": 3, "superseded": 2}, 0, 18, cleaned_end_is_given=False),),
    assumed=("2 tombstones expired: gone, and old enough for that",),
)
KEYS = Keys()


def render_junit(outcome: VerifyOutcome, keys: Keys) -> str:
    return ci.render_junit(ci_report(outcome, keys))


def render_annotations(outcome: VerifyOutcome, keys: Keys) -> str:
    return ci.render_annotations(ci_report(outcome, keys))


def render_summary(outcome: VerifyOutcome, keys: Keys) -> str:
    return ci.render_summary(ci_report(outcome, keys))


def hostile() -> VerifyOutcome:
    finding = replace(FINDING, topic=HOSTILE, key=HOSTILE.encode())
    log = replace(OUTCOME.logs[0], topic=HOSTILE)
    return replace(OUTCOME, after=HOSTILE, findings=(finding,), logs=(log,), assumed=(HOSTILE,))


def parsed(xml: str) -> ET.Element:
    return ET.fromstring(xml)  # noqa: S314  made here, by the code under test


def test_the_text_tells_answer_logs_assumptions_and_findings() -> None:
    assert render_text(OUTCOME, KEYS).splitlines() == [
        "is a.jsonl a compaction of b.jsonl?",
        "no: 3 missing-key",
        "finding: 3 missing-key in orders-1",
        (
            "    orders-1@17 key 0x6bff: expected the key's last value, at offset 17,"
            " found no record of this key"
        ),
        "    and 2 more (--max-findings shows more)",
        "note: 1 duplicate-left in orders-1",
        "    orders-1@3 key old: expected the key's last value, at offset 17, found no record of this key",
        "  orders-1: 9 -> 4 records (3 lost, 2 superseded); cleaned up to offset 18 (assumed)",
        "assumed: 2 tombstones expired: gone, and old enough for that",
    ]


def test_of_ten_thousands_of_logs_with_findings_a_page_is_shown() -> None:
    logs = range(10_000)
    outcome = replace(
        OUTCOME,
        tallies=tuple(Tally("missing-key", Severity.FINDING, 1, "orders", log) for log in logs),
        findings=tuple(replace(FINDING, partition=log) for log in logs),
    )
    text, page = render_text(outcome, KEYS).splitlines(), render_markdown(outcome, KEYS).splitlines()
    shown = [sum("orders-" in line and "expected" in line for line in lines) for lines in (text, page)]
    assert f"and {10_000 - shown[0]:,} more checks and logs that have findings or notes" in "\n".join(text)
    assert f"* {10_000 - shown[1]:,} more of all kinds: --format json shows them" in page
    assert "10,000 missing-key" in text[1]
    assert max(len(text), len(page)) < 300


def test_json_has_every_count_and_a_version() -> None:
    report = json.loads(render_json(OUTCOME, KEYS))
    assert (report["schema_version"], report["command"], report["holds"]) == (SCHEMA_VERSION, "verify", False)
    assert report["counts"]["stale-value"] == {"finding": 0, "undecided": 0, "note": 0}
    assert report["findings"][0] == {
        "check": "missing-key",
        "severity": "finding",
        "topic": "orders",
        "partition": 1,
        "offset": 17,
        "key": "0x6bff",
        "expected": "the key's last value, at offset 17",
        "found": "no record of this key",
        "remedy": None,
    }


@pytest.mark.parametrize(
    "render", [render_text, render_json, render_markdown, render_junit, render_annotations, render_summary]
)
def test_the_key_that_stands_instead_is_shown_as_keys_are(render: Render) -> None:
    changed = replace(FINDING, found="another key", found_key=(b"per|son\xff",))
    outcome = replace(OUTCOME, findings=(changed,))
    shown = printable_key(b"per|son\xff")
    assert shown in render(outcome, KEYS)
    hashed = render(outcome, Keys(hashed=True))
    assert hashlib.sha256(b"per|son\xff").hexdigest() in hashed
    assert shown not in hashed


def test_junit_fails_the_checks_that_found_something() -> None:
    suite = parsed(render_junit(OUTCOME, KEYS))
    assert (suite.get("tests"), suite.get("failures")) == ("3", "1")
    failed = [case.get("name") for case in suite.iter("testcase") if case.find("failure") is not None]
    assert failed == ["missing-key"]
    text = suite.find("testcase/failure")
    assert text is not None
    assert (text.text or "").splitlines()[-1] == "and 2 more"


def test_github_shows_notes_as_notices() -> None:
    lines = render_annotations(OUTCOME, KEYS).splitlines()
    assert [line.split(" ")[0] for line in lines] == ["::error", "::notice", "::error"]
    assert lines[0] == (
        "::error file=a.jsonl,title=missing-key in orders-1@17::key 0x6bff: expected the key's last value,"
        " at offset 17, found no record of this key"
    )


def test_the_summary_is_a_table() -> None:
    rows = [line for line in render_summary(OUTCOME, KEYS).splitlines() if line.startswith("|")]
    assert len(rows) == 4
    assert all(row.count("|") == 4 for row in rows)


def test_hostile_text_is_inert_everywhere() -> None:
    outcome = hostile()
    for text in (
        render_text(outcome, KEYS),
        render_junit(outcome, KEYS),
        render_annotations(outcome, KEYS),
        render_summary(outcome, KEYS),
    ):
        assert not {"\x1b", "\r", "\x00", "\u202e"} & set(text)
    assert len(render_text(outcome, KEYS).splitlines()) == 6
    parsed(render_junit(outcome, KEYS))
    assert all(line.startswith("::") for line in render_annotations(outcome, KEYS).splitlines())
    assert sum("::error::x" in line for line in render_annotations(outcome, KEYS).splitlines()) <= 2
    outside_of_code = re.sub(r"`[^`\n]*`", "", render_summary(outcome, KEYS))
    assert "<b>" not in outside_of_code
    assert "`" not in outside_of_code
    assert json.loads(render_json(outcome, KEYS))["after"] == HOSTILE


def test_hashed_keys_leave_no_key_behind() -> None:
    evidence = KeyEvidence(b"person-7", KeyVerdict.PRESENT, "orders", 0, 5, None, 5)
    finding = replace(FINDING, check="present", key=b"person-7")
    outcome = replace(OUTCOME, mode="absent-keys", findings=(finding,), evidence=(evidence,))
    for render in (
        render_text,
        render_json,
        render_markdown,
        render_junit,
        render_annotations,
        render_summary,
    ):
        assert "person-7" not in render(outcome, Keys(hashed=True))


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("compacted", "is a.jsonl fully compacted?"),
        ("absent-keys", "are these keys gone from a.jsonl?"),
    ],
)
def test_the_question_stands_above_the_answer(mode: str, words: str) -> None:
    assert render_text(replace(OUTCOME, mode=mode), KEYS).startswith(words)


def test_yes_says_what_was_left_over() -> None:
    outcome = replace(OUTCOME, tallies=OUTCOME.tallies[1:])
    assert render_text(outcome, KEYS).splitlines()[1] == "yes (left over: 1 duplicate-left)"
