"""The checks of verification, one a file."""
