"""The files of a log, its segments: how they roll, merge and are retained."""
