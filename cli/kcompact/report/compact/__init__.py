"""The report of ``compact``."""
