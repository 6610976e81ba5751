"""Classification of a pair: what is known, what is lost, and what proves it."""
