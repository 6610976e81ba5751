"""Stages whose tasks run one after another in this process: a dump that one task reads needs no shuffle."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from kcompact.engine.shuffle import Block, Message, Sent, blocks_of, for_the_driver, messages_of

Result = TypeVar("Result")


class _InProcessStage:
    """A ``kcompact.engine.shuffle.Stage`` without Spark: messages are kept in lists."""

    def __init__(self, messages: list[Message], receivers: int) -> None:
        self._received: list[list[Message]] = [[] for _ in range(receivers + 1)]
        for message in messages:
            self._received[message.receiver].append(message)

    def driver_blocks(self) -> list[Block]:
        return self.blocks_for(len(self._received) - 1)

    def blocks_for(self, receiver: int) -> list[Block]:
        return for_the_driver(self._received[receiver])

    def then(self, receivers: int, work: Callable[[int, list[Block]], Sent]) -> "_InProcessStage":
        sent = [
            message
            for receiver, messages in enumerate(self._received[:-1])
            for message in messages_of(receiver, receivers, partial(work, receiver, blocks_of(messages)))
        ]
        return _InProcessStage(sent, receivers)

    def results(
        self, work: Callable[[int, list[Block]], Result], receivers: Sequence[int] | None = None
    ) -> tuple[list[Result], list[Block]]:
        of_driver = self.driver_blocks()
        numbers = range(len(self._received) - 1) if receivers is None else receivers
        return [work(number, blocks_of(self._received[number])) for number in numbers], of_driver


def send_in_process(tasks: int, receivers: int, work: Callable[[int], Sent]) -> _InProcessStage:
    """As ``kcompact.engine.shuffle.send``, one task after another in this process."""
    messages = [
        message for task in range(tasks) for message in messages_of(task, receivers, partial(work, task))
    ]
    return _InProcessStage(messages, receivers)
