"""Hashes stand for content: equal content, equal hash, and nothing else."""

from kcompact.dumps.records.record import headers_hash


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
