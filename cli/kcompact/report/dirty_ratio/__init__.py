"""The report of ``dirty-ratio``."""
