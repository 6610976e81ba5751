"""Where the answer of ``verify`` goes: standard output or a file, and GitHub if it is listening."""

import sys
from collections.abc import Callable

from kcompact.commands.outgoing.report_file import ReportFile
from kcompact.commands.outgoing.telling_ci import tell_github
from kcompact.console import stderr, stdout
from kcompact.options.verify_options import AnswerOptions, VerifyFormat
from kcompact.report.ci.ci_github import render_annotations
from kcompact.report.ci.ci_gitlab import render_code_quality
from kcompact.report.ci.ci_junit import render_junit
from kcompact.report.inert import terminal
from kcompact.report.verify.verify_ci import ci_report
from kcompact.report.verify.verify_html import render_html
from kcompact.report.verify.verify_json import render_json
from kcompact.report.verify.verify_text import render_text
from kcompact.report.verify.verify_words import Keys, answer
from kcompact.verify.outcome import Outcome

RENDERINGS: dict[VerifyFormat, Callable[[Outcome, Keys], str]] = {
    VerifyFormat.TEXT: render_text,
    VerifyFormat.JSON: render_json,
    VerifyFormat.HTML: render_html,
    VerifyFormat.JUNIT: lambda outcome, keys: render_junit(ci_report(outcome, keys)),
    VerifyFormat.GITHUB: lambda outcome, keys: render_annotations(ci_report(outcome, keys)),
    VerifyFormat.CODE_QUALITY: lambda outcome, keys: render_code_quality(ci_report(outcome, keys)),
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
    in_stdout = options.answer_format is VerifyFormat.GITHUB and file is None
    tell_github(ci_report(outcome, keys), options.annotations, in_stdout=in_stdout)
