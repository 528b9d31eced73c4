# SPDX-License-Identifier: BSD-2-Clause
"""The demonstration: the kernel forwards, then shunt does, the same frames each time, while ping
and TCP reach the forwarder itself through the same device. Runs inside `tools/lab run`."""
import math
import sys

import veth

SECONDS = 2
PATIENCE_S = 40  # altogether, for measuring again what a hypervisor disturbed

FORWARDERS = [
    ("kernel bridge", "generator's", lambda: veth.kernel_bridge(False)),
    ("kernel bridge", "own", lambda: veth.kernel_bridge(True)),
    ("kernel ip_forward", "generator's", lambda: veth.kernel_ip_forward(False)),
    ("kernel ip_forward", "own", lambda: veth.kernel_ip_forward(True)),
    ("shunt xconnect", "own", lambda: veth.shunt("xconnect", "--poll", "adaptive")),
    ("shunt static3", "own", lambda: veth.shunt("static3", "--poll", "adaptive")),
    ("xconnect lane xdp", "generator's",
     lambda: veth.shunt_in_kernel("xconnect", "xdp", False)),
    ("xconnect lane xdp", "own", lambda: veth.shunt_in_kernel("xconnect", "xdp", True)),
    ("route lane auto", "generator's", lambda: veth.shunt_in_kernel("route", "auto", False)),
    ("route lane auto", "own", lambda: veth.shunt_in_kernel("route", "auto", True)),
]

HEAD = (f"{'forwarder':<18} {'core':<11} {'load':<5} {'offered':>7} {'sink':>6} {'loss':>6}  "
        f"{'CPU 0':>5} {'CPU 1':>5}  {'ping loss':>9} {'avg ms':>7}  {'TCP Mbit/s':>10}")


def number(value, form):
    return format(value, form) if value is not None else "-"


def line(name, core, load, result):
    ping = result["ping"]
    loss = "-" if ping["loss_pct"] is None else format(ping["loss_pct"], ".0f") + " %"
    return (f"{name:<18} {core:<11} {load:<5} {result['offered_mpps']:7.2f} "
            f"{result['mpps']:6.2f} {result['loss_pct']:4.0f} %  {result['cpu_pct'][0]:3.0f} % "
            f"{result['cpu_pct'].get(1, 0):3.0f} %  {loss:>9} {number(ping['avg_ms'], '7.2f'):>7}  "
            f"{number(result['tcp_mbps'], '.0f'):>10}")


def calibrate():
    """The full load: what the fastest of the forwarders gets through on its own core, and a
    fifth more, so that the others show what they lose."""
    best = 0
    for name, core, forwarder in FORWARDERS:
        if core != "own":
            continue
        with forwarder() as made:
            best = max(best, veth.traffic(made["dst_mac"], seconds=1)["mpps"])
    return math.ceil(12 * best) / 10


RIVALS = [("route lane auto", "kernel ip_forward"), ("xconnect lane xdp", "kernel bridge"),
          ("shunt xconnect", "kernel bridge"), ("shunt static3", "kernel ip_forward")]


def conclude(got):
    """What the table says at full load, for better or worse."""
    print("\nAt full load, at the sink:")
    for name, rival in RIVALS:
        for core in ("generator's", "own"):
            if (name, core) in got and got[rival, core] > 0:
                times = got[name, core] / got[rival, core]
                print(f"  {name + ' (lane user)' * name.startswith('shunt')}, core {core}: "
                      f"{times:.2f} times the {rival} there"
                      f"{'' if times >= 1 else ', so it is SLOWER'}")


def main():
    server = veth.start("dut", "iperf3", "-s")
    print("Looking for the rate that the fastest forwarder here gets through ...", flush=True)
    full = calibrate()
    print(f"Full load is {full:.1f} million frames a second of 60 bytes, half load half of it.\n"
          "The generator has CPU 0. `core` is where the forwarding runs: CPU 1, the forwarder's\n"
          "own, or in the generator's softirq. Ping and a TCP transfer of 100 Mbit/s go to the\n"
          "forwarder's own address meanwhile.  Mpps:\n\n" + HEAD, flush=True)
    modes, got, repeats = {}, {}, veth.Repeats(PATIENCE_S)
    for name, core, forwarder in FORWARDERS:
        with forwarder() as made:
            modes.update(made["info"])
            for load, rate in (("full", full), ("half", full / 2)):
                result = repeats.least_disturbed(
                    lambda mac=made["dst_mac"], pps=int(rate * 1e6):
                    veth.traffic(mac, pps, SECONDS, kernel_share=True))
                got.setdefault((name, core), result["mpps"])
                print(line(name, core, load, result), flush=True)
    server.terminate()
    conclude(got)
    if repeats.disturbed:
        print(f"\n{repeats.confession()}")
    driver = {m["driver_mode"] for m in modes.values()}
    copy = {m["copy_mode"] for m in modes.values()}
    print(f"\nThe kernel confirmed for shunt's ports: driver mode {'/'.join(sorted(driver))}, "
          f"copy mode {'/'.join(sorted(copy))}.")
    if "zerocopy" not in copy:
        print("veth has no zero-copy: the kernel copied every frame into the UMEM, and built a\n"
              "socket buffer for every frame sent, which is most of what a packet cost its\n"
              "worker here. Lane xdp, which shuntd takes by itself where nothing is zero-copy, does\n"
              "neither. On a driver with zero-copy both copies are gone; these figures are then a\n"
              "floor, and only their ratios within one run mean something.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
