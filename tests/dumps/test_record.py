"""Hashes stand for content: equal content, equal hash, and nothing else."""

import pytest

from kcompact.dumps.records.record import Record, content_hash, headers_hash
from records import record


@pytest.mark.parametrize(
    "other",
    [
        record("k", "w", offset=3),
        record("K", "v", offset=3),
        record("k", None, offset=3),
        record("k", "", offset=3),
        record("k", "v", offset=3, timestamp_ms=1),
        record("k", "v", offset=3, headers=(("a", b"1"),)),
    ],
)
def test_content_hash_sees_every_part(other: Record) -> None:
    assert content_hash(other) != content_hash(record("k", "v", offset=3))


def test_content_hash_leaves_the_place_out() -> None:
    assert content_hash(record("k", "v", offset=3)) == content_hash(record("k", "v", offset=9, partition=1))


def test_headers_hash_sees_order_null_and_where_a_name_ends() -> None:
    variants = [
        (),
        (("a", b"1"), ("b", b"2")),
        (("b", b"2"), ("a", b"1")),
        (("a", None),),
        (("a", b""),),
        (("a1", b""),),
        (("a", b"1"),),
    ]
    assert len({headers_hash(headers) for headers in variants}) == len(variants)
