# SPDX-License-Identifier: BSD-2-Clause
"""bench.py OUT.json [NAME...]: instructions per forwarded packet, kernel and driver included, in three
ways (tools/shuntlab/rig.py). Runs in a guest started with --icount and one CPU, in a lab with permanent
neighbours. A case that cannot be measured says why, and the exit code is 1."""
import json
import math
import os
import sys

from shuntlab import guest
from shuntlab.napi import Polls
from shuntlab.rig import TOOLS, Idler, Load, Rig, set_rings, sink
from shuntlab.rig_forwarders import VLAN_IN, LeftOutError, behind_bridge, bonded, bridged, captured, dumped, \
    in_vrf, nobody, ruled, shunt, tagged, to_vlan, xdp_forward
from shuntlab.sampler import PARTS

# A bridge hashes its table by a secret of its own. Where a station's address comes behind another's,
# as with six bridges of fourteen on igb, a packet costs 50 more: the least of so many is taken.
BRIDGES = 5
# A virtio device that is not QEMU's usual one: said beside each figure.
DEVICE = {"virtio": os.environ["VMLAB_VIRTIO"]} if os.environ.get("VMLAB_VIRTIO") else {}
POLLS = {"virtio": ("virtnet_poll", "virtnet_poll_tx"), "igb": ("igb_poll",)}
# Without a flowtable each packet passes a hundred rules: that many instructions more, at most.
RULES_DEAR = 40000
# What a capture is asked for; the frames are UDP. What none costs, the rows of the cross-connect say.
FILTERS = {"nothing": ("tcp", "port", "9"), "all": ("-s", "128")}
PART_NAMES = [name for name, _ in PARTS[1:]] + ["poller", "interrupts, scheduler"]


def routed(lane):
    return shunt("route", *guest.PORTS, "--lane", lane, "--batch", "64")


def from_bridge(lane):
    return shunt("route", "br0", "eth2", "--lane", lane, "--batch", "64")


def small_router(forwarder, has_flowtable=True):
    return behind_bridge(to_vlan(ruled(forwarder, has_flowtable, True, "wan")))


