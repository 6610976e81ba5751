import pytest

from kcompact.errors import InputError
from kcompact.options.dump_options import ReadingOptions, read_options


def test_nothing_given_reads_everything() -> None:
    options = read_options(ReadingOptions())
    assert not options.topics
    assert not options.partitions
    assert options.fields == {}


def test_a_key_of_several_fields_is_one_option() -> None:
    assert read_options(ReadingOptions(key_field="shelf, slot")).key_fields == ("shelf", "slot")


def test_lists_are_parsed() -> None:
    options = read_options(
        ReadingOptions(
            topic=["a", "b"],
            partitions="0, 3-5",
            fields="key=kafka_key,value=payload.body",
            columns="offset,key",
            delimiter="\\t",
        )
    )
    assert options.topics == {"a", "b"}
    assert options.partitions == (range(1), range(3, 6))
    assert options.fields == {"key": "kafka_key", "value": "payload.body"}
    assert options.columns == ("offset", "key")
    assert options.delimiter == "\t"


@pytest.mark.parametrize(
    "options",
    [
        ReadingOptions(partitions="x"),
        ReadingOptions(partitions="5-3"),
        ReadingOptions(partitions="1,"),
        ReadingOptions(partitions=""),
        ReadingOptions(fields=""),
        ReadingOptions(partitions="-1"),
        ReadingOptions(partitions="²"),
        ReadingOptions(partitions="0-4000000000"),
        ReadingOptions(partitions="0-" + "9" * 5_000),
        ReadingOptions(cdc="oracle"),
        ReadingOptions(key_field="a,"),
        ReadingOptions(fields="key"),
        ReadingOptions(fields="=x"),
        ReadingOptions(fields="key=a,value=v,key=b"),
    ],
)
def test_what_cannot_be_meant_is_refused(options: ReadingOptions) -> None:
    with pytest.raises(InputError, match=r"--(partitions|fields|cdc|key-field)"):
        read_options(options)


@pytest.mark.parametrize("fields", ["id=i,key=k,value=v", "kex=id"])
def test_a_part_that_no_record_has_is_refused_with_those_that_there_are(fields: str) -> None:
    parts = "topic, partition, offset, timestamp, timestamp_type, key, value, headers"
    message = rf"^--fields (id|kex): no such part of a record\nhint: parts: {parts}$"
    with pytest.raises(InputError, match=message):
        read_options(ReadingOptions(fields=fields))


def test_a_part_that_a_record_can_do_without_may_be_none() -> None:
    options = read_options(ReadingOptions(fields="topic=,timestamp=,headers=,value="))
    assert options.places == {"topic": None, "timestamp": None, "headers": None, "value": ""}
    with pytest.raises(InputError, match="--fields key=: not PART=FIELD"):
        read_options(ReadingOptions(fields="key="))
