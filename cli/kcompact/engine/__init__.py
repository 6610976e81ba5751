"""The Spark session, its tasks, and the blocks that they send each other."""
