"""The dialect table: who writes dumps, and how they are told apart. The first row that fits wins."""

from kcompact.dumps.dialects.dialect import Dialect
from kcompact.dumps.dialects.dialects_cdc import CHANGE_EVENTS
from kcompact.dumps.dialects.dialects_sinks import PLAIN, SINKS
from kcompact.dumps.dialects.dialects_text import CSV_DIALECTS, TEXT_DIALECTS
from kcompact.dumps.dialects.dialects_tools import COMMAND_LINE, WEB

_JSON = COMMAND_LINE + WEB + SINKS + CHANGE_EVENTS + PLAIN
DIALECTS: tuple[Dialect, ...] = _JSON + CSV_DIALECTS + TEXT_DIALECTS
BY_NAME = {dialect.name: dialect for dialect in DIALECTS}
