"""Options given as a list: ``--segment-bytes 16MiB,64MiB`` asks for the outcome under each value."""

from dataclasses import dataclass, fields, replace
from itertools import product
from typing import Any

from kcompact.errors import PolicyError
from kcompact.options.policy_options import PolicyOptions, config_name

MOST_ROWS = 200
_NO_LISTS = {"topic_config", "cleanup_policy"}  # their values may have commas
_ROLLED_BY = {"segment_bytes", "segment_ms"}


@dataclass(frozen=True)
class WhatIfOptions:
    """One combination of listed values. ``values`` are (config name, text as given)."""

    values: tuple[tuple[str, str], ...]
    options: PolicyOptions
    rerolls: bool  # known segments are ignored: under these values the broker would have rolled others


def split_lists(options: PolicyOptions) -> tuple[PolicyOptions, list[WhatIfOptions]]:
    """The options without those that are lists, and one set of options per combination of listed values.

    In the first, an option that was a list has its value from a file, or its default. Raises PolicyError.
    """
    lists = {
        option.name: [text.strip() for text in value.split(",")]
        for option in fields(options)
        if option.name not in _NO_LISTS and "," in (value := getattr(options, option.name) or "")
    }
    unsaid: dict[str, Any] = dict.fromkeys(lists)
    plain = replace(options, **unsaid)
    if not lists:
        return plain, []
    combinations = list(product(*lists.values()))
    if len(combinations) > MOST_ROWS:
        raise PolicyError(
            f"the lists make {len(combinations):,} combinations, more than {MOST_ROWS}",
            hint="give fewer values, or one list at a time",
        )
    rerolls = bool(lists.keys() & _ROLLED_BY)
    rows = []
    for texts in combinations:
        values: dict[str, Any] = dict(zip(lists, texts, strict=True))
        named = tuple((config_name(name), text) for name, text in values.items())
        rows.append(WhatIfOptions(named, replace(plain, **values), rerolls))
    return plain, rows
