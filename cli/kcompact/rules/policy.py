"""The settings under which a log is cleaned, named after Kafka's topic and broker configs."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kcompact.digits import LONG_MAX
from kcompact.errors import PolicyError


@dataclass(frozen=True)
class Policy:
    """Topic and broker configs (Kafka's names, units and defaults), and settings that only a dump needs.

    ``cleanup_policy`` defaults to compact, whatever a broker's default is: the user asks for a compaction.
    While ``segment_bytes`` and ``segment_ms`` are both None, no segments are rolled; each record counts as a
    closed segment of its own, unless segments are known.
    """

    cleanup_policy: frozenset[str] = frozenset({"compact"})
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = LONG_MAX
    delete_retention_ms: int = 86_400_000
    segment_bytes: int | None = None
    segment_ms: int | None = None
    segment_index_bytes: int = 10_485_760
    index_interval_bytes: int = 4096
    retention_ms: int | None = None
    retention_bytes: int | None = None
    message_timestamp_type: str = "CreateTime"
    log_cleaner_threads: int = 1
    log_cleaner_dedupe_buffer_size: int | None = None  # None: the map is unlimited, so one round is enough
    log_cleaner_io_buffer_load_factor: float = 0.9
    rounds: int | None = 1  # None: as many as it takes until the log is clean
    producer_id_expiration_ms: int = 86_400_000  # a broker config without an option (R36)
    respect_dirty_ratio: bool = False
    drop_tombstones: bool = False
    null_keys: str = "error"  # "error", "drop" or "keep"
    now_ms: int = 0

    @property
    def retained_bytes(self) -> int | None:
        """The size above which retention takes the oldest records (R53); None: any size stays."""
        return _limit(self.retention_bytes) if "delete" in self.cleanup_policy else None

    @property
    def retained_from_ms(self) -> int | None:
        """The timestamp below which records are too old for retention (R53); None: any age stays."""
        retention_ms = _limit(self.retention_ms) if "delete" in self.cleanup_policy else None
        return None if retention_ms is None else self.now_ms - retention_ms

    @property
    def delete_horizon_ms(self) -> int | None:
        """The horizon that a round stamps, or None if it is negative or exceeds 64 bits (R25, R29)."""
        horizon_ms = self.now_ms + self.delete_retention_ms
        return horizon_ms if 0 <= horizon_ms <= LONG_MAX else None


@dataclass(frozen=True)
class TopicPolicies:
    """The policies of a dump's topics. It is sent to tasks, so it holds nothing of options and files."""

    others: Policy  # of all topics that ``by_topic`` does not name
    by_topic: Mapping[str, Policy] = field(default_factory=dict)

    def of(self, topic: str) -> Policy:
        """The policy of one topic."""
        return self.by_topic.get(topic, self.others)

    @property
    def all_policies(self) -> list[Policy]:
        """All policies. That of the topics without configs of their own comes first."""
        return [self.others, *self.by_topic.values()]


def require_retention(topic: str, policy: Policy) -> None:
    """Raise PolicyError for retention without a limit, as Kafka's seven days are not assumed silently."""
    unsaid = policy.retention_ms is None and policy.retention_bytes is None
    if "delete" in policy.cleanup_policy and unsaid:
        raise PolicyError(
            f"cleanup.policy of {topic} contains delete, but neither retention.ms nor retention.bytes is"
            " given",
            hint="add --retention-ms or --retention-bytes (-1: no limit), or a --topic-config that has them",
        )


def _limit(value: int | None) -> int | None:
    """A retention config, or None where it sets no limit (as -1)."""
    return value if value is not None and value >= 0 else None
