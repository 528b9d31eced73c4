# SPDX-License-Identifier: BSD-2-Clause
"""How soon the kernel forwards where shuntd does not: within 50 ms."""
import signal
import time

import pytest

from shuntlab.frames import routed
from shuntlab.modes import POLLING, STATIC3
from shuntlab.shuntd import Shuntd
from shuntlab.trickle import Trickle, numbered


def stop_for_a_while(trickle, daemon):
    """SIGSTOP, then SIGCONT once the kernel forwards: how long after the stop the last frame was sent that
    the daemon held, None where it held none."""
    trickle.until_served(daemon)
    daemon.process.send_signal(signal.SIGSTOP)
    at = time.monotonic()
    trickle.run(0.3)
    # All of that may have been sent at the beginning, by a sender that then had no CPU.
    trickle.run(10, trickle.is_last_there)
    held = trickle.lost()
    daemon.process.send_signal(signal.SIGCONT)
    return trickle.sent[held[-1]] - at if held else None


@pytest.mark.parametrize("poll", POLLING)
def test_hung_worker(lab, poll):
    """A machine that is busy elsewhere may be late for once, not five times."""
    trickle, late = Trickle(lab), []
    with Shuntd(lab, *STATIC3, "--poll", poll) as daemon:
        while not late or late[-1] is None or late[-1] >= 0.05:
            assert len(late) < 5, f"the kernel forwards too late: {late}"
            late.append(stop_for_a_while(trickle, daemon))
        trickle.until_served(daemon)
        assert daemon.steered("hung") > 0


def test_stopped_asleep_behind_a_frame(lab):
    """One frame at a time, and the worker is stopped as soon as it has sent one and sleeps: the frame
    behind it wakes nobody. The one that comes two seconds later is the kernel's."""
    gen, sink = lab.ends()

    def arrives(number, timeout):
        return sink.receive(lambda frame: frame == routed(numbered(number)), timeout=timeout)

    with Shuntd(lab, *STATIC3, "--poll", "interrupt") as daemon:
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
            assert arrives(first + 1 if is_waiting else first + 2, 30)
            if is_waiting:
                return
    raise AssertionError("it was never stopped in time")
