# SPDX-License-Identifier: BSD-2-Clause
"""How soon shuntd follows what the kernel says of routing."""
import statistics
import time

from shuntlab.frames import routed, udp4
from shuntlab.lab import wait_until
from shuntlab.shuntd import Watched


def test_forwarding_switched_off_is_seen_at_once(lab, each_lane):
    """By the kernel's notice, and not when its settings are next looked at, once a second: else half of
    the times would take half a second and more. A machine that others use may be late for some."""
    gen, sink = lab.ends()
    took = []
    with Watched(lab, "route", "eth1", "eth2", chatty=True) as d:  # of forwarding
        def handed():
            return sum(d.packets("kernel", port) for port in ("eth1", "eth2")) + d.punted()

        def is_forwarded():
            before = handed()
            gen.reaches(sink, udp4(), routed(udp4()))
            return handed() == before

        for _ in range(11):
            wait_until(is_forwarded)
            before = handed()
            lab.exec("dut", "sysctl", "-q", "net.ipv4.conf.eth1.forwarding=0")
            start = time.monotonic()
            wait_until(lambda was=before: gen.send(udp4()) or handed() > was, what="the kernel's turn")
            took.append(time.monotonic() - start)
            lab.exec("dut", "sysctl", "-q", "net.ipv4.conf.eth1.forwarding=1")
    assert statistics.median(took) < 0.25, took
