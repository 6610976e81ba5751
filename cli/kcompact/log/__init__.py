"""The log cleaner's rules on arrays of records, and the compaction that they make."""
