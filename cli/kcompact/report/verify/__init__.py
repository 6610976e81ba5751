"""The report of ``verify``."""
