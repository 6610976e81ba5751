"""Values with structure, of Avro or Parquet, as JSON."""

import json
from datetime import UTC, date, datetime, time
from typing import Any
from uuid import UUID

import pytest

from kcompact.dumps.records.structured import as_json

LEVELS = 300  # more than orjson goes into

LEAVES = {
    '"2025-01-02T03:04:05+00:00"': datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC),
    '"2025-01-02"': date(2025, 1, 2),
    '"03:04:05"': time(3, 4, 5),
    '"12345678-1234-5678-1234-567812345678"': UUID("12345678-1234-5678-1234-567812345678"),
    '{"2025-01-02":3}': {date(2025, 1, 2): 3},
    '{"7":true,"1.5":null}': {7: True, 1.5: None},
    '"\u00ff"': b"\xff",
    '"inf"': float("inf"),
}


@pytest.mark.parametrize("levels", [0, LEVELS])
@pytest.mark.parametrize("text", LEAVES)
def test_values_are_spelt_alike_at_any_depth(text: str, levels: int) -> None:
    value: Any = LEAVES[text]
    for _ in range(levels):
        value = [value]
    encoded = as_json(value).decode()
    assert encoded == "[" * levels + text + "]" * levels
    json.loads(encoded)
