"""HTML reports: valid for a parser that is not ours, small, quick, and inert whatever a dump holds."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import html5lib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcompact.compact.totals import LogOutcome
from kcompact.inspect.inspection import Bucket, FileFacts, Gap, Gaps, Inspection, LogFacts, TopKey, Values
from kcompact.inspect.severity import InspectFinding, Level
from kcompact.report.compact.compaction_html import render_html as render_compaction
from kcompact.report.compact.compaction_report import CompactionReport
from kcompact.report.inspect.inspection_html import render_html as render_inspection
from kcompact.report.pictures import BINS, WIDTH, GapColumns, curves, offset_axis
from kcompact.report.verify.verify_html import render_html as render_verification
from kcompact.report.verify.verify_words import Keys
from kcompact.verify.check import Severity
from kcompact.verify.classification.classified_rows import Reason
from kcompact.verify.outcome import Tally, VerifiedLog, VerifyFinding, VerifyOutcome

NS = "{http://www.w3.org/1999/xhtml}"
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</title><script>alert(1)</script><img src=//x onerror=alert(1)>\"' {{ 7*7 }} \u202e\x1b[2J&amp;"


def compaction(logs: int, topic: str = "orders", key: bytes = b"k") -> str:
    outcomes = []
    for number in range(logs):
        log = LogOutcome(
            number, topic, number, 1_000, 90_000, 300 + number, 20_000, tombstones=9, tombstones_kept=3
        )
        log.removed["superseded"] = 700 - number
        log.first_offset, log.last_offset = 0, 1_199
        outcomes.append(log)
    report = CompactionReport(
        outcomes, [topic] * logs, [topic], {}, [topic], [topic], [topic], 1, [(topic, key)]
    )
    return render_compaction(report)


def inspection(logs: int, topic: str = "orders", key: bytes = b"k") -> str:
    gaps = Gaps(2, 30, 0, (Gap(10, 29, 20), Gap(50, 59, 10)))
    facts = [
        LogFacts(
            topic, number, 500, 9_000, 0, 599, 600, keys=40, live_keys=30, gaps=gaps, values=Values(400, 100)
        )
        for number in range(logs)
    ]
    file = FileFacts(topic, "json_lines", "kcat", "kcat", True, 9_000, None, {"key": topic}, None, None)
    return render_inspection(
        Inspection(
            verdict=topic,
            files=[file] * logs,
            logs=facts,
            records_per_key=[Bucket(1, 1, 5, 5), Bucket(3, 4, 2, 7)],
            top_keys_by_bytes=[TopKey(topic, 0, key, 3, 900, 600, 7)],
            findings=[InspectFinding(Level.WARNING, "x", topic, topic, 0)],
        )
    )


def verification(findings: int, topic: str = "orders", key: bytes = b"k") -> str:
    finding = VerifyFinding(
        "missing-key", Severity.FINDING, topic, 1, 17, key, "the key's last value, at offset 17", "no record"
    )
    log = VerifiedLog(topic, 1, 90, 40, {"lost": 3, "superseded": 47}, 0, 18, cleaned_end_is_given=False)
    outcome = VerifyOutcome(
        "compaction",
        (topic,),
        topic,
        5,
        ("missing-key",),
        (Tally("missing-key", Severity.FINDING, findings + 4, topic, 1),),
        (finding,) * findings,
        (log,),
        (topic,),
    )
    return render_verification(outcome, Keys())


PAGES: dict[str, Callable[..., str]] = {
    "compaction": compaction,
    "inspection": inspection,
    "verification": verification,
}
each_page = pytest.mark.parametrize("page", PAGES.values(), ids=PAGES.keys())


def parsed(text: str) -> ET.Element:
    """The document, for a parser that raises where a page breaks HTML's rules."""
    tree: ET.Element = html5lib.HTMLParser(strict=True).parse(text)
    return tree


