"""JSON lines read by a compiled loop."""
