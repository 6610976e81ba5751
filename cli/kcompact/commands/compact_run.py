"""The run of ``kcompact compact``: read, compact, prepare, publish, report."""

import time
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

from kcompact.broker.state.state_of_dump import StateOfDump
from kcompact.broker.state.state_places import StatePlace, open_state
from kcompact.commands.command import Command
from kcompact.commands.incoming.opening import Workplaces, files_named, refuse_dump_in_committed
from kcompact.commands.incoming.state_files import state_in_use
from kcompact.commands.outgoing.path_checks import check_paths
from kcompact.commands.outgoing.publishing import publish
from kcompact.commands.outgoing.report_file import ReportForms
from kcompact.commands.outgoing.stored_publishing import StoredPublication, open_stored
from kcompact.commands.outgoing.telling_ci import add_to_summary
from kcompact.compact.context.beside import Beside
from kcompact.compact.pipeline import compact_dump, form_for
from kcompact.compact.request import Compacted, Request
from kcompact.compact.totals import undated_notes
from kcompact.console import note, say, stderr, stdout
from kcompact.counted import counted
from kcompact.dumps.describing import describe, serial_notes
from kcompact.dumps.dump import Dump
from kcompact.dumps.output.assemble import joined, order_notes
from kcompact.dumps.output.outputs import OutputChoice, OutputNames, OutputPlan, name_outputs
from kcompact.dumps.output.stored_output import check_state_apart
from kcompact.dumps.output.workplace import Workplace
from kcompact.dumps.writers.converting import conversion_notes, copier_for
from kcompact.dumps.writers.targets import TARGETS, check_one_log, with_writers, workplace
from kcompact.errors import ExitCode, PolicyError
from kcompact.options.compact_options import CleaningOptions, parse_rounds
from kcompact.options.log_options import LogOptions
from kcompact.options.output_options import OutputOptions, ReportFormat
from kcompact.options.policy_options import (
    Policies,
    PolicyOptions,
    policies_for,
)
from kcompact.report.compact.compaction_broker_log import render_broker_log
from kcompact.report.compact.compaction_html import PAGE, render_html
from kcompact.report.compact.compaction_report import (
    CompactionReport,
    print_text,
    render_json,
    render_markdown,
    render_summary,
)
from kcompact.report.html_page import prepare_soon
from kcompact.rules.policy import Policy
from kcompact.storage.apart import WrittenPath
from kcompact.storage.object_stores import is_address
from kcompact.storage.publication import Publication, open_publication


