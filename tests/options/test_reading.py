import pytest

from kcompact.errors import InputError
from kcompact.options.reading import ReadingOptions, read_options


def test_nothing_given_reads_everything() -> None:
    options = read_options(ReadingOptions())
    assert not options.topics
    assert not options.partitions
    assert options.fields == {}


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
    "given",
    [
        ReadingOptions(partitions="x"),
        ReadingOptions(partitions="5-3"),
        ReadingOptions(partitions="1,"),
        ReadingOptions(partitions="-1"),
        ReadingOptions(partitions="²"),
        ReadingOptions(partitions="0-4000000000"),
        ReadingOptions(partitions="0-" + "9" * 5_000),
        ReadingOptions(fields="key"),
        ReadingOptions(fields="=x"),
    ],
)
def test_what_cannot_be_meant_is_refused(given: ReadingOptions) -> None:
    with pytest.raises(InputError, match=r"--(partitions|fields)"):
        read_options(given)
