# SPDX-License-Identifier: BSD-2-Clause
"""When a worker sleeps and how soon it wakes, by way of polling; shunt-bench idle measures it."""
import statistics
import struct
import time

import pytest

from shuntlab.frames import SINK, udp4
from shuntlab.modes import PAIRS, POLLING
from shuntlab.shuntd import Watched

IDLE_S = 0.02


def test_adaptive_sleeps_when_idle_and_spins_under_load(lab):
    """Packets further apart than idle_us each wake the worker; under a load that leaves no such
    gap it does not sleep."""
    gen, sink = lab.ends()
    with Watched(lab, *PAIRS["xconnect"], "--poll", "adaptive", "--idle-us", int(IDLE_S * 1e6)) as daemon:
        before = daemon.worker()
        for number in range(20):
            frame = udp4(data=number.to_bytes(4, "big") + bytes(14), eth_dst=SINK)
            time.sleep(3 * IDLE_S)
            gen.reaches(sink, frame)
        idle = daemon.worker()
        assert idle["sleeps"] - before["sleeps"] >= 15, (before, idle)
        lab.send("gen", "eth1", "--rate", 2000, "--count", 4000, "--dst-mac", SINK, timeout=60)
        loaded = daemon.worker()
        packets = loaded["packets"] - idle["packets"]
        assert packets >= 2000
        assert loaded["sleeps"] - idle["sleeps"] < packets / 10, (idle, loaded)


@pytest.mark.parametrize("poll", POLLING)
def test_a_lone_packet_leaves_at_once(lab, poll):
    """One packet at a time, its arrival awaited: nothing waits for company. A worker that missed
    its wake-up would take the 100 ms after which it looks anyway."""
    with Watched(lab, *PAIRS["xconnect"], "--poll", poll, "--idle-us", 10):
        gen, sink = lab.ends()
        times = []
        for number in range(1000):
            frame = udp4(data=struct.pack("!I", number) + bytes(14), eth_dst=SINK)
            start = time.monotonic()
            gen.reaches(sink, frame)
            times.append(time.monotonic() - start)
        # Half of those that waited for the worker's own clock would take more than 50 ms.
        assert statistics.median(times) < 0.02
