"""A dump: its files, layout, dialect; split, index, copy, publish. No Spark."""
