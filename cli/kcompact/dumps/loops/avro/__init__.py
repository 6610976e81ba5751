"""Avro blocks read by a compiled loop."""
