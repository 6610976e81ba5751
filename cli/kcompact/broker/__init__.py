"""The files that a broker writes: checkpoint, topic configs, segments, batches. No Spark."""
