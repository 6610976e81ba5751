"""Dumps in Parquet, read by pyarrow alone. ``pyarrow.parquet`` is only imported where such a file is met."""
