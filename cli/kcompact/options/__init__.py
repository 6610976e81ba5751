"""Options shared by several commands: each is declared once, so that it means the same everywhere."""
