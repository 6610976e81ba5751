"""Where the answer of ``verify`` goes: standard output or a file, and GitHub if it is listening."""

import sys
from collections.abc import Callable

from kcompact.commands.outgoing.report_file import ReportFile
from kcompact.commands.outgoing.telling_ci import CI_RENDERINGS, tell_github
from kcompact.console import stderr, stdout
from kcompact.options.verify_options import AnswerOptions, VerifyFormat
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
}


def give_answer(outcome: Outcome, options: AnswerOptions, keys: Keys, file: ReportFile | None) -> None:
    """Show the outcome as asked for. Raises OutputError."""
    ci = ci_report(outcome, keys)
    of_ci = CI_RENDERINGS.get(options.answer_format)
    text = of_ci(ci) if of_ci else RENDERINGS[options.answer_format](outcome, keys)
    if file is None:
        if not (stdout.quiet and options.answer_format is VerifyFormat.TEXT):
            sys.stdout.write(text)
            sys.stdout.flush()
    else:
        file.write(text)
        stderr.print(terminal(f"{answer(outcome)}; written to {options.output}"), markup=False)
    in_stdout = options.answer_format is VerifyFormat.GITHUB and file is None
    tell_github(ci, options.annotations, in_stdout=in_stdout)
