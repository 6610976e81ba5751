"""The policy options: Kafka's topic and broker configs with dashes, from the command line or a file."""

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from kcompact.broker.configs import (
    SMALLEST_BUFFER_BYTES_PER_THREAD,
    SMALLEST_SEGMENT_BYTES,
    parse_config,
)
from kcompact.broker.topic_configs import ConfigEntry, TopicConfigs, read_topic_configs
from kcompact.errors import PolicyError
from kcompact.options.groups import OptionGroup, option, repeatable
from kcompact.rules.capacity import map_slots
from kcompact.rules.policy import Policy, TopicPolicies


@dataclass(frozen=True)
class PolicyOptions(OptionGroup):
    """The configs as given, unread. A field is named after its config; None: not given."""

    panel = "Policy (Kafka's configs; default: Kafka's)"
    topic_config: list[str] = repeatable(
        "Topic configs: properties, or what kafka-configs or kafka-topics print with --describe."
        " Repeatable; TOPIC=FILE for one topic.",
        "[TOPIC=]FILE",
    )
    cleanup_policy: str | None = option("compact, delete, or compact,delete. (default: compact)", "WORDS")
    min_cleanable_dirty_ratio: str | None = option(
        "A log is due when its dirty ratio is above this (0 to 1).", "RATIO"
    )
    min_compaction_lag_ms: str | None = option(
        "Segments younger than this, and all after them, are left alone.", "DURATION"
    )
    max_compaction_lag_ms: str | None = option(
        "Dirty data older than this make a log due, whatever its ratio.", "DURATION"
    )
    delete_retention_ms: str | None = option(
        "How long tombstones and transaction markers stay after the round that sees them first.", "DURATION"
    )
    segment_bytes: str | None = option("Roll segments at this size, as the broker would have.", "BYTES")
    segment_ms: str | None = option("Roll segments at this age, as the broker would have.", "DURATION")
    retention_ms: str | None = option(
        "With delete in --cleanup-policy: how old a segment may get.", "DURATION"
    )
    retention_bytes: str | None = option("With delete in --cleanup-policy: how large a log may get.", "BYTES")
    log_cleaner_threads: str | None = option("Cleaner threads that share the dedupe buffer.", "N")
    log_cleaner_dedupe_buffer_size: str | None = option(
        "Memory for the offset map. (default: unlimited, one round)", "BYTES"
    )
    log_cleaner_io_buffer_load_factor: str | None = option(
        "How full the offset map may get (0 to 1).", "RATIO"
    )

    @property
    def files(self) -> list[str]:
        """The files of ``--topic-config``."""
        return [_file_of(argument) for argument in self.topic_config]


def config_name(field_name: str) -> str:
    """``segment_bytes`` -> ``segment.bytes``: how Kafka spells the config of a field or an option."""
    return field_name.replace("_", ".")


@dataclass
class Policies:
    """A policy per topic: options beat a file about the topic, which beats a file about all topics."""

    base: Policy  # carries what no config says: clock, rounds, null keys
    options: dict[str, ConfigEntry]
    files: list[TopicConfigs]
    notes: list[str]

    def for_topic(self, topic: str) -> Policy:
        """The policy of one topic. Raises PolicyError for configs that contradict each other."""
        entries = self._entries(topic)
        names = {config_name(member.name): member.name for member in fields(Policy)}
        values: dict[str, Any] = {
            names[name]: entry.value for name, entry in entries.items() if name in names
        }
        policy = replace(self.base, **values)
        _check_lags(policy, entries)
        _check_map(policy)
        return policy

    def config_names_for(self, topic: str) -> frozenset[str]:
        """The configs that are given for one topic, by Kafka's names.

        A file about the topic lists all configs that differ from Kafka's defaults: if it has no minimum lag,
        that is known to be 0.
        """
        has_file = any({None, topic} & configs.by_topic.keys() for configs in self.files)
        return frozenset(self._entries(topic)) | ({"min.compaction.lag.ms"} if has_file else set())

    def _entries(self, topic: str) -> dict[str, ConfigEntry]:
        entries: dict[str, ConfigEntry] = {}
        for about in (None, topic):
            for configs in self.files:
                entries |= configs.by_topic.get(about, {})
        return entries | self.options

    def topic_policies(self) -> TopicPolicies:
        """The policies of all topics that files name, and that of the others. Raises as ``for_topic``."""
        named = {topic for configs in self.files for topic in configs.by_topic if topic is not None}
        return TopicPolicies(self.for_topic(""), {topic: self.for_topic(topic) for topic in sorted(named)})

    def for_topics(self, topics: Iterable[str]) -> dict[str, Policy]:
        """The policy of each topic of a dump. Adds a note for each file that is about none of them."""
        present = set(topics)
        for configs in self.files:
            named = {topic for topic in configs.by_topic if topic is not None}
            if named and not named & present:
                self.notes.append(f"--topic-config is about {', '.join(sorted(named))}: not in the dump")
        return {topic: self.for_topic(topic) for topic in sorted(present)}


