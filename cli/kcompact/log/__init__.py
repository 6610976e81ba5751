"""The log cleaner's rules on DataFrames: no files, no printing."""
