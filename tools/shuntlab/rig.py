# SPDX-License-Identifier: BSD-2-Clause
"""What a forwarded packet costs in instructions, kernel and driver included: generator (pktgen), forwarder
and a sink that drops in XDP, in a guest started with --icount and one CPU, in a lab with permanent
neighbours. There a tick of the clock is an instruction of the one CPU, the guest's all together.

Frames come in bursts of three quarters of the devices' rings, with rests between: batches and polls are
full as under an endless load, and nobody ever waits for another, which would be counted as its work.

The cost, first way: the clock, what was left for an idle process and the sink's count are read
twice, between two bursts, some times over, and the middle one taken: now and then the kernel has
something else to do, and once a second shuntd, for a million instructions that no packet causes.
Busy time by frames, less what generator and sink take where nobody forwards (the sink then sits on
the forwarder's device), is the forwarder's whole cost: driver, receive, forwarding, transmit.

Second way: the NAPI polls of the forwarder's own two devices, timed by BPF (napi.py), and the
run time of its threads less the polls that ran in it. Third way: the cycles that the worker counts
itself in turns that had packets, with all that interrupts it. Neither has what an interrupt takes
until it polls.

Where the instructions go is sampled (sampler.py), less the same of generator and sink alone."""
import contextlib
import mmap
import os
import signal
import statistics
import struct
import subprocess
import tempfile
import time

from shuntlab import guest
from shuntlab.lab import BUILD, wait_until
from shuntlab.napi import DUT as DUT_DEVICES
from shuntlab.sampler import Sampler
from shuntlab.wire import inside

RING = 1024 if guest.DRIVER == "igb" else 256  # QEMU gives virtio_net no more to transmit from
BURST = RING * 3 // 4  # sent at once: nobody is ever held up
# Guest time: what the dearest forwarder takes for one, and a rest after it that is seen to be one.
BURST_EVERY_NS = 16000 * BURST
BURSTS = 6144 // BURST  # of a window
WINDOWS, OF_POLLS = 15, 5  # that the cost is the middle one of, and the cost the second way
REST_S = 1.5e-6 * BURST  # longer than the sink ever waits for the rest of a burst,
BATCH_MAX = 256  # but for a worker that is at a batch's task
WAIT_S, ARRIVE_S = 240, 2
TOOLS = os.path.join(BUILD, "tests", "vm")
PKTGEN = "/proc/thread-self/net/pktgen"


# --- reading the guest ----------------------------------------------------------------------------

def open_in(lab, host, path):
    """A file of a host's network namespace, which it stays."""
    with inside(f"/run/netns/shunt-{lab.name}-{host}"):
        return open(path, encoding="ascii")


def set_rings(lab):
    """Those that bursts are made for."""
    for host, dev in guest.ENDS if guest.DRIVER == "igb" else ():
        lab.exec(host, "ethtool", "-G", dev, "rx", RING, "tx", RING)


class Counter:
    """What a device has received, what XDP dropped included."""

    def __init__(self, lab, host, dev="eth1"):
        self.dev = dev + ":"
        self.file = open_in(lab, host, "/proc/thread-self/net/dev")

    def read(self):
        self.file.seek(0)
        fields = next(line for line in self.file if line.strip().startswith(self.dev)).split()
        return int(fields[2])

    def close(self):
        """The namespace, and the device in it, goes with the last file that is open there."""
        self.file.close()


class Idler:
    """Takes whatever time nobody else wants and counts it (idler.c). It runs while it is a context:
    to wait for a link would cost as many instructions as nanoseconds otherwise."""

    def __init__(self):
        with tempfile.NamedTemporaryFile(dir="/dev/shm") as file:
            file.write(bytes(mmap.PAGESIZE))
            file.flush()
            self._steps = mmap.mmap(file.fileno(), mmap.PAGESIZE)
            self.process = subprocess.Popen([f"{TOOLS}/idler", file.name])
            wait_until(self.read, what="the idler")
        self.process.send_signal(signal.SIGSTOP)

    def __enter__(self):
        self.process.send_signal(signal.SIGCONT)

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGSTOP)

    def read(self):
        return 2 * struct.unpack_from("<Q", self._steps)[0]

    def stop(self):
        self.process.kill()
        self.process.wait()


def now_ns():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


# --- generator and sink ---------------------------------------------------------------------------

