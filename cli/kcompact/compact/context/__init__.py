"""The facts known about logs beside their dump: from files, options, a state, and a read_committed dump."""