@each_page
def test_a_strict_parser_finds_headings_tables_and_labelled_pictures(page: Callable[..., str]) -> None:
    tree = parsed(page(3))
    assert tree.find(f".//{NS}h1") is not None
    assert all(table.find(f"{NS}caption") is not None for table in tree.iter(f"{NS}table"))
    pictures = list(tree.iter(f"{SVG}svg"))
    assert pictures
    assert all(picture.get("role") == "img" and picture.get("aria-label") for picture in pictures)


@each_page
def test_hostile_names_are_text_and_nothing_else(page: Callable[..., str]) -> None:
    text = page(2, HOSTILE, HOSTILE.encode())
    tree = parsed(text)
    names = {element.tag.rpartition("}")[2] for element in tree.iter() if isinstance(element.tag, str)}
    assert not names & {"script", "img", "iframe", "object", "link", "a", "form", "input"}
    attributes = {name for element in tree.iter() for name in element.attrib}
    assert not {name for name in attributes if name.startswith("on")} | attributes & {"href", "src", "style"}
    assert not {"\x1b", "\u202e"} & set(text)
    assert "{{ 7*7 }}" in "".join(tree.itertext())


@each_page
def test_nothing_is_loaded_from_anywhere(page: Callable[..., str]) -> None:
    text = page(1)
    assert not re.search(r"https?:|url\(|@import|\bsrc=|\bhref=", text)
    assert "Content-Security-Policy\" content=\"default-src 'none'" in text


@each_page
def test_hundreds_of_logs_and_findings_stay_below_300_kb_and_are_counted(page: Callable[..., str]) -> None:
    text = page(2_000, "a-topic-with-a-rather-long-name.that.goes.on.and.on")
    assert len(text.encode()) <= 300_000
    assert re.search(r"and 1,[89]\d\d more rows|more findings of all kinds", text)


def test_the_worst_logs_are_drawn_first() -> None:
    logs = [LogOutcome(n, "t", n, 10, size, 5, 10) for n, size in enumerate([100, 900, 500])]
    tree = parsed(render_compaction(CompactionReport(logs, [], [], {}, [])))
    bars = [label for svg in tree.iter(f"{SVG}svg") if (label := svg.get("aria-label", "")).startswith("t-")]
    assert [label.split(":")[0] for label in bars[:3]] == ["t-1", "t-2", "t-0"]


def test_hundreds_of_logs_full_of_gaps_stay_below_300_kb(tmp_path: Path) -> None:
    logs, lines = [], ["topic,partition,first_offset,last_offset,length,missing_before,removed_by_this_run"]
    for number in range(400):
        log = LogOutcome(number, "prod.payments.ledger", number, 1_000, 90_000, 300, 20_000, gaps=40)
        log.first_offset, log.last_offset = 1_000_000, 1_001_999
        log.removed.update(superseded=500, keyless=100, aborted=100)
        lines += [f'"x",{number},{at},{at + 20},21,7,14' for at in range(1_000_000, 1_002_000, 50)]
        logs.append(log)
    (tmp_path / "gaps.csv").write_text("\n".join(lines) + "\n")
    text = render_compaction(CompactionReport(logs, [], [], {}, []), tmp_path)
    assert "offsets 1000000 to 1001999" in text
    assert len(text.encode()) <= 300_000


def test_gaps_and_keys_are_drawn_from_the_lists_beside_the_report(tmp_path: Path) -> None:
    (tmp_path / "gaps.csv").write_text(
        "topic,partition,first_offset,last_offset,length,missing_before,removed_by_this_run\n"
        '"t",0,0,49,50,0,50\n"t",0,80,99,20,20,0\n'
    )
    (tmp_path / "removed-keys.csv").write_text(
        "topic,partition,key,records_removed,first_offset_removed,retained_offset,reason\n"
        '"t",0,"few",1,1,60,\n"t",0,"many",49,0,,expired_tombstone\n'
    )
    log = LogOutcome(7, "t", 0, 80, 800, 30, 300, gaps=2, gap_offsets=70, gap_offsets_missing_before=20)
    log.first_offset, log.last_offset = 0, 99
    tree = parsed(render_compaction(CompactionReport([log], [], [], {}, []), tmp_path))
    (axis,) = [svg for svg in tree.iter(f"{SVG}svg") if "offsets 0 to 99" in svg.get("aria-label", "")]
    assert {path.get("class") for path in axis.iter(f"{SVG}path")} == {"kept", "removed", "missing"}
    cells = [cell.text for cell in tree.iter(f"{NS}td")]
    assert cells[:4] == ["many", "t-0", "49", "expired tombstone"]


