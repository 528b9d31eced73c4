# SPDX-License-Identifier: BSD-2-Clause
"""One lab, one forwarder at a time, one stream of frames: what arrives at the sink.

Runs inside `tools/lab run`, so the lab is gone however this ends. The generator has CPU 0, the
forwarder CPU 1; where the kernel forwards, either the generator's softirq does it on CPU 0 or,
`threaded`, a NAPI thread pinned to CPU 1, which is the fair comparison with a poller there.
"""
import contextlib
import json
import os
import re
import select
import signal
import subprocess
import time

from steal import Repeats  # noqa: F401 of whoever uses this module

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.path.join(TOP, os.environ.get("B", "build"), "bin")
LAB = os.path.join(TOP, "tools", "lab")
CONTROL = f"/run/shunt-bench-{os.getpid()}.sock"

DUT_MAC = "02:00:00:00:01:01"
GEN_MAC = "02:00:00:00:01:02"
SINK_MAC = "02:00:00:00:02:02"
DUT_ADDRESS = "10.0.1.1"


def argv(host, *cmd):
    return [LAB, "exec", host, *cmd]


def run(host, *cmd, check=True):
    """Runs a command on a host and returns its standard output."""
    done = subprocess.run(argv(host, *cmd), capture_output=True, text=True, timeout=60)
    if check and done.returncode:
        raise RuntimeError(f"{host}: {' '.join(cmd)}: {done.stderr.strip()}")
    return done.stdout


