"""One record of a dump: its parts, how tools spell them, the index row that stands for it."""
