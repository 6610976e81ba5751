"""CSV and text dumps, line by line."""
