"""Questions about the keys of a dump."""
