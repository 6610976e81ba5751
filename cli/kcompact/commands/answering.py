"""Where the answer of ``verify`` goes: standard output or a file, and GitHub if it is listening."""

import os
import sys
from pathlib import Path

from kcompact.commands.report_file import ReportFile
from kcompact.console import stderr, stdout
from kcompact.options.verifying import AnswerOptions, VerifyFormat
from kcompact.report.inert import terminal
from kcompact.report.verify_github import render_annotations, render_summary
from kcompact.report.verify_html import render_html
from kcompact.report.verify_json import render_json
from kcompact.report.verify_junit import render_junit
from kcompact.report.verify_text import render_text
from kcompact.report.verify_words import Keys, answer
from kcompact.storage import disk
from kcompact.verify.outcome import Outcome

RENDERINGS = {
    VerifyFormat.TEXT: render_text,
    VerifyFormat.JSON: render_json,
    VerifyFormat.HTML: render_html,
    VerifyFormat.JUNIT: render_junit,
    VerifyFormat.GITHUB: render_annotations,
}


def give_answer(outcome: Outcome, options: AnswerOptions, keys: Keys, file: ReportFile | None) -> None:
    """Show the outcome as asked for. Raises OutputError."""
    text = RENDERINGS[options.answer_format](outcome, keys)
    if file is None:
        if not (stdout.quiet and options.answer_format is VerifyFormat.TEXT):
            sys.stdout.write(text)
            sys.stdout.flush()
    else:
        file.write(text)
        stderr.print(terminal(f"{answer(outcome)}; written to {options.output}"), markup=False)
    is_listening = os.environ.get("GITHUB_ACTIONS") == "true"
    if is_listening if options.annotations is None else options.annotations:
        _tell_github(outcome, options, keys)


def _tell_github(outcome: Outcome, options: AnswerOptions, keys: Keys) -> None:
    """Annotations go to stderr where stdout carries another format; GitHub reads both."""
    if options.answer_format is not VerifyFormat.GITHUB or options.output is not None:
        sys.stderr.write(render_annotations(outcome, keys))
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        with disk.explained(summary), Path(summary).open("a", encoding="utf-8") as file:
            file.write(render_summary(outcome, keys))
