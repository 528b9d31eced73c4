# SPDX-License-Identifier: BSD-2-Clause
"""The veth benchmarks: each forwarder in turn, as often as asked, so that a change of the
machine's mood hits all of them alike; medians with least and most. Runs inside `tools/lab run`.

usage: bench_veth.py OUT.json [ROUNDS [NAME...]]"""
import json
import os
import statistics
import subprocess
import sys
import time

import veth

SECONDS = 2
IDLE_SECONDS = 3


def cases():
    """(name, params, forwarder)"""
    for threaded in (False, True):
        napi = {"placement": "own_core" if threaded else "softirq"}
        yield "veth.kernel.bridge", napi, lambda t=threaded: veth.kernel_bridge(t)
        yield "veth.kernel.ip_forward", napi, lambda t=threaded: veth.kernel_ip_forward(t)
        yield "veth.devmap", napi, lambda t=threaded: veth.devmap(t)
        yield ("veth.devmap.look", {**napi, "reads": "destination address"},
               lambda t=threaded: veth.devmap(t, ("look",)))
        yield ("veth.xconnect.xdp", napi,
               lambda t=threaded: veth.shunt_in_kernel("xconnect", "xdp", t))
        yield ("veth.xdp_forward", {**napi, "by": "bpf_fib_lookup, as xdp-forward"},
               lambda t=threaded: veth.devmap(t, ("fib",)))
        yield "veth.route.xdp", napi, lambda t=threaded: veth.shunt_in_kernel("route", "xdp", t)
        yield ("veth.route.auto", napi,
               lambda t=threaded: veth.shunt_in_kernel("route", "auto", t))
    for poll, batch in (("spin", 64), ("adaptive", 64), ("spin", 32), ("spin", 256)):
        params = {"poll": poll, "batch": batch}
        yield ("veth.xconnect.user", params,
               lambda p=poll, b=batch: veth.shunt("xconnect", "--poll", p, "--batch", str(b)))
    yield ("veth.static3.user", {"poll": "spin", "batch": 64},
           lambda: veth.shunt("static3", "--poll", "spin", "--batch", "64"))
    yield ("veth.route.user", {"poll": "spin", "batch": 64},
           lambda: veth.shunt("route", "--poll", "spin", "--batch", "64"))


def daemon_cpu_seconds(control):
    shown = subprocess.run([os.path.join(veth.BIN, "shuntctl"), "-j", "-s", control, "show",
                            "workers"], capture_output=True, text=True, check=True, timeout=10)
    tid = json.loads(shown.stdout)["workers"][0]["tid"]
    with open(f"/proc/{tid}/stat", encoding="ascii") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def idle_pct(poll):
    """The worker's share of a core while nothing arrives."""
    with veth.shunt("xconnect", "--poll", poll):
        time.sleep(0.5)
        start, before = time.monotonic(), daemon_cpu_seconds(veth.CONTROL)
        time.sleep(IDLE_SECONDS)  # the quantity measured, not a wait for something
        return 100 * (daemon_cpu_seconds(veth.CONTROL) - before) / (time.monotonic() - start)


def entry(name, params, unit, runs):
    made = {"name": name, "params": params, "value": statistics.median(runs), "unit": unit,
            "min": min(runs), "max": max(runs)}
    print(f"{name:<24} {' '.join(f'{k}={v}' for k, v in params.items()):<32} "
          f"{made['value']:8.3f} {unit:<12} [{made['min']:.3f}, {made['max']:.3f}]", flush=True)
    return made


def main(out, rounds=5, names=()):
    chosen = [c for c in cases() if not names or c[0] in names]
    runs = {i: [] for i in range(len(chosen))}
    for _ in range(rounds):
        for i, (_, _, forwarder) in enumerate(chosen):
            with forwarder() as made:
                runs[i].append(veth.traffic(made["dst_mac"], seconds=SECONDS)["mpps"])
    results = [entry(name, {**params, "size": 60}, "Mpps", runs[i])
               for i, (name, params, _) in enumerate(chosen)]
    for poll in ("interrupt", "adaptive"):
        if not names or "idle" in names:
            results.append(entry("veth.idle", {"poll": poll}, "% of a core",
                                 [idle_pct(poll) for _ in range(rounds)]))
    with open(out, "w", encoding="ascii") as file:
        json.dump(results, file, indent=1)


if __name__ == "__main__":
    main(sys.argv[1], *[int(a) for a in sys.argv[2:3]], names=sys.argv[3:])
