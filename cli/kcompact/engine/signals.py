"""Being told to stop: SIGTERM and SIGHUP end a run as Ctrl-C does, with everything cleared away."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_DEAF_SECONDS = 3.0  # clearing away takes a fraction; whoever asks again later is heard again


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """Inside, a signal raises KeyboardInterrupt; more of them soon after cannot disturb the clearing away.

    A signal that was ignored before stays ignored (``nohup``, shell jobs in the background).
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # Python lets only the main thread set handlers
        return
    before = {number: signal.getsignal(number) for number in _STOPPING}
    heard = [number for number in _STOPPING if before[number] is not signal.SIG_IGN]

    interrupted_at = -_DEAF_SECONDS

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted_at
        if time.monotonic() - interrupted_at >= _DEAF_SECONDS:
            interrupted_at = time.monotonic()
            signal.default_int_handler(number, frame)

    try:
        for number in heard:
            signal.signal(number, stop)
        yield
    finally:
        for number in heard:
            signal.signal(number, before[number])
