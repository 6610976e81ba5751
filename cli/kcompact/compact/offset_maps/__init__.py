"""Deciding by key: each reading task sends one row per key, so the offset map is spread over tasks."""
