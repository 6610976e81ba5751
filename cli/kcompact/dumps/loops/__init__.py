"""Compiled scans: byte loops that numba compiles, and what runs them. All use of numba is in this folder."""
