"""A report of another dump is kept: no hint proposes to replace it."""

import json
import os
from pathlib import Path

import pytest

from kcompact.dumps.output.outputs import OutputChoice, name_outputs
from kcompact.errors import OutputError


def report_of(report: Path, *outputs: object) -> None:
    report.mkdir()
    (report / "report.json").write_text(json.dumps({"outputs": [*map(str, outputs), str(report)]}))


def refusal(folder: Path, output: Path, report: Path | None = None) -> OutputError:
    (folder / "in.jsonl").touch()
    dump = str(folder / "in.jsonl")
    names = name_outputs([dump], [dump], OutputChoice(str(output), str(report) if report else None))
    with pytest.raises(OutputError) as caught:
        names.check_replaceable(overwrite=False)
    return caught.value


@pytest.mark.parametrize("is_there", [False, True])
def test_the_report_of_another_dump_is_not_to_be_overwritten(tmp_path: Path, is_there: bool) -> None:
    (tmp_path / "o.jsonl").touch()
    report_of(tmp_path / "o.report", tmp_path / "o.jsonl")
    if is_there:  # or else replacing it would replace the report, too
        (tmp_path / "o.avro").touch()
        report_of(tmp_path / "o.avro.report", tmp_path / "o.avro")
    error = refusal(tmp_path, tmp_path / "o.avro")
    assert f"o.report exists already, and is the report of {tmp_path}/o.jsonl" in error.message
    assert f"--report {tmp_path}/o.avro.report" in str(error.hint)
    assert "--overwrite" not in str(error.hint)


def test_a_place_that_is_taken_is_not_proposed(tmp_path: Path) -> None:
    (tmp_path / "o.jsonl").touch()
    report_of(tmp_path / "p.avro.report", tmp_path / "o.jsonl")
    error = refusal(tmp_path, tmp_path / "p.avro", tmp_path / "p.avro.report")
    assert error.hint == "choose another place with --report"


def test_a_dump_on_a_store_keeps_its_report(tmp_path: Path) -> None:
    report_of(tmp_path / "o.report", "s3://bucket/o/")
    error = refusal(tmp_path, tmp_path / "o.avro")
    assert "the report of s3://bucket/o/" in error.message


@pytest.mark.parametrize("owner", ["o.avro", "moved/o.avro", "gone.jsonl"])
def test_its_own_report_and_that_of_no_dump_are_replaced_as_before(tmp_path: Path, owner: str) -> None:
    report_of(tmp_path / "o.report", tmp_path / owner)
    error = refusal(tmp_path, tmp_path / "o.avro")
    assert "add --overwrite" in str(error.hint)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"outputs": []}', '{"outputs": [1]}', '{"outputs": 1}'])
def test_a_report_that_nobody_can_read_is_of_no_dump(tmp_path: Path, text: str) -> None:
    (tmp_path / "o.report").mkdir()
    (tmp_path / "o.report/report.json").write_text(text)
    assert "add --overwrite" in str(refusal(tmp_path, tmp_path / "o.avro").hint)


def test_a_pipe_in_place_of_a_report_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "o.report").mkdir()
    os.mkfifo(tmp_path / "o.report" / "report.json")
    assert "o.report exists already" in refusal(tmp_path, tmp_path / "o.jsonl").message