class Load:
    """Bursts of frames of so many bytes, with rests between, that a forwarder is through with before
    the next one: task is what it does to a packet beside forwarding it, in instructions, and dear what
    its forwarding may take more than others'. Each burst is another of so many flows, told apart by
    source address."""

    def __init__(self, size=60, task=0, flows=1, dear=0, vlan=0):
        self.flows, self.vlan = flows, vlan  # of the size, four of the frame check sequence make 64
        self.size, self.every_ns = size, BURST_EVERY_NS + BURST * (task + dear)
        self.rest_s = REST_S + BATCH_MAX * task / 1e9

    def seconds(self, bursts):
        return bursts * self.every_ns / 1e9

    def sending(self, lab, dst_mac):
        """A context in which it is sent."""
        return generator(lab, dst_mac, self)


class ManyFlows(Load):
    """Bursts whose frames are each of another flow, the flows in turn: by addresses, both of which differ.
    new: TCP SYN, which the sink's kernel answers with RST, instead of UDP."""

    def __init__(self, flows, new=False, dear=0):
        super().__init__(72 if new else 60, flows=flows, dear=dear)
        self.options = ["--proto", "tcp-syn" if new else "udp", "--size", self.size, "--flows", flows,
                        "--src-ip", "100.64.0.0/12" if flows > 1 else "100.64.0.1",
                        "--dst-ip", "100.80.0.0/12" if flows > 1 else "100.80.0.1",
                        "--way", "xsk", "--no-stamp", "--arrival", f"burst:{BURST}",
                        "--rate", round(1e9 * BURST / self.every_ns)]

    @contextlib.contextmanager
    def sending(self, lab, dst_mac):
        sender = self.start(lab, dst_mac, "--duration", 1e6)
        try:
            yield
        finally:
            sender.send_signal(signal.SIGINT)
            sender.communicate(timeout=WAIT_S)

    def start(self, lab, dst_mac, *options):
        return lab.popen("gen", "shunt-gen", "send", "eth1", "--dst-mac", dst_mac, *self.options, *options)


def pktgen_write(lab, name, *commands):
    with inside(f"/run/netns/shunt-{lab.name}-gen"):
        for command in commands:
            with open(f"{PKTGEN}/{name}", "w", encoding="ascii") as file:
                file.write(command + "\n")


@contextlib.contextmanager
def generator(lab, dst_mac, load):
    pktgen_write(lab, "kpktgend_0", "rem_device_all", "add_device eth1")
    pktgen_write(lab, "eth1", "count 0", f"burst {BURST}", f"delay {load.every_ns}",
                 f"vlan_id {load.vlan or 0xffff}", f"pkt_size {load.size}", f"dst_mac {dst_mac}",
                 "src_min 198.18.0.1", f"src_max 198.18.0.{load.flows}", "dst_min 198.19.0.1",
                 "dst_max 198.19.0.1",
                 "udp_src_min 1024", "udp_src_max 1024", "udp_dst_min 9", "udp_dst_max 9")
    start = subprocess.Popen(["nsenter", f"--net=/run/netns/shunt-{lab.name}-gen", "sh", "-c",
                              "echo start >/proc/net/pktgen/pgctrl"])
    try:
        yield
    finally:
        # It may not have begun, and what is stopped before it begins runs for ever.
        wait_until(lambda: has_stopped(lab, start), WAIT_S, "the generator's end")


def has_stopped(lab, start):
    pktgen_write(lab, "pgctrl", "stop")
    return start.poll() is not None


@contextlib.contextmanager
def sink(lab, host):
    """It serves all cases with the sink there: its program takes emulation seconds to load. Only that
    is wanted. The process looks at its counts every 10 ms, for 160,000 instructions, and a window has
    nine looks or ten: so it is stopped."""
    running = lab.popen(host, "shunt-gen", "sink", "eth1", "--drop", "--count-only",
                        "--interval", "0")
    line = running.stderr.readline()
    assert "counting" in line, line
    lab.carriers()
    running.send_signal(signal.SIGSTOP)
    try:
        with contextlib.closing(Counter(lab, host)) as counter:
            yield counter
    finally:
        running.send_signal(signal.SIGINT)
        running.send_signal(signal.SIGCONT)
        running.communicate(timeout=WAIT_S)


def wait_for_rest(counter, load):
    """Until nothing arrives. Returns the count."""
    before, count, end = None, counter.read(), time.monotonic() + ARRIVE_S
    while count != before:
        assert time.monotonic() < end, "no rest between the bursts"
        time.sleep(load.rest_s)
        before, count = count, counter.read()
    return count


