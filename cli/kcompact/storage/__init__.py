"""How results get onto a disk: which paths may be written at all, and how they are published."""
