"""The run of ``kcompact inspect``: read once, ask everything, report, compare with what was expected."""

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass

from rich.console import Console

from kcompact.broker.log_names import LogName
from kcompact.commands.command import Command
from kcompact.commands.incoming.opening import Workplaces
from kcompact.commands.outgoing.report_file import ReportFile, open_report, show_report
from kcompact.commands.outgoing.telling_ci import CI_RENDERINGS, tell_github
from kcompact.console import note, stderr
from kcompact.dumps.options import ReadOptions
from kcompact.errors import ExitCode
from kcompact.inspect.expectations import Expectations, read_end_offsets
from kcompact.inspect.inspection import Inspection
from kcompact.inspect.pipeline import inspect_dump
from kcompact.options.inspect_options import ExpectationOptions, InspectFormat, InspectOutputOptions
from kcompact.printable import terminal
from kcompact.report.inspect.inspection_ci import ci_report
from kcompact.report.inspect.inspection_html import render_html
from kcompact.report.inspect.inspection_json import render_json
from kcompact.report.inspect.inspection_markdown import render_markdown
from kcompact.report.inspect.inspection_text import print_text
from kcompact.storage.scratch import scratch_folder

_RENDERINGS: Mapping[InspectFormat, Callable[[Inspection], str]] = {
    InspectFormat.JSON: lambda inspection: render_json(inspection).decode(),
    InspectFormat.MARKDOWN: render_markdown,
    InspectFormat.HTML: render_html,
}


@dataclass(frozen=True)
class InspectCommand(Command):
    """``inspect`` with its options, in groups."""

    output: InspectOutputOptions
    expectations: ExpectationOptions

    def attempt(self) -> int:
        """Once, without what is to be left out."""
        started = time.monotonic()
        options = self.read_options()
        expected = self._expected(options)
        others = [self.expectations.expect_end_offsets]
        with (
            ExitStack() as stack,
            open_report(self.output, self.dumps, others) as report,
            (places := Workplaces(stack, self.run.session_options())).open(self.dumps, options) as dump,
        ):
            with scratch_folder() as folder, places.session(dump.data_bytes) as spark:
                inspection = inspect_dump(spark, dump, folder, expected)
            dump.check_unmoved()
            inspection.notes += self.notes_on_left_out()
            inspection.run = {"seconds": round(time.monotonic() - started, 3)}
            self._show(inspection, report)
        ci = ci_report(inspection, self.expectations.fail_on.level)
        in_stdout = self.output.report_format is InspectFormat.GITHUB and report is None
        tell_github(ci, self.output.annotations, in_stdout=in_stdout)
        return ExitCode.OK if ci.holds else ExitCode.FINDING

    def _expected(self, options: ReadOptions) -> Expectations:
        expectations = self.expectations
        ends = read_end_offsets(expectations.expect_end_offsets) if expectations.expect_end_offsets else {}
        return Expectations(
            expectations.max_null_keys,
            expectations.max_cross_partition_keys,
            expectations.max_gaps,
            {log: end for log, end in ends.items() if _is_wanted(log, options)},
        )

    def _show(self, inspection: Inspection, report: ReportFile | None) -> None:
        for text in inspection.notes:
            note(text)
        show_report(report, lambda console: self._render(inspection, console))
        if report is not None:
            stderr.print(f"{terminal(inspection.verdict)}\nwrote {terminal(str(report.path))}", markup=False)

    def _render(self, inspection: Inspection, console: Console) -> None:
        if self.output.report_format is InspectFormat.TEXT:
            print_text(inspection, console)
            return
        of_ci = CI_RENDERINGS.get(self.output.report_format)
        if of_ci:
            console.file.write(of_ci(ci_report(inspection, self.expectations.fail_on.level)))
        else:
            console.file.write(_RENDERINGS[self.output.report_format](inspection))


def _is_wanted(log: LogName, options: ReadOptions) -> bool:
    """Whether the filters leave a log in: what is not read is not missed."""
    of_topic = not options.topics or log.topic in options.topics
    return of_topic and (not options.partitions or any(log.partition in span for span in options.partitions))
