"""The report of ``inspect``."""
