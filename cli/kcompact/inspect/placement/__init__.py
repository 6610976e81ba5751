"""Which partitioner placed the keys."""
