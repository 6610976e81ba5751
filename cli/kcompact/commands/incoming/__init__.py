"""The dumps, keys and states that a command line names, opened where the work is done."""
