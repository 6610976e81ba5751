"""The facts of each topic: keys in several partitions and their cause, keys that look alike."""

from collections import defaultdict
from collections.abc import Iterable

import pyarrow as pa

from kcompact.inspect.inspection import (
    KeyPlace,
    LogFacts,
    Lookalike,
    Placed,
    PlacementFacts,
    SharedKey,
    TopicFacts,
)
from kcompact.inspect.one_pass import Answers
from kcompact.inspect.placement.partitioning import Cause, Placement, Sightings, find_cause
from kcompact.inspect.questions.lookalikes import MOST_EXAMPLES as MOST_LOOKALIKES
from kcompact.inspect.questions.lookalikes import Accident
from kcompact.inspect.questions.sample import by_topic
from kcompact.inspect.questions.shared_keys import MOST_EXAMPLES


def topic_facts(logs: Iterable[LogFacts], answers: Answers) -> list[TopicFacts]:
    """Facts of each topic, by name."""
    partitions: dict[str, int] = defaultdict(int)
    for log in logs:
        partitions[log.topic] += 1
    facts = {topic: TopicFacts(topic, count) for topic, count in sorted(partitions.items())}
    for row in answers["shared_keys"].to_pylist():
        topic = facts[row["topic"]]
        topic.shared_keys, topic.severe_keys = row["shared_keys"], row["severe_keys"]
    for row in sorted(answers["newest_places"].to_pylist(), key=lambda row: row["partition"]):
        facts[row["topic"]].newest_by_partition[row["partition"]] = row["newest_here"]
    _add_shared_examples(facts, answers["shared_key_examples"])
    _add_lookalikes(facts, answers)
    causes = {topic: find_cause(_sightings(rows)) for topic, rows in by_topic(answers["sample"])}
    for topic in facts.values():
        topic.placement = describe(causes.get(topic.topic, Cause("too_few")))
    return list(facts.values())


def describe(cause: Cause) -> PlacementFacts:
    """A cause as a value and as a sentence."""
    placed = tuple(
        Placed(place.partitioner.name, place.partitioner.clients, place.partitions, only)
        for place, only in zip(cause.placements, cause.only, strict=True)
    )
    return PlacementFacts(cause.kind, _sentence(cause), cause.explained, cause.rows, placed, cause.changes)


def _sentence(cause: Cause) -> str:
    if cause.kind == "too_few":
        return "too few keys to tell which partitioner placed them"
    if cause.kind == "unknown":
        return (
            "no known partitioner explains where the keys are: partitions chosen by the application, a"
            " partitioner of its own, or keys that the exporter changed"
        )
    if cause.kind == "one":
        return _placed_by(cause)
    old, new = cause.placements
    if cause.kind == "mixed":
        return f"two kinds of producers write side by side: {_description(old)}, and {_description(new)}"
    if old.partitioner is new.partitioner or old.partitions == 1:
        return (
            f"the number of partitions was raised from {old.partitions} to {new.partitions} half-way"
            f" ({new.partitioner.name}: {new.partitioner.clients})"
        )
    return f"the partitioner changed half-way: first {_description(old)}, then {_description(new)}"


def _placed_by(cause: Cause) -> str:
    place, strays = cause.placements[0], cause.rows - cause.explained
    if place.partitions == 1:
        return "there is one partition only"
    but = f", but {strays:,} of {cause.rows:,} are elsewhere: partitions chosen by hand" if strays else ""
    return f"keys are placed by {_description(place)}{but}"


def _description(place: Placement) -> str:
    return f"{place.partitioner.name} modulo {place.partitions} ({place.partitioner.clients})"


def _sightings(sample: pa.Table) -> Sightings:
    """The sightings of one topic; ``sample`` holds its rows."""
    rows = sample.sort_by([("key", "ascending"), ("partition", "ascending")])
    columns = (rows[name].to_numpy() for name in ("partition", "first_offset", "last_offset"))
    return Sightings(rows["key"].to_pylist(), *columns)


def _add_shared_examples(facts: dict[str, TopicFacts], examples: pa.Table) -> None:
    places_by_key: dict[tuple[bool, str, bytes], list[KeyPlace]] = defaultdict(list)
    for row in examples.to_pylist():
        topic, key, severe = row.pop("topic"), row.pop("key"), row.pop("is_severe")
        places_by_key[not severe, topic, key].append(KeyPlace(**row))
    for (mild, topic, key), places in sorted(places_by_key.items()):
        shown = facts[topic].shared_key_examples
        if len(shown) < MOST_EXAMPLES:
            ordered = tuple(sorted(places, key=lambda place: place.partition))
            shown.append(SharedKey(key, severe=not mild, places=ordered))


def _add_lookalikes(facts: dict[str, TopicFacts], answers: Answers) -> None:
    for row in answers["lookalikes"].to_pylist():
        facts[row["topic"]].lookalike_keys[Accident(row["accidents"]).words] = row["keys"]
    rows = answers["lookalike_examples"].to_pylist()
    for row in sorted(rows, key=lambda row: sorted(row["keys"])):
        shown = facts[row["topic"]].lookalike_examples
        if len(shown) < MOST_LOOKALIKES:
            shown.append(Lookalike(Accident(row["accidents"]).words, tuple(sorted(row["keys"]))))
