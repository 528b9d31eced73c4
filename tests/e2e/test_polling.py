# SPDX-License-Identifier: BSD-2-Clause
"""When the polling mode adaptive sleeps and when it spins; tests/bench/switchover measures it."""
import time

from shuntlab.shuntd import Shuntd
from shuntlab.frames import SINK, udp4

IDLE_S = 0.02


def worker(daemon):
    return daemon.show("workers")["workers"][0]


def test_adaptive_sleeps_when_idle_and_spins_under_load(lab):
    """Packets further apart than idle_us each wake the worker; under a load that leaves no such
    gap he does not sleep, but where the machine held the sender up."""
    gen, sink = lab.wire("gen"), lab.wire("sink")
    with Shuntd(lab, "xconnect", "eth1", "eth2", "--poll", "adaptive", "--idle-us",
                int(IDLE_S * 1e6)) as daemon:
        before = worker(daemon)
        for number in range(20):
            frame = udp4(data=number.to_bytes(4, "big") + bytes(14), eth_dst=SINK)
            time.sleep(3 * IDLE_S)
            gen.send(frame)
            sink.expect(frame)
        idle = worker(daemon)
        assert idle["sleeps"] - before["sleeps"] >= 15, (before, idle)
        lab.send("gen", "eth1", "--rate", 2000, "--count", 4000, "--dst-mac", SINK, timeout=60)
        loaded = worker(daemon)
        packets = loaded["packets"] - idle["packets"]
        assert packets >= 2000
        assert loaded["sleeps"] - idle["sleeps"] < packets / 10, (idle, loaded)
