# SPDX-License-Identifier: BSD-2-Clause
"""bench_auto.py OUT.json [NAME...]: lane auto beside the same guest's kernel, in instructions a packet
(tools/shuntlab/rig.py says how they are counted): which lane auto chose, why, what a packet costs in it,
and what one costs the kernel. Exit status 1 where auto is slower, or could not be measured.

Slower is what costs more by over SLACK: two runs of one forwarder differ by less, and a bridge of the
kernel's hashes its table by a secret of its own (bench.py), for which the cheapest of a few counts. Of a
worker's polls only those that found packets are to be counted, so it waits by interrupt, as there."""
import contextlib
import json
import math
import sys

from shuntlab import guest
from shuntlab.rig import Idler, Load, Rig, set_rings, sink
from shuntlab.rig_forwarders import bridged, nobody, shunt

SLACK = 1.02
WINDOWS, BRIDGES = 5, 3  # that the cost is the middle one of
FORWARDED, BRIDGED = "ip_forward", "bridge"
GENERIC = ("--driver-mode", "generic")


@contextlib.contextmanager
def by_itself(lab, *args):
    """shuntd that has heard of the sink, which sends nothing by itself: to a station that a bridge of its
    does not know the worker floods."""
    with shunt(*args)(lab) as daemon, contextlib.closing(lab.wire("sink")) as wire:
        wire.send(bytes.fromhex((guest.GEN + guest.SINK).replace(":", "")) + guest.MARK + bytes(46))
        yield daemon


class Case:
    """Arguments of shuntd, and what of the kernel does the same: what has no like there is beside the
    nearest, the bridge."""

    def __init__(self, name, kernel, *args, over=False):
        self.name, self.kernel, self.mac = name, kernel, guest.DUT if kernel == FORWARDED else guest.SINK
        args = name.split(".")[0], *args, "--lane", "auto", "--poll", "interrupt"
        self.forwarder = bridged(shunt(*args)) if over else lambda lab: by_itself(lab, *args)
        self.tries = BRIDGES if over else 1


def cases():
    yield Case("route", FORWARDED, *guest.PORTS)
    yield Case("static3", FORWARDED, *guest.STATIC3)
    yield Case("mix.routed", FORWARDED, *guest.PORTS)
    yield Case("macrewrite", BRIDGED, *guest.STATIC3)
    yield Case("xconnect", BRIDGED, *guest.PORTS)
    yield Case("xconnect.over-br0", BRIDGED, *guest.PORTS, over=True)
    yield Case("bridge", BRIDGED, *guest.PORTS)
    yield Case("bridge.br0", BRIDGED, "br0", over=True)
    yield Case("mix.bridged", BRIDGED, *guest.PORTS)
    yield Case("static3.generic", FORWARDED, *guest.STATIC3, *GENERIC)
    yield Case("macrewrite.generic", BRIDGED, *guest.STATIC3, *GENERIC)
    yield Case("xconnect.generic", BRIDGED, *guest.PORTS, *GENERIC)
    yield Case("xconnect.generic-over-br0", BRIDGED, *guest.PORTS, *GENERIC, over=True)


KERNEL = {FORWARDED: (guest.DUT, nobody, 1), BRIDGED: (guest.SINK, bridged(nobody), BRIDGES)}


def measure(rig, mac, forwarder, tries):
    """Instructions of the whole guest for a packet, and what `show lanes` says of the port that they come
    in on, None without a daemon."""
    least, lane = math.inf, None
    for _ in range(tries):
        with rig.running(mac, forwarder):
            busy, _ = rig.busy(WINDOWS)
            if busy < least:
                least, lane = busy, rig.daemon and rig.daemon.show("lanes")["lanes"][0]
            if lane and lane["in_use"] != "kernel":
                break
    return least, lane


def show(case, cost, kernel, lane):
    ratio = kernel / cost
    slower = cost > kernel * SLACK
    print(f"{case.name:<26} {lane['in_use']:<7} {cost:7.0f} {kernel:7.0f} {ratio:6.2f}"
          f"{'  SLOWER' if slower else ''}\n    {lane['why']}", flush=True)
    return slower


def entry(case, cost, kernel, lane):
    return {"name": f"vm.auto.{case.name}", "unit": "instructions/packet", "value": cost,
            "params": {"driver": guest.DRIVER, "kernel": guest.KERNEL, "beside": case.kernel},
            "beside": kernel, "lane": lane["in_use"], "why": lane["why"]}


class Bench:
    """A sink's rig; what the kernel needs is measured once, when it is first wanted."""

    def __init__(self, rig, alone):
        self.rig, self.alone, self._kernel = rig, alone, {}

    def kernel(self, name):
        if name not in self._kernel:
            self._kernel[name] = measure(self.rig, *KERNEL[name])[0] - self.alone
        return self._kernel[name]

    def run(self, case):
        """A result and whether it is slower."""
        kernel = self.kernel(case.kernel)
        busy, lane = measure(self.rig, case.mac, case.forwarder, case.tries)
        found = busy - self.alone, kernel, lane
        return entry(case, *found), show(case, *found)


def main(out, *names):
    lab, idler = guest.lab(), Idler()
    results, bad = [], []
    chosen = [case for case in cases() if not names or case.name in names]
    print(f"Linux {guest.KERNEL}, {guest.DRIVER}")
    print(f"{'configuration':<26} {'lane':<7} {'auto':>7} {'kernel':>7}  ratio   (instructions a packet)")
    set_rings(lab)
    with sink(lab, "dut") as counter:
        alone, _ = measure(Rig(lab, idler, counter, Load()), guest.DUT, nobody, 1)
    with sink(lab, "sink") as counter:
        bench = Bench(Rig(lab, idler, counter, Load()), alone)
        for case in chosen:
            try:
                result, slower = bench.run(case)
                results.append(result)
                bad += [case.name] * slower
            except AssertionError as why:  # the others are worth their time still
                print(f"{case.name}: not measured: {why}", flush=True)
                bad.append(case.name)
    idler.stop()
    with open(out, "w", encoding="ascii") as file:
        json.dump(results, file, indent=1)
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
