"""CSV and delimited text read by a compiled loop."""
