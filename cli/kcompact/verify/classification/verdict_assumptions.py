"""Assumptions that a verdict makes beside the dumps: stated, so that nobody has to guess them."""

from collections.abc import Iterator, Mapping, Sequence

from kcompact.verify.check import Severity
from kcompact.verify.check_registry import NEED_EVIDENCE
from kcompact.verify.classification.classified_rows import ASSUMED_EXPIRED, BELOW_LOG_START, EXPIRED
from kcompact.verify.outcome import Tally, VerifiedLog
from kcompact.verify.question import Question
from kcompact.verify.rows.key_rows import CONTENT


def assumptions(
    question: Question, logs: Mapping[int, VerifiedLog], tallies: Sequence[Tally], repeated_before: int
) -> tuple[str, ...]:
    """One sentence per assumption."""
    transactions = _transactions(question, logs, tallies)
    return (*_sentences(question, logs, repeated_before), *transactions)


def _sentences(
    question: Question, by_log_id: Mapping[int, VerifiedLog], repeated_before: int
) -> Iterator[str]:
    logs = list(by_log_id.values())
    if any(log.removed and not log.cleaned_end_is_given for log in logs):
        yield "each log was cleaned up to the smallest offset that explains what is gone from it"
    yield from _checkpoints(question, by_log_id)
    removed = {
        reason: sum(log.removed.get(reason, 0) for log in logs)
        for reason in (ASSUMED_EXPIRED, EXPIRED, BELOW_LOG_START)
    }
    if removed[ASSUMED_EXPIRED]:
        yield f"{_many(removed[ASSUMED_EXPIRED], 'tombstone')} expired: gone, and old enough for that"
    if removed[EXPIRED]:
        yield f"{_many(removed[EXPIRED], 'record')} went by retention: in front of the log, and allowed to go"
    if removed[BELOW_LOG_START]:
        yield f"{_many(removed[BELOW_LOG_START], 'record')} went with the log start"
    if repeated_before:
        yield f"{_many(repeated_before, 'record')} of BEFORE repeated with the same content: counted once"
    missing = [word for name, word in CONTENT.items() if name not in question.compared]
    if missing:
        yield f"{' and '.join(missing)} not compared: one of the dumps does not have them"


def _checkpoints(question: Question, logs: Mapping[int, VerifiedLog]) -> Iterator[str]:
    with_checkpoint = [
        log
        for log_id, log in logs.items()
        if log_id in question.bounds and question.bounds[log_id].checkpoint_offset is not None
    ]
    began = sum(not log.cleaned_end_is_given for log in with_checkpoint)
    ended = len(with_checkpoint) - began
    if began:
        yield f"the checkpoint says where the cleaning began ({_many(began, 'log')})"
    if ended:
        yield f"the checkpoint says where the cleaning ended ({_many(ended, 'log')})"


def _transactions(
    question: Question, logs: Mapping[int, VerifiedLog], tallies: Sequence[Tally]
) -> Iterator[str]:
    """Of logs with a finding: what was taken for certain because BEFORE shows no transaction."""
    log_names = {
        (tally.topic, tally.partition)
        for tally in tallies
        if tally.severity is Severity.FINDING and tally.check in NEED_EVIDENCE
    }
    count = sum(
        (log.topic, log.partition) in log_names
        for log_id, log in logs.items()
        if log_id in question.bounds and question.bounds[log_id].assumes_no_transactions
    )
    if count:
        yield (
            f"no record was aborted: no offset is missing where a transaction ended ({_many(count, 'log')});"
            " a marker behind the last record would not show: --log-end-offset or --batches tells it"
        )


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
