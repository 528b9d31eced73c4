# SPDX-License-Identifier: BSD-2-Clause
"""Lane auto beside the kernel, on every configuration of a lab that both can do: native and generic
programs, NAPI in the generator's softirq and on a core of its own, routing and bridging, taps, ports
that take no frames from XDP. Which lane auto chose, its rate, and the kernel's. Runs inside
`tools/lab run --static-neigh`; exit status 1 where auto was slower by more than a tenth, which is
what runs scatter by, or could not be measured.

On a machine that others use a single run may come out at half the rate: what seems slower is measured
again, a pair of runs each time, until the median ratio of three pairs or more says it is not, or that
of PAIRS_MAX says that it is. All is measured at least once, and again while SECONDS (150) last.

usage: bench_auto.py [SECONDS [WORD-OF-NAME...]]
BENCH_LANE is another lane to hold beside the kernel, as user: to see what auto's choice is worth."""
import contextlib
import os
import re
import signal
import statistics
import subprocess
import sys
import time

from shuntlab import guest
from shuntlab.frames import DUT1, GEN, SINK, udp4
from shuntlab.lab import tool

TRAFFIC_SECONDS = 0.5
SLACK = 0.9
PAIRS_MIN, PAIRS_MAX = 3, 7
TAP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tap.py")
LAB = guest.lab()
TAP_MAC = "02:00:00:00:03:01"
# What stands behind the dut's ports: address and MAC address.
FAR = {"eth2": ("10.0.2.2", SINK), "tap1": ("10.0.3.2", "02:00:00:00:03:02"),
       "macvlan1": ("10.0.4.2", SINK)}  # over eth2


def run(*cmd):
    """Standard output of a command on dut."""
    return LAB.exec("dut", *cmd).stdout


def set_threaded(on):
    """Receive dut's devices on CPU 1 in NAPI threads, or where the sender is."""
    for dev in guest.PORTS:
        done = tool("threaded", "dut", dev, "1" if on else "off")
        assert done.returncode == 0, done.stderr


def add_devices():
    run("sh", "-ec", f"""
        ip tuntap add tap1 mode tap; ip link set tap1 address {TAP_MAC} up
        ip addr add 10.0.3.1/24 dev tap1""")


@contextlib.contextmanager
def macvlan():
    """A device that takes no frames from XDP, and has a generic program only."""
    run("sh", "-ec", """
        ip link add link eth2 name macvlan1 type macvlan mode passthru; ip link set macvlan1 up
        ip addr add 10.0.4.1/24 dev macvlan1""")
    try:
        yield
    finally:
        run("ip", "link", "del", "macvlan1")


# --- what forwards --------------------------------------------------------------------------------

@contextlib.contextmanager
def auto(case):
    """shuntd as a user starts it, but for the CPU."""
    ports = case.ports
    if case.mode in ("macrewrite", "static3"):
        ports = [f"{port},next_hop={mac}" for port, mac in zip(ports, (GEN, SINK))]
    with guest.Shuntd(LAB, case.mode, *ports, "--cpu", "1", "--lane",
                      os.environ.get("BENCH_LANE", "auto"), *case.options) as daemon:
        case.lane = daemon.lane(case.near)["in_use"]
        yield


@contextlib.contextmanager
def kernel(case):
    """The kernel has no cross-connect: its nearest is the bridge."""
    if case.is_routed or case.is_bridged:
        yield
        return
    with bridge(case):
        yield


@contextlib.contextmanager
def bridge(case):
    run("sh", "-ec", f"""
        ip link add br0 type bridge mcast_snooping 0; ip link set br0 up
        ip link set {case.near} master br0; ip link set {case.far} master br0
        bridge fdb replace {FAR[case.far][1]} dev {case.far} master static""")
    try:
        yield
    finally:
        run("ip", "link", "del", "br0")


# --- ends -----------------------------------------------------------------------------------------

def count(case):
    """What left by the far port so far: what the sink's program got, or else the dut's counter."""
    if case.has_sink:
        got = LAB.exec("sink", "ethtool", "-S", "eth1").stdout
        return sum(int(n) for n in re.findall(r"rx_queue_\d+_xdp_packets: (\d+)", got))
    return int(run("cat", f"/sys/class/net/{case.far}/statistics/tx_packets"))


@contextlib.contextmanager
def tap(*args, first=()):
    """What is at the other end of the tap."""
    child = LAB.popen("dut", *first, "/usr/bin/python3", TAP, *args)
    try:
        assert child.stdout.readline() == "ready\n", child.stderr.read()
        yield child
    finally:
        child.kill()
        child.communicate()


@contextlib.contextmanager
def sink():
    running = LAB.sink("sink", "eth1", "--drop", "--count-only", "--cpu", "0")
    try:
        yield
    finally:
        running.stop()


@contextlib.contextmanager
def ends(case):
    """Somebody sends at one end and somebody takes at the other; yields a function that sends for a
    while and says for how many seconds."""
    with contextlib.ExitStack() as stack:
        if case.has_sink:
            stack.enter_context(sink())
        if case.far == "tap1":
            stack.enter_context(tap("read", "tap1"))
        if case.near == "eth1":
            yield lambda: LAB.send("gen", "eth1", "--rate", "max", "--duration", TRAFFIC_SECONDS,
                                   "--dst-mac", case.dst_mac, "--no-stamp", "--cpu", "0")["seconds"]
            return
        frame = udp4(src=FAR["tap1"][0], dst="198.19.0.1", eth_src=FAR["tap1"][1], eth_dst=case.dst_mac)
        writer = stack.enter_context(tap("write", "tap1", frame.hex(), TRAFFIC_SECONDS,
                                         first=["taskset", "-c", "0"]))

        def send():
            writer.send_signal(signal.SIGUSR1)
            return float(writer.stdout.readline())

        yield send


