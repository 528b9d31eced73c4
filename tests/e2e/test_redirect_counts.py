# SPDX-License-Identifier: BSD-2-Clause
"""Redirects that fail: what `shuntctl show drops` says of them, reason by reason, beside what the
kernel's own trace says of the same tracepoints. The daemon is stopped while the far port changes:
else it would take the port out of use before a frame fails."""
import contextlib
import fcntl
import os
import signal
import struct
import threading

import pytest

from shuntlab.frames import SINK, udp4
from shuntlab.lab import wait_until
from shuntlab.redirects import Missing, failed, traced
from shuntlab.shuntd import Shuntd
from shuntlab.wire import inside

TUNSETIFF, TUNSETIFINDEX, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x400454DA, 0x2, 0x1000
FRAMES = 7
TAP_QUEUE = 100


class Ports:
    """`near` and `far` of dut, beside the lab's own: their indices are nobody else's on this machine,
    for the trace has those of every namespace. The far one is a veth or a tap."""

    def __init__(self, lab):
        self.lab = lab
        self.name_of = {1000000 + 2 * os.getpid() + number: name
                        for number, name in enumerate(("near", "far"))}
        self.index_of = {name: index for index, name in self.name_of.items()}
        self._veth("near", "gen")
        self.gen = lab.wire("gen", "to-near")

    def _settle(self, host, dev):
        self.lab.exec(host, "sysctl", "-qw", f"net.ipv6.conf.{dev}.disable_ipv6=1")
        self.lab.link(host, dev, "up")

    def _veth(self, name, host):
        self.lab.exec("dut", "ip", "link", "add", name, "index", self.index_of[name], "type", "veth",
                      "peer", "name", f"to-{name}", "netns", f"shunt-{self.lab.name}-{host}")
        self._settle("dut", name)
        self._settle(host, f"to-{name}")
        self.lab.exec(host, "ethtool", "-K", f"to-{name}", "gro", "on")

    def far_is_veth(self):
        self._veth("far", "sink")

    @contextlib.contextmanager
    def far_is_tap(self):
        """Its file."""
        with inside(f"/run/netns/shunt-{self.lab.name}-dut"):
            tap = os.open("/dev/net/tun", os.O_RDWR)
        try:
            fcntl.ioctl(tap, TUNSETIFINDEX, struct.pack("I", self.index_of["far"]))
            fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", b"far", IFF_TAP | IFF_NO_PI))
            self.lab.link("dut", "far", "txqueuelen", str(TAP_QUEUE))
            self._settle("dut", "far")
            yield tap
        finally:
            os.close(tap)


@pytest.fixture
def ports(lab):
    return Ports(lab)


@pytest.fixture
def trace(ports):
    """From before the daemon starts, as its own count."""
    try:
        with traced(ports.name_of) as trace:
            yield trace
    except Missing as why:
        pytest.skip(str(why))


def start(lab, mode="native"):
    return Shuntd(lab, "xconnect", "near", "far", "--lane", "xdp", "--driver-mode", mode, check=False,
                  chatty=True)


def send_meanwhile(shuntd, ports, frame, *change):
    """Frames, after a change that the daemon does not know yet."""
    os.kill(shuntd.process.pid, signal.SIGSTOP)
    try:
        ports.lab.exec(*change)
        ports.gen.send(*FRAMES * [frame])
    finally:
        os.kill(shuntd.process.pid, signal.SIGCONT)


SMALL, LARGE = udp4(eth_dst=SINK), udp4(1400, eth_dst=SINK)


@pytest.mark.parametrize("mode, frame, reason, change", [
    ("native", SMALL, "no_transmit", "sink ethtool -K to-far gro off"),
    ("native", SMALL, "no_transmit", "sink ip link set to-far down"),
    ("native", SMALL, "down", "dut ip link set far down"),
    ("generic", SMALL, "down", "dut ip link set far down"),
    ("native", LARGE, "too_big", "dut ip link set far mtu 1280"),
    ("generic", LARGE, "too_big", "dut ip link set far mtu 1280"),
    ("native", LARGE, "queue_full", "sink ip link set to-far mtu 1280"),
], ids=["no NAPI", "far end down", "down", "down, generic", "too big", "too big, generic",
        "too big for the far end"])
def test_as_the_trace_has_it(trace, lab, ports, mode, frame, reason, change):
    ports.far_is_veth()
    with start(lab, mode) as shuntd:
        send_meanwhile(shuntd, ports, frame, *change.split())
        wait_until(lambda: failed(shuntd).total() >= FRAMES, 10, "every frame to be counted")
        assert failed(shuntd) == {("far", reason): FRAMES} == trace.failed()


def test_tap_that_nobody_reads(trace, lab, ports):
    """It takes what its queue holds."""
    with ports.far_is_tap(), start(lab) as shuntd:
        ports.gen.send(*(TAP_QUEUE + FRAMES) * [SMALL])
        wait_until(lambda: failed(shuntd).total() >= FRAMES, 10, "every frame to be counted")
        assert failed(shuntd) == {("far", "queue_full"): FRAMES} == trace.failed()


def test_tap_at_full_speed(trace, lab, ports):
    """Of a batch the driver takes a part, and of all that was sent each frame is read or counted."""
    sent, read = 100000, 0
    with ports.far_is_tap() as tap, start(lab) as shuntd:
        sender = threading.Thread(target=lab.send, daemon=True, args=(
            "gen", "to-near", "--count", sent, "--rate", "max", "--dst-mac", SINK))
        sender.start()
        os.set_blocking(tap, False)

        def done():
            nonlocal read
            with contextlib.suppress(BlockingIOError):
                while os.read(tap, 2048):
                    read += 1
            return not sender.is_alive() and read + failed(shuntd).total() >= sent

        wait_until(done, 60, "every frame to be read or counted")
        count = failed(shuntd)
        assert read > TAP_QUEUE and count["far", "queue_full"] > 0
        assert read + count.total() == sent
        assert count == trace.failed()
