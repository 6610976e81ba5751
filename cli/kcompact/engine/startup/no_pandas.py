"""Keeps pyarrow and PySpark from importing pandas, which takes 0.3 s and more.

pyarrow imports it for the first array that it makes, to see whether its input is an object of pandas. PySpark
imports it (with unittest and its own test utilities) for the first value that it hands to Java, to see
whether the value is one of numpy. kcompact passes neither.
"""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


class _NoPandas(MetaPathFinder):
    """An import finder that finds no pandas."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        if fullname == "pandas":
            raise ModuleNotFoundError(fullname)
        return None


def keep_pandas_out() -> None:
    """Let pyarrow look for pandas now, which it does only once, and find none. Others can still import it."""
    import pyarrow as pa

    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array(())
    finally:
        sys.meta_path.remove(finder)


def drop_numpy_converters() -> None:
    """Let PySpark hand values to Java without checking whether they are numpy's (as of PySpark 4.3)."""
    from py4j.protocol import INPUT_CONVERTER
    from pyspark.sql.types import NumpyArrayConverter, NumpyScalarConverter

    numpys = (NumpyArrayConverter, NumpyScalarConverter)
    INPUT_CONVERTER[:] = [converter for converter in INPUT_CONVERTER if not isinstance(converter, numpys)]
