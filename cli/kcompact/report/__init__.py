"""One report value, many renderings."""