def start(host, *cmd):
    return subprocess.Popen(argv(host, *cmd), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def wait_for_line(process, stream, word, seconds=15):
    """Reads the stream until a line has the word; that line. What lies behind it stays readable: the
    descriptor is read by the byte, so that select tells when there is none."""
    end, line = time.monotonic() + seconds, b""
    while select.select([stream], [], [], max(0, end - time.monotonic()))[0]:
        byte = os.read(stream.fileno(), 1)
        if not byte:
            break
        if byte != b"\n":
            line += byte
        elif word in line.decode(errors="replace"):
            return line.decode(errors="replace")
        else:
            line = b""
    process.kill()
    raise RuntimeError(f"{' '.join(process.args)}: ended, or said nothing of `{word}` in {seconds} s: "
                       f"{line.decode(errors='replace')}{process.communicate()[1]}")


# --- forwarders ------------------------------------------------------------------------------

def set_threaded(on):
    """Receive the dut's devices on CPU 1 in NAPI threads, or where the sender is."""
    for dev in ("eth1", "eth2"):
        subprocess.run([LAB, "threaded", "dut", dev, "1" if on else "off"], check=True,
                       stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def kernel_ip_forward(threaded):
    set_threaded(threaded)
    try:
        yield {"dst_mac": DUT_MAC, "info": {}}
    finally:
        set_threaded(False)


@contextlib.contextmanager
def kernel_bridge(threaded):
    """A bridge under both devices; it takes the dut's address over, as one does."""
    run("dut", "sh", "-ec", f"""
        ip link add br0 address {DUT_MAC} type bridge mcast_snooping 0
        ip link set br0 up
        ip addr add {DUT_ADDRESS}/24 dev br0
        ip addr del {DUT_ADDRESS}/24 dev eth1
        ip link set eth1 master br0; ip link set eth2 master br0
        bridge fdb replace {SINK_MAC} dev eth2 master static
        bridge fdb replace {GEN_MAC} dev eth1 master static
        ip neigh replace 10.0.1.2 lladdr {GEN_MAC} dev br0""")
    set_threaded(threaded)
    try:
        yield {"dst_mac": SINK_MAC, "info": {}}
    finally:
        set_threaded(False)
        run("dut", "sh", "-ec", f"""
            ip link set eth1 nomaster; ip link set eth2 nomaster
            ip link del br0
            ip addr add {DUT_ADDRESS}/24 dev eth1
            ip neigh replace 10.0.1.2 lladdr {GEN_MAC} dev eth1
            ip route replace 198.18.0.0/16 via 10.0.1.2""")


def confirmed_modes(control):
    """What the kernel says of each port: driver mode and copy mode, in use."""
    shown = subprocess.run([os.path.join(BIN, "shuntctl"), "-j", "-s", control, "show", "ports"],
                           capture_output=True, text=True, timeout=10, check=True).stdout
    return {p["name"]: p["in_use"] for p in json.loads(shown)["ports"]}


@contextlib.contextmanager
def shunt(mode, *options, lane="user", ports=("eth1", "eth2")):
    """shuntd on CPU 1, in a lane. The ledger is checked by its exit status."""
    if mode in ("macrewrite", "static3"):
        ports = [f"{port},next_hop={mac}" for port, mac in zip(ports, (GEN_MAC, SINK_MAC))]
    daemon = start("dut", os.path.join(BIN, "shuntd"), mode, *ports, "--cpu", "1",
                   "--control", CONTROL, "--lane", lane, *options)
    try:
        wait_for_line(daemon, daemon.stderr, "forwarding")
        yield {"dst_mac": SINK_MAC if mode in ("xconnect", "macrewrite") else DUT_MAC,
               "info": confirmed_modes(CONTROL)}
    finally:
        daemon.send_signal(signal.SIGTERM)
        _, err = daemon.communicate(timeout=20)
        if daemon.returncode:
            raise RuntimeError(f"shuntd ended with {daemon.returncode}: {err}")


@contextlib.contextmanager
def shunt_in_kernel(mode, lane, threaded, *options):
    """shuntd whose frames need not leave the kernel: its worker sleeps."""
    set_threaded(threaded)
    try:
        with shunt(mode, "--poll", "interrupt", *options, lane=lane) as made:
            yield made
    finally:
        set_threaded(False)


@contextlib.contextmanager
def devmap(threaded, how=()):
    """A bare XDP redirect, eth1 to eth2: the cheapest that the kernel can do. With how=("look",) one
    that has read the destination address, with ("fib",) routing by bpf_fib_lookup, as xdp-forward
    does it."""
    set_threaded(threaded)
    redirect = start("dut", os.path.join(BIN, "shunt-devmap"), "eth1", "eth2", *how)
    try:
        wait_for_line(redirect, redirect.stdout, "redirecting")
        yield {"dst_mac": DUT_MAC if how == ("fib",) else SINK_MAC, "info": {}}
    finally:
        redirect.send_signal(signal.SIGTERM)
        redirect.communicate(timeout=10)
        set_threaded(False)


# --- traffic ---------------------------------------------------------------------------------

def cpu_times():
    """Per CPU: busy and total jiffies."""
    times = {}
    with open("/proc/stat", encoding="ascii") as stat:
        for line in stat:
            match = re.match(r"cpu(\d+) (.*)", line)
            if match:
                parts = [int(x) for x in match.group(2).split()[:8]]
                times[int(match.group(1))] = (sum(parts) - parts[3] - parts[4], sum(parts))
    return times


def ping(address, seconds):
    """The command that pings during a measurement."""
    return start("gen", "ping", "-q", "-i", "0.05", "-w", str(seconds), address)


def ping_result(process):
    out, _ = process.communicate(timeout=30)
    loss = re.search(r"([\d.]+)% packet loss", out)
    rtt = re.search(r"= [\d.]+/([\d.]+)/([\d.]+)", out)
    return {"loss_pct": float(loss.group(1)) if loss else None,
            "avg_ms": float(rtt.group(1)) if rtt else None,
            "max_ms": float(rtt.group(2)) if rtt else None}


def tcp_result(process):
    """Mbit/s that the forwarder received by TCP."""
    out, _ = process.communicate(timeout=30)
    try:
        return json.loads(out)["end"]["sum_received"]["bits_per_second"] / 1e6
    except (KeyError, ValueError):
        return None


def send(dst_mac, seconds, rate="max", size=60):
    """The generator's account."""
    return json.loads(run("gen", os.path.join(BIN, "shunt-gen"), "send", "eth1", "--rate",
                          str(rate), "--size", str(size), "--duration", str(seconds), "--dst-mac",
                          dst_mac, "--no-stamp", "-j", "--cpu", "0"))


def traffic(dst_mac, rate="max", seconds=2, size=60, kernel_share=False):
    """Sends for so many seconds; what the sink counted, in Mpps, and what was lost.

    With kernel_share, pings and a TCP transfer go to the forwarder itself meanwhile."""
    sink = start("sink", os.path.join(BIN, "shunt-gen"), "sink", "eth1", "--drop", "--count-only",
                 "--idle", "1", "--duration", str(seconds + 6), "--interval", "0", "-j", "--cpu",
                 "0")
    wait_for_line(sink, sink.stderr, "counting")
    before = cpu_times()
    pinger = tcp = None
    if kernel_share:
        pinger = ping(DUT_ADDRESS, seconds)
        tcp = start("gen", "iperf3", "-J", "-b", "100M", "-c", DUT_ADDRESS, "-t", str(seconds),
                    "--connect-timeout", "3000")
    sent = send(dst_mac, seconds, rate, size)
    after = cpu_times()
    out, err = sink.communicate(timeout=30)
    if sink.returncode:
        raise RuntimeError(f"sink: {err}")
    seen = json.loads(out)
    result = {"mpps": seen["frames"] / sent["seconds"] / 1e6,
              "offered_mpps": sent["offered_pps"] / 1e6,
              "loss_pct": 100 * (1 - seen["frames"] / max(sent["sent"], 1)),
              "cpu_pct": {n: 100 * (after[n][0] - before[n][0]) /
                          max(after[n][1] - before[n][1], 1) for n in after}}
    if kernel_share:
        result["ping"] = ping_result(pinger)
        result["tcp_mbps"] = tcp_result(tcp)
    return result
