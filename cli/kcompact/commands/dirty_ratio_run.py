"""The run of ``kcompact dirty-ratio``: read, scan once, look at it under every setting, report."""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from kcompact.broker.state.state_places import open_state
from kcompact.commands.command import Command
from kcompact.commands.incoming.opening import Workplaces, refuse_dump_in_committed
from kcompact.commands.incoming.state_files import state_in_use
from kcompact.commands.outgoing.report_file import ReportForms, open_report, show_report, tell_github
from kcompact.compact.context.beside import Beside
from kcompact.console import finding, note
from kcompact.dirtiness.dirtiness import ScannedLog
from kcompact.dirtiness.dirty_dump import TopicSettings, scan_dump
from kcompact.dumps.dump import Dump
from kcompact.errors import ExitCode
from kcompact.options.log_options import LogOptions
from kcompact.options.output_options import DirtyRatioOutputOptions
from kcompact.options.policy_options import Policies, PolicyOptions, policies_for
from kcompact.options.what_if import WhatIfOptions, split_lists
from kcompact.report.dirty_ratio.dirty_ratio_broker_log import render_broker_log
from kcompact.report.dirty_ratio.dirty_ratio_html import render_html
from kcompact.report.dirty_ratio.dirty_ratio_report import (
    DirtyRatioReport,
    ci_report,
    in_cleaner_order,
    remarks,
    render_json,
    report_log,
)
from kcompact.report.dirty_ratio.dirty_ratio_tables import print_text, render_markdown
from kcompact.rules.policy import Policy
from kcompact.storage.scratch import scratch_folder

_FORMS = ReportForms(
    print_text,
    {
        "json": render_json,
        "markdown": render_markdown,
        "html": render_html,
        "broker-log": render_broker_log,
    },
)

WhatIfPolicies = list[tuple[WhatIfOptions, Policies]]


@dataclass(frozen=True)
class DirtyRatioCommand(Command):
    """``dirty-ratio`` with its options."""

    output: DirtyRatioOutputOptions
    policy: PolicyOptions
    log_options: LogOptions

    def attempt(self) -> int:
        """As ``Command.attempt``."""
        started = time.monotonic()
        base = Policy(now_ms=self.log_options.now_ms())
        plain, rows = split_lists(self.policy)
        what_if = [(row, policies_for(row.options, base)) for row in rows]
        policies = policies_for(plain, base)
        with ExitStack() as stack:
            others = [
                *self.log_options.files,
                self.log_options.local_state,
                *self.policy.files,
            ]
            file = stack.enter_context(open_report(self.output, self.dumps, others))
            logs, dump, notes = self._scan(stack, policies, what_if)
            report = self._report(dump, policies, what_if, logs, notes)
            report.run = {"seconds": round(time.monotonic() - started, 3), "now_ms": base.now_ms}
            for text in report.notes:
                note(text)
            ci = ci_report(report, self.output.fail_above)
            show_report(report, _FORMS, self.output, file, ci)
            tell_github(ci, self.output, file)
        return self._exit_code(report)

    def _scan(
        self, stack: ExitStack, policies: Policies, what_if: WhatIfPolicies
    ) -> tuple[list[ScannedLog], Dump, list[str]]:
        """The scanned logs, the dump, which stays open as long as ``stack``, and notes on it."""
        place = self.log_options.state_place
        state = stack.enter_context(open_state(place, writes=False, must_exist=True)) if place else None
        context = self.log_options.context()
        places = Workplaces(stack, self.run.session_options())
        dump = stack.enter_context(places.open(self.dumps, self.log_options.beside(self.read_options())))
        in_use = state_in_use(state, dump, places)
        beside = in_use.beside if in_use else None
        context = context.with_state(beside.state if beside else None)
        with ExitStack() as scanning:
            committed = None
            if self.log_options.read_committed:
                committed = scanning.enter_context(
                    places.open([self.log_options.read_committed], self.read_options())
                )
                refuse_dump_in_committed(dump, committed)
            folder = scanning.enter_context(scratch_folder())
            spark = scanning.enter_context(places.session(dump.data_bytes))
            known_beside = Beside(context, beside, committed)
            logs, notes = scan_dump(spark, dump, known_beside, _settings(policies, what_if), folder)
            if committed is not None:
                committed.check_unmoved()
        dump.check_unmoved()
        return logs, dump, notes

    def _report(
        self,
        dump: Dump,
        policies: Policies,
        what_if: WhatIfPolicies,
        logs: Sequence[ScannedLog],
        notes: list[str],
    ) -> DirtyRatioReport:
        policies.for_topics(log.log.topic for log in logs)  # adds notes on config files of other topics
        reports = [report_log(log) for log in logs]
        all_notes = [
            *dump.notes,
            *policies.notes,
            *self._retention_notes(),
            *(text for _, row_policies in what_if for text in row_policies.notes),
            *notes,
            *(text for log in reports for text in remarks(log)),
            *self.notes_on_left_out(),
        ]
        return DirtyRatioReport(
            logs=in_cleaner_order(reports),
            inputs=[file.path for file in dump.files],
            notes=list(dict.fromkeys(all_notes)),
        )

    def _retention_notes(self) -> list[str]:
        """A note on given options that change no figure, as retention comes after the round (R52)."""
        given = {"--retention-ms": self.policy.retention_ms, "--retention-bytes": self.policy.retention_bytes}
        names = ", ".join(name for name, text in given.items() if text is not None)
        question = "what cleaning brings; kcompact compact --dry-run shows what retention would delete"
        return [f"{names} not used: the figures show {question}"] if names else []

    def _exit_code(self, report: DirtyRatioReport) -> int:
        if self.output.fail_above is None:
            return ExitCode.OK
        above = report.above(self.output.fail_above)
        for log in above:
            why = "; no checkpoint is given, so it counts as never cleaned" if log.estimate else ""
            ratio = log.dirtiness.ratio.ratio
            text = f"{log.log}: dirty ratio {ratio:.4f} is above {self.output.fail_above:g}{why}"
            finding(text)
        return ExitCode.FINDING if above else ExitCode.OK


def _settings(policies: Policies, what_if: WhatIfPolicies) -> list[TopicSettings]:
    """The configured settings first, then those of each what-if row."""
    return [
        TopicSettings(policies.topic_policies()),
        *(TopicSettings(of_row.topic_policies(), row.rerolls, row.values) for row, of_row in what_if),
    ]
