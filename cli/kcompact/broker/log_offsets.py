"""One offset per log on the command line: ``303`` for a dump of one log, ``orders-0=303`` repeated."""

from collections.abc import Iterable

from kcompact.broker.log_names import PerLog, parse_log_name
from kcompact.broker.text_lines import shown
from kcompact.digits import LONG_MAX, whole_number
from kcompact.errors import PolicyError


def parse_log_offsets(option: str, arguments: Iterable[str]) -> PerLog[int]:
    """The offsets that all uses of ``option`` give. Raises PolicyError for other text or contradictions."""
    offsets: PerLog[int] = PerLog(option)
    for argument in arguments:
        name, equals, text = argument.rpartition("=")
        log = parse_log_name(name)
        offset = whole_number(text)
        if offset is None or not 0 <= offset <= LONG_MAX or (equals and log is None):
            raise PolicyError(
                f"{option} {shown(argument)}: not an offset",
                hint=f"write {option} 303, or {option} orders-0=303",
            )
        previous = offsets.unnamed if log is None else offsets.by_log.get(log)
        if previous not in (None, offset):
            raise PolicyError(f"{option} is given twice for {log or 'the log'}: {previous} and {offset}")
        if log is None:
            offsets.unnamed = offset
        else:
            offsets.by_log[log] = offset
    return offsets
