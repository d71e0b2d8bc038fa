"""A limit of time that holds wherever a search happens to be."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class OutOfTime(BaseException):
    """The time is over: an order to stop, like KeyboardInterrupt, that nothing may catch by chance."""


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raises `OutOfTime` inside the block once the time is over; None for no limit.

    Another thread asks the interpreter to raise it in this one, so that no loop has to look at the clock. It comes at
    the next step of Python: a single call into linear algebra is not interrupted.
    """
    if seconds is None:
        yield
        return
    if seconds <= 0:
        raise OutOfTime
    here = ctypes.c_ulong(threading.get_ident())
    raised_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
    ended = threading.Event()
    lock = threading.Lock()

    def watch() -> None:
        pause = seconds
        while not ended.wait(pause):
            with lock:
                if not ended.is_set():
                    raised_in(here, ctypes.py_object(OutOfTime))
            pause = 0.1  # again, in case it was raised where Python ignores what is raised, in a destructor

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        _end(ended, lock, here)


def _end(ended: threading.Event, lock: threading.Lock, here: ctypes.c_ulong) -> None:
    """No exception is on its way any more after this."""
    while True:
        try:
            ended.set()
            with lock:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(here, None)
            return
        except OutOfTime:
            continue


class Stopwatch:
    """How much of a limit is left; None where there is no limit."""

    def __init__(self, seconds: float | None) -> None:
        self._ends = None if seconds is None else time.perf_counter() + seconds

    def left(self, share: float = 1.0) -> float | None:
        """Seconds of the rest that may be used."""
        return None if self._ends is None else share * (self._ends - time.perf_counter())
