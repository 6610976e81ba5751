"""The run of ``kcompact verify``: read the dumps, ask, answer."""

from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial

from kcompact.broker.state.cleaner_state import CleanerState
from kcompact.broker.state.state_places import read_states
from kcompact.commands.command import Command
from kcompact.commands.incoming.opening import Workplaces, refuse_dump_in_committed
from kcompact.commands.incoming.verify_inputs import (
    Inputs,
    asked_keys,
    compared,
    open_after,
    read_keys,
    refuse_after_in_before,
    refuse_unmatched_by_any,
    sha256_of_dumps,
    state_beside_pair,
)
from kcompact.commands.outgoing.report_file import (
    ReportFile,
    ReportForms,
    open_report,
    show_report,
    tell_github,
)
from kcompact.console import note, stderr
from kcompact.dumps.options import Aborts
from kcompact.engine.shuffle import send
from kcompact.errors import ExitCode, PolicyError
from kcompact.options.log_options import LogOptions
from kcompact.options.policy_options import Policies, PolicyOptions, policies_for
from kcompact.options.verify_options import AnswerOptions, VerifyMode, VerifyOptions
from kcompact.printable import terminal
from kcompact.report.verify.verify_html import render_html
from kcompact.report.verify.verify_report import ci_report, print_text, render_json, render_markdown
from kcompact.report.verify.verify_words import Keys, answer
from kcompact.rules.policy import Policy, require_retention
from kcompact.storage.scratch import scratch_folder
from kcompact.verify.absent_keys import AbsentQuestion, verify_absent
from kcompact.verify.classification.bounds import Bounds
from kcompact.verify.classification.verify_context import (
    VerifyContext,
    bounds_of_pair,
    replaces_everywhere,
    with_knowledge,
    with_transactions,
)
from kcompact.verify.compacted import verify_compacted
from kcompact.verify.outcome import VerifyOutcome
from kcompact.verify.pipeline import verify_compaction, without_doubt
from kcompact.verify.question import Question
from kcompact.verify.rows.disorder import Disorder
from kcompact.verify.rows.indexed import NOTHING, named_alike, read_dumps, require_offsets
from kcompact.verify.rows.keyed_rows import AFTER, BEFORE, COMMITTED
from kcompact.verify.rows.unaffected_keys import rules_alone, rules_of
from kcompact.verify.same_state import StateQuestion, verify_state

States = tuple[CleanerState, ...]


