"""How the loops are compiled. With ``NUMBA_BOUNDSCHECK=1`` every index is checked."""

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np

Function = TypeVar("Function", bound=Callable[..., Any])

int64: Any = np.int64  # mypy takes it for int
CHECKED = numba.config.BOUNDSCHECK == 1  # every index, and so every load of a word


def loop(signature: Any) -> Callable[[Function], Function]:
    """A loop that Python calls: compiled when its module is imported, or loaded from numba's cache."""

    def compiled(function: Function) -> Function:
        return numba.njit(
            signature, cache=bool(numba.config.CACHE_DIR), nogil=True, _nrt=False, error_model="numpy"
        )(function)

    return compiled


def array_type(kind: Any, dimensions: int = 1, *, written: bool = False) -> Any:
    """The type of a contiguous array for a signature; what is not written may be read-only."""
    return numba.types.Array(kind, dimensions, "C", readonly=not written)


def part(function: Function) -> Function:
    """A function that only loops call: compiled into them, or each call would pass whole arrays on."""
    return numba.njit(
        function,
        _nrt=False,
        error_model="numpy",
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
        forceinline=True,
    )
