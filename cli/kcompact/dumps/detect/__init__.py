"""Recognition of a file's layout and dialect from its first bytes."""
