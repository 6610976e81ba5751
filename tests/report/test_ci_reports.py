"""What CI servers are told by inspect and dirty-ratio: in their own syntax, under their limits, inert."""

import json
import re
import xml.etree.ElementTree as ET
from collections import Counter

import pytest

from kcompact.inspect.inspection import FileFacts, Inspection
from kcompact.inspect.severity import InspectFinding, Level
from kcompact.report.ci import (
    CiCase,
    CiFinding,
    CiLevel,
    CiReport,
    render_annotations,
    render_code_quality,
    render_junit,
    render_summary,
)
from kcompact.report.inspect.inspection_report import ci_report

HOSTILE = "\x1b[31m\r\n::error::x|<b>&]]>\u202e\x00"


def inspection(*findings: InspectFinding, path: str = "dump.jsonl") -> Inspection:
    file = FileFacts(path, "json_lines", "kcat", "kcat", True, 9, None, {}, None, None)
    return Inspection(verdict="5 records", files=[file], findings=list(findings))


FOUND = inspection(
    InspectFinding(Level.ERROR, "max_gaps", "3 gaps, at most 2 are allowed"),
    InspectFinding(Level.WARNING, "shared_keys", "1 key in several partitions", "orders"),
    InspectFinding(Level.NOTE, "gaps", "16 offsets are missing", "orders", 0),
)


def levels(text: str) -> Counter[str]:
    return Counter(re.findall(r"^::(\w+) ", text, re.MULTILINE))


def test_annotations_have_a_level_a_file_and_a_place() -> None:
    assert render_annotations(ci_report(FOUND, Level.ERROR)).splitlines() == [
        "::error file=dump.jsonl,title=max_gaps::3 gaps, at most 2 are allowed",
        "::warning file=dump.jsonl,title=shared_keys in orders::1 key in several partitions",
        "::notice file=dump.jsonl,title=gaps in orders-0::16 offsets are missing",
        "::error title=kcompact inspect::what is in dump.jsonl? 5 records",
    ]


@pytest.mark.parametrize("count", [9, 10, 11, 500])
def test_github_gets_no_more_of_a_level_than_it_shows_and_the_last_counts_the_rest(count: int) -> None:
    many = [InspectFinding(level, f"code{n}", "text") for level in Level for n in range(count)]
    text = render_annotations(ci_report(inspection(*many), Level.ERROR))
    assert max(levels(text).values()) <= 10
    counted = len(re.findall(r"title=code", text)) + sum(map(int, re.findall(r"title=(\d+) more", text)))
    assert counted == 3 * count


@pytest.mark.parametrize(("failing", "failed"), [(None, 0), (Level.ERROR, 1), (Level.WARNING, 2)])
def test_junit_fails_what_makes_the_exit_code_1(failing: Level | None, failed: int) -> None:
    suite = ET.fromstring(render_junit(ci_report(FOUND, failing)))  # noqa: S314  made here, by the code under test
    assert (suite.get("tests"), suite.get("failures")) == ("4", str(failed))
    assert len(suite.findall("testcase/failure")) == failed
    assert [case.get("name") for case in suite.iter("testcase")] == [
        "the dump can be read",
        "max_gaps",
        "shared_keys",
        "gaps",
    ]


def test_gitlab_reads_a_list_of_issues_with_stable_fingerprints() -> None:
    first, again = (json.loads(render_code_quality(ci_report(FOUND, Level.ERROR))) for _ in range(2))
    assert first == again
    assert [issue["severity"] for issue in first] == ["major", "minor", "info"]
    assert first[0]["location"] == {"path": "dump.jsonl", "lines": {"begin": 1}}
    assert len({issue["fingerprint"] for issue in first}) == 3
    assert set(first[0]) == {"description", "check_name", "fingerprint", "severity", "location"}


def test_hostile_text_is_inert_in_every_form() -> None:
    finding = CiFinding(CiLevel.ERROR, HOSTILE, HOSTILE, HOSTILE)
    report = CiReport(
        "inspect", "dump", HOSTILE, HOSTILE, False, [CiCase(HOSTILE, (finding,), 3, True)], [HOSTILE]
    )
    for text in (render_annotations(report), render_junit(report), render_summary(report)):
        assert not {"\x1b", "\r", "\x00", "\u202e"} & set(text)
    assert len(render_annotations(report).splitlines()) == 2
    ET.fromstring(render_junit(report))  # noqa: S314  made here, by the code under test
    assert "<b>" not in re.sub(r"`[^`\n]*`", "", render_summary(report))
    assert json.loads(render_code_quality(report))[0]["location"]["path"] == HOSTILE


def test_gitlab_gets_paths_from_the_root_of_the_repository() -> None:
    case = CiCase("gaps", (CiFinding(CiLevel.ERROR, "gaps", "1 gap", "./dumps/orders.jsonl"),), 1)
    report = CiReport("inspect", "checks", "?", "1 gap", holds=False, cases=(case,))
    (issue,) = json.loads(render_code_quality(report))
    assert issue["location"]["path"] == "dumps/orders.jsonl"