def cases():
    """(name, params, address of the frames, forwarder, of how many the least is taken)"""
    yield "vm.kernel.ip_forward", {}, guest.DUT, nobody, 1
    yield "vm.kernel.bridge", {}, guest.SINK, bridged(nobody), BRIDGES
    yield "vm.kernel.bridge.vlan", {}, guest.SINK, bridged(nobody, True), BRIDGES
    for lane in "xdp", "user":
        for name, has_vlans in ("vm.shunt.bridge", False), ("vm.shunt.bridge.vlan", True):
            yield (name, {"lane": lane}, guest.SINK,
                   bridged(shunt("bridge", "br0", "--lane", lane, "--batch", "64"), has_vlans), BRIDGES)
    yield "vm.shunt.xconnect.xdp", {}, guest.SINK, shunt("xconnect", *guest.PORTS, "--lane", "xdp"), 1
    yield "vm.shunt.route.xdp", {}, guest.DUT, shunt("route", *guest.PORTS, "--lane", "xdp"), 1
    yield "vm.shunt.route.user", {"batch": 64}, guest.DUT, routed("user"), 1
    yield "vm.kernel.ip_forward.vlan", {}, guest.DUT, tagged(nobody), 1
    for lane in "xdp", "user":
        yield "vm.shunt.route.vlan", {"lane": lane}, guest.DUT, tagged(routed(lane)), 1
    for has_nat in (False, True):
        what = "nat" if has_nat else "filter"
        yield f"vm.kernel.ip_forward.{what}", {}, guest.DUT, ruled(nobody, False, has_nat), 1
        yield f"vm.kernel.flowtable.{what}", {}, guest.DUT, ruled(nobody, True, has_nat), 1
        yield "vm.xdp_forward.flowtable", {"rules": what}, guest.DUT, ruled(xdp_forward, True, has_nat), 1
        for lane in "xdp", "user", "auto":
            yield (f"vm.shunt.route.{what}", {"lane": lane}, guest.DUT,
                   ruled(routed(lane), True, has_nat), 1)
        for lane in "xdp", "user":
            yield (f"vm.shunt.route.{what}", {"lane": lane, "flow_counts": "counts"}, guest.DUT,
                   ruled(shunt("route", *guest.PORTS, "--lane", lane, "--batch", "64", "--flow-counts"),
                         True, has_nat), 1)
    for copy in ("zerocopy", "copy"):
        for mode, ports, mac in (("xconnect", guest.PORTS, guest.SINK),
                                 ("static3", guest.STATIC3, guest.DUT)):
            for batch in (32, 64):
                yield (f"vm.shunt.{mode}.{copy}", {"batch": batch}, mac,
                       shunt(mode, *ports, "--copy-mode", copy, "--batch", str(batch),
                             "--poll", os.environ.get("BENCH_POLL", "interrupt")), 1)
    for name, words in FILTERS.items():
        yield ("vm.shunt.capture", {"lane": "xdp", "filter": name}, guest.SINK,
               captured(words, "xconnect", *guest.PORTS, "--lane", "xdp"), 1)
        yield ("vm.shunt.capture", {"lane": "user", "batch": 64, "filter": name}, guest.SINK,
               captured(words, "xconnect", *guest.PORTS, "--copy-mode", "zerocopy", "--batch", "64",
                        "--poll", os.environ.get("BENCH_POLL", "interrupt")), 1)
    # With all that who reads takes, too: above, that one is stopped.
    yield ("vm.shunt.capture.read", {"lane": "xdp", "filter": "all"}, guest.SINK,
           captured(FILTERS["all"], "xconnect", *guest.PORTS, "--lane", "xdp", is_stopped=False), 1)
    yield ("vm.xdpdump.read", {"lane": "xdp", "filter": "all"}, guest.SINK,
           dumped("xconnect", *guest.PORTS, "--lane", "xdp"), 1)
    yield "vm.kernel.ip_forward.br0", {}, guest.DUT, behind_bridge(nobody), 1
    for lane in "xdp", "user":
        yield "vm.shunt.route.br0", {"lane": lane}, guest.DUT, behind_bridge(from_bridge(lane)), 1
    # The router of a small network (tools/lab, --router).
    yield "vm.kernel.ip_forward.router", {}, guest.DUT, small_router(nobody, False), 1
    yield "vm.kernel.flowtable.router", {}, guest.DUT, small_router(nobody), 1
    for lane in "xdp", "user":
        yield "vm.shunt.route.router", {"lane": lane}, guest.DUT, small_router(from_bridge(lane)), 1
    # They leave the ports without addresses. The emulated igb does not come back from being a member. Beside
    # a veth, the second member of balance-xor, workers have no zero-copy.
    for mode, lanes in (("active-backup", ("xdp", "user")), ("balance-xor", ("xdp",))):
        if guest.DRIVER == "igb":
            break
        yield "vm.kernel.ip_forward.bond", {"mode": mode}, guest.DUT, bonded(nobody, mode), 1
        for lane in lanes:
            yield ("vm.shunt.route.bond", {"lane": lane, "mode": mode}, guest.DUT,
                   bonded(shunt("route", "bin", "bout", "--lane", lane, "--batch", "64"), mode), 1)
    # Last: since there was a VRF, the kernel asks `ip rule` of each packet.
    yield "vm.kernel.ip_forward.vrf", {}, guest.DUT, in_vrf(nobody), 1
    for lane in "xdp", "user":
        yield "vm.shunt.route.vrf", {"lane": lane}, guest.DUT, in_vrf(routed(lane)), 1


def vlan_of(name):
    """The VLAN ID of a case's frames, 0 for none."""
    return VLAN_IN if name.endswith(".vlan") else 0


def measure(rig, mac, forwarder, tries=1):
    """A dict of what was measured of a case: of so many forwarders, one made after the other, of that
    which costs least."""
    least = {"busy": math.inf}
    for _ in range(tries):
        with rig.running(mac, forwarder):
            busy, worker = rig.busy()
            if busy < least["busy"]:
                least = {"busy": busy, "polls": rig.by_polls(), "worker": worker,
                         "samples": rig.profile()}
    return least


# --- the table ------------------------------------------------------------------------------------

