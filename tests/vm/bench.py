# SPDX-License-Identifier: BSD-2-Clause
"""bench.py OUT.json [NAME...]: instructions per forwarded packet, kernel and driver included. Runs
in a guest started with --icount and one CPU, in a lab with permanent neighbours.

There a tick of the clock is an instruction of the one CPU, the guest's all together: generator
(pktgen), forwarder, and a sink that drops in XDP. The clock, the time the CPU was idle and the
sink's count are read twice; busy time by frames, less what generator and sink take where nobody
forwards (the sink then sits on the forwarder's device), is the forwarder's whole cost: driver,
receive, forwarding, transmit.

The frames come in bursts with rests between. A generator at full speed waits, busy, for QEMU to
empty its ring, which takes real time: its figures differed by a seventh from run to run."""
import contextlib
import json
import os
import subprocess
import sys
import time

import vm
import wire

BURST = 64  # sent at once, a quarter of virtio_net's ring: nobody is ever held up
BURST_EVERY_NS = 700000  # guest time: what the dearest forwarder takes for one, about
FRAMES = 600 * BURST  # of one window, after a quarter as many that do not count
WINDOWS = 3
FRAME_BYTES = 60  # and four of the frame check sequence make 64
WAIT_S = 240
PKTGEN = "/proc/thread-self/net/pktgen"


# --- reading the guest ----------------------------------------------------------------------------

def open_in(lab, host, path):
    """A file of a host's network namespace, which it stays."""
    with wire.inside(f"/run/netns/shunt-{lab.name}-{host}"):
        return open(path, encoding="ascii")


class Counter:
    """What a device has received, what XDP dropped included."""

    def __init__(self, lab, host, dev="eth1"):
        self.dev = dev + ":"
        self.file = open_in(lab, host, "/proc/thread-self/net/dev")

    def read(self):
        self.file.seek(0)
        fields = next(line for line in self.file if line.strip().startswith(self.dev)).split()
        return int(fields[2])


class Idler:
    """Takes whatever time nobody else wants, so that its own is the time the CPU was idle; that of
    interrupts is not counted as its own (CONFIG_IRQ_TIME_ACCOUNTING)."""

    def __init__(self):
        self.process = subprocess.Popen(["chrt", "--idle", "0", "sh", "-c", "while :; do :; done"])

    def read(self):
        with open(f"/proc/{self.process.pid}/schedstat", encoding="ascii") as file:
            return int(file.read().split()[0])

    def stop(self):
        self.process.kill()
        self.process.wait()


def now_ns():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


# --- generator and sink ---------------------------------------------------------------------------

def pktgen_write(lab, name, *commands):
    with wire.inside(f"/run/netns/shunt-{lab.name}-gen"):
        for command in commands:
            with open(f"{PKTGEN}/{name}", "w", encoding="ascii") as file:
                file.write(command + "\n")


@contextlib.contextmanager
def generator(lab, dst_mac):
    pktgen_write(lab, "kpktgend_0", "rem_device_all", "add_device eth1")
    pktgen_write(lab, "eth1", "count 0", f"burst {BURST}",
                 f"delay {BURST_EVERY_NS}", f"pkt_size {FRAME_BYTES}",
                 f"dst_mac {dst_mac}", "src_min 198.18.0.1", "src_max 198.18.0.1",
                 "dst_min 198.19.0.1", "dst_max 198.19.0.1", "udp_src_min 1024",
                 "udp_src_max 1024", "udp_dst_min 9", "udp_dst_max 9")
    start = subprocess.Popen(["nsenter", f"--net=/run/netns/shunt-{lab.name}-gen", "sh", "-c",
                              "echo start >/proc/net/pktgen/pgctrl"])
    try:
        yield
    finally:
        pktgen_write(lab, "pgctrl", "stop")
        start.wait(WAIT_S)


@contextlib.contextmanager
def sink(lab, host):
    running = lab.popen(host, "shunt-gen", "sink", "eth1", "--drop", "--count-only",
                        "--interval", "0")
    line = running.stderr.readline()
    assert "counting" in line, line
    lab.carriers()
    try:
        yield Counter(lab, host)
    finally:
        running.send_signal(2)
        running.communicate(timeout=WAIT_S)


def wait_for(counter, count):
    end = time.monotonic() + WAIT_S
    while counter.read() < count:
        assert time.monotonic() < end, f"{counter.read()} of {count} frames arrived"
        time.sleep(0.02)


# --- forwarders -----------------------------------------------------------------------------------

@contextlib.contextmanager
def nobody(_):
    yield None


@contextlib.contextmanager
def bridge(lab):
    lab.sh("dut", f"""
        ip link add br0 type bridge mcast_snooping 0; ip link set br0 up
        ip link set eth1 master br0; ip link set eth2 master br0
        bridge fdb replace {vm.SINK} dev eth2 master static
        bridge fdb replace {vm.GEN} dev eth1 master static""")
    lab.carriers()
    try:
        yield None
    finally:
        lab.sh("dut", "ip link del br0")


