"""The output stage: what was decided on records becomes survivors, removed keys, gaps and figures."""
