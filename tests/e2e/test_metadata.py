# SPDX-License-Identifier: BSD-2-Clause
"""What a driver knows of a packet, written before the frame by a program that is bound to the device:
the hash is veth's own, the time the program's, since veth has none."""

import pytest

from shuntlab.shuntd import Shuntd
from shuntlab.frames import GEN, SINK, ethernet, udp4, udp6
from shuntlab.lab import wait_until

PORTS = ("eth1,metadata=auto", "eth2")


def metadata(daemon, name="eth1"):
    return daemon.port(name)["in_use"]["metadata"]


@pytest.mark.parametrize("mtu", [1500, 9000])
def test_hash_and_time_of_every_packet(make_lab, mtu):
    """Bytes unchanged; each packet has a hash of the driver's, or of shunt's where the driver says
    that its own is not of layer 4, and a time. A port without metadata has none."""
    lab = make_lab(mtu=mtu) if mtu != 1500 else make_lab()
    sizes = [size for size in (60, 61, 1514, 5000, 9014) if size <= mtu + 14]
    with Shuntd(lab, "xconnect", *PORTS) as daemon:
        assert metadata(daemon)["in_use"] and metadata(daemon)["why"] is None
        assert not metadata(daemon, "eth2")["in_use"]
        assert metadata(daemon)["rx_hash"]["driver_packets"] == 0
        for frame in *[udp4(size, eth_dst=SINK) for size in sizes], udp6(80, eth_dst=SINK), \
                ethernet(bytes(46), SINK, GEN, 0x88b5):
            lab.crosses(frame)
        # The end of a turn comes after the frame has left.
        wait_until(lambda: metadata(daemon)["latency_ns"]["count"]
                   == daemon.port()["total"]["rx_packets"])
        says = metadata(daemon)
        assert says["missing"] == 0 and says["rx_hash"]["in_use"] == "driver", says
        assert says["rx_hash"]["driver_packets"] >= len(sizes) + 1, says
        assert says["rx_hash"]["other_packets"] >= 1, says
        assert (says["rx_timestamp"]["driver"], says["rx_timestamp"]["in_use"]) == (True, "program")
        assert 0 < says["latency_ns"]["p50"] <= says["latency_ns"]["p99"] < 20e9
        assert daemon.port("eth1")["program"]["dispatcher"] is False
        shown = daemon.ctl("show", "ports").stdout
        assert "metadata: auto asked for, auto in use; flow hash driver" in shown, shown


def test_flows_are_counted(lab):
    """As many flows in a second as were sent, within the counting's error."""
    with Shuntd(lab, "xconnect", *PORTS) as daemon:
        wire = lab.wire("gen")
        frames = [udp4(sport=1024 + n, eth_dst=SINK) for n in range(200)]

        def counted():
            for frame in frames:
                wire.send(frame)
            return 190 <= metadata(daemon)["flows"] <= 210

        wait_until(counted, what="a second with 200 flows")


def test_what_is_in_the_way_is_said(lab):
    """Generic mode: forwards all the same, and says why there is none."""
    with Shuntd(lab, "xconnect", *PORTS, "--driver-mode", "generic") as daemon:
        assert not metadata(daemon)["in_use"]
        assert metadata(daemon)["why"] == "generic mode has none"
        assert metadata(daemon)["rx_hash"]["in_use"] is None
        lab.crosses(udp4(100, eth_dst=SINK))
        shown = daemon.ctl("show", "ports").stdout
        assert "metadata: auto asked for, none in use" in shown and "generic mode has" in shown
        said = lab.exec("dut", "shuntctl", "-s", daemon.control, "doctor", check=False).stdout
        assert "metadata was asked for and there is none: generic mode has none" in said, said


def test_killed_taken_over_and_replaced(lab):
    """The program is shunt's like the other: a killed daemon's goes, the next one's takes a running
    one's place, of the same kind or of the other."""
    killed = Shuntd(lab, "xconnect", *PORTS)
    killed.kill()
    first = Shuntd(lab, "xconnect", *PORTS)
    was = first.port()["program"]["id"]
    second = Shuntd(lab, "xconnect", *PORTS, "--takeover")
    assert first.process.wait(60) == 0
    assert second.port()["program"]["id"] != was and metadata(second)["in_use"]
    lab.crosses(udp4(100, eth_dst=SINK))
    wait_until(lambda: metadata(second)["latency_ns"]["count"] >= 1)
    third = Shuntd(lab, "xconnect", "eth1", "eth2", "--takeover")
    assert second.process.wait(60) == 0
    assert not metadata(third)["in_use"]
    lab.crosses(udp4(101, eth_dst=SINK))
    fourth = Shuntd(lab, "xconnect", *PORTS, "--takeover")
    assert third.process.wait(60) == 0
    assert metadata(fourth)["in_use"]
    lab.crosses(udp4(102, eth_dst=SINK))
    fourth.stop()
