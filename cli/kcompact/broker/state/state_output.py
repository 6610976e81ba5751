"""The compacted dump that a state belongs to: its files, and hints for inputs that do not fit them."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

START_ANEW = (
    "start a new --state folder, and give it all records: a full dump, or the last run's output together with"
    " the new records; tombstones then only stay longer"
)
"""The hint for a state that cannot be used any more."""
WHOLE_DUMP_ALONE = (
    "start a new --state folder only where the inputs hold all records, as a full dump does: tombstones then"
    " only stay longer"
)
GIVE_OUTPUT = f"give the last run's output together with the new records; {WHOLE_DUMP_ALONE}"
"""The hint for inputs that do not belong to the state."""


@dataclass(frozen=True)
class OutputFile:
    """One file of the compacted dump that a state belongs to, recognised by its content, not by its name."""

    name: str
    size_bytes: int
    sha256: str


def output_file(path: Path) -> OutputFile:
    """The name, size and SHA-256 of a file as it is on disk."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    return OutputFile(path.name, path.stat().st_size, digest.hexdigest())


def digest_of(text: str) -> str:
    """SHA-256 of a small text file."""
    return hashlib.sha256(text.encode()).hexdigest()