# --- configurations -------------------------------------------------------------------------------

class Case:
    """Ports as on shuntd's command line: frames come in on the first and leave by the second."""

    def __init__(self, mode, *ports, what="", options=(), threaded=False):
        self.mode, self.ports, self.options, self.threaded = mode, ports, options, threaded
        self.near, self.far = (port.split(",")[0] for port in ports)
        self.is_routed = mode in ("route", "static3")
        self.is_bridged = "bridge" in what
        self.is_plain = "plain" in what
        self.has_sink = self.far != "tap1" and not self.is_plain
        self.name = f"{mode}, {self.near} to {self.far}{', ' if what else ''}{what}"
        self.dst_mac = FAR[self.far][1]
        if self.is_routed:
            self.dst_mac = DUT1 if self.near == "eth1" else TAP_MAC
        self.pairs = []  # (auto, kernel) in Mpps
        self.lane = "?"

    def measure(self):
        """Both, one after the other; False, and neither counts, where one could not be measured."""
        try:
            kernel_mpps = self.measure_one(kernel)
            self.pairs.append((self.measure_one(auto), kernel_mpps))
        except (AssertionError, OSError, subprocess.SubprocessError) as error:
            print(f"{self.name}: left out this time: {error}", file=sys.stderr, flush=True)
            return False
        return True

    def measure_one(self, forwarder):
        address, mac = FAR[self.far]
        with contextlib.ExitStack() as stack:
            if self.far == "macvlan1":
                stack.enter_context(macvlan())
            run("sh", "-ec", f"""
                ip neigh replace {address} lladdr {mac} dev {self.far}
                ip route replace 198.19.0.0/16 via {address}""")
            LAB.exec("sink", "ethtool", "-K", "eth1", "gro", "off" if self.is_plain else "on")
            set_threaded(self.threaded)
            if self.is_bridged:
                stack.enter_context(bridge(self))
            send = stack.enter_context(ends(self))
            stack.enter_context(forwarder(self))
            return self.mpps(send)

    def mpps(self, send):
        before = count(self)
        seconds = send()
        return (count(self) - before) / seconds / 1e6

    def ratio(self):
        """Of auto to the kernel; 0 where nothing could be measured."""
        return statistics.median(ours / theirs if theirs else float("inf")
                                 for ours, theirs in self.pairs) if self.pairs else 0

    def is_slower(self):
        return self.ratio() < SLACK

    def line(self):
        if not self.pairs:
            return f"{self.name:<38} not measured"
        ours, theirs = (statistics.median(mpps) for mpps in zip(*self.pairs))
        return (f"{self.name:<38} {'own' if self.threaded else 'sender':<7} {self.lane:<7} {ours:7.3f} "
                f"{theirs:7.3f} {self.ratio():6.2f} {len(self.pairs):5}"
                f"{'  SLOWER' if self.is_slower() else ''}")


GENERIC = {"what": "generic", "options": ("--driver-mode", "generic")}


def cases():
    for threaded in (False, True):
        for mode in ("route", "static3", "xconnect", "macrewrite"):
            yield Case(mode, "eth1", "eth2", threaded=threaded)
        for mode in ("static3", "xconnect", "macrewrite"):
            yield Case(mode, "eth1", "eth2", threaded=threaded, **GENERIC)
    for mode in ("route", "xconnect"):
        yield Case(mode, "eth1", "eth2", what="plain")  # its peer has no NAPI
        yield Case(mode, "eth1", "tap1")
        yield Case(mode, "tap1", "eth2")
    yield Case("xconnect", "eth1", "eth2", what="plain", threaded=True)
    yield Case("xconnect", "eth1", "eth2", what="plain, bridge beneath")
    yield Case("xconnect", "eth1", "tap1", **GENERIC)
    yield Case("xconnect", "tap1", "eth2", **GENERIC)
    for mode in ("static3", "xconnect"):
        yield Case(mode, "eth1", "macvlan1,driver_mode=generic", what="far end generic")
    yield Case("xconnect", "eth1", "macvlan1,driver_mode=generic", what="bridge beneath")


def main(seconds=150, words=()):
    chosen = [case for case in cases() if all(word in case.name for word in words)]
    start, rounds = time.monotonic(), 0
    add_devices()
    try:
        while not rounds or (time.monotonic() - start) * (rounds + 1) / rounds < seconds:
            rounds += 1
            for i, case in enumerate(chosen):
                print(f"round {rounds}, {i + 1}/{len(chosen)}: {case.name}", file=sys.stderr, flush=True)
                case.measure()
        for case in filter(Case.is_slower, chosen):
            while len(case.pairs) < PAIRS_MIN or len(case.pairs) < PAIRS_MAX and case.is_slower():
                print(f"again: {case.name}, {case.ratio():.2f} so far", file=sys.stderr, flush=True)
                if not case.measure():
                    break
    finally:
        set_threaded(False)
    print(f"{'configuration':<38} {'core':<7} {'lane':<7} {'auto':>7} {'kernel':>7}  ratio pairs   "
          f"(Mpps; medians)")
    for case in chosen:
        print(case.line(), flush=True)
    return 1 if any(case.is_slower() for case in chosen) else 0


if __name__ == "__main__":
    sys.exit(main(*[float(a) for a in sys.argv[1:2]], words=sys.argv[2:]))
