"""The files that a run writes: their names, and how parts become one."""
