"""A limit of time that holds wherever a search happens to be."""

from __future__ import annotations

import _thread
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
    # Bare locks, because each call of theirs is one step of the interpreter: an exception never comes in its midst, as
    # it may in an Event or a Thread, which are written in Python and would stay locked for ever.
    wanted, watching = _thread.allocate_lock(), _thread.allocate_lock()

    def watch() -> None:
        pause = seconds
        while not wanted.acquire(timeout=pause):
            raised_in(here, ctypes.py_object(OutOfTime))
            pause = 0.1  # again, in case it was raised where Python ignores what is raised, in a destructor
        watching.release()

    wanted.acquire()
    watching.acquire()
    try:
        _thread.start_new_thread(watch, ())
        yield
    finally:
        _end(wanted, watching)


def _end(wanted: _thread.LockType, watching: _thread.LockType) -> None:
    """No exception is on its way any more after this.

    One that was asked for is awaited, not taken back: Python 3.11 then looks for it for ever, and a profiler, a
    debugger or coverage that is switched on later never returns.
    """
    while True:
        try:
            if watching.locked() and wanted.locked():
                wanted.release()
            while watching.locked():
                time.sleep(1e-4)  # seconds; the watcher ends at once when it has a processor
            for _ in range(10):
                pass  # a loop is where Python raises what was asked for
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