def shunt(*args):
    @contextlib.contextmanager
    def forwarder(lab):
        with vm.Shuntd(lab, *args) as daemon:
            yield daemon
    return forwarder


def cases():
    """(name, params, where the sink is, address of the frames, forwarder)"""
    yield "vm.generator", {}, "dut", vm.DUT, nobody
    yield "vm.kernel.ip_forward", {}, "sink", vm.DUT, nobody
    yield "vm.kernel.bridge", {}, "sink", vm.SINK, bridge
    for copy in ("zerocopy", "copy"):
        for mode, ports, mac in (("xconnect", vm.PORTS, vm.SINK), ("static3", vm.STATIC3, vm.DUT)):
            for batch in (32, 64):
                yield (f"vm.shunt.{mode}.{copy}", {"batch": batch}, "sink", mac,
                       shunt(mode, *ports, "--copy-mode", copy, "--batch", str(batch),
                             "--poll", os.environ.get("BENCH_POLL", "interrupt")))


def runtime(daemon):
    return daemon.ctl("show", "runtime")["total"] if daemon else None


def window(counter, idler):
    """Instructions per packet while FRAMES arrive, and the idle share of the time."""
    before = (now_ns(), idler.read(), counter.read())
    wait_for(counter, before[2] + FRAMES)
    took, idle, packets = (b - a for a, b in
                           zip(before, (now_ns(), idler.read(), counter.read())))
    return (took - idle) / packets, idle / took


def measure(lab, idler, host, mac, forwarder):
    """The windows' instructions per packet, whole guest, the idle share, the worker's part."""
    with sink(lab, host) as counter, forwarder(lab) as daemon:
        first = counter.read()
        with generator(lab, mac):
            wait_for(counter, first + FRAMES // 4)
            said = runtime(daemon)
            windows = [window(counter, idler) for _ in range(WINDOWS)]
            part = worker_part(said, runtime(daemon)) if daemon else ""
            if os.environ.get("BENCH_PERF"):
                profile()
    return sorted(w for w, _ in windows), max(idle for _, idle in windows), part


def profile():
    """Where the instructions go, by thread and function."""
    subprocess.run("perf record -q -a -e cpu-clock -F 4000 -o /tmp/perf.data sleep 0.15 && "
                   "perf report -i /tmp/perf.data --stdio --sort comm,sym 2>/dev/null | "
                   "grep -v '^#' | grep -v '^$' | head -60", shell=True, check=False)


def worker_part(before, after):
    """The worker's own count, by its clock: what it took a packet with the kernel's share in its
    system calls and the interrupts that hit it, the empty turns apart; packets a batch."""
    packets = after["packets"] - before["packets"]
    turns = after["turns"] - after["empty_turns"] - before["turns"] + before["empty_turns"]
    work = (after["work_cycles"] - before["work_cycles"]) / packets
    busy = (after["busy_cycles"] - before["busy_cycles"]) / packets
    return (f"worker {work:.0f}, empty {busy:.0f}, batch {packets / max(turns, 1):.1f}, "
            f"c_io {after['c_io']:.0f}, c_task {after['c_task']:.0f}")


def main(out, *names):
    lab, idler = vm.lab(), Idler()
    results, alone, forwarded = [], None, None
    print(f"{vm.DRIVER}\n{'name':<28} {'batch':>5} {'whole':>7} {'spread':>6} {'cost':>7} "
          f"{'of ip_fwd':>9}  {'idle':>5}")
    for name, params, host, mac, forwarder in cases():
        if names and name not in names and name != "vm.generator":
            continue
        windows, idle, part = measure(lab, idler, host, mac, forwarder)
        middle = windows[len(windows) // 2]
        base = alone or 0
        alone = middle if alone is None else alone
        cost = middle - base
        forwarded = cost if name == "vm.kernel.ip_forward" else forwarded
        ratio = f"1/{forwarded / cost:.2f}" if forwarded else "-"
        print(f"{name:<28} {params.get('batch', '-'):>5} {middle:7.0f} "
              f"{100 * (windows[-1] / windows[0] - 1):5.1f}% {cost:7.0f} {ratio:>9}  "
              f"{100 * idle:4.1f}%  {part}", flush=True)
        results.append({"name": name, "params": {"driver": vm.DRIVER, **params}, "value": cost,
                        "unit": "instructions/packet", "min": windows[0] - base,
                        "max": windows[-1] - base})
    idler.stop()
    with open(out, "w", encoding="ascii") as file:
        json.dump(results, file, indent=1)


if __name__ == "__main__":
    main(*sys.argv[1:])
