# SPDX-License-Identifier: BSD-2-Clause
"""200,000 packets a second that only the kernel can forward, or that it has while shunt cannot tell: as many
get by as without shunt. Of two processors that share a core, both busy, each lane carries as much."""
import signal
import statistics
import subprocess

import pytest

from shuntlab.lab import wait_until
from shuntlab.shuntd import Shuntd, Watched

RATE, SECONDS, RUNS = "200k", "1", 3
# What goes to the worker until it knows that the kernel has to have it, at most.
OF_KERNEL = 0.98
STATION = "02:00:00:00:78:02"


def forwarded(lab, left, *options):
    """How many were sent in a second or so, and how many left."""
    before = left()
    sent = lab.send("gen", "eth1", "--rate", RATE, "--duration", SECONDS, *options)
    return sent["sent"], left() - before


def compare(what, run, shuntd):
    """run() alone and beside shuntd(), in turn, so that a machine that is busy elsewhere is so for both."""
    alone, beside = [], []
    for _ in range(RUNS):
        alone.append(run(None)[1])
        with shuntd() as daemon:
            beside.append(run(daemon))
    print(f"{what}, packets out in {SECONDS} s: the kernel alone {sorted(alone)}, "
          f"of so many with shunt {sorted(beside)}")
    assert statistics.median(out for _, out in beside) >= OF_KERNEL * statistics.median(alone)


@pytest.mark.parametrize("flows", [1, 20000])
def test_out_of_a_device_that_is_no_port(lab, each_lane, flows):
    left = lab.add_way_out()
    last = "10.77.0.1" if flows == 1 else "10.77.0.1-10.77.78.32"
    compare(f"{flows} flows", lambda _: forwarded(lab, left, "--dst-ip", last, "--flows", flows),
            lambda: Watched(lab, "route", "eth1", "eth2", "--lane", each_lane, check=False, chatty=True))
    lab.ip("link", "del", "out0")


@pytest.mark.parametrize("flows", [1, 20000])
def test_more_than_the_punt_rate_is_the_kernels(lab, flows):
    """What the worker would hand back more often than it may, the program passes itself: of one destination,
    and of more than it can remember. Nothing is lost; where the route leads out of a port, shunt is back."""
    left = lab.add_way_out()
    with Shuntd(lab, "route", "eth1", "eth2", "--punt-rate", 100, check=False,
                chatty=True) as d:
        before = left()
        sent = lab.send("gen", "eth1", "--rate", "40k", "--count", 60000, "--dst-ip",
                        "10.77.0.1" if flows == 1 else "10.77.0.1-10.77.78.32", "--flows", flows)["sent"]
        wait_until(lambda: left() - before >= sent, 10, "all of them out of the other device")
        assert d.steered("punted") > sent / 2
        assert sum(row["count"] for row in d.show("drops")["drops"]
                   if row["where"] in ("graph", "punt-limited") and row["lost"]) == 0
        lab.ip("route", "add", "10.77.0.1/32", "via", "10.0.2.2")
        was = d.packets("user")
        lab.send("gen", "eth1", "--rate", "2k", "--count", 4000, "--dst-ip", "10.77.0.1")
        assert d.packets("user") - was > 1000
    lab.ip("link", "del", "out0")


def test_to_a_station_behind_a_port_that_is_not_shunts(lab, each_lane):
    left = lab.add_way_out()
    lab.ip("link", "add", "br0", "type", "bridge")
    for dev in "eth1", "eth2", "out0":
        lab.link("dut", dev, "master", "br0")
    lab.link("dut", "br0", "up")
    lab.exec("dut", "bridge", "fdb", "replace", STATION, "dev", "out0", "master", "static")
    compare("behind a port of the kernel's alone", lambda _: forwarded(lab, left, "--dst-mac", STATION),
            lambda: Watched(lab, "bridge", "eth1", "eth2", "--lane", each_lane, check=False, chatty=True))
    lab.ip("link", "del", "out0")


def tell_too_much(lab, daemon):
    """Of more routes than the socket holds, so that it has to read all of the kernel's again."""
    if daemon:
        daemon.process.send_signal(signal.SIGSTOP)
    for verb in "add", "del":
        lines = "".join(f"route {verb} blackhole 198.18.{i >> 8}.{i & 255}\n" for i in range(1 << 16))
        subprocess.run(["ip", "-n", lab.netns("dut"), "-batch", "-"], input=lines, text=True, check=True)
    if daemon:
        daemon.process.send_signal(signal.SIGCONT)


def test_while_all_is_read_again(lab, each_lane):
    """It begins as the first frames are on their way."""
    def run(daemon):
        tell_too_much(lab, daemon)
        result = forwarded(lab, lambda: lab.received("sink"))
        assert not daemon or daemon.show("mirror")["counters"]["overruns"] == 1
        return result

    compare("while tables are read again", run,
            lambda: Watched(lab, "route", "eth1", "eth2", "--lane", each_lane, check=False, chatty=True))
