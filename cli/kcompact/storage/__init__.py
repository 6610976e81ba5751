"""Disks and stores: which paths may be written at all, how results are published, how objects are read."""