def heights(path: str) -> dict[int, float]:
    """Bin -> height of its column, from path data of ``pictures``."""
    columns = re.findall(r"M([\d.]+) ([\d.]+)h[\d.]+V([\d.]+)", path)
    width = WIDTH / BINS
    return {round(float(x) / width): float(ground) - float(top) for x, ground, top in columns}


def test_each_column_of_an_axis_shows_the_shares_of_its_offsets() -> None:
    """160 offsets in 80 columns: the first 40 columns are removed, one in the last is missing."""
    gaps = GapColumns(*np.array([(0, 79, 0), (159, 159, 1)]).T)
    axis = offset_axis("t-0", (0, 159), gaps, "")
    assert heights(axis.paths["removed"]) == pytest.approx(dict.fromkeys(range(40), 1.0))
    assert heights(axis.paths["missing"]) == pytest.approx({79: 0.5})
    assert heights(axis.paths["kept"]) == pytest.approx({**dict.fromkeys(range(40, 79), 1.0), 79: 0.5})


@given(st.sets(st.integers(0, 79)), st.integers(0, 2**63 - 100))
def test_where_every_offset_has_its_column_each_removed_one_is_seen(removed: set[int], first: int) -> None:
    rows = [(first + at, first + at, 0) for at in sorted(removed)]
    gaps = GapColumns(*np.array(rows, np.int64).reshape(-1, 3).T)
    axis = offset_axis("t-0", (first, first + 79), gaps, "")
    assert heights(axis.paths.get("removed", "")) == pytest.approx(dict.fromkeys(removed, 1.0))
    assert heights(axis.paths.get("kept", "")) == pytest.approx(dict.fromkeys(set(range(80)) - removed, 1.0))


def test_a_log_of_one_offset_has_an_axis_of_one_column() -> None:
    axis = offset_axis("t-0", (5, 5), GapColumns(*np.empty((3, 0), np.int64)), "")
    assert axis.paths == {"kept": "M0.0 1.000h640.0V0.000h-640.0z"}


def test_curves_go_from_left_to_right_and_up_to_the_largest_value() -> None:
    (rising, flat), largest = curves([("a", [0, 50, 100]), ("b", [0, 0, 0])])
    assert (rising.points, largest) == (((0.0, 200.0), (320.0, 100.0), (640.0, 0.0)), 100)
    assert flat.points[-1] == (640.0, 200.0)


def test_every_reason_of_a_missing_record_has_a_colour_that_the_legend_explains() -> None:
    removed = {reason.label: 5 for reason in Reason}
    log = VerifiedLog("t", 1, 90, 40, removed, 0, 18, cleaned_end_is_given=False)
    text = render_verification(VerifyOutcome("compaction", ("a",), "b", 5, (), (), (), (log,)), Keys())
    legend, bars = text.split("<figure>", 1)
    kinds = set(re.findall(r'<rect class="(\w+)"', bars))
    assert "superseded" in kinds
    assert [kind for kind in kinds if f'<i class="{kind}">' not in legend] == []


def test_hashed_keys_leave_no_key_behind() -> None:
    finding = VerifyFinding("missing-key", Severity.FINDING, "t", 1, 17, b"person-7", "x", "y")
    tally = Tally("missing-key", Severity.FINDING, 1)
    outcome = VerifyOutcome("state", ("a",), "b", 5, ("missing-key",), (tally,), (finding,))
    changed = replace(outcome, findings=(replace(finding, found_key=(b"person-8",)),))
    text = render_verification(changed, Keys(hashed=True))
    assert "person" not in text
