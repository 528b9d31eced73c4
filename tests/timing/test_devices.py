# SPDX-License-Identifier: BSD-2-Clause
"""How soon shuntd follows what becomes of a port's device."""
import itertools
import statistics
import time

import pytest

from shuntlab.frames import DUT1, routed, udp4
from shuntlab.lab import wait_until
from shuntlab.modes import STATIC3
from shuntlab.shuntd import Watched

OTHER = "02:00:00:00:0b:01"


@pytest.mark.parametrize("words", [("route", "eth1", "eth2"), STATIC3], ids=["route", "static3"])
def test_an_address_that_is_no_more_is_not_the_hosts(lab, each_lane, words):
    """By the kernel's notice, and not when devices are next looked at, once a second: else half of the times
    would take half a second and more. A machine that others use may be late for some."""
    gen, sink = lab.ends()
    took, numbers = [], itertools.count(1)

    def is_routed():
        frame = udp4(ident=next(numbers))
        gen.send(frame)
        return sink.receive(lambda got: got == routed(frame), timeout=0.02)

    with Watched(lab, *words, chatty=True) as d:
        for _ in range(11):
            d.until_had(each_lane, lambda: gen.send(udp4()))
            lab.ip("link", "set", "eth1", "address", OTHER)
            start = time.monotonic()
            wait_until(lambda: not is_routed(), what="the kernel's no")
            took.append(time.monotonic() - start)
            lab.ip("link", "set", "eth1", "address", DUT1)
    assert statistics.median(took) < 0.25, took
