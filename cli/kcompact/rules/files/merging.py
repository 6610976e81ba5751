"""Which neighbouring segments a round merges into one (R41)."""

from collections.abc import Sequence

from kcompact.rules.files.segments import MAX_OFFSET_SPAN, SegmentState, segment_bytes_of
from kcompact.rules.policy import Policy


def group_segments(
    rewritten: Sequence[SegmentState], policy: Policy, first_uncleanable_offset: int
) -> list[list[SegmentState]]:
    """The segments that a round rewrites, grouped; sizes are those before the round, equality fits."""
    groups: list[list[SegmentState]] = []
    for i, segment in enumerate(rewritten):
        is_last = i + 1 == len(rewritten)
        end_offset = first_uncleanable_offset if is_last else rewritten[i + 1].base_offset
        if groups and _fits([*groups[-1], segment], policy, end_offset):
            groups[-1].append(segment)
        else:
            groups.append([segment])
    return groups


def _fits(group: Sequence[SegmentState], policy: Policy, end_offset: int) -> bool:
    spans_too_much = end_offset - 1 - group[0].base_offset > MAX_OFFSET_SPAN
    return (
        sum(segment.size_bytes for segment in group) <= segment_bytes_of(policy)
        and sum(segment.offset_index_bytes for segment in group) <= policy.segment_index_bytes
        and sum(segment.time_index_bytes for segment in group) <= policy.segment_index_bytes
        and (group[-1].size_bytes == 0 or not spans_too_much)
    )
