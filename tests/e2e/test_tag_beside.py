# SPDX-License-Identifier: BSD-2-Clause
"""VLAN tags that a veth's other end hands over beside the frames, as it does with what its VLAN devices
send. Linux 6.8 tells them. Where they cannot be seen a notice says so. Real VLAN devices
are in tests/vm/cases/beside, a device that goes is in gone."""
import signal
import socket
import struct

import pytest

from shuntlab import bpf
from shuntlab.frames import DUT1, GEN, SINK, udp4
from shuntlab.lab import wait_until
from shuntlab.modes import STATIC3
from shuntlab.programs import attach
from shuntlab.shuntd import Shuntd, Watched
from shuntlab.wire import inside

XCONNECT, ALONE, OVER = ("xconnect", "eth1", "eth2"), ("bridge", "eth1", "eth2"), ("bridge", "br0")
C_TAG, S_TAG = 0x8100, 0x88A8


class Beside:
    """What gen sends gets a VLAN tag beside it. A context."""

    def __init__(self, lab, tag_type=C_TAG, number=100):
        with inside(f"/run/netns/{lab.netns('gen')}"):
            self._link = bpf.link_vlan_push(socket.if_nametoindex("eth1"), tag_type, number)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        bpf.unlink(self._link)


def tagged(frame, tag_type=C_TAG, number=100):
    frame = bytes(frame)
    return frame[:12] + struct.pack("!HH", tag_type, number) + frame[12:]


def add_bridge(lab):
    lab.ip("link", "add", "br0", "type", "bridge")
    for port in "eth1", "eth2":
        lab.ip("link", "set", port, "master", "br0")
    lab.ip("link", "set", "br0", "up")
    wait_until(lambda: all(link["linkinfo"]["info_slave_data"]["state"] == "forwarding"
                           for link in lab.json("dut", "ip", "-j", "-d", "link", "show", "master", "br0")))
    lab.remember()


def reads_tags(daemon):
    assert not daemon.notices("tags_beside")
    return all(port["program"]["reads_tags"] for port in daemon.show("ports")["ports"])


@pytest.mark.parametrize("args, lane, tag_type", [
    *((args, lane, C_TAG) for args in (XCONNECT, ALONE, OVER) for lane in ("user", "xdp")),
    (OVER, "kernel", C_TAG), (XCONNECT, "user", S_TAG), (OVER, "kernel", S_TAG)])
def test_crosses(lab, args, lane, tag_type):
    """With its tag, beside frames without; what goes to the kernel has it once."""
    if args == OVER:
        add_bridge(lab)
    gen, sink = lab.ends()
    with Shuntd(lab, *args, "--lane", lane, chatty=True) as daemon:
        assert reads_tags(daemon)
        for number in range(4):
            frame = udp4(60 + number, eth_src=GEN, eth_dst=SINK)
            with Beside(lab, tag_type):
                gen.reaches(sink, frame, tagged(frame, tag_type))
            gen.reaches(sink, frame)
        lanes = daemon.port()["lanes"]  # what a bridge has not learnt yet is the worker's
        assert lanes[lane] + (lane == "xdp") * lanes["user"] >= 8, lanes


@pytest.mark.parametrize("lane", ["user", "xdp"])
def test_two_tags(lab, lane):
    """The outer one is beside the frame, the inner one in it."""
    with Shuntd(lab, *XCONNECT, "--lane", lane), Beside(lab, S_TAG, 7):
        frame = tagged(udp4(60, eth_src=GEN, eth_dst=SINK), C_TAG, 8)
        lab.crosses(frame, tagged(frame, S_TAG, 7))


@pytest.mark.parametrize("lane", ["user", "xdp"])
def test_routing_leaves_it_to_the_kernel(lab, lane):
    """As it came: with one tag."""
    gen, dut = lab.wire("gen"), lab.wire("dut")
    with Shuntd(lab, *STATIC3, "--lane", lane) as daemon, Beside(lab):
        assert reads_tags(daemon)
        frame = udp4(60, eth_src=GEN, eth_dst=DUT1)
        gen.reaches(dut, frame, tagged(frame))
        assert daemon.steered("vlan") >= 1 and daemon.is_balanced()


def test_a_wire_without_a_worker(lab):
    """The program carries it on, with the tags; the next start takes it up."""
    frame = udp4(60, eth_src=GEN, eth_dst=SINK)
    Shuntd(lab, *XCONNECT).kill()
    with Beside(lab):
        lab.crosses(frame, tagged(frame))
        daemon = Shuntd(lab, *XCONNECT)
        assert reads_tags(daemon)
        lab.crosses(frame, tagged(frame))
        with Shuntd(lab, *XCONNECT, "--takeover") as successor:
            assert daemon.process.wait(20) == 0 and reads_tags(successor)
            lab.crosses(frame, tagged(frame))


def test_a_worker_that_hangs_over_a_bridge(lab):
    """The kernel's bridge has the frame with its tag, once."""
    add_bridge(lab)
    gen, sink = lab.ends()
    frame = udp4(60, eth_src=GEN, eth_dst=SINK)
    with Watched(lab, *OVER, "--lane", "user") as daemon, Beside(lab):
        gen.reaches(sink, frame, tagged(frame))
        daemon.process.send_signal(signal.SIGSTOP)
        try:
            wait_until(lambda: gen.send(frame) or sink.receive(tagged(frame).__eq__, 0.1))
        finally:
            daemon.process.send_signal(signal.SIGCONT)


def test_jumbo(make_lab):
    """By the program for packets of several buffers."""
    lab = make_lab(mtu=9000)
    for lane in "user", "xdp":
        with Shuntd(lab, *XCONNECT, "--lane", lane) as daemon, Beside(lab):
            assert reads_tags(daemon)
            for length in 60, 1514, 4000, 9014:
                frame = udp4(length, eth_src=GEN, eth_dst=SINK)
                lab.crosses(frame, tagged(frame))


@pytest.mark.parametrize("how, why", [
    (("--driver-mode", "generic"), "in generic mode"),
    (("--attach", "external"), "does not ask"),
])
def test_where_it_is_not_seen(lab, how, why):
    """A notice, with the remedy; the other end is in a namespace that nobody here can look into."""
    if "external" in how:
        for dev in "eth1", "eth2":
            attach(lab, dev)
        lab.remember()
    with Shuntd(lab, *XCONNECT, *how, chatty=True) as daemon:
        notice, = wait_until(lambda: daemon.notices("tags_beside"))
        assert why in notice["text"] and "there: ethtool -K PEER txvlan off" in notice["text"]
        assert not daemon.port()["program"]["reads_tags"]
