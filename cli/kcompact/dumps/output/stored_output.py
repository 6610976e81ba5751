"""An output on a store without rename: part files under names of their own, a manifest, ``_SUCCESS`` last.

Parts of different runs have different names, so that new parts can be written beside old ones. The manifest
(one object, replaced as a whole) lists the parts of the dump, and kcompact reads no others. Other readers
look for ``_SUCCESS``, which is absent while parts of two runs are there.
"""

import fnmatch
import os
from collections.abc import Mapping
from dataclasses import dataclass

from kcompact.dumps.files.marks import UNFINISHED, WORK
from kcompact.errors import OutputError
from kcompact.storage.file_systems import parts_of, refuse_odd_parts, unambiguous
from kcompact.storage.object_stores import is_address


@dataclass(frozen=True)
class StoredOutput:
    """Where a run writes on a store; addresses end in ``/``. ``run``: letters that no other run has."""

    prefix: str
    report: str | None
    run: str

    @property
    def marker(self) -> str:
        """The object that says that this run is writing."""
        return f"{self.prefix}{UNFINISHED}{self.run}"

    @property
    def markers(self) -> list[str]:
        """The objects that say that this run is writing: beside the parts, and beside the report."""
        return [self.marker, *([f"{self.report}{UNFINISHED}{self.run}"] if self.report else [])]

    @property
    def work(self) -> str:
        """Where tasks leave pieces of reports for the driver."""
        return f"{self.prefix}{WORK}{self.run}/"

    def work_folder_of(self, address: str) -> str:
        """The folder for pieces of reports, of any run, that an object lies in; empty if it lies in none."""
        folder, slash, _ = address.removeprefix(self.prefix).partition("/")
        return f"{self.prefix}{folder}/" if slash and folder.startswith(WORK) else ""

    def part_name(self, task: str, attempt: str, suffix: str) -> str:
        """The name of a part file: in the order of tasks, which is that of the dump."""
        return f"part-{task}-{self.run}-{attempt}{suffix}"

    def is_of_run(self, name: str) -> bool:
        """Whether this run wrote the object of this name in the prefix."""
        return f"-{self.run}-" in name or name.startswith(f"{WORK}{self.run}/")


def check_prefixes(output: str, report: str | None, inputs: list[str]) -> None:
    """Raise OutputError where an address cannot be written to, or overlaps one that is read."""
    for option, address in (("-o", output), ("--report", report)):
        if address is None:
            continue
        if not address.endswith("/"):
            raise OutputError(
                f"{option} {address}: on a store, the output is a prefix, with several objects below it",
                hint=f"end it with a slash: {option} {address}/",
            )
        refuse_odd_parts(address, OutputError)
        _check_apart(option, address, dict.fromkeys(inputs, "read"))
    if report is not None:
        _check_apart("--report", report, {output: "written, too"})


def check_state_apart(state: str | None, inputs: list[str], output: StoredOutput | None) -> None:
    """Raise OutputError where a state on a store overlaps an input, or another output there."""
    if state is not None and is_address(state):
        written = [output.prefix, output.report] if output else []
        addresses = dict.fromkeys(inputs, "read") | {path: "written, too" for path in written if path}
        _check_apart("--state", state, addresses)


def _check_apart(option: str, address: str, addresses: Mapping[str, str]) -> None:
    """Raise OutputError where ``address`` overlaps one of ``addresses``, given with their use in words."""
    for other, use in addresses.items():
        if is_address(other) and _meet(*_alike(address, other)):
            raise OutputError(
                f"{option} {address} overlaps {other}, which is {use}",
                hint=f"choose another prefix with {option}",
            )


def _alike(*addresses: str) -> list[str]:
    """Addresses in one spelling; of HDFS the paths alone, if one leaves the host to Hadoop's settings."""
    parts = [parts_of(unambiguous(address)) for address in addresses]
    is_open = any(part.scheme == "hdfs" and not part.authority for part in parts)
    return [f"{part.scheme}://{'' if is_open else part.authority}/{part.key}" for part in parts]


def _meet(prefix: str, other: str) -> bool:
    """Whether one address lies within the other, or the pattern ``other`` may match below ``prefix``."""
    below = f"{other.rstrip('/')}/"
    if below.startswith(prefix) or prefix.startswith(below):
        return True
    patterns, parts = other.split("/"), prefix.rstrip("/").split("/")
    for pattern, part in zip(patterns, parts, strict=False):
        if "**" in pattern:
            return True
        if not fnmatch.fnmatchcase(part, pattern):
            return False
    return len(patterns) > len(parts)


def letters(count: int) -> str:
    """Random small letters: no digits, in which a reader of names might see a partition or an offset."""
    return "".join(chr(ord("a") + byte % 26) for byte in os.urandom(count))
