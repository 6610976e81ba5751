"""Completion in a shell: the script, the names of dialects and formats, the topics of the dump at hand."""

import enum
import re
from itertools import islice

import typer

_COMPLETE_VAR = "_KCOMPACT_COMPLETE"
_MOST_RECORDS = 2_000  # nobody waits for more after pressing TAB
_PROBE_BYTES = 1 << 20
_NAME_OF_A_BROKER = re.compile(r"[a-zA-Z0-9._-]+")


class Shell(enum.StrEnum):
    """Shells that completion is for."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"
    PWSH = "pwsh"


def completion_script(shell: Shell) -> str:
    """The script that the shell has to source."""
    from typer._completion_shared import get_completion_script

    return get_completion_script(prog_name="kcompact", complete_var=_COMPLETE_VAR, shell=shell.value)


def complete_for_shells() -> None:
    """Let Typer answer what those scripts ask, as it does where it has options of its own for them."""
    from typer._completion_classes import completion_init

    completion_init()


def dialect_names(incomplete: str) -> list[str]:
    """For ``--dialect``."""
    from kcompact.dumps.describing import dialect_rows

    return [row.name for row in dialect_rows() if row.name.startswith(incomplete)]


def target_names(incomplete: str) -> list[str]:
    """For ``--to``."""
    from kcompact.dumps.writers.targets import TARGETS

    return [name for name in TARGETS if name.startswith(incomplete)]


def topic_names(context: typer.Context, incomplete: str) -> list[str]:
    """For ``--topic``: the topics at the start of each file of the dump that is named before it.

    Only such as a broker may have: zsh evaluates what it is given, and bash puts it on the command line as it
    is, so that a topic of a hostile dump would be run as a command.
    """
    # An option without its value leaves Typer with the words before it unread.
    words = context.params.get("dumps") or context.args
    paths = [path for path in words if not path.startswith("-")]
    try:
        topics = _topics_of(paths) if paths else set()
    except Exception:  # noqa: BLE001  whatever is wrong with the dump, a shell that completes wants silence
        return []
    return sorted(
        topic for topic in topics if topic.startswith(incomplete) and _NAME_OF_A_BROKER.fullmatch(topic)
    )


def _topics_of(paths: list[str]) -> set[str]:
    from kcompact.dumps.dump import open_dump
    from kcompact.dumps.files.containers import container_of
    from kcompact.dumps.files.sources import find_files
    from kcompact.dumps.layouts import LAYOUTS
    from kcompact.dumps.options import ReadOptions

    plain = [path for path in find_files(paths) if container_of(path) is None]  # unpacking takes its time
    topics: set[str] = set()
    with open_dump(plain, ReadOptions()) as dump:
        first_splits = {split.file_id: split for split in reversed(dump.splits(_PROBE_BYTES))}
        for file in dump.files:
            records = LAYOUTS[file.layout].records(file, first_splits[file.file_id])
            topics |= {record.topic for _, _, record in islice(records, _MOST_RECORDS)}
    return topics
