# SPDX-License-Identifier: BSD-2-Clause
"""500,000 packets a second to where only the kernel can send them: shunt lets as many by as it does."""
import statistics

import pytest

from shuntlab.shuntd import Shuntd

RATE, SECONDS, RUNS = "500k", "1", 3
# What goes to the worker until it knows that the kernel has to have it, at most.
OF_KERNEL = 0.98


def forwarded(lab, left, flows):
    """The share of what was sent that left."""
    before = left()
    last = "10.77.0.1" if flows == 1 else "10.77.0.1-10.77.78.32"
    sent = lab.send("gen", "eth1", "--rate", RATE, "--duration", SECONDS, "--dst-ip", last, "--flows", flows)
    return sent["sent"], left() - before


@pytest.mark.parametrize("flows", [1, 20000])
def test_out_of_a_device_that_is_no_port(lab, each_lane, flows):
    """In turn, so that a machine that is busy elsewhere is so for both."""
    left, alone, beside = lab.add_way_out(), [], []
    for _ in range(RUNS):
        alone.append(forwarded(lab, left, flows)[1])
        with Shuntd(lab, "route", "eth1", "eth2", "--lane", each_lane, check=False, chatty=True):
            beside.append(forwarded(lab, left, flows))
    print(f"of {flows} flows, packets out in {SECONDS} s: the kernel alone {sorted(alone)}, "
          f"of so many with shunt {sorted(beside)}")
    assert statistics.median(out for _, out in beside) >= OF_KERNEL * statistics.median(alone)
    lab.ip("link", "del", "out0")