@dataclass(frozen=True)
class VerifyCommand(Command):
    """``verify`` with its options, in groups."""

    verification: VerifyOptions
    answer: AnswerOptions
    log_options: LogOptions
    policy: PolicyOptions

    if_nothing_else = ExitCode.FAILED

    def attempt(self) -> int:
        """As ``Command.attempt``."""
        self._check_grammar()
        for text in self.verification.notes_on_unused(self.log_options, self.policy):
            note(text)
        null_keys, now_ms = self.verification.null_keys.value, self.log_options.now_ms()
        base = Policy(drop_tombstones=self.verification.drop_tombstones, null_keys=null_keys, now_ms=now_ms)
        policies = policies_for(self.policy, base)
        with ExitStack() as stack:
            others = [*self.log_options.files, self.log_options.local_state, *self.policy.files]
            others.append(self.verification.absent_keys)
            file = stack.enter_context(open_report(self.answer, self.dumps, others))
            place = self.log_options.state_place
            states = () if place is None else read_states(place)
            inputs = self._read(stack, folds=self._folds(policies))
            for text in dict.fromkeys([*inputs.reference.notes, *inputs.after.notes]):
                note(text)
            outcome = without_doubt(self._ask(inputs, policies, states), inputs.reference, inputs.after)
            notes = self.notes_on_left_out(quotes=not self.verification.hash_keys)
            notes += [] if self.verification.asks_for_compaction else self.notes_on_filters()
            outcome = replace(outcome, assumed=(*outcome.assumed, *notes)).without(self.left_out)
            for dump in filter(None, inputs.dumps):
                dump.check_unmoved()
            for text in dict.fromkeys(policies.notes):  # there twice if for topics of both dumps
                note(text)
            self._show(outcome, file)
        if outcome.is_undecided:
            return ExitCode.FAILED
        return ExitCode.OK if outcome.holds else ExitCode.FINDING

    def _show(self, outcome: VerifyOutcome, file: ReportFile | None) -> None:
        keys = Keys(self.verification.hash_keys)
        forms = ReportForms(
            partial(print_text, keys=keys),
            {
                "json": partial(render_json, keys=keys),
                "markdown": partial(render_markdown, keys=keys),
                "html": partial(render_html, keys=keys),
            },
        )
        ci = ci_report(outcome, keys)
        show_report(outcome, forms, self.answer, file, ci)
        if file is not None:
            stderr.print(terminal(f"{answer(outcome)}; written to {self.answer.output}"), markup=False)
        tell_github(ci, self.answer, file)

    def _check_grammar(self) -> None:
        if self.verification.mode is VerifyMode.STATE and len(self.dumps) != 2:  # noqa: PLR2004  A and B
            raise PolicyError(
                f"--mode state compares two dumps, not {len(self.dumps)}",
                hint="a folder or a quoted glob counts as one: kcompact verify --mode state A/ B/",
            )
        if self.verification.ignore_partitions and self.verification.mode is not VerifyMode.STATE:
            raise PolicyError("--ignore-partitions belongs to --mode state", hint="add --mode state")

    def _folds(self, policies: Policies) -> bool:
        """Whether no option requires a row of every record, so that dumps may be read folded."""
        return (
            self.verification.asks_for_compaction
            and len(self.dumps) > 1
            and replace(self.log_options, now=None) == LogOptions()
            and all(map(replaces_everywhere, policies.topic_policies().all_policies))
        )

    def _read(self, stack: ExitStack, *, folds: bool) -> Inputs:
        """Open and index all dumps; they and the session live as long as ``stack``.

        ``folds`` as in ``read_dumps``.
        """
        options = self.log_options.beside(self.read_options())
        if not self.verification.asks_for_compaction:
            options = replace(options, aborts=Aborts.COUNTED)
        places = Workplaces(stack, self.run.session_options())
        after = open_after(places, self.dumps[-1], options)
        before = places.open(self.dumps[:-1], options) if self.dumps[:-1] else None
        committed_path = self.log_options.read_committed
        committed = places.open([committed_path], options) if committed_path else None
        dumps = [dump for dump in (before, after, committed) if dump]
        for dump in dumps:
            stack.enter_context(dump)
        if before and after and not self.verification.absent_keys:
            refuse_after_in_before(before, after)
        if before and committed:
            refuse_dump_in_committed(before, committed)
        if self.verification.asks_for_compaction and before:
            require_offsets(before, "BEFORE")
            require_offsets(after, "AFTER")
        spark = stack.enter_context(places.session(sum(dump.data_bytes for dump in dumps)))
        folder = stack.enter_context(scratch_folder())
        rows, indexed = read_dumps(
            partial(send, spark), {BEFORE: before, AFTER: after, COMMITTED: committed}, folder, folds=folds
        )
        if committed is not None:
            committed.check_unmoved()
        read_before, read_after = indexed.get(BEFORE), indexed.get(AFTER, NOTHING)
        refuse_unmatched_by_any(options, [read_before, read_after])
        if read_before is not None and self.verification.mode is VerifyMode.COMPACTION:
            read_after = named_alike(read_before, read_after)
            rows = rows.renaming(read_after.renamed)
        return Inputs(rows, read_before, read_after, indexed.get(COMMITTED), (before, after), places)

    def _ask(self, inputs: Inputs, policies: Policies, states: States) -> VerifyOutcome:
        if self.verification.absent_keys:
            return self._ask_absent(inputs, self.verification.absent_keys)
        if self.verification.mode is VerifyMode.STATE:
            return compared(inputs, self._ask_state)
        context = self._verify_context(inputs, policies, states)
        return compared(inputs, partial(self._ask_compaction, policies, context))

    def _ask_absent(self, inputs: Inputs, keys_file: str) -> VerifyOutcome:
        keys, keys_digest = read_keys(keys_file)
        question = AbsentQuestion(
            asked_keys(keys, self.read_options(), inputs.dumps),
            inputs.logs,
            tuple(self.dumps[:-1]),
            self.dumps[-1],
            self.log_options.now_ms(),
            {**sha256_of_dumps(inputs.dumps, inputs.places), keys_file: keys_digest},
            inputs.rows.null_hash if self.read_options().cdc else None,
        )
        return verify_absent(inputs.rows.pairs(), question)

    def _ask_state(self, inputs: Inputs) -> VerifyOutcome:
        question = StateQuestion(
            inputs.reference.logs,
            inputs.after.logs,
            ((self.dumps[0],), self.dumps[1]),
            ignore_partitions=self.verification.ignore_partitions,
            now_ms=self.log_options.now_ms(),
            max_findings=self.answer.most_findings,
            values_are_doubted="value_hash" in inputs.reference.doubted_beside(inputs.after),
        )
        return verify_state(inputs.rows.pairs(), question)

    def _ask_compaction(self, policies: Policies, context: VerifyContext, inputs: Inputs) -> VerifyOutcome:
        question = self._question(inputs, policies, context)
        lookups, earlier = context.lookups_under(question.bounds), inputs.earlier
        if inputs.before is None:
            rules = rules_alone(question, lookups)
            return inputs.rows.pairs().once_in_order(
                question, earlier, lambda pairs, disorder: verify_compacted(pairs, question, rules, disorder)
            )
        rules = rules_of(question, lookups)
        if inputs.rows.is_folded and earlier is None:
            keyless = inputs.before.keyless + inputs.after.keyless > 0
            pairs, unaffected = inputs.rows.unaffected(rules, keyless=keyless)
            return verify_compaction(pairs, question, rules, Disorder(), unaffected)
        return inputs.rows.pairs().once_in_order(
            question, earlier, lambda pairs, disorder: verify_compaction(pairs, question, rules, disorder)
        )

    def _question(self, inputs: Inputs, policies: Policies, context: VerifyContext) -> Question:
        bounds, firsts, runs = context.unbounded, inputs.after.first_offsets, inputs.reference.runs
        if context.bounds_rounds:
            bounds = bounds_of_pair(inputs.rows.pairs(), inputs.reference.summaries, context, firsts)
        of_topic = policies.for_topics({topic for topic, _ in inputs.logs.values()})
        return Question(
            inputs.logs,
            tuple(self.dumps[:-1]),
            self.dumps[-1],
            {
                i: with_knowledge(
                    bounds.get(i, Bounds(of_topic[topic])), i, context, runs.get(i, ()), firsts.get(i)
                )
                for i, (topic, _) in inputs.logs.items()
            },
            inputs.reference.compared_with(inputs.after),
            inputs.reference.doubted_beside(inputs.after),
            (inputs.reference.lacking_beside(inputs.after), inputs.after.lacking_beside(inputs.reference)),
            null_hashes=inputs.rows.hashes_of(inputs.reference.nulls_beside(inputs.after)),
            now_ms=next((policy.now_ms for policy in of_topic.values()), 0),
            is_strict=self.verification.strict,
            max_findings=self.answer.most_findings,
        )

    def _verify_context(self, inputs: Inputs, policies: Policies, states: States) -> VerifyContext:
        names, state, is_end, own = inputs.reference.logs, None, None, frozenset[str]()
        if (place := self.log_options.state_place) is not None:
            state, is_end, own = state_beside_pair(place, states, *inputs.dumps, inputs.places)
        known = state.beside(inputs.reference.firsts_beside(own)) if state and is_end is False else state
        contexts = self.log_options.context().with_state(known).for_logs(names.values())
        of_topic = policies.for_topics({name.topic for name in names.values()})
        for topic, policy in of_topic.items():
            require_retention(topic, policy)
        by_log = {log_id: contexts[name] for log_id, name in names.items()}
        last_state = None if is_end else state
        by_log, notes = with_transactions(by_log, inputs.reference, inputs.committed, last_state)
        for text in notes:
            note(text)
        return VerifyContext(
            by_log,
            {log_id: of_topic[name.topic] for log_id, name in names.items()},
            is_end,
            {log_id: policies.config_names_for(name.topic) for log_id, name in names.items()},
            tells_checkpoints=self.log_options.checkpoint is not None or state is not None,
            transactions_given=inputs.committed is not None or self.log_options.aborted is not None,
        )
