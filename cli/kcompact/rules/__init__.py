"""The log cleaner's rules on arrays of one log. RULES.md defines the numbers that code cites."""
