"""Blocks from stage to stage: who receives what, in which order, how often the work is done, and errors."""

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from kcompact.engine.shuffle import DRIVER, Block, Sent, send
from kcompact.errors import InputError

pytestmark = pytest.mark.spark
TASKS, RECEIVERS = 3, 4
LARGE_BYTES = 40 << 20


def texts(blocks: list[Block]) -> list[str]:
    return [block.content.decode() for block in blocks]


def work_of_numbers() -> Callable[[int], Sent]:
    """Ten numbers, each to the task of its remainder, and the sum of them to the driver.

    Made in a function, so that it travels to the workers as it is: they cannot import this module.
    """

    def numbers(task: int) -> Sent:
        for number in range(task * 10, task * 10 + 10):
            yield number % 4, Block("number", str(number).encode())
        yield DRIVER, Block("sum", str(sum(range(task * 10, task * 10 + 10))).encode())

    return numbers


def test_blocks_reach_their_receivers_in_the_order_of_senders(spark: object) -> None:
    stage = send(spark, TASKS, RECEIVERS, work_of_numbers())

    results, of_driver = stage.results_and_driver_blocks(
        lambda receiver, blocks: (receiver, [block.content.decode() for block in blocks])
    )

    expected = [(r, [str(n) for n in range(30) if n % RECEIVERS == r]) for r in range(RECEIVERS)]
    assert results == expected
    assert of_driver == [Block("sum", b"45"), Block("sum", b"145"), Block("sum", b"245")]


def test_stages_follow_one_another(spark: object) -> None:
    def doubled(receiver: int, blocks: list[Block]) -> Sent:
        for block in blocks:
            yield 0, Block("doubled", str(2 * int(block.content)).encode())
        yield DRIVER, Block("count", f"{receiver}:{len(blocks)}".encode())

    stage = send(spark, TASKS, RECEIVERS, work_of_numbers()).then(2, doubled)

    (first, second), of_driver = stage.results_and_driver_blocks(
        lambda _receiver, blocks: [int(block.content) for block in blocks]
    )

    assert sorted(first) == [2 * n for n in range(30)]
    assert second == []
    assert texts(of_driver) == ["0:8", "1:8", "2:7", "3:7"]


def test_workers_are_used_again_in_the_next_stage(spark: object) -> None:
    def process_id(_receiver: int, _blocks: object = None) -> Sent:
        yield DRIVER, Block("process", str(os.getpid()).encode())

    first = send(spark, TASKS, RECEIVERS, process_id)
    second = first.then(RECEIVERS, process_id)
    ids = {*texts(first.driver_blocks()), *texts(second.driver_blocks())}
    ids |= {str(number) for number in second.results(lambda _receiver, _blocks: os.getpid())}

    assert not [number for number in ids if not Path("/proc", number).exists()]


def test_what_the_driver_asks_for_first_is_not_done_again(spark: object, tmp_path: Path) -> None:
    numbers = work_of_numbers()

    def noted(task: int) -> Sent:
        with (tmp_path / f"task-{task}").open("a") as file:
            file.write("once\n")
        yield from numbers(task)

    stage = send(spark, TASKS, RECEIVERS, noted)
    assert texts(stage.driver_blocks()) == ["45", "145", "245"]
    assert len(stage.results(lambda _receiver, blocks: len(blocks))) == RECEIVERS

    assert [(tmp_path / f"task-{task}").read_text() for task in range(TASKS)] == ["once\n"] * TASKS


def test_an_error_of_ours_ends_the_stage_with_its_hint(spark: object) -> None:
    def refuse(task: int) -> Sent:
        yield 0, Block("number", b"1")
        if task == 1:
            raise InputError("line 7 is no record", hint="look at it")

    stage = send(spark, TASKS, RECEIVERS, refuse)

    with pytest.raises(InputError, match="line 7 is no record") as caught:
        stage.driver_blocks()
    assert caught.value.hint == "look at it"
    with pytest.raises(InputError, match="line 7 is no record"):
        stage.results(lambda _receiver, blocks: len(blocks))


def test_an_error_of_ours_in_the_last_stage_is_raised_after_one_try(spark: object, tmp_path: Path) -> None:
    def fail(receiver: int, blocks: list[Block]) -> None:
        del blocks
        with (tmp_path / f"receiver-{receiver}").open("a") as file:
            file.write("once\n")
        raise InputError(f"receiver {receiver}")

    with pytest.raises(InputError, match="receiver 0"):
        send(spark, TASKS, RECEIVERS, work_of_numbers()).results(fail)
    assert {path.read_text() for path in tmp_path.iterdir()} == {"once\n"}


def test_large_blocks_and_many_arrive_whole(spark: object) -> None:
    size = LARGE_BYTES // 40

    def large(task: int) -> Sent:
        for number in range(40):
            yield number % 2, Block("large", bytes([task, number]) * (size // 2))

    counts = send(spark, TASKS, 2, large).results(
        lambda _receiver, blocks: Counter((*block.content[:2], len(block.content)) for block in blocks)
    )

    for receiver in (0, 1):
        sent = [(task, number, size) for task in range(TASKS) for number in range(receiver, 40, 2)]
        assert counts[receiver] == Counter(sent)
