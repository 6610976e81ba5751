"""Blocks of bytes that the tasks of one stage send to those of the next, carried by Spark's own shuffle.

A block is a stretch of Arrow or pickled bytes, at most some megabytes. Spark's own rows would cost
microseconds each; shuffling blocks costs next to nothing, while Spark still spills, survives a lost worker,
and needs no common file system. On classic Spark, blocks travel in an RDD; behind Spark Connect, which has no
RDDs, in a DataFrame.
"""

import itertools
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa
from pyspark.sql import SparkSession

from kcompact.engine.startup.workers import wait_for_worker
from kcompact.engine.tasks import result_of, value_of
from kcompact.errors import KcompactError

Result = TypeVar("Result")

DRIVER = -1
"""The receiver of blocks that the driver reads (``Stage.driver_blocks``)."""

_ROWS_PER_ARROW_BATCH = 16  # a row is a block on its way to a worker, through Connect
_FAILED = "failed"


class Block(NamedTuple):
    """Bytes, and what kind of bytes they are (a receiver may be sent several kinds)."""

    kind: str
    content: bytes


Sent = Iterable[tuple[int, Block]]
"""Blocks with the number of the task that each goes to, or DRIVER."""


class Message(NamedTuple):
    """A block on its way. The messages of a receiver are put in the order of sender and number."""

    receiver: int
    sender: int
    number: int
    kind: str
    content: bytes


Do = Callable[[int, Iterable[Message]], Any]
"""The work of a task, given the number and the messages of a receiver."""


class Stage(ABC):
    """Tasks that send blocks. They run when their blocks are first asked for, and only once.

    Blocks reach a receiver in the order of their senders, and those of a sender in the order sent. A
    KcompactError in a task is raised by the call that meets it first; Spark does not try such a task again.
    """

    def __init__(self, receivers: int) -> None:
        self._receivers = receivers  # the driver's number is the one after theirs

    def driver_blocks(self) -> list[Block]:
        """Run the stage, and return the blocks sent to the driver."""
        return self.blocks_for(self._receivers)

    def blocks_for(self, receiver: int) -> list[Block]:
        """Run the stage, and bring the blocks sent to a receiver to the driver."""
        return _checked(self._brought(receiver))

    def then(self, receivers: int, work: Callable[[int, list[Block]], Sent]) -> "Stage":
        """The next stage: ``work`` is given each receiver's number and blocks, and sends to ``receivers``."""
        driver = self._receivers

        def do(receiver: int, messages: Iterable[Message]) -> Iterator[Message]:
            blocks = blocks_of(messages)  # read in any case: Spark ends a worker that leaves its input unread
            if receiver != driver:
                yield from messages_of(receiver, receivers, partial(work, receiver, blocks))

        return self._sent_on(do, receivers)

    def results(
        self, work: Callable[[int, list[Block]], Result], receivers: Sequence[int] | None = None
    ) -> list[Result]:
        """Run ``work`` as the last stage: its results on the blocks of each of ``receivers`` (None: all)."""
        return self.results_and_driver_blocks(work, receivers)[0]

    def results_and_driver_blocks(
        self, work: Callable[[int, list[Block]], Result], receivers: Sequence[int] | None = None
    ) -> tuple[list[Result], list[Block]]:
        """The same as ``results``, and the blocks sent to the driver."""
        driver = self._receivers

        def do(receiver: int, messages: Iterable[Message]) -> Result | list[Block]:
            return _checked(messages) if receiver == driver else work(receiver, blocks_of(messages))

        blocks, *results = self._run(do, [driver, *(range(driver) if receivers is None else receivers)])
        return results, blocks

    @abstractmethod
    def _brought(self, receiver: int) -> Iterable[Message]:
        """One receiver's messages, brought to the driver."""

    @abstractmethod
    def _sent_on(self, do: Do, receivers: int) -> "Stage":
        """The stage of the messages that ``do`` makes from the messages of each receiver."""

    @abstractmethod
    def _run(self, do: Do, receivers: list[int]) -> list[Any]:
        """The results of ``do`` on the messages of some receivers, in this order."""


Send = Callable[[int, int, Callable[[int], Sent]], Stage]
"""``send`` with its session bound, or ``send_in_process``."""


def send(spark: SparkSession, tasks: int, receivers: int, work: Callable[[int], Sent]) -> Stage:
    """The first stage: ``work`` is given each number below ``tasks``, and sends to ``receivers``."""
    context = getattr(spark, "_sc", None)
    if context is not None:
        numbers = context.range(0, tasks, 1, max(tasks, 1))
        return _RddStage(
            numbers.flatMap(lambda task: messages_of(task, receivers, partial(work, task))), receivers
        )

    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for task in batch.column(0).to_pylist():
                yield from map(_row_of, messages_of(task, receivers, partial(work, task)))

    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(_ROWS_PER_ARROW_BATCH))
    return _FrameStage(spark.range(0, tasks, 1, max(tasks, 1)).mapInArrow(rows, _MESSAGE_COLUMNS), receivers)


def send_in_process(tasks: int, receivers: int, work: Callable[[int], Sent]) -> Stage:
    """Like ``send``, one task after another in this process: a dump that one task reads needs no shuffle."""
    sent = (messages_of(task, receivers, partial(work, task)) for task in range(tasks))
    return _InProcessStage(itertools.chain.from_iterable(sent), receivers)


