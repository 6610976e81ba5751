"""Markers of transactions that a client's library hands out as if they were records of the topic."""

from typing import Any

from kcompact.errors import UnreadableError

# As base64. Keys: version 0 and the type; values: version 0 and the coordinator's epoch.
_KEYS = frozenset({"AAAAAA==", "AAAAAQ=="})
_VALUE_LENGTH = 8
_VERSION = "AA"


def refuse_marker(key: Any, value: Any) -> None:
    """Raise UnreadableError for a marker: a dump that has markers has aborted records, too."""
    if not isinstance(key, str) or not isinstance(value, str):
        return
    if key in _KEYS and len(value) == _VALUE_LENGTH and value.startswith(_VERSION):
        raise UnreadableError(
            f"a marker of a transaction (key {key}), which segmentio/kafka-go reads as a record, as it does"
            " aborted records: nobody can tell which records were aborted",
            "export with a tool that leaves both out, such as kcat -J",
        )
