"""The files of a dump: which they are, how they are packed and read."""
