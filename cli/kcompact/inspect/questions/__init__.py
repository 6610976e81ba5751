"""Questions about the keys of a dump, one in a file."""
