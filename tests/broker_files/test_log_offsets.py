import pytest

from kcompact.broker.log_names import LogName
from kcompact.broker.log_offsets import parse_log_offsets
from kcompact.errors import InputError, PolicyError

ORDERS, USERS = LogName("my-orders", 0), LogName("users", 12)


def test_a_bare_number_is_for_a_dump_of_one_log() -> None:
    offsets = parse_log_offsets("--log-end-offset", ["303"])
    assert offsets.for_logs([ORDERS]) == {ORDERS: 303}
    with pytest.raises(InputError, match="--log-end-offset names no topic and partition"):
        offsets.for_logs([ORDERS, USERS])


def test_a_log_s_name_may_come_first() -> None:
    offsets = parse_log_offsets("--log-end-offset", ["my-orders-0=303", "users-12=0"])
    assert offsets.for_logs([ORDERS, USERS]) == {ORDERS: 303, USERS: 0}
    assert offsets.for_logs([USERS]) == {USERS: 0}


@pytest.mark.parametrize("argument", ["", "x", "-1", "orders=3", "orders-0=", "=3", "orders-x=3", "1.5"])
def test_anything_else_is_refused_with_an_example(argument: str) -> None:
    with pytest.raises(PolicyError) as refusal:
        parse_log_offsets("--log-end-offset", [argument])
    assert "orders-0=303" in (refusal.value.hint or "")


def test_two_answers_for_one_log_are_refused() -> None:
    with pytest.raises(PolicyError, match="given twice for users-12: 3 and 4"):
        parse_log_offsets("--log-end-offset", ["users-12=3", "users-12=4"])
