"""Where a command leaves its dump, its report and its answer."""
