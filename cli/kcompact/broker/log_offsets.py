"""One offset per log on the command line: ``303`` for a dump of one log, ``orders-0=303`` repeated."""

from collections.abc import Iterable

from kcompact.broker.log_names import PerLog, parse_log_name
from kcompact.errors import PolicyError


def parse_log_offsets(option: str, arguments: Iterable[str]) -> PerLog[int]:
    """What all uses of ``option`` say together. Raises PolicyError for anything else, and for two answers."""
    offsets: PerLog[int] = PerLog(option)
    for argument in arguments:
        name, equals, text = argument.rpartition("=")
        log = parse_log_name(name)
        if not text.isdecimal() or (equals and log is None):
            raise PolicyError(
                f"{option} {argument}: not an offset", hint=f"write {option} 303, or {option} orders-0=303"
            )
        said_before = offsets.unnamed if log is None else offsets.by_log.get(log)
        if said_before not in (None, int(text)):
            raise PolicyError(f"{option} is given twice for {log or 'the log'}: {said_before} and {text}")
        if log is None:
            offsets.unnamed = int(text)
        else:
            offsets.by_log[log] = int(text)
    return offsets
