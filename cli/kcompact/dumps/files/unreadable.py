"""Files of a dump that cannot be read: an error names each, or it is left out with its logs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from kcompact.broker.log_names import LogName, few
from kcompact.dumps.files.file_names import name_facts, topic_of
from kcompact.dumps.options import LeftOut
from kcompact.errors import InputError

MOST_NAMED = 1000
_ENDS_OF_TOPICS = "-_.+ "


class LeavingOutError(InputError):
    """With ``--keep-going``: files cannot be read, so the command starts again without them or their logs."""

    def __init__(self, left_out: LeftOut) -> None:
        super().__init__(described(left_out))
        self.args = (left_out,)  # unpickling calls the class with these
        self.left_out = left_out


@dataclass(frozen=True)
class UnreadableFile:
    """A file, or files of one group, and what is wrong with it."""

    paths: tuple[str, ...]
    error: InputError


def refuse(files: Sequence[UnreadableFile], *, keep_going: bool, is_all: bool) -> InputError:
    """The error that names the files; with ``keep_going`` a LeavingOutError, unless these are all files."""
    first = files[0].error
    if keep_going and not is_all:
        paths = frozenset((path, file.error.message) for file in files for path in file.paths)
        return LeavingOutError(LeftOut(paths))
    if len({file.error.message for file in files}) == 1:  # one file, or all meet the fault of an option
        return first
    named = "; ".join(file.error.message for file in files[:MOST_NAMED])
    more = f"; and {len(files) - MOST_NAMED:,} more" if len(files) > MOST_NAMED else ""
    leaving_out = None if is_all else "--keep-going leaves out the logs that these files may hold records of"
    return InputError(
        f"{len(files):,} files cannot be read: {named}{more}",
        hint="; ".join(filter(None, [first.hint, leaving_out])) or None,
    )


def require_logs_left_out(left_out: LeftOut, logs_of_files: Mapping[str, set[LogName]]) -> None:
    """Raise LeavingOutError unless all logs are left out whose records the files left out may hold.

    A file's name tells its log only if the names of all files that can be read are right: if
    ``orders-0.jsonl`` holds ``orders-0`` and nothing else. If they are right about topics alone, it tells its
    topic. ``logs_of_files``: by path, the logs of files that can be read. Raises InputError where a name does
    not tell.
    """
    known_logs = {path: logs for path, logs in logs_of_files.items() if logs}
    topics = {topic for logs in known_logs.values() for topic, _ in logs}
    names_logs = bool(known_logs) and all(logs == {_log_named(path)} for path, logs in known_logs.items())
    names_topics = bool(known_logs) and all(
        {topic for topic, _ in logs} == {_topic_named(path, topics)} for path, logs in known_logs.items()
    )
    needed = LeftOut()
    for path, reason in left_out.files:
        log, topic = _log_named(path), _topic_named(path, topics)
        if names_logs and log is not None:
            needed = needed.plus(LeftOut(logs=frozenset({log})))
        elif names_topics and topic is not None:
            needed = needed.plus(LeftOut(topics=frozenset({topic})))
        else:
            why = f"the name of {path} does not say whose records it holds"
            if log is not None or topic is not None:
                why = _why_names_do_not_count(path, known_logs, topics if log is None else None)
            raise InputError(
                f"{reason}; {why}, so --keep-going cannot leave their log out",
                hint="repair the file; to go on without it, give the others by name: logs may then be"
                " incomplete",
            )
    if not left_out.has_all(needed):
        raise LeavingOutError(needed)


def _why_names_do_not_count(
    path: str, known_logs: Mapping[str, set[LogName]], topics: Iterable[str] | None
) -> str:
    """The reason in words, with the first file whose name does not tell its log (topic, by ``topics``)."""
    for other, logs in known_logs.items():
        is_true = (
            logs == {_log_named(other)}
            if topics is None
            else {topic for topic, _ in logs} == {_topic_named(other, topics)}
        )
        if not is_true:
            return (
                f"names do not tell whose records {path} holds: {other} has records of {few(logs)}, which its"
                " name does not say"
            )
    return f"no file that can be read shows whether the name of {path} says whose records it holds"


def refuse_untrue_name(path: str, error: InputError, logs: set[LogName]) -> None:
    """Raise InputError where a file that can be read in part holds records of other logs than its name says.

    The logs of the records that cannot be read are then unknown.
    """
    named = _log_named(path)
    others = sorted(log for log in logs if log != named) if named else []
    if others:
        raise InputError(
            f"{error.message}; before that it holds records of {others[0]}, which its name does not say, so"
            " --keep-going cannot leave their log out",
            hint=error.hint,
        )


def _log_named(path: str) -> LogName | None:
    facts = name_facts(path)
    return None if facts.partition is None else LogName(facts.topic or topic_of(path), facts.partition)


def _topic_named(path: str, topics: Iterable[str]) -> str | None:
    """The longest of ``topics`` with which the file's name, or the name of one of its folders, begins."""
    parts = [part.removeprefix("topic=") for part in PurePath(path).parts]
    named = [
        topic
        for topic in topics
        for part in parts
        if part == topic or (part.startswith(topic) and part[len(topic)] in _ENDS_OF_TOPICS)
    ]
    return max(named, key=len, default=None)


def described(left_out: LeftOut, *, quotes: bool = True) -> str:
    """The logs that were left out, and why, in one line; without ``quotes``, only the paths of files.

    The reasons may quote lines of a file, with keys.
    """
    logs = [str(log) for log in sorted(left_out.logs)]
    logs += [f"every partition of {topic}" for topic in sorted(left_out.topics)]
    reasons = "; ".join(dict.fromkeys(why if quotes else path for path, why in sorted(left_out.files)))
    return f"left out: {', '.join(logs)} ({reasons})"