@dataclass(frozen=True)
class CompactCommand(Command):
    """``compact`` with its options, in groups."""

    output: OutputOptions
    cleaning: CleaningOptions
    policy: PolicyOptions
    log_options: LogOptions

    def attempt(self) -> int:
        """As ``Command.attempt``."""
        started = time.monotonic()
        names = self._names()
        policies = policies_for(self.policy, self._base_policy())
        if self.policy.min_cleanable_dirty_ratio is not None and not self.cleaning.respect_dirty_ratio:
            policies.notes.append("--min-cleanable-dirty-ratio has no effect without --respect-dirty-ratio")
        with ExitStack() as stack:
            state = self._open_state(stack, names)
            publication = stack.enter_context(self._open_publication(names, state))
            stored = self._open_stored(stack, names)
            places = Workplaces(stack, self.run.session_options(writes=not self.output.dry_run))
            # The folder that workers write into, where they see it; None: they write to a store, or nothing.
            shared = None if self.output.dry_run or names.stored else publication.work_folder
            options = self.log_options.beside(self.read_options())
            dump = stack.enter_context(places.open(self.dumps, options, shared))
            outputs = with_writers(names.plan(dump.files, dump.numbers), self.output.to)
            dump.files = joined(outputs)
            in_use = state_in_use(state, dump, places)
            beside = self._beside(stack, places, dump, in_use.beside if in_use else None)
            request = self._request(policies, beside, publication.work_folder, outputs, places)
            compaction = self._compact(dump, request, places)
            check_one_log(outputs, [f"{log.topic}-{log.partition}" for log in compaction.outcome.logs])
            dump.check_unmoved()
            report = self._report(dump, outputs, policies, compaction)
            report.run = {"seconds": round(time.monotonic() - started, 3), "now_ms": policies.base.now_ms}
            if not self.output.dry_run:
                publish(outputs, report, compaction, publication=publication, stored=stored, state=in_use)
        try:
            self._show(report, outputs)
        except OSError as error:
            if not self.output.dry_run:
                error.add_note("all files are written, and the state, if any: only this output is lost")
            raise
        return ExitCode.OK

    def _open_stored(self, stack: ExitStack, names: OutputNames) -> StoredPublication | None:
        if names.stored is None or self.output.dry_run:
            return None
        return stack.enter_context(open_stored(names.stored, overwrite=self.output.overwrite))

    def _open_state(self, stack: ExitStack, names: OutputNames) -> StatePlace | None:
        place = self.log_options.state_place
        if place is None:
            return None
        if names.to_stdout:
            raise PolicyError(
                "--state belongs to a compacted dump in a file, and -o - writes none",
                hint="name a file with -o",
            )
        if names.stored and not is_address(place):
            raise PolicyError(
                f"--state {place}: a folder on a disk cannot be replaced together with a dump on a store",
                hint="keep the state there, too, such as --state s3://bucket/orders.state/",
            )
        return stack.enter_context(open_state(place, writes=not self.output.dry_run))

    def _open_publication(
        self, names: OutputNames, state: StatePlace | None
    ) -> AbstractContextManager[Publication]:
        if self.output.dry_run:
            return open_publication([])
        targets = [path for path in (names.result, names.report) if path is not None]
        check = partial(names.check_replaceable, overwrite=self.output.overwrite)
        return open_publication([*targets, *(state.files if state else [])], check)

    def _names(self) -> OutputNames:
        """The names of all outputs; it is checked that writing them destroys nothing. Raises OutputError."""
        to = self.output.to if self.output.to in TARGETS else None
        choice = OutputChoice(self.output.output, self.output.report, self.output.no_report, to)
        names = name_outputs(self.dumps, files_named(self.dumps, self.left_out), choice)
        # If only a part of the dump is read, its output must not take the place of the whole dump.
        replaces_input = self.output.overwrite and not self.reading.is_of_part
        targets = [
            names.result and WrittenPath(names.result, "-o", replaces_input=replaces_input),
            names.report and WrittenPath(names.report, "--report"),
            (folder := self.log_options.local_state) and WrittenPath(Path(folder), "--state"),
        ]
        check_state_apart(self.log_options.state_place, self.dumps, names.stored)
        others = [*self.log_options.files, *self.policy.files]
        check_paths(self.dumps, others, [path for path in targets if path], self.output.annotations)
        if not self.output.dry_run:
            names.check_replaceable(overwrite=self.output.overwrite)
        return names

    def _base_policy(self) -> Policy:
        return Policy(
            drop_tombstones=self.cleaning.drop_tombstones,
            null_keys=self.cleaning.null_keys.value,
            respect_dirty_ratio=self.cleaning.respect_dirty_ratio,
            rounds=parse_rounds(self.cleaning.rounds),
            now_ms=self.log_options.now_ms(),
        )

    def _beside(self, stack: ExitStack, places: Workplaces, dump: Dump, state: StateOfDump | None) -> Beside:
        """All that is known beside the dump; its read_committed dump stays open as long as ``stack``."""
        context = self.log_options.context().with_state(state.state if state else None)
        if not self.log_options.read_committed:
            return Beside(context, state)
        committed = stack.enter_context(places.open([self.log_options.read_committed], self.read_options()))
        refuse_dump_in_committed(dump, committed)
        return Beside(context, state, committed)

    def _request(
        self, policies: Policies, beside: Beside, folder: Path, outputs: OutputPlan, places: Workplaces
    ) -> Request:
        place, copier = Workplace(None), None
        if not self.output.dry_run:
            reports, is_afar, is_here = not self.output.no_report, not places.shares_folder, places.is_here
            place = workplace(outputs, folder, reports=reports, is_afar=is_afar, is_here=is_here)
            copier = copier_for(outputs)
        topic_policies = policies.topic_policies()
        return Request(
            topic_policies,
            beside,
            folder,
            place,
            copier,
            form_for(beside, topic_policies.all_policies),
            tells_sizes=self.output.report_format is ReportFormat.BROKER_LOG,
        )

    def _compact(self, dump: Dump, request: Request, places: Workplaces) -> Compacted:
        with places.session(dump.data_bytes) as spark:
            if not self.output.no_report:
                prepare_soon(PAGE)  # while Java and its workers have the work
            compaction = compact_dump(spark, dump, request)
        if request.beside.committed is not None:
            request.beside.committed.check_unmoved()
        return compaction

    def _report(
        self, dump: Dump, outputs: OutputPlan, policies: Policies, compaction: Compacted
    ) -> CompactionReport:
        converted = conversion_notes(outputs, compaction.notes_by_file())
        notes = [*dump.notes, *converted, *order_notes(outputs, compaction.overtaken)]
        serial = serial_notes(dump) if self.run.verbose else []
        of_topics = policies.for_topics(log.topic for log in compaction.outcome.logs)
        if not (self.log_options.segments or self.log_options.batches):  # these may have times of their own
            notes += undated_notes(compaction.outcome.logs, of_topics)
        warnings = self.notes_on_left_out()
        if compaction.shared_keys.count:
            warnings.append(_shared_warning(compaction.shared_keys.count))
        return CompactionReport(
            logs=compaction.outcome.logs,
            inputs=[file.path for file in dump.files],
            outputs=[*outputs.published(), *filter(None, [self.log_options.state_place])],
            policies={topic: _policy_values(policy) for topic, policy in of_topics.items()},
            recognised=describe(dump),
            notes=list(dict.fromkeys([*notes, *serial, *compaction.notes, *policies.notes])),
            warnings=warnings,
            shared_keys=compaction.shared_keys.count,
            shared_key_examples=compaction.shared_keys.examples,
            dry_run=self.output.dry_run,
        )

    def _show(self, report: CompactionReport, outputs: OutputPlan) -> None:
        for text in report.notes:
            note(text)
        for text in report.warnings:
            say("warning", text)
        forms = ReportForms(
            print_text,
            {
                "json": render_json,
                "markdown": render_markdown,
                "html": partial(render_html, folder=None if report.dry_run else outputs.report),
                "broker-log": render_broker_log,
            },
        )
        forms.show(report, self.output.report_format, stderr if outputs.to_stdout else stdout)
        add_to_summary(render_summary(report), self.output.annotations)


def _shared_warning(count: int) -> str:
    verb = "is" if count == 1 else "are"
    return (
        f"{counted(count, 'key')} {verb} in several partitions of a topic; each partition keeps its own"
        " latest record (kcompact inspect shows the likely cause)"
    )


def _policy_values(policy: Policy) -> dict[str, Any]:
    values = {field.name: getattr(policy, field.name) for field in fields(Policy)}
    del values["now_ms"]  # under "run"
    return {**values, "cleanup_policy": sorted(policy.cleanup_policy)}
