"""The first line of an inspection, on dumps as small and odd as they come."""

from kcompact.inspect.inspection import LogFacts, Slice
from kcompact.inspect.inspection_remarks import remarks_on, verdict
from kcompact.inspect.severity import InspectFinding, Level


def log(records: int, keys: int, **more: object) -> LogFacts:
    facts = LogFacts("t", 0, records=records, keys=keys, live_keys=keys, slices=[Slice(0, records, keys)])
    for name, value in more.items():
        setattr(facts, name, value)
    return facts


def test_without_keys_nothing_is_said_about_keys_of_their_own() -> None:
    sentence = verdict([log(5, 0, null_keys=5)], [])
    assert sentence.startswith("5 records, 0 live of 0 keys in 1 partition; no record has a key")


def test_one_record_is_one_record() -> None:
    sentence = verdict([log(1, 1)], [])
    assert sentence == "1 record, 1 live of 1 key in 1 partition; one record leaves nothing to compact"


def test_repeated_records_without_key_are_not_taken_off_twice() -> None:
    # Offsets 0 to 19, every second one without key, and 10 to 19 once more: 7 are superseded, which counts
    # alone do not tell; it would be 12 if none of the repeated ones had a key.
    sentence = verdict([log(30, 3, null_keys=15, repeated_offsets=10)], [])
    assert sentence.endswith("; compaction can remove up to 12 superseded records (40 %)")


def test_findings_are_counted_not_repeated() -> None:
    warnings = [
        InspectFinding(Level.WARNING, "a", "the first one"),
        InspectFinding(Level.WARNING, "b", "the second one"),
    ]
    sentence = verdict([log(10, 2)], [*warnings, InspectFinding(Level.ERROR, "c", "the worst")])
    assert sentence.endswith("; compaction can remove 8 superseded records (80 %); 1 error, 2 warnings")


def test_one_of_a_thing_is_not_spoken_of_as_many() -> None:
    facts = log(3, 2, null_keys=1, null_key_offsets=[7])
    facts.values = type(facts.values)(empty=1, word_null=1)
    texts = [finding.text for finding in remarks_on([facts], [])]
    assert any(text.startswith("1 record without key, ") for text in texts)
    assert any(text.startswith("1 value is the text null") for text in texts)
    assert any(text.startswith("1 value is empty") for text in texts)
