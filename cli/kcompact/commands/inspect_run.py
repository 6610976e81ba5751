"""The run of ``kcompact inspect``: read once, ask everything, report, compare with what was expected."""

import time
from contextlib import ExitStack
from dataclasses import dataclass

from kcompact.broker.log_names import LogName
from kcompact.commands.command import Command
from kcompact.commands.incoming.opening import Workplaces
from kcompact.commands.outgoing.report_file import ReportForms, open_report, show_report, tell_github
from kcompact.console import note, stderr
from kcompact.dumps.options import ReadOptions
from kcompact.errors import ExitCode
from kcompact.inspect.expectations import Expectations, read_end_offsets
from kcompact.inspect.pipeline import inspect_dump
from kcompact.options.inspect_options import ExpectationOptions, InspectOutputOptions
from kcompact.printable import terminal
from kcompact.report.inspect.inspection_html import render_html
from kcompact.report.inspect.inspection_report import ci_report, print_text, render_json, render_markdown
from kcompact.storage.scratch import scratch_folder

_FORMS = ReportForms(print_text, {"json": render_json, "markdown": render_markdown, "html": render_html})


@dataclass(frozen=True)
class InspectCommand(Command):
    """``inspect`` with its options, in groups."""

    output: InspectOutputOptions
    expectations: ExpectationOptions

    def attempt(self) -> int:
        """As ``Command.attempt``."""
        started = time.monotonic()
        options = self.read_options()
        expected = self._expected(options)
        with ExitStack() as stack:
            file = stack.enter_context(open_report(self.output, self.dumps, self.expectations.files))
            places = Workplaces(stack, self.run.session_options())
            dump = stack.enter_context(places.open(self.dumps, options))
            with scratch_folder() as folder, places.session(dump.data_bytes) as spark:
                inspection = inspect_dump(spark, dump, folder, expected)
            dump.check_unmoved()
            inspection.notes += self.notes_on_left_out()
            inspection.run = {"seconds": round(time.monotonic() - started, 3)}
            for text in inspection.notes:
                note(text)
            ci = ci_report(inspection, self.expectations.fail_on.level)
            show_report(inspection, _FORMS, self.output, file, ci)
            if file is not None:
                verdict = terminal(inspection.verdict)
                stderr.print(f"{verdict}\nwrote {terminal(str(file.path))}", markup=False)
        tell_github(ci, self.output, file)
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


def _is_wanted(log: LogName, options: ReadOptions) -> bool:
    """Whether the filters let a log be read; the ends of other logs are not checked."""
    of_topic = not options.topics or log.topic in options.topics
    return of_topic and (not options.partitions or any(log.partition in span for span in options.partitions))
