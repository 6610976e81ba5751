"""Both dumps in shares that hold all records of their keys, and what is asked of each share."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

import pyarrow as pa

from kcompact.verify.rows.key_rows import Flags

T = TypeVar("T")
Share = tuple[pa.Table, pa.Table]
"""BEFORE's and AFTER's index rows (INDEX_SCHEMA, EXTRA); equal keys are in the same share."""


@dataclass(frozen=True)
class Sifted:
    """The result of a look at a share, and which of its rows are to be looked at further."""

    found: object
    before: Flags
    after: Flags


class Pairs(Protocol):
    """All shares, wherever they lie."""

    def ask(self, look: Callable[[Share], T]) -> list[T]:
        """The results of ``look`` on each share."""
        ...

    def sift(self, look: Callable[[Share], Sifted]) -> "tuple[list[object], Pairs]":
        """The results of ``look`` on each share, and the shares of what is left."""
        ...


@dataclass(frozen=True)
class PairsHere:
    """Shares in this process."""

    shares: tuple[Share, ...]

    def ask(self, look: Callable[[Share], T]) -> list[T]:
        """The results of ``look`` on each share."""
        return [look(share) for share in self.shares]

    def sift(self, look: Callable[[Share], Sifted]) -> tuple[list[object], "PairsHere"]:
        """The results of ``look`` on each share, and the shares of what is left."""
        sifted = self.ask(look)
        left = tuple(
            (before.filter(pa.array(one.before)), after.filter(pa.array(one.after)))
            for (before, after), one in zip(self.shares, sifted, strict=True)
        )
        return [one.found for one in sifted], PairsHere(left)
