"""Signals: SIGINT, SIGTERM and SIGHUP end a run with exit code 130, and everything is cleaned up.

A signal that was ignored when the process began stays ignored (``nohup``, background jobs of a script).
"""

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_AGAIN_SECONDS = 0.01
_DEAF_SECONDS = 3.0  # cleaning up takes a fraction of this; later signals count again

Handler = Callable[[int, FrameType | None], object] | int | None


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """In this context a signal raises KeyboardInterrupt; more signals soon after it are ignored.

    If it is raised while Python finalises an object, Python only prints it; then it is raised once more.
    """
    interrupted_at, heard = -_DEAF_SECONDS, signal.SIGINT
    usual = sys.unraisablehook

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted_at, heard
        if time.monotonic() - interrupted_at >= _DEAF_SECONDS:
            interrupted_at, heard = time.monotonic(), signal.Signals(number)
            signal.default_int_handler(number, frame)

    def send_again() -> None:
        nonlocal interrupted_at
        interrupted_at = -_DEAF_SECONDS  # not earlier: another signal would be raised in the hook itself
        signal.pthread_kill(threading.main_thread().ident or 0, heard)

    def hear_again(unheard: Any) -> None:
        if isinstance(unheard.exc_value, KeyboardInterrupt):
            threading.Timer(_AGAIN_SECONDS, send_again).start()
        else:
            usual(unheard)

    with handlers_kept():
        _handle_with(stop)
        sys.unraisablehook = hear_again
        try:
            yield
        finally:
            sys.unraisablehook = usual


@contextmanager
def signals_held() -> Iterator[None]:
    """A signal that comes in this context takes effect at its end.

    This is not done by a signal mask, which processes started in the context would keep for good.
    """
    held: list[int] = []
    try:
        with handlers_kept():
            _handle_with(lambda number, _frame: held.append(number))
            yield
    finally:
        if held:
            signal.raise_signal(held[0])


@contextmanager
def handlers_kept() -> Iterator[None]:
    """At the end of the context, restore the signal handlers: PySpark sets one for SIGINT."""
    before = {number: signal.getsignal(number) for number in _STOPPING}
    try:
        yield
    finally:
        for number, handler in before.items():
            _handle(number, handler)


def finish_undisturbed() -> None:
    """Ignore signals from now on: the results are published and the process is about to end."""
    _handle_with(signal.SIG_IGN)


def _handle_with(handler: Handler) -> None:
    for number in _STOPPING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            _handle(number, handler)


def _handle(number: int, handler: Handler) -> None:
    if handler is not None and threading.current_thread() is threading.main_thread():  # as Python demands
        signal.signal(number, handler)
