"""Errors that carry their exit code, and the exit codes themselves."""

import enum


class ExitCode(enum.IntEnum):
    """Exit codes. An error that ends the run outranks a finding."""

    OK = 0
    FINDING = 1
    FAILED = 2
    BUG = 3
    INTERRUPTED = 130


class KcompactError(Exception):
    """The job cannot be done: a sentence that says where and why, a hint that says what to do.

    Raised at the place that knows, chained with ``from``, caught once in ``app.main``.
    """

    exit_code = ExitCode.FAILED

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if hint:
            self.add_note(f"hint: {hint}")  # tracebacks show it, too


class InputError(KcompactError):
    """A dump, or a file beside it, is unreadable, malformed or ambiguous."""


class NoRecordsError(InputError):
    """A file holds no record at all. A compaction may leave it as AFTER; elsewhere it is likely no dump."""


class StoreError(InputError):
    """A store does not do what it is asked, for a reason that is not in the object it was asked for."""


class OutputError(KcompactError):
    """The output cannot be written where it was asked for."""


class PolicyError(KcompactError):
    """Settings that no broker would accept, or that contradict each other."""


class AccountError(KcompactError):
    """Figures of ours contradict each other: a bug, and nothing is published."""

    exit_code = ExitCode.BUG

    def __init__(self, message: str) -> None:
        super().__init__(message, hint="please report it; nothing was written")


class EngineError(KcompactError):
    """Spark or its JVM could not be started, or failed."""


class UnreadableError(ValueError):
    """A record, or what holds records, that cannot be read; becomes a Reject."""

    def __init__(self, reason: str, hint: str | None = None, *, position: int | None = None) -> None:
        super().__init__(reason)
        self.hint = hint
        self.position = position  # as positions of INDEX_SCHEMA; of Avro in the file; None: the record's own
