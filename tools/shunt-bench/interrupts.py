# SPDX-License-Identifier: BSD-2-Clause
"""Programs that are ended however this one ends. An interrupt that came while one is being started, which
takes a while on a busy machine, would leave it behind: nobody would know of it yet."""
import contextlib
import ctypes
import os
import signal

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def _held_back():
    """What would end this program waits until the block is done."""
    came = []
    before = {number: signal.signal(number, lambda n, _: came.append(n)) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in came:
            os.kill(os.getpid(), number)


def end_with_us():
    """In a child before it begins (preexec_fn): it gets SIGTERM when this program is killed."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


@contextlib.contextmanager
def started(start, stop):
    """start() is a process, which is given to stop(process) however the block ends."""
    process = None
    try:
        with _held_back():
            process = start()
        yield process
    finally:
        if process is not None:
            stop(process)
