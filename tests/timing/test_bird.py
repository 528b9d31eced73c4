# SPDX-License-Identifier: BSD-2-Clause
"""shuntd follows BIRD, which speaks OSPF and BGP through the ports that shunt forwards by: routes
announced, withdrawn, and lost with their next hop, while transit traffic goes on and all processors
are full."""
import datetime
import select
import socket
import time

import pytest

from shuntlab.bird import NETS, Routed
from shuntlab.shuntd import Watched
from shuntlab.frames import routed, udp4, udp6
from shuntlab.lab import wait_until

# Seconds from the kernel's change to shunt's. What BIRD itself takes comes before that.
FOLLOW_MAX = 5


@pytest.fixture
def network(lab):
    network = Routed(lab)
    yield network
    network.stop()


def start(network, *options):
    """shunt first: that the sessions come up at all is then its doing too."""
    daemon = Watched(network.lab, "route", "eth1", "eth2", "eth3", "--poll", "interrupt", *options)
    network.start()
    network.wait_up()
    for net in NETS.values():
        wait_until(lambda net=net: network.device_of(net) == "eth2", 60, f"a route to {net}")
    return daemon


def finish(network, daemon):
    network.stop()
    daemon.stop()


def forwarded(daemon):
    """Packets that shunt itself routed, by now."""
    return sum(node["packets"] for node in daemon.show("nodes")["nodes"]
               if node["name"] in ("ip4_rewrite", "ip6_rewrite"))


def goes_by_shunt(network, daemon, frame):
    """The frame arrives at sink, and at last shunt and not the kernel has sent it. Sent again and
    again: BIRD's next hop is a link-local address that the kernel has to resolve first."""
    gen, sink = network.lab.ends()

    def is_shunts():
        before = forwarded(daemon)
        gen.send(frame)
        arrived = sink.receive(lambda got: got == routed(frame), 0.5)
        return arrived and forwarded(daemon) > before

    wait_until(is_shunts, 60, "shunt to forward")


def sessions_last(network, daemon):
    """Six seconds at the highest rate: longer than OSPF waits for a hello."""
    for frame in (udp4(dst="10.50.0.1"), udp4(dst="10.60.0.1"),
                  udp6(dst="fd50::1"), udp6(dst="fd60::1")):
        goes_by_shunt(network, daemon, frame)
    before, count = network.birds["dut"].sessions(), forwarded(daemon)
    sink = network.lab.sink("sink", "eth1")
    sent = network.lab.send("gen", "eth1", "--dst-ip", "10.60.0.1", "--rate", "max",
                            "--duration", 6)
    got = sink.stop()
    assert before == network.birds["dut"].sessions(), network.birds["dut"].said()
    print(f"full load: {sent['pps']:.0f} frames a second in, {got['mpps'] * 1e6:.0f} out, "
          "all sessions last")
    assert forwarded(daemon) - count > 10000, (sent, got)


class Monitor:
    """When dut's kernel changed a route."""

    def __init__(self, network, net):
        self.net = net
        self.process = network.lab.popen("dut", "ip", "-ts", "monitor", "route")
        wait_until(lambda: self._tells(network), 60, "ip monitor")

    def _tells(self, network):
        """Whether it listens already: it tells of a route made for this purpose."""
        network.lab.exec("dut", "sh", "-c", "ip route add blackhole 10.99.0.0/16 && "
                                            "ip route del blackhole 10.99.0.0/16")
        return select.select([self.process.stdout], [], [], 0.1)[0]

    def changed(self, device):
        """Seconds of the clock at which the network got a route by that device."""
        while True:
            line = self.process.stdout.readline()
            assert line, "ip monitor ended"
            if self.net in line and f"dev {device}" in line and "Deleted" not in line:
                return datetime.datetime.fromisoformat(line[1:line.index("]")]).timestamp()


def measure_move(network, what, net, cause):
    """Load flows to net by sink; cause ends that, and it goes to third. Prints how long it took."""
    address = net.split("/", maxsplit=1)[0][:-1] + "1"
    wanted = socket.inet_aton(address)
    monitor = Monitor(network, net)
    load = network.lab.popen("gen", "shunt-gen", "send", "eth1", "--dst-ip", address,
                             "--rate", "20k", "--duration", 30)
    sink = network.lab.wire("sink")
    assert sink.receive(lambda frame: frame[30:34] == wanted, 5), "no load at sink"
    third = network.lab.wire("third")
    began = time.time()
    cause()
    kernel = monitor.changed("eth3")
    arrived = third.stamps(1, lambda frame: frame[30:34] == wanted)[0] / 1e9
    load.terminate()
    print(f"{what}: {kernel - began:.3f} s until the kernel's routes had it, "
          f"{(arrived - kernel) * 1e3:+.1f} ms until shunt did")
    assert began < arrived < kernel + FOLLOW_MAX
    assert network.device_of(net) == "eth3"


@pytest.mark.limit(240)
def test_follows_under_load(network, capsys):
    with capsys.disabled():
        daemon = start(network)
        sessions_last(network, daemon)
        count = forwarded(daemon)
        measure_move(network, "BGP route withdrawn", NETS["bgp4"],
                     lambda: network.birds["sink"].ctl("disable", "bgp4_nets"))
        measure_move(network, "OSPF route withdrawn", NETS["ospf4"],
                     lambda: network.birds["sink"].ctl("disable", "ospf4_nets"))
        network.birds["sink"].ctl("enable", "ospf4_nets")
        wait_until(lambda: network.device_of(NETS["ospf4"]) == "eth2", 60, "the way back")
        measure_move(network, "OSPF next hop lost", NETS["ospf4"],
                     lambda: network.lab.exec("sink", "ip", "link", "set", "eth1", "down"))
        assert forwarded(daemon) - count > 1000
        network.lab.exec("sink", "ip", "link", "set", "eth1", "up")
        finish(network, daemon)


@pytest.mark.limit(240)
def test_protocols_through_userspace(network, capsys):
    """With the rule OSPF and BGP too go through userspace, which hands them back."""
    with capsys.disabled():
        daemon = start(network, "--rule", "lane user")
        sessions_last(network, daemon)
        finish(network, daemon)
