"""The two passes over a dump as Spark's tasks: index and copy."""
