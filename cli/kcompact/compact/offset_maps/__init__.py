"""Deciding by key: one row per key leaves each task that reads, an offset map spread over tasks."""
