import pytest

from kcompact.broker.delete_horizons import (
    DeleteHorizon,
    format_delete_horizons,
    parse_delete_horizons,
)
from kcompact.broker.log_context import LogContext
from kcompact.broker.log_names import LogName
from kcompact.errors import InputError
from kcompact.rules.lookups import lookup_for
from kcompact.rules.policy import Policy

ROUNDS = (DeleteHorizon(100, 1700000000000), DeleteHorizon(160, 1600000000000))


def test_what_is_written_is_read_again() -> None:
    horizons = {LogName("t", 1): ROUNDS, LogName("t", 0): ROUNDS[:1]}
    text = format_delete_horizons(horizons)
    assert text == "t 0 100 1700000000000\nt 1 100 1700000000000\nt 1 160 1600000000000\n"
    assert parse_delete_horizons(text, "delete-horizons") == horizons


def test_a_later_round_stamps_only_what_earlier_ones_left() -> None:
    lookup = lookup_for(LogContext(horizons=ROUNDS), Policy())
    assert lookup.horizon_first.tolist() == [0, 100]
    assert lookup.horizon_last.tolist() == [99, 159]
    assert lookup.horizon_ms.tolist() == [1700000000000, 1600000000000]


def test_rounds_out_of_order_are_refused() -> None:
    with pytest.raises(InputError, match="h:2: a later round of t-0"):
        parse_delete_horizons("t 0 160 5\nt 0 160 6\n", "h")
