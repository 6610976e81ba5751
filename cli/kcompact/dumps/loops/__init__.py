"""Loops over bytes that numba compiles, and the code that runs them. Only this folder uses numba."""
