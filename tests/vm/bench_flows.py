# SPDX-License-Identifier: BSD-2-Clause
"""bench_flows.py OUT.json [NAME...]: what connections cost under a firewall, in instructions
(tools/shuntlab/rig.py): a packet of one approved connection, and of a million in turn, by the kernel's
flowtable and by shunt; and a new connection, from its first packet to the answer that ends it, to the
kernel alone and beside shunt.

The cost of a packet is that of the polls of the forwarder's devices and of its threads. What the kernel does
by the clock is not in it: its flowtable goes through all its connections every second."""
import contextlib
import json
import subprocess
import sys

from shuntlab import guest
from shuntlab.lab import wait_until
from shuntlab.napi import Polls
from shuntlab.rig import TOOLS, Counter, Idler, ManyFlows, Rig, set_rings, sink
from shuntlab.rig_forwarders import nobody, ruled, shunt

MANY = 1_000_000
NEW_DEAR = 60000  # what a new connection takes more than an approved packet, at most,
FILL_DEAR = 30000  # and a packet that is not approved yet
FILL_S = 900
KEPT = ("net.netfilter.nf_flowtable_udp_timeout", "net.netfilter.nf_conntrack_udp_timeout")
POLLS = {"virtio": ("virtnet_poll", "virtnet_poll_tx"), "igb": ("igb_poll",)}


def forwarders(kernels, shunts):
    """(name, params, forwarder)"""
    yield f"vm.kernel.{kernels}", {}, nobody
    for lane in "xdp", "user":
        yield (f"vm.shunt.{shunts}", {"lane": lane},
               shunt("route", *guest.PORTS, "--lane", lane, "--batch", "64"))


def make_room(lab):
    """For a million connections that stay, and ways to their addresses and back."""
    subprocess.run(["modprobe", "-a", "nf_conntrack", "nf_flow_table"], check=True)
    for path, value in (("/sys/module/nf_conntrack/parameters/hashsize", MANY),
                        ("/proc/sys/net/netfilter/nf_conntrack_max", 2 * MANY)):
        with open(path, "w", encoding="ascii") as file:
            file.write(str(value))
    lab.sh("dut", "ip route add 100.64.0.0/12 via 10.0.1.2; ip route add 100.80.0.0/12 via 10.0.2.2; " +
           "; ".join(f"sysctl -qw {key}=86400" for key in KEPT))
    lab.sh("sink", "ip addr add 100.80.0.0/12 dev lo")


# --- packets of connections that are there ---------------------------------------------------------

def fill(rig, mac):
    """Two packets of each: the first is new, the second is put into the flowtable."""
    slow = ManyFlows(rig.load.flows, dear=FILL_DEAR)
    sender = slow.start(rig.lab, mac, "--count", 2 * slow.flows + 1000)
    wait_until(lambda: sender.poll() is not None, FILL_S, "the connections to begin")
    sender.communicate()
    count = int(rig.lab.exec("dut", "conntrack", "-C").stdout)
    assert count >= slow.flows, f"{count} connections of {slow.flows}"


def packet_cost(rig, forwarder, flows, has_nat):
    rig.load = ManyFlows(flows)

    @contextlib.contextmanager
    def filled(lab):
        with ruled(forwarder, True, has_nat)(lab) as daemon:
            fill(rig, guest.DUT)
            yield daemon

    with rig.running(guest.DUT, filled):
        start = rig.counter.read()
        # the first round of them is dearer
        wait_until(lambda: rig.counter.read() - start > flows, FILL_S, "a packet of each connection")
        before = missed(rig)
        cost = rig.by_polls()
        assert missed(rig) == before, f"{missed(rig) - before} packets of no approved connection"
    return cost


def missed(rig):
    return rig.daemon.steered("no_flow") if rig.daemon else 0


def bench_packets(lab, rig, wanted):
    with sink(lab, "sink") as rig.counter:
        for has_nat in False, True:
            what = "nat" if has_nat else "filter"
            for name, params, forwarder in forwarders(f"flowtable.{what}", f"route.{what}"):
                if wanted(name):
                    costs = [packet_cost(rig, forwarder, flows, has_nat) for flows in (1, MANY)]
                    yield from entries(name, params, costs)


def entries(name, params, costs):
    print(f"{' '.join([name, *params.values()]):<32} one {costs[0]:7.0f}  a million {costs[1]:7.0f}  "
          f"ratio {costs[1] / costs[0]:.3f}", flush=True)
    for flows, cost in zip((1, MANY), costs):
        yield {"name": name, "params": {"driver": guest.DRIVER, **params, "flows": flows}, "value": cost,
               "unit": "instructions/packet"}


# --- new connections ------------------------------------------------------------------------------

def new_cost(rig, forwarder):
    """That of the whole guest, and by polls."""
    with rig.running(guest.DUT, ruled(forwarder)):
        return rig.busy()[0], rig.by_polls()


def bench_new(lab, rig, wanted):
    """What shunt adds is the difference of the whole guest: most of a connection is the kernel's in both,
    and by polls it is not the same twice."""
    rig.load = ManyFlows(MANY, new=True, dear=NEW_DEAR)
    with sink(lab, "gen"), contextlib.closing(Counter(lab, "sink")) as rig.counter:
        if wanted("vm.kernel.new") or wanted("vm.shunt.new"):
            whole, kernel = new_cost(rig, nobody)
            yield from show_new("vm.kernel.new", {}, kernel, kernel)
        for name, params, forwarder in forwarders("new", "new"):
            if params and wanted(name):
                added = new_cost(rig, forwarder)[0] - whole
                yield from show_new(name, params, kernel + added, kernel)


def show_new(name, params, cost, kernel):
    print(f"{' '.join([name, *params.values()]):<32} {cost:7.0f}  ratio {cost / kernel:.3f}", flush=True)
    yield {"name": name, "params": {"driver": guest.DRIVER, **params}, "value": cost,
           "unit": "instructions/connection"}


def main(out, *names):
    lab, idler = guest.lab(), Idler()
    polls = Polls(f"{TOOLS}/napi.bpf.o", POLLS[guest.DRIVER])
    print(f"Linux {guest.KERNEL}, {guest.DRIVER}")
    set_rings(lab)

    def wanted(name):
        return not names or name in names

    make_room(lab)
    rig = Rig(lab, idler, None, None, polls)
    results = [*bench_new(lab, rig, wanted), *bench_packets(lab, rig, wanted)]
    idler.stop()
    with open(out, "w", encoding="ascii") as file:
        json.dump(results, file, indent=1)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