def policies_for(options: PolicyOptions, base: Policy) -> Policies:
    """Read and check all configs given; no dump is needed yet. Raises PolicyError, InputError."""
    texts = {member.name: getattr(options, member.name) for member in fields(options)}
    entries = {
        config_name(name): _option_entry(name, text) for name, text in texts.items() if isinstance(text, str)
    }
    files = [_read_file(argument) for argument in options.topic_config]
    notes = [text for configs in files for text in configs.notes]
    segment_bytes = entries.get("segment.bytes")
    if (
        segment_bytes
        and isinstance(segment_bytes.value, int)
        and segment_bytes.value < SMALLEST_SEGMENT_BYTES
    ):
        refused = "brokers since Kafka 4.1 refuse such segments"
        notes.append(f"{segment_bytes.place} below {SMALLEST_SEGMENT_BYTES}: {refused}")
    policies = Policies(base, entries, files, notes)
    if not any("delete" in policy.cleanup_policy for policy in policies.topic_policies().all_policies):
        limits = [entries[name].place for name in ("retention.ms", "retention.bytes") if name in entries]
        notes += [f"{place} has no effect: the cleanup.policy has no delete" for place in limits]
    return policies


def _option_entry(field_name: str, text: str) -> ConfigEntry:
    place = f"--{field_name.replace('_', '-')}"
    try:
        return ConfigEntry(parse_config(config_name(field_name), text), place)
    except ValueError as error:
        raise PolicyError(f"{place}: {error}") from error


def _file_of(argument: str) -> str:
    """``FILE``, or ``TOPIC=FILE`` where no file has that whole name."""
    _, equals, path = argument.partition("=")
    return argument if not equals or Path(argument).exists() else path


def _read_file(argument: str) -> TopicConfigs:
    path = _file_of(argument)
    if path == argument:
        return read_topic_configs(argument)
    topic = argument.partition("=")[0]
    configs = read_topic_configs(path)
    entries = configs.by_topic.get(topic, configs.by_topic.get(None))
    if entries is None:
        others = ", ".join(sorted(str(name) for name in configs.by_topic))
        raise PolicyError(
            f"--topic-config {argument}: {path} describes {others or 'nothing'}, not {topic}",
            hint="give the file without TOPIC=, so that it counts for the topic that it names",
        )
    return TopicConfigs({topic: entries}, configs.notes)


def _check_lags(policy: Policy, entries: dict[str, ConfigEntry]) -> None:
    """Refuse, as a broker does, a topic whose minimum lag exceeds its maximum lag (R57)."""
    if policy.min_compaction_lag_ms <= policy.max_compaction_lag_ms:
        return
    names = ("min.compaction.lag.ms", "max.compaction.lag.ms")
    places = " and ".join(entries[name].place for name in names if name in entries)
    raise PolicyError(
        f"{places}: min.compaction.lag.ms={policy.min_compaction_lag_ms} exceeds"
        f" max.compaction.lag.ms={policy.max_compaction_lag_ms}",
        hint="a broker refuses this pair too; lower the one or raise the other",
    )


def _check_map(policy: Policy) -> None:
    """Refuse a buffer of 1 MiB or less for a cleaner thread, or one that takes no more than one key (R11)."""
    buffer_bytes, slots = policy.log_cleaner_dedupe_buffer_size, map_slots(policy)
    if buffer_bytes is None or slots is None:
        return
    bytes_per_thread = buffer_bytes // policy.log_cleaner_threads
    keys = slots * policy.log_cleaner_io_buffer_load_factor
    if bytes_per_thread <= SMALLEST_BUFFER_BYTES_PER_THREAD or keys <= 1:
        raise PolicyError(
            f"log.cleaner.dedupe.buffer.size={buffer_bytes} gives each of"
            f" {policy.log_cleaner_threads} cleaner threads {bytes_per_thread} bytes,"
            f" room for {keys:.0f} keys",
            hint=f"a broker wants more than {SMALLEST_BUFFER_BYTES_PER_THREAD} bytes and one key per thread",
        )
