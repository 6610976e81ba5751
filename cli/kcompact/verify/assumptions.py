"""What a verdict rests on beside the dumps: said, so that nobody has to guess what was guessed."""

from collections.abc import Iterator, Sequence

from kcompact.verify.cleaned_end import LogFacts
from kcompact.verify.outcome import JudgedLog
from kcompact.verify.pair import CONTENT
from kcompact.verify.question import Question
from kcompact.verify.removal import ASSUMED_EXPIRED, BELOW_LOG_START, EXPIRED


def assumptions(question: Question, facts: Sequence[LogFacts], logs: Sequence[JudgedLog]) -> tuple[str, ...]:
    """One sentence per assumption. ``facts`` and ``logs`` are in the same order."""
    return tuple(_sentences(question, facts, logs))


def _sentences(question: Question, facts: Sequence[LogFacts], logs: Sequence[JudgedLog]) -> Iterator[str]:
    if any(log.removed and not log.cleaned_end_is_given for log in logs):
        yield "each log was cleaned up to the smallest offset that explains what is gone from it"
    yield from _checkpoints(facts, logs)
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
    repeated = sum(one.repeated_before for one in facts)
    if repeated:
        yield f"{_many(repeated, 'record')} of BEFORE repeated with the same content: counted once"
    missing = [word for name, word in CONTENT.items() if name not in question.compared]
    if missing:
        yield f"{' and '.join(missing)} not compared: one of the dumps does not have them"


def _checkpoints(facts: Sequence[LogFacts], logs: Sequence[JudgedLog]) -> Iterator[str]:
    with_checkpoint = [
        (one, log) for one, log in zip(facts, logs, strict=True) if one.checkpoint_offset is not None
    ]
    began = sum(not log.cleaned_end_is_given for _, log in with_checkpoint)
    ended = len(with_checkpoint) - began
    if began:
        yield f"the checkpoint says where the cleaning began ({_many(began, 'log')})"
    if ended:
        yield f"the checkpoint says where the cleaning ended ({_many(ended, 'log')})"


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
