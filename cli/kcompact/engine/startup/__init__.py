"""The start of Java and of Spark's workers: whatever makes it quick."""
