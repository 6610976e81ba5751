"""One compaction: from a dump to survivors, removed keys, gaps and totals."""
