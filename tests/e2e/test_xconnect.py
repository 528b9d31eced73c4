# SPDX-License-Identifier: BSD-2-Clause
"""shuntd cross-connects: the same bytes, out of the other port, both ways."""
import pytest

from shuntlab.shuntd import Shuntd
from shuntlab.lab import wait_until
from shuntlab.frames import DUT1, GEN, MAX, SINK, ethernet, ip4, routed, udp4, udp6

# Sent by the station at one end to that at the other, as on one wire.
FRAMES = [
    ("v4 shortest", udp4(eth_dst=SINK)),
    ("v4 largest", udp4(MAX, eth_dst=SINK)),
    ("v4 ttl 1", udp4(ttl=1, eth_dst=SINK)),
    ("v4 options", udp4(80, eth_dst=SINK, options=b"\x01\x01\x01\x00")),
    ("v4 bad checksum", udp4(eth_dst=SINK)[:24] + b"\0\0" + udp4(eth_dst=SINK)[26:]),
    ("v6", udp6(eth_dst=SINK)),
    ("broadcast", udp4(eth_dst="ff:ff:ff:ff:ff:ff")),
    ("multicast", udp4(eth_dst="01:00:5e:01:02:03", dst="239.1.2.3")),
    ("unknown ethertype", ethernet(bytes(range(46)), SINK, GEN, 0x88b5)),
    ("tagged", ethernet(b"\x00\x05\x08\x00" + ip4(bytes(26)), SINK, GEN, 0x8100, 64)),
    ("fragment", udp4(eth_dst=SINK, fragment=0x2000)),
]


def test_same_bytes_both_ways(lab, each_lane):
    gen, sink = lab.ends()
    with Shuntd(lab, "xconnect", "eth1", "eth2") as daemon:
        for _, frame in FRAMES:
            gen.reaches(sink, frame)
            sink.reaches(gen, frame)
        for row in daemon.show("lanes")["lanes"]:
            assert row["lanes"][each_lane]["packets"] >= len(FRAMES)
            assert each_lane == "user" or row["lanes"]["user"]["packets"] == 0


def kernels(daemon):
    return [row["lanes"]["kernel"]["packets"] for row in daemon.show("lanes")["lanes"]]


def test_a_new_mac_address_is_this_hosts(lab, each_lane):
    gen, sink = lab.ends()
    new = "02:00:00:00:01:77"
    with Shuntd(lab, "xconnect", "eth1", "eth2", check=False):
        lab.exec("dut", "ip", "link", "set", "eth1", "address", new)

        def is_kept():
            gen.send(udp4(eth_dst=new), udp4(eth_dst=SINK))
            return udp4(eth_dst=new) not in sink.until(udp4(eth_dst=SINK))
        wait_until(is_kept, 10)
        gen.reaches(sink, udp4(eth_dst=DUT1))


def test_transparent_keeps_nothing(lab, each_lane):
    """What is the host's otherwise crosses as well, also when the daemon has died."""
    gen, sink = lab.ends()
    lldp = ethernet(bytes(46), "01:80:c2:00:00:0e", GEN, 0x88cc)
    whole = [lldp, udp4(eth_dst=DUT1), udp4(eth_dst=DUT1, dst="10.0.1.1"),
             *(frame for _, frame in FRAMES)]
    daemon = Shuntd(lab, "xconnect", "eth1", "eth2", "--transparent")
    before = kernels(daemon)  # what came before the first configuration
    for frame in whole:
        gen.reaches(sink, frame)
        sink.reaches(gen, frame)
    for row in daemon.show("lanes")["lanes"]:
        assert row["transparent"]
        assert row["lanes"][each_lane]["packets"] >= len(whole)
    assert kernels(daemon) == before
    done = daemon.ctl("lane", "set", "eth1", "user=50%", "xdp=50%", check=False)
    assert done.returncode == 1 and "eth1 is connected transparently" in done.stderr
    daemon.kill()
    for frame in whole:
        gen.reaches(sink, frame)
        sink.reaches(gen, frame)


@pytest.mark.usefixtures("each_lane")
def test_kill_leaves_the_kernel_forwarding(lab):
    """Nothing of shuntd's is needed for the kernel's share, which after a kill is everything; the
    next start takes up what the killed one left."""
    gen, sink = lab.ends()
    frame = udp4()
    daemon = Shuntd(lab, "xconnect", "eth1", "eth2")
    daemon.kill()
    gen.reaches(sink, frame, routed(frame))
    with Shuntd(lab, "xconnect", "eth1", "eth2"):
        crossing = udp4(eth_dst=SINK)
        gen.reaches(sink, crossing)
