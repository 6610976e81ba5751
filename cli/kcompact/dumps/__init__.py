"""Dumps: their files, layouts and dialects; how they are split, indexed, copied and written. No Spark."""
