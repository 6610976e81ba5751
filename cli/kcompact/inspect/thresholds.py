"""Lines drawn by the user: what is beyond one is an error, and nothing else is."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kcompact.inspect.inspection import LogFacts, TopicFacts
from kcompact.inspect.severity import Finding, Level


@dataclass(frozen=True)
class Thresholds:
    """The most that is allowed over all logs; None: any number."""

    max_null_keys: int | None = None
    max_cross_partition_keys: int | None = None
    max_gaps: int | None = None


def check_thresholds(
    logs: Sequence[LogFacts], topics: Iterable[TopicFacts], thresholds: Thresholds
) -> list[Finding]:
    """An error for every line that was crossed."""
    counted = [
        ("null-keys", "records without key", sum(log.null_keys for log in logs), thresholds.max_null_keys),
        (
            "cross-partition-keys",
            "keys in several partitions",
            sum(topic.shared_keys for topic in topics),
            thresholds.max_cross_partition_keys,
        ),
        ("gaps", "gaps", sum(log.gaps.count for log in logs), thresholds.max_gaps),
    ]
    return [
        Finding(Level.ERROR, f"max-{code}", f"{count:,} {things}; at most {most:,} are allowed")
        for code, things, count, most in counted
        if most is not None and count > most
    ]