def wait_for_burst(counter, load):
    """Until a burst has just arrived, so that the next one has not begun: its frames are made, and cost
    a generator's instructions, long before one arrives. Returns the count."""
    before, end = counter.read(), time.monotonic() + ARRIVE_S
    while counter.read() == before:
        assert time.monotonic() < end, "no burst arrives"
        time.sleep(load.rest_s)
    return wait_for_rest(counter, load)


def wait_for_traffic(counter, load):
    first, end = counter.read(), time.monotonic() + ARRIVE_S + load.seconds(BURSTS)
    while counter.read() < first + BURSTS * BURST // 2:
        assert time.monotonic() < end, f"only {counter.read() - first} frames arrived"
        time.sleep(0.02)


# --- measuring ------------------------------------------------------------------------------------

class Rig:
    """A load, and where it arrives: one case at a time runs on it."""

    def __init__(self, lab, idler, counter, load, polls=None):
        self.lab, self.idler, self.counter, self.load = lab, idler, counter, load
        self.polls, self.daemon = polls, None

    @contextlib.contextmanager
    def running(self, mac, forwarder):
        """While the load, sent to that address, is forwarded: itself."""
        with forwarder(self.lab) as self.daemon, self.load.sending(self.lab, mac), self.idler:
            wait_for_traffic(self.counter, self.load)
            yield self

    def window(self, *readers):
        """What each reader's number grew by for a packet, while BURSTS arrive. To look
        every now and then whether they have would be counted as their cost; when they should have,
        the generator rests as it does now."""
        with self.unread():
            first = wait_for_burst(self.counter, self.load)
            before = [read() for read in readers]
            time.sleep(self.load.seconds(BURSTS))
            packets = wait_for_rest(self.counter, self.load) - first
            after = [read() for read in readers]
        assert packets > BURSTS // 2 * BURST, f"{packets} packets of {BURSTS} bursts"
        return [(b - a) / packets for a, b in zip(before, after)]

    @contextlib.contextmanager
    def unread(self):
        """While who reads a capture is stopped: to read it costs instructions of its own, and a look at
        nothing every 10 ms does. Then it has as long as that took, to read what there is."""
        if not self.daemon or not self.daemon.reader:
            yield
            return
        start = time.monotonic()
        self.daemon.reader.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.daemon.reader.send_signal(signal.SIGCONT)
            time.sleep(time.monotonic() - start)

    def busy(self, windows=WINDOWS):
        """Instructions of the whole guest; those that the worker counts itself in turns that had
        packets, packets of such a turn, kicks a packet to transmit and to receive: None without
        one."""
        before = self.said()
        spans = [self.window(now_ns, self.idler.read) for _ in range(windows)]
        busy = statistics.median(took - idle for took, idle in spans)
        grew = {key: value - before[key] for key, value in self.said().items()}
        if not grew.get("packets"):
            return busy, None
        return busy, (grew["work_cycles"] / grew["packets"],
                      grew["packets"] / (grew["turns"] - grew["empty_turns"]),
                      grew["tx_kicks"] / grew["packets"],
                      grew["rx_kicks"] / grew["packets"])

    def said(self):
        """What the daemon counts."""
        if not self.daemon:
            return {}
        total = self.daemon.show("runtime")["total"]
        queues = self.daemon.queues().values()
        return {**{key: sum(queue[key] for queue in queues) for key in ("tx_kicks", "rx_kicks")},
                **{key: total[key] for key in ("packets", "turns", "empty_turns", "work_cycles")}}

    def by_polls(self):
        """Those of the forwarder's polls and threads."""
        with self.polls.counting(self.daemon.process.pid if self.daemon else 0):
            spans = [self.window(self.polls.of_process, lambda: self.polls.of_devices(DUT_DEVICES),
                                 lambda: threads_ns(self.daemon)) for _ in range(OF_POLLS)]
        return statistics.median(of_dut + threads - inside for inside, of_dut, threads in spans)

    def profile(self):
        """Samples by part and by function."""
        with self.unread():
            sampler = Sampler()
            time.sleep(self.load.seconds(WINDOWS * BURSTS))
            return sampler.stop(self.idler.process.pid, self.daemon.process.pid if self.daemon else 0)


def threads_ns(daemon):
    """Run time of a process's threads."""
    if not daemon:
        return 0
    total = 0
    for thread in os.listdir(f"/proc/{daemon.process.pid}/task"):
        with open(f"/proc/{daemon.process.pid}/task/{thread}/schedstat", encoding="ascii") as file:
            total += int(file.read().split()[0])
    return total
