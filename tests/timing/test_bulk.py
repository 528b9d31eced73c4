# SPDX-License-Identifier: BSD-2-Clause
"""TCP in bulk, which the kernel forwards faster than any lane: how fast, on an idle machine."""
import json

from shuntlab.frames import DUT1
from shuntlab.lab import wait_until
from shuntlab.shuntd import Watched

FULL = ("tx", "on", "tso", "on", "gso", "on")


def test_bulk_is_the_kernels(make_lab):
    """TCP whose senders leave segments to a device, as long as it comes so: without a program the kernel
    forwards many at a time. Small packets bring lane xdp back."""
    lab = make_lab(static_neigh=True)
    for host, dev in ("gen", "eth1"), ("sink", "eth1"), ("dut", "eth1"), ("dut", "eth2"):
        lab.exec(host, "ethtool", "-K", dev, *FULL)
    lab.remember()
    with Watched(lab, "route", "eth1", "eth2", "--lane", "auto", chatty=True) as daemon:
        assert daemon.lane()["in_use"] == "xdp"
        server = lab.popen("sink", "iperf3", "-s", "-1", "--forceflush")
        while "listening" not in server.stdout.readline():
            assert server.poll() is None
        client = lab.popen("gen", "iperf3", "-c", "10.0.2.2", "-t", 12, "-i", 1, "-J")
        wait_until(lambda: daemon.lane()["suspended"], 15)
        assert (daemon.lane()["in_use"], daemon.lane()["reason"]) == ("kernel", "bulk")
        ended = json.loads(client.communicate(timeout=60)[0])
        rates = [row["sum"]["bits_per_second"] for row in ended["intervals"]]
        assert max(rates[5:]) > 1.5 * max(rates[:2]), rates
        # No traffic says nothing.
        assert daemon.lane()["in_use"] == "kernel"
        sender = lab.popen("gen", "shunt-gen", "send", "eth1", "--dst-mac", DUT1, "--dst-ip", "10.0.2.2",
                           "--rate", "50k", "--duration", 15)
        wait_until(lambda: daemon.lane()["in_use"] == "xdp", 15)
        assert not daemon.lane()["suspended"]
        sender.terminate()
        sender.wait(30)
