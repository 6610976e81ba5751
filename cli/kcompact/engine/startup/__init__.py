"""Starts Java and Spark's workers, quickly."""
