"""The tables of a verification: which checks found how much, each log's figures, keys that were asked for."""

from kcompact.report.table import Foreign, Table, texts
from kcompact.report.verify.verify_words import Keys, place
from kcompact.verify.check import Severity
from kcompact.verify.outcome import Outcome


def answer_tables(outcome: Outcome, keys: Keys) -> list[Table]:
    """The tables that HTML and Markdown show."""
    return [_checks(outcome), _logs(outcome), _evidence(outcome, keys)]


def _checks(outcome: Outcome) -> Table:
    columns = [outcome.counts_of(severity) for severity in Severity]
    rows = [(name, *(f"{counts.get(name, 0):,}" for counts in columns)) for name in outcome.checks]
    return Table("Checks", ("check", *(severity.value for severity in Severity)), rows, texts("check"))


def _logs(outcome: Outcome) -> Table:
    reasons = list(dict.fromkeys(reason for log in outcome.logs for reason in log.removed))
    headers = ("log", "records before", "records after", *reasons, "cleaned up to offset", "which is")
    rows = [
        (
            Foreign(f"{log.topic}-{log.partition}"),
            f"{log.records_before:,}",
            f"{log.records_after:,}",
            *(f"{log.removed.get(reason, 0):,}" for reason in reasons),
            f"{log.cleaned_end_offset:,}",
            "known" if log.cleaned_end_is_given else "assumed",
        )
        for log in outcome.logs
    ]
    return Table("Logs", headers, rows, texts("log", "which is"))


def _evidence(outcome: Outcome, keys: Keys) -> Table:
    rows = [
        (
            Foreign(keys.shown(evidence.key)),
            Foreign(place(evidence)),
            evidence.verdict.value,
            "-" if evidence.last_value_offset is None else f"{evidence.last_value_offset:,}",
            "-" if evidence.tombstone_offset is None else f"{evidence.tombstone_offset:,}",
        )
        for evidence in outcome.evidence
    ]
    headers = ("key", "log", "verdict", "last value at offset", "tombstone at offset")
    return Table("Keys asked for", headers, rows, texts("key", "log", "verdict"))
