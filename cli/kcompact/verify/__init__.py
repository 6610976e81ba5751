"""Is one dump a compaction of another: one check a file, DataFrames in, findings out."""
