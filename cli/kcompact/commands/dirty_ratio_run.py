"""The run of ``kcompact dirty-ratio``: read, scan once, look at it under every setting, report."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass

from rich.console import Console

from kcompact.broker.log_context import DumpContext
from kcompact.broker.state.cleaner_state import StatePlace
from kcompact.broker.state.state_of_dump import StateOfDump
from kcompact.broker.state.state_places import open_state
from kcompact.commands.command import Command
from kcompact.commands.incoming.opening import Workplaces
from kcompact.commands.incoming.state_files import state_in_use
from kcompact.commands.outgoing.report_file import ReportFile, open_report, show_report
from kcompact.commands.outgoing.telling_ci import CI_RENDERINGS, tell_github
from kcompact.compact.context.beside import Beside
from kcompact.console import note, say
from kcompact.dirtiness.dirtiness import ScannedLog, Setting
from kcompact.dirtiness.dirty_dump import ScanRequest, scan_dump
from kcompact.dumps.dump import Dump
from kcompact.errors import ExitCode
from kcompact.options.log_options import (
    LogOptions,
    context_files,
    local_state,
    now_ms,
    read_context,
    state_place,
)
from kcompact.options.output_options import DirtyRatioFormat, DirtyRatioOutputOptions
from kcompact.options.policy_options import Policies, PolicyOptions, config_files, policies_for
from kcompact.options.what_if import WhatIfOptions, split_lists
from kcompact.report.dirty_ratio.dirty_ratio_broker_log import render_broker_log
from kcompact.report.dirty_ratio.dirty_ratio_ci import ci_report
from kcompact.report.dirty_ratio.dirty_ratio_html import render_html
from kcompact.report.dirty_ratio.dirty_ratio_json import render_json
from kcompact.report.dirty_ratio.dirty_ratio_markdown import render_markdown
from kcompact.report.dirty_ratio.dirty_ratio_report import (
    DirtyRatioReport,
    in_cleaner_order,
    remarks,
    report_log,
)
from kcompact.report.dirty_ratio.dirty_ratio_text import print_text
from kcompact.rules.policy import Policy
from kcompact.storage.scratch import scratch_folder

_RENDERINGS: Mapping[DirtyRatioFormat, Callable[[DirtyRatioReport], str]] = {
    DirtyRatioFormat.JSON: lambda report: render_json(report).decode(),
    DirtyRatioFormat.MARKDOWN: render_markdown,
    DirtyRatioFormat.HTML: render_html,
    DirtyRatioFormat.BROKER_LOG: render_broker_log,
}


@dataclass(frozen=True)
class _Settings:
    """All settings to look at, parsed and checked before anything is started."""

    policies: Policies
    what_if: list[tuple[WhatIfOptions, Policies]]

    def settings_of(self, topic: str) -> list[Setting]:
        """The configured setting of a topic first, then one per what-if row."""
        rows = [Setting(policies.for_topic(topic), row.rerolls) for row, policies in self.what_if]
        return [Setting(self.policies.for_topic(topic)), *rows]


@dataclass(frozen=True)
class DirtyRatioCommand(Command):
    """``dirty-ratio`` with its options."""

    output: DirtyRatioOutputOptions
    policy: PolicyOptions
    log_options: LogOptions

    def attempt(self) -> int:
        """Once, without what is to be left out."""
        started = time.monotonic()
        settings = self._settings()
        with ExitStack() as stack:
            file = stack.enter_context(self._open_report())
            state = self._state(stack)
            context = read_context(self.log_options)
            places = Workplaces(stack, self.run.session_options())
            dump = stack.enter_context(places.open(self.dumps, self.read_options()))
            in_use = state_in_use(state, dump, places)
            beside = in_use.beside if in_use else None
            context = context.with_state(beside.state if beside else None)
            logs, notes = self._scan(places, dump, settings, context, beside)
            dump.check_unmoved()
            report = self._report(dump, settings, logs, notes)
            report.run = {
                "seconds": round(time.monotonic() - started, 3),
                "now_ms": settings.policies.base.now_ms,
            }
            self._show(report, file)
            in_stdout = self.output.report_format is DirtyRatioFormat.GITHUB and file is None
            tell_github(
                ci_report(report, self.output.fail_above), self.output.annotations, in_stdout=in_stdout
            )
        return self._exit_code(report)

    def _open_report(self) -> AbstractContextManager[ReportFile | None]:
        others = [*context_files(self.log_options), local_state(self.log_options), *config_files(self.policy)]
        return open_report(self.output, self.dumps, others)

    def _settings(self) -> _Settings:
        base = Policy(now_ms=now_ms(self.log_options))
        plain, rows = split_lists(self.policy)
        what_if = [(row, policies_for(row.options, base)) for row in rows]
        return _Settings(policies_for(plain, base), what_if)

    def _state(self, stack: ExitStack) -> StatePlace | None:
        place = state_place(self.log_options)
        if place is None:
            return None
        return stack.enter_context(open_state(place, writes=False, must_exist=True))

    def _scan(
        self,
        places: Workplaces,
        dump: Dump,
        settings: _Settings,
        context: DumpContext,
        state: StateOfDump | None,
    ) -> tuple[list[ScannedLog], list[str]]:
        with ExitStack() as stack:
            committed = None
            if self.log_options.read_committed:
                committed = stack.enter_context(
                    places.open([self.log_options.read_committed], self.read_options())
                )
            folder = stack.enter_context(scratch_folder())
            spark = stack.enter_context(places.session(dump.data_bytes))
            request = ScanRequest(Beside(context, state, committed), settings.settings_of, folder)
            logs_and_notes = scan_dump(spark, dump, request)
            if committed is not None:
                committed.check_unmoved()
            return logs_and_notes

    def _report(
        self, dump: Dump, settings: _Settings, logs: Sequence[ScannedLog], notes: list[str]
    ) -> DirtyRatioReport:
        settings.policies.for_topics(log.log.topic for log in logs)  # notes files about other topics
        values = [row.values for row, _ in settings.what_if]
        small = [note for _, policies in settings.what_if for note in policies.notes]
        reports = [report_log(log, values) for log in logs]
        odd = [text for log in reports for text in remarks(log)]
        return DirtyRatioReport(
            logs=in_cleaner_order(reports),
            inputs=[file.path for file in dump.files],
            notes=list(
                dict.fromkeys(
                    [*dump.notes, *settings.policies.notes, *small, *notes, *odd, *self.notes_on_left_out()]
                )
            ),
        )

    def _show(self, report: DirtyRatioReport, file: ReportFile | None) -> None:
        for text in report.notes:
            note(text)
        show_report(file, lambda console: self._render(report, console))

    def _render(self, report: DirtyRatioReport, console: Console) -> None:
        if self.output.report_format is DirtyRatioFormat.TEXT:
            print_text(report, console)
            return
        of_ci = CI_RENDERINGS.get(self.output.report_format)
        if of_ci:
            console.file.write(of_ci(ci_report(report, self.output.fail_above)))
        else:
            console.file.write(_RENDERINGS[self.output.report_format](report))

    def _exit_code(self, report: DirtyRatioReport) -> int:
        if self.output.fail_above is None:
            return ExitCode.OK
        above = report.above(self.output.fail_above)
        for log in above:
            why = "; no checkpoint is given, so it counts as never cleaned" if log.estimate else ""
            ratio = log.dirtiness.ratio.ratio
            text = f"{log.log}: dirty ratio {ratio:.4f} is above {self.output.fail_above:g}{why}"
            say("finding", text)
        return ExitCode.FINDING if above else ExitCode.OK
