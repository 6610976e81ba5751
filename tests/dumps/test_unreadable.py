"""Which logs a file may hold records of that cannot be read, by the names of those that can."""

import pickle

import pytest

from kcompact.broker.log_names import LogName
from kcompact.dumps.files.unreadable import (
    LeavingOutError,
    UnreadableFile,
    described,
    refuse,
    require_logs_left_out,
)
from kcompact.dumps.options import LeftOut
from kcompact.errors import InputError


def logs_left_out(path: str, readable: dict[str, set[LogName]]) -> LeftOut:
    left = LeftOut(frozenset({(path, f"{path}: cut off")}))
    with pytest.raises(LeavingOutError) as error:
        require_logs_left_out(left, readable)
    needed = error.value.left_out
    require_logs_left_out(left.plus(needed), readable)  # and then nothing more is asked for
    return needed


def test_a_file_named_after_its_log_takes_that_log_alone() -> None:
    readable: dict[str, set[LogName]] = {
        "d/orders-0.jsonl": {LogName("orders", 0)},
        "d/pay-2.jsonl.gz": {LogName("pay", 2)},
    }
    assert logs_left_out("d/orders-1.jsonl", readable) == LeftOut(logs=frozenset({LogName("orders", 1)}))


@pytest.mark.parametrize("path", ["d/orders-2024.jsonl", "orders/part-7.jsonl", "topic=orders/x.jsonl"])
def test_a_name_that_is_no_log_takes_every_log_of_its_topic(path: str) -> None:
    readable: dict[str, set[LogName]] = {
        "d/orders-2023.jsonl": {LogName("orders", 0), LogName("orders", 1)},
        "d/orders.eu-1.jsonl": {LogName("orders.eu", 3)},
    }
    assert logs_left_out(path, readable) == LeftOut(topics=frozenset({"orders"}))


def refusal(path: str, readable: dict[str, set[LogName]]) -> str:
    with pytest.raises(InputError) as refused:
        require_logs_left_out(LeftOut(frozenset({(path, "cut off")})), readable)
    return refused.value.message


def test_a_name_that_says_nothing_is_refused() -> None:
    expected = "cut off; the name of d/b.jsonl does not say whose records it holds"
    assert refusal("d/b.jsonl", {"d/a.jsonl": {LogName("orders", 0)}}).startswith(expected)


def test_a_name_that_says_something_is_refused_by_that_of_another_file() -> None:
    logs = {LogName("orders", 0), LogName("pay", 0)}
    message = refusal("d/orders-1.jsonl", {"d/pay-0.jsonl": {LogName("pay", 0)}, "d/a.jsonl": logs})
    assert "the name of d/orders-1.jsonl does not say" not in message
    assert "d/a.jsonl has records of orders-0, pay-0, which its name does not say" in message
    assert "no file that can be read shows" in refusal("d/orders-1.jsonl", {})
    readable = {"d/orders-0.jsonl": {LogName("orders", 0)}, "d/x.jsonl": {LogName("pay", 0)}}
    assert "d/x.jsonl has records of pay-0" in refusal("topic=orders/y.jsonl", readable)


def test_every_file_is_named() -> None:
    files = [
        UnreadableFile((f"{name}.gz",), InputError(f"{name}.gz: cut off", hint="again")) for name in "abc"
    ]
    assert refuse(files[:1], keep_going=False, is_all=True) is files[0].error
    error = refuse(files, keep_going=False, is_all=False)
    assert error.message == "3 files cannot be read: a.gz: cut off; b.gz: cut off; c.gz: cut off"
    assert error.hint == "again; --keep-going leaves out the logs that these files may hold records of"


def test_what_leaves_out_files_is_not_proposed_where_no_file_can_be_read() -> None:
    files = [
        UnreadableFile((f"{name}.gz",), InputError(f"{name}.gz: cut off", hint="again")) for name in "ab"
    ]
    for keep_going in (False, True):
        error = refuse(files, keep_going=keep_going, is_all=True)
        assert type(error) is InputError
        assert error.hint == "again"


def test_an_error_that_names_no_file_is_that_of_an_option_and_comes_as_it_is() -> None:
    files = [UnreadableFile((name,), InputError("--tombstone bad", hint="it is null")) for name in "abc"]
    assert refuse(files, keep_going=False, is_all=True) is files[0].error


def test_what_is_left_out_travels_with_the_error() -> None:
    left = LeftOut(frozenset({("ö\n.gz", "cut\noff")}), frozenset({LogName("t", 3)}), frozenset({"u"}))
    error = pickle.loads(pickle.dumps(LeavingOutError(left)))  # noqa: S301  made in this line
    assert error.left_out == left
    assert described(left) == "left out: t-3, every partition of u (cut\noff)"
