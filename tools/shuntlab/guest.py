# SPDX-License-Identifier: BSD-2-Clause
"""What the cases share: the lab that the guest's runner has built around a case, shuntd in it, and
the kernel's and the driver's own word on what is in use. A case is a Python script that says

    from shuntlab import guest
    lab = guest.lab()
    with guest.Shuntd(lab, "xconnect", "eth1", "eth2", "--require", "zerocopy") as daemon: ..."""
import contextlib
import os
import socket
import struct
import time

from shuntlab import lab as e2e
from shuntlab import modes, shuntd
from shuntlab.frames import DUT1, GEN, SINK
from shuntlab.wire import inside

DRIVER = os.environ.get("VMLAB_DRIVER", "virtio")
KERNEL = os.uname().release
PORTS = ("eth1", "eth2")
DUT, STATIC3 = DUT1, modes.STATIC3[1:]
MARK = b"\x88\xb5"  # an Ethernet type for local experiments
CARRIER_S = e2e.CARRIER_S
ENDS = (("gen", "eth1"), ("dut", "eth1"), ("dut", "eth2"), ("sink", "eth1"))
RTM_GETLINK, NLM_F_REQUEST, IFF_RUNNING, IFF_LOWER_UP = 18, 1, 0x40, 0x10000


class Around(e2e.Lab):
    """The lab that is there already, of real devices. A case that asks what changed has it
    remember() first: that takes emulation seconds."""

    # pylint: disable=super-init-not-called
    def __init__(self):
        self.name = os.environ["SHUNT_LAB"]
        self.hosts = ["gen", "dut", "sink"]
        self._wires, self._processes = [], []
        self._settle()

    def sh(self, host, line, check=True, timeout=60):
        return self.exec(host, "sh", "-c", line, check=check, timeout=timeout).stdout

    def carriers(self):
        """As in the lab of veth, without a command for each look: those are emulation's seconds."""
        with contextlib.ExitStack() as stack:
            ends = [stack.enter_context(End(f"/run/netns/shunt-{self.name}-{host}", dev))
                    for host, dev in ENDS]
            e2e.wait_until(lambda: all(end.is_up() for end in ends), CARRIER_S,
                           "the links to come up")

    def driver_counts(self, dev):
        """`ethtool -S`."""
        pairs = (line.strip().rpartition(": ")
                 for line in self.exec("dut", "ethtool", "-S", dev).stdout.splitlines())
        return {name: int(value) for name, _, value in pairs if value.isdigit()}


class End:
    """A device that the kernel can be asked about for next to nothing; a context."""

    def __init__(self, netns, dev):
        with inside(netns):
            self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
            index = socket.if_nametoindex(dev)
        # struct nlmsghdr, struct ifinfomsg
        self._request = struct.pack("<IHHIIBBHiII", 32, RTM_GETLINK, NLM_F_REQUEST, 0, 0, 0, 0, 0,
                                    index, 0, 0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()

    def is_up(self):
        self._socket.send(self._request)
        flags = struct.unpack_from("<I", self._socket.recv(1 << 16), 24)[0]
        return flags & IFF_LOWER_UP and flags & IFF_RUNNING


class Shuntd(shuntd.Shuntd):
    """shuntd, once its links are up again. Leaving the block checks the exit code, which is the
    ledger's; check=True also that dut is as it was, which takes emulation seconds."""

    STOP_S = 120
    reader = None  # a process that captures what it forwards

    def __init__(self, made, *args, check=False, program="shuntd"):
        super().__init__(made, *args, check=check, chatty=True, program=program)

    def copy_modes(self):
        return [p["in_use"]["copy_mode"] for p in self.show("ports")["ports"]]

    def queues(self):
        """The counters of queue 0, by port."""
        return {p["name"]: p["queues"][0] for p in self.show("ports")["ports"]}

    def balanced(self):
        """A worker that waits for the one CPU does not answer at once."""
        e2e.wait_until(lambda: self.is_balanced() is not None, 60, "the workers' ledgers")
        return self.is_balanced() is not False


class Watched(Shuntd):
    """As shuntd.Watched."""

    PATIENCE = shuntd.Watched.PATIENCE


def lab():
    return Around()


def frame(number, size=60):
    """A frame from gen to sink of a local experimental type."""
    head = bytes.fromhex((SINK + GEN).replace(":", "")) + MARK + number.to_bytes(4, "big")
    return (head + bytes(range(256)) * 6)[:size]


def closed_loop(near, far, count, make=frame, expect=None, patience=5):
    """One frame out, its arrival awaited, count times. The first may take a link's time to come
    up, for which it is repeated. Returns the longest that one took, in seconds."""
    worst = 0
    end = time.monotonic() + CARRIER_S
    for number in range(count):
        sent = make(number)
        wanted = expect(number) if expect else sent
        start = time.monotonic()
        near.send(sent)
        got = far.receive(lambda f, w=wanted: f == w, timeout=patience if number else 0.5)
        while not got and not number and time.monotonic() < end:
            near.send(sent)
            got = far.receive(lambda f, w=wanted: f == w, timeout=0.5)
        assert got, f"frame {number} of {count}, sent alone, did not arrive in {patience} s"
        worst = max(worst, time.monotonic() - start if number else 0)
    return worst