def scaled(measured, which):
    """The samples, by part (0) or by function (1), as instructions per packet."""
    samples = measured["samples"][which]
    scale = measured["busy"] / sum(measured["samples"][0].values())
    return {key: count * scale for key, count in samples.items()}


def where(measured, alone):
    """The cost by part: the samples less those of generator and sink alone. What these two differ
    by is in no part."""
    mine, theirs = scaled(measured, 0), scaled(alone, 0)
    return {part: round(mine.get(part, 0) - theirs.get(part, 0)) for part in PART_NAMES}


def top(measured, alone, count=16):
    """The functions that a packet spends most on."""
    mine, theirs = scaled(measured, 1), scaled(alone, 1)
    grew = {key: value - theirs.get(key, 0) for key, value in mine.items()}
    return [f"{round(grew[key]):5} {key[0]}: {key[1]}"
            for key in sorted(grew, key=grew.get, reverse=True)[:count]]


def show(name, params, measured, alone, forwarded):
    base, cost = alone["busy"], measured["busy"] - alone["busy"]
    worker = measured["worker"]
    shown = (params[key] for key in ("rules", "lane", "filter", "flow_counts") if key in params)
    words = " ".join([name, *shown])
    print(f"{words:<30} {params.get('batch', '-'):>5} {base + cost:7.0f} {cost:7.0f} "
          f"{f'1/{forwarded / cost:.2f}' if forwarded else '-':>9} {measured['polls']:7.0f} " +
          (f"{worker[0]:7.0f} {worker[1]:6.1f} {worker[2]:7.4f} {worker[3]:7.4f}" if worker else
           f"{'-':>7} {'-':>6} {'-':>7} {'-':>7}"), flush=True)
    parts = where(measured, alone)
    print("    " + ", ".join(f"{part} {count}" for part, count in parts.items()), flush=True)
    if os.environ.get("BENCH_PERF"):
        print("\n".join("        " + line for line in top(measured, alone)), flush=True)
    return {"name": name, "params": {"driver": guest.DRIVER, **DEVICE, **params}, "value": cost,
            "unit": "instructions/packet",
            "by_polls": measured["polls"], "by_worker": worker[0] if worker else None,
            "kicks_per_packet": sum(worker[2:]) if worker else None, "where": parts}


def main(out, *names):
    lab, idler = guest.lab(), Idler()
    polls = Polls(f"{TOOLS}/napi.bpf.o", POLLS[guest.DRIVER])
    results, forwarded, failed = [], None, []
    print(guest.DRIVER, *DEVICE.values())
    print(f"{'name':<30} {'batch':>5} {'whole':>7} {'cost':>7} {'of ip_fwd':>9} "
          f"{'polls':>7} {'worker':>7} {'filled':>6} {'tx kick':>7} {'rx kick':>7}")
    set_rings(lab)
    chosen = [case for case in cases() if not names or case[0] in names]
    alone = {}
    with sink(lab, "dut") as counter:
        for vlan in sorted({vlan_of(name) for name, *_ in chosen}):
            alone[vlan] = measure(Rig(lab, idler, counter, Load(vlan=vlan), polls), guest.DUT,
                                  tagged(nobody) if vlan else nobody)
            print(f"generator and sink alone{', tagged' if vlan else ''}: {alone[vlan]['busy']:.0f}",
                  flush=True)
    with sink(lab, "sink") as counter:
        rig = Rig(lab, idler, counter, Load(), polls)
        for name, params, mac, forwarder, tries in chosen:
            vlan = vlan_of(name)
            is_dear = name.startswith("vm.kernel.ip_forward.") and not vlan
            rig.load = Load(dear=RULES_DEAR if is_dear else 0, vlan=vlan)
            try:
                measured = measure(rig, mac, forwarder, tries)
            except LeftOutError as why:
                print(f"{name} {params}: left out, {why}", flush=True)
                continue
            except AssertionError as why:  # the others are worth their time still
                print(f"{name} {params}: {why}", flush=True)
                failed.append(name)
                continue
            if name == "vm.kernel.ip_forward":
                forwarded = measured["busy"] - alone[vlan]["busy"]
            results.append(show(name, params, measured, alone[vlan], forwarded))
    idler.stop()
    with open(out, "w", encoding="ascii") as file:
        json.dump(results, file, indent=1)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
