"""Stages whose tasks run one after another in this process: what work sends, without Spark."""

from collections.abc import Callable
from typing import TypeVar

from kcompact.engine.shuffle import Block, Message, Sent, blocks_of, for_the_driver, messages_of

Result = TypeVar("Result")


class InProcessStage:
    """``kcompact.engine.shuffle.Stage``; what is sent is kept in ``messages``."""

    def __init__(self, messages: list[Message], receivers: int) -> None:
        self.messages = messages
        self._receivers = receivers

    def driver_blocks(self) -> list[Block]:
        return for_the_driver(self._of(self._receivers))

    def then(self, receivers: int, work: Callable[[int, list[Block]], Sent]) -> "InProcessStage":
        sent = [
            message
            for receiver in range(self._receivers)
            for message in messages_of(receiver, receivers, work(receiver, blocks_of(self._of(receiver))))
        ]
        return InProcessStage(sent, receivers)

    def results(self, work: Callable[[int, list[Block]], Result]) -> tuple[list[Result], list[Block]]:
        done = [work(receiver, blocks_of(self._of(receiver))) for receiver in range(self._receivers)]
        return done, self.driver_blocks()

    def _of(self, receiver: int) -> list[Message]:
        return [message for message in self.messages if message.receiver == receiver]


def send_in_process(tasks: int, receivers: int, work: Callable[[int], Sent]) -> InProcessStage:
    """``kcompact.engine.shuffle.send``."""
    messages = [message for task in range(tasks) for message in messages_of(task, receivers, work(task))]
    return InProcessStage(messages, receivers)
