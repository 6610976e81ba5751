"""All that is known about a dump from options, other files and a state."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kcompact.broker.log_context import DumpContext
from kcompact.dumps.dump import Dump

if TYPE_CHECKING:  # a plain run knows no state, and starts quicker without the modules that do
    from kcompact.broker.state.state_of_dump import StateOfDump


@dataclass(frozen=True)
class Beside:
    """All facts known beside a dump. ``state`` None: no state is given."""

    context: DumpContext
    state: "StateOfDump | None" = None
    committed: Dump | None = None  # the read_committed dump of the same topics