def messages_of(sender: int, receivers: int, work: Callable[[], Sent]) -> Iterator[Message]:
    """The messages of one task. If it ends with a KcompactError, the last message holds this error.

    The driver's number as a receiver is the one after all others.
    """
    number = 0
    try:
        for number, (receiver, block) in enumerate(work()):
            yield Message(receivers if receiver == DRIVER else receiver, sender, number, *block)
    except KcompactError as error:
        yield Message(receivers, sender, number + 1, _FAILED, pickle.dumps(error))


def blocks_of(messages: Iterable[Message]) -> list[Block]:
    """One receiver's blocks in their order."""
    ordered = sorted(messages, key=lambda message: (message.sender, message.number))
    return [Block(message.kind, message.content) for message in ordered]


def _checked(messages: Iterable[Message]) -> list[Block]:
    """One receiver's blocks in their order. Raises the first KcompactError that a task ended with."""
    blocks = blocks_of(messages)
    for block in blocks:
        if block.kind == _FAILED:
            raise pickle.loads(block.content)  # noqa: S301  pickled by messages_of
    return blocks


class _RddStage(Stage):
    """A stage on classic Spark. Its last partition is the driver's."""

    def __init__(self, messages: Any, receivers: int) -> None:
        super().__init__(receivers)
        keyed = messages.map(lambda message: (message.receiver, message))
        self._received = keyed.partitionBy(receivers + 1, _as_it_is)

    def _brought(self, receiver: int) -> Iterable[Message]:
        wait_for_worker()
        # This runs for one partition; Spark keeps the blocks that were sent to all the others.
        return self._received.context.runJob(self._received, _values, [receiver])

    def _sent_on(self, do: Do, receivers: int) -> "_RddStage":
        sent = self._received.mapPartitionsWithIndex(lambda number, pairs: do(number, _values(pairs)))
        return _RddStage(sent, receivers)

    def _run(self, do: Do, receivers: list[int]) -> list[Any]:
        rdd = self._received.mapPartitionsWithIndex(
            lambda number, pairs: [result_of(partial(do, number, _values(pairs)))]
        )
        wait_for_worker()
        return list(map(value_of, self._received.context.runJob(rdd, iter, receivers)))


def _as_it_is(receiver: int) -> int:
    return receiver


def _values(pairs: Iterable[tuple[int, Message]]) -> Iterator[Message]:
    return (message for _, message in pairs)


_MESSAGE_COLUMNS = "receiver int, sender int, number int, kind string, content binary"
_MESSAGES = pa.schema(
    [
        ("receiver", pa.int32()),
        ("sender", pa.int32()),
        ("number", pa.int32()),
        ("kind", pa.string()),
        ("content", pa.binary()),
    ]
)


class _FrameStage(Stage):
    """A stage through Spark Connect. Its last partition is the driver's."""

    def __init__(self, rows: Any, receivers: int) -> None:
        super().__init__(receivers)
        self._received = rows.repartitionById(receivers + 1, "receiver").persist()

    def _brought(self, receiver: int) -> Iterable[Message]:
        return _messages_in(self._received.where(f"receiver = {receiver}").toArrow().to_batches())

    def _sent_on(self, do: Do, receivers: int) -> "_FrameStage":
        def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return map(_row_of, do(_partition(), _messages_in(batches)))

        return _FrameStage(self._received.mapInArrow(rows, _MESSAGE_COLUMNS), receivers)

    def _run(self, do: Do, receivers: list[int]) -> list[Any]:
        def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            receiver = _partition()
            if receiver in receivers:
                result = result_of(partial(do, receiver, _messages_in(batches)))
                yield _row_of(Message(receiver, receiver, 0, "", result))

        results = self._received.mapInArrow(rows, _MESSAGE_COLUMNS).toArrow().to_pylist()
        contents = {row["receiver"]: row["content"] for row in results}
        return [value_of(contents[receiver]) for receiver in receivers]


def _partition() -> int:
    from pyspark import TaskContext  # known to a task only

    context = TaskContext.get()
    assert context is not None  # noqa: S101  this is called by tasks
    return context.partitionId()


def _row_of(message: Message) -> pa.RecordBatch:
    arrays = [pa.array([value], field.type) for value, field in zip(message, _MESSAGES, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_MESSAGES)


def _messages_in(batches: Iterable[pa.RecordBatch]) -> Iterator[Message]:
    for row in itertools.chain.from_iterable(batch.to_pylist() for batch in batches):
        yield Message(**row)


class _InProcessStage(Stage):
    """A stage in this process: messages are kept in lists, and tasks run at once."""

    def __init__(self, messages: Iterable[Message], receivers: int) -> None:
        super().__init__(receivers)
        self._received: list[list[Message]] = [[] for _ in range(receivers + 1)]
        for message in messages:
            self._received[message.receiver].append(message)

    def _brought(self, receiver: int) -> Iterable[Message]:
        return self._received[receiver]

    def _sent_on(self, do: Do, receivers: int) -> "_InProcessStage":
        sent = itertools.starmap(do, enumerate(self._received))
        return _InProcessStage(itertools.chain.from_iterable(sent), receivers)

    def _run(self, do: Do, receivers: list[int]) -> list[Any]:
        return [do(receiver, self._received[receiver]) for receiver in receivers]
