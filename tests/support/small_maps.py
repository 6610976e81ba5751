"""Policies whose offset maps are small."""

from dataclasses import replace

from kcompact.rules.capacity import ENTRY_BYTES
from kcompact.rules.policy import Policy


def with_map_of(keys: int | None, policy: Policy) -> Policy:
    """The policy with a buffer for offset maps of so many keys; None: the policy as it is."""
    if keys is None:
        return policy
    return replace(
        policy,
        log_cleaner_dedupe_buffer_size=ENTRY_BYTES * keys * policy.log_cleaner_threads,
        log_cleaner_io_buffer_load_factor=1.0,
    )
