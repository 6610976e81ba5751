"""Dumps in Parquet, through pyarrow alone. Its Parquet part is imported where such a file is met."""
