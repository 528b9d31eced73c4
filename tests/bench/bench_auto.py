# SPDX-License-Identifier: BSD-2-Clause
"""Lane auto beside the kernel, on every configuration of a lab that both can do: native and generic
programs, NAPI in the generator's softirq and on a core of its own, routing and bridging. Which lane
auto chose, its rate, and the kernel's. Runs inside `tools/lab run`; exit status 1 where auto was
slower by more than a tenth, which is what runs scatter by.

usage: bench_auto.py [ROUNDS]"""
import contextlib
import json
import os
import statistics
import subprocess
import sys

import veth

SECONDS = 1
SLACK = 0.9


@contextlib.contextmanager
def auto(mode, threaded, *options):
    with veth.shunt_in_kernel(mode, "auto", threaded, *options) as made:
        shown = subprocess.run([os.path.join(veth.BIN, "shuntctl"), "-j", "-s", veth.CONTROL,
                                "show", "lanes"], capture_output=True, text=True, check=True,
                               timeout=10)
        yield {**made, "lane": json.loads(shown.stdout)["lanes"][0]["in_use"]}


CASES = [  # name, the kernel's, ours; the kernel has no cross-connect: its nearest is the bridge
    ("route, native", veth.kernel_ip_forward, lambda t: auto("route", t)),
    ("static3, native", veth.kernel_ip_forward, lambda t: auto("static3", t)),
    ("xconnect, native", veth.kernel_bridge, lambda t: auto("xconnect", t)),
    ("macrewrite, native", veth.kernel_bridge, lambda t: auto("macrewrite", t)),
    ("xconnect, generic", veth.kernel_bridge,
     lambda t: auto("xconnect", t, "--driver-mode", "generic")),
]


def main(rounds=3):
    slower = 0
    print(f"{'configuration':<20} {'core':<11} {'lane':<6} {'auto':>6} {'kernel':>6}  ratio  "
          f"(Mpps, median of {rounds})", flush=True)
    for threaded in (False, True):
        for name, kernel, ours in CASES:
            got, lane = {"kernel": [], "auto": []}, ""
            for _ in range(rounds):
                for who, forwarder in (("kernel", kernel), ("auto", ours)):
                    with forwarder(threaded) as made:
                        lane = made.get("lane", lane)
                        got[who].append(veth.traffic(made["dst_mac"], seconds=SECONDS)["mpps"])
            ours_mpps, theirs = (statistics.median(got[who]) for who in ("auto", "kernel"))
            is_slower = ours_mpps < SLACK * theirs
            slower += is_slower
            print(f"{name:<20} {'own' if threaded else 'generator':<11} {lane:<6} {ours_mpps:6.2f} "
                  f"{theirs:6.2f} {ours_mpps / theirs:6.2f}{'  SLOWER' if is_slower else ''}",
                  flush=True)
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main(*[int(a) for a in sys.argv[1:2]]))
