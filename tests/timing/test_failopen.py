# SPDX-License-Identifier: BSD-2-Clause
"""A worker that is stopped while it sleeps. test_death.py has one that is stopped at work."""
import signal

from shuntlab.frames import routed
from shuntlab.modes import STATIC3
from shuntlab.shuntd import Watched
from shuntlab.trickle import numbered


def test_stopped_asleep_behind_a_frame(lab):
    """One frame at a time, and the worker is stopped as soon as it has sent one and sleeps: the frame
    behind it wakes nobody. The one that comes two seconds later is the kernel's, and the other is dropped
    when the worker goes on: it has been overtaken."""
    gen, sink = lab.ends()

    def arrives(number, timeout):
        return sink.receive(lambda frame: frame == routed(numbered(number)), timeout=timeout)

    with Watched(lab, *STATIC3, "--poll", "interrupt") as daemon:
        for first in range(0, 90, 3):
            gen.send(numbered(first))
            assert arrives(first, 30)
            daemon.process.send_signal(signal.SIGSTOP)
            gen.send(numbered(first + 1))
            # Where it arrives the worker was not stopped yet, or the kernel had it for hung already.
            is_waiting = not arrives(first + 1, 2)
            gen.send(numbered(first + 2))
            by_kernel = not is_waiting or arrives(first + 2, 5)
            daemon.process.send_signal(signal.SIGCONT)
            assert by_kernel, first
            if is_waiting:
                late = [row["count"] for row in daemon.show("drops")["drops"] if row["name"] == "late"]
                assert sum(late) > 0 and not arrives(first + 1, 1)
                return
            assert arrives(first + 2, 30)
    raise AssertionError("it was never stopped in time")
