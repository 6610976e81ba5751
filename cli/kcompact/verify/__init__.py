"""Is one dump a compaction of another? Arrow tables of both dumps in, findings out."""
