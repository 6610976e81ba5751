"""The decorators that compile loops. With ``NUMBA_BOUNDSCHECK=1`` every index is checked."""

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np

Function = TypeVar("Function", bound=Callable[..., Any])

int64: Any = np.int64  # mypy takes it for int
CHECKED = numba.config.BOUNDSCHECK == 1  # then loads of words are to be checked, too


def loop(signature: Any) -> Callable[[Function], Function]:
    """Decorate a loop that Python calls: import compiles it, or loads it from numba's cache."""

    def compiled(function: Function) -> Function:
        return numba.njit(
            signature, cache=bool(numba.config.CACHE_DIR), nogil=True, _nrt=False, error_model="numpy"
        )(function)

    return compiled


def array_type(kind: Any, dimensions: int = 1, *, written: bool = False) -> Any:
    """The type of a C-contiguous array for a signature; unless ``written``, it may be read-only."""
    return numba.types.Array(kind, dimensions, "C", readonly=not written)


def part(function: Function) -> Function:
    """Decorate a function that only loops call: it is inlined, as calls would have to pass whole arrays."""
    return numba.njit(
        function,
        _nrt=False,
        error_model="numpy",
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
        forceinline=True,
    )
