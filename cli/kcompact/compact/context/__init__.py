"""The knowledge about logs from beside their dump: files, options, a state, a read_committed dump."""
