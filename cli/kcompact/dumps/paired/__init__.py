"""Keys, values and headers in files side by side."""
