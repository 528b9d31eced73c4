# SPDX-License-Identifier: BSD-2-Clause
"""The veth benchmarks: each forwarder in turn, as often as asked, so that a change of the
machine's mood hits all of them alike; medians with least and most, and RATIOS, each of two
measurements of one round. What a hypervisor disturbed is measured again, within REPEATS' patience.
Runs inside `tools/lab run`. What is being measured is said on stderr. A run that is interrupted
(SIGINT, SIGTERM) writes what it has; one of which a part failed says which, leaves it out and ends
with 1.

usage: bench_veth.py OUT.json [ROUNDS [NAME...]]"""
import json
import os
import signal
import statistics
import subprocess
import sys
import time

import veth

SECONDS = 1
IDLE_SECONDS = 2
REPEATS = veth.Repeats(120)
# What is of interest beside what: names of measurements, compared where their placement is the same.
RATIOS = [("veth.xconnect.xdp", "veth.devmap"), ("veth.devmap.look", "veth.devmap"),
          ("veth.xconnect.xdp", "veth.kernel.bridge"), ("veth.route.xdp", "veth.xdp_forward"),
          ("veth.route.xdp", "veth.kernel.ip_forward"), ("veth.route.auto", "veth.kernel.ip_forward")]


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
        yield ("veth.xconnect.xdp", {**napi, "host": "none"},
               lambda t=threaded: veth.shunt_in_kernel("xconnect", "xdp", t, "--transparent"))
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
    print(f"{name:<40} {' '.join(f'{k}={v}' for k, v in params.items()):<38} "
          f"{made['value']:8.3f} {unit:<12} [{made['min']:.3f}, {made['max']:.3f}]", flush=True)
    return made


def told(text, measure):
    """Measures, saying what and how long it took; None where that failed."""
    start = time.monotonic()
    print(f"{text} ...", end=" ", file=sys.stderr, flush=True)
    try:
        value = measure()
    except (RuntimeError, OSError, subprocess.SubprocessError) as error:
        print(f"failed: {error}", file=sys.stderr, flush=True)
        return None
    print(f"{value:.3f} ({time.monotonic() - start:.1f} s)", file=sys.stderr, flush=True)
    return value


def mpps(forwarder):
    with forwarder() as made:
        return REPEATS.least_disturbed(
            lambda: veth.traffic(made["dst_mac"], seconds=SECONDS)["mpps"])


def measures(names):
    """(name, params, unit, function)"""
    for name, params, forwarder in cases():
        if not names or name in names:
            yield name, {**params, "size": 60}, "Mpps", lambda f=forwarder: mpps(f)
    for poll in ("interrupt", "adaptive"):
        if not names or names & {"idle", "veth.idle"}:
            yield "veth.idle", {"poll": poll}, "% of a core", lambda p=poll: idle_pct(p)


def ratios(chosen, runs):
    """Of what was measured in the same round."""
    for ours, theirs in RATIOS:
        for (name, params, *_), above in zip(chosen, runs):
            for (rival, rivals_params, *_), below in zip(chosen, runs):
                if (name, rival) != (ours, theirs) or \
                        params["placement"] != rivals_params["placement"]:
                    continue
                pairs = [a / b for a, b in zip(above, below) if a is not None and b]
                if pairs:
                    yield entry(f"{ours} / {theirs}", params, "times", pairs)


def main(out, rounds=5, names=()):
    chosen = list(measures(names))
    if not chosen:
        sys.exit(f"bench_veth: nothing is called {' or '.join(names)}; known: "
                 f"{', '.join(sorted({m[0] for m in measures(set())}))}")
    runs = [[] for _ in chosen]
    print(f"{len(chosen)} measurements, {rounds} rounds, some {len(chosen) * rounds * 4 // 60 + 1} "
          "minutes where the machine has nothing else to do", file=sys.stderr, flush=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        for r in range(rounds):
            for i, (name, params, _, measure) in enumerate(chosen):
                text = " ".join([name, *(f"{k}={v}" for k, v in params.items())])
                runs[i].append(told(f"round {r + 1}/{rounds}, {i + 1}/{len(chosen)}: {text}",
                                    measure))
    except KeyboardInterrupt:
        print("\ninterrupted: what follows is what was measured", file=sys.stderr, flush=True)
    good = [[v for v in values if v is not None] for values in runs]
    results = [entry(name, params, unit, values)
               for (name, params, unit, _), values in zip(chosen, good) if values]
    results += ratios(chosen, runs)
    if REPEATS.disturbed:
        print(REPEATS.confession())
    with open(out, "w", encoding="ascii") as file:
        json.dump(results, file, indent=1)
    return 0 if all(len(values) == rounds for values in good) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], *[int(a) for a in sys.argv[2:3]], names=set(sys.argv[3:])))
