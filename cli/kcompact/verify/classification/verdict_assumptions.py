"""Assumptions that a verdict makes beside the dumps: stated, so that nobody has to guess them."""

from collections.abc import Iterator, Mapping, Sequence

from kcompact.counted import counted
from kcompact.verify.check import Severity
from kcompact.verify.checks import NEED_EVIDENCE
from kcompact.verify.classification.classified_rows import Reason
from kcompact.verify.outcome import Tally, VerifiedLog
from kcompact.verify.question import Question
from kcompact.verify.rows.key_rows import CONTENT


def assumptions(
    question: Question, logs: Mapping[int, VerifiedLog], tallies: Sequence[Tally], repeated_before: int
) -> tuple[str, ...]:
    """One sentence per assumption; ``logs`` are by log id."""
    texts = []
    if any(log.removed and not log.cleaned_end_is_given for log in logs.values()):
        texts.append("each log was cleaned up to the smallest offset that explains what is gone from it")
    texts += _checkpoints(question, logs)
    for reason, noun, words in _WENT:
        if count := sum(log.removed.get(reason.label, 0) for log in logs.values()):
            texts.append(f"{counted(count, noun)} {words}")
    if repeated_before:
        records = counted(repeated_before, "record")
        texts.append(f"{records} of BEFORE repeated with the same content: counted once")
    missing = [word for name, word in CONTENT.items() if name not in question.compared]
    if missing:
        texts.append(f"{' and '.join(missing)} not compared: one of the dumps does not have them")
    return (*texts, *_transactions(question, logs, tallies))


_WENT = (
    (Reason.TOMBSTONE_ASSUMED_EXPIRED, "tombstone", "expired: gone, and old enough for that"),
    (Reason.EXPIRED, "record", "went by retention: in front of the log, and allowed to go"),
    (Reason.BELOW_LOG_START, "record", "went with the log start"),
)


def _checkpoints(question: Question, logs: Mapping[int, VerifiedLog]) -> Iterator[str]:
    with_checkpoint = [
        log
        for log_id, log in logs.items()
        if log_id in question.bounds and question.bounds[log_id].checkpoint_offset is not None
    ]
    began = sum(not log.cleaned_end_is_given for log in with_checkpoint)
    ended = len(with_checkpoint) - began
    if began:
        yield f"the checkpoint says where the cleaning began ({counted(began, 'log')})"
    if ended:
        yield f"the checkpoint says where the cleaning ended ({counted(ended, 'log')})"


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
        of_logs = counted(count, "log")
        yield (
            f"no record was aborted: no offset is missing where a transaction ended ({of_logs});"
            " a marker behind the last record would not show: --log-end-offset or --batches tells it"
        )
