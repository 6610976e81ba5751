"""Questions about a dump, one in a file. Key rows in, small report values out; nothing is computed twice."""
