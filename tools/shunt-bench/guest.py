# SPDX-License-Identifier: BSD-2-Clause
"""Zero-copy without the hardware: QEMU's network cards have it. The guest counts instructions, so what a
packet costs there is the same from run to run, kernel and driver included. The measuring is done by
tests/vm/bench; this makes a document of its answer. Only in the source tree, after `make build-vm`."""
import json
import os
import subprocess

import lab
import paths
import stats
from document import series

BENCH = os.path.join(paths.TOP, "tests", "vm", "bench")
ANSWER = os.path.join(paths.TOP, "build", "bench-vm.json")
READY = os.path.join(paths.TOP, "build", "vm", "bin", "shuntd")
SHORT = ["vm.kernel.ip_forward", "vm.kernel.bridge", "vm.xconnect", "vm.route"]
LIMIT_S = 3600


def why_not():
    """None, or why there is no guest to be had."""
    if not os.path.exists(BENCH):
        return "the guest's benchmark is part of the source tree, which this is not"
    if not os.path.exists(READY):
        return "what runs in the guest is not built: run make build-vm"
    return None


def label(entry):
    params = " ".join(str(v) for k, v in entry["params"].items() if k not in ("driver", "size"))
    return f"{entry['name'].removeprefix('vm.')} {params}".strip()


def measure(ctx):
    """The entries of bench-vm.json, fresh."""
    ctx.progress.step("a guest of each driver: minutes")
    if os.path.exists(ANSWER):
        os.unlink(ANSWER)
    process = subprocess.Popen([BENCH, *ctx.only], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, start_new_session=True, env={**os.environ, "B": "build/vm"})
    lines = []
    try:
        for line in process.stdout:
            lines.append(line.strip())
            ctx.progress.expect(1)
            ctx.progress.step(line.strip()[:60])
        process.wait(LIMIT_S)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, 15)
            process.wait(30)
    if process.returncode or not os.path.exists(ANSWER):
        raise lab.Failed(f"the guest's benchmark failed: {lines[-1] if lines else 'it said nothing'}")
    with open(ANSWER, encoding="ascii") as file:
        return json.load(file)


def compare(ctx, doc):
    """Instructions per forwarded packet, by driver."""
    entries = [e for e in measure(ctx) if e["name"] != "vm.generator"]
    if not entries:
        raise lab.Failed("the guest measured nothing; see tests/vm/bench for the names for --only")
    drivers = sorted({e["params"]["driver"] for e in entries})
    doc.data["ports"].update({"driver_mode": "native", "names": drivers})
    kernel = {e["params"]["driver"]: e["value"] for e in entries
              if e["name"] == "vm.kernel.ip_forward"}
    doc.table("main", "Instructions per forwarded packet, kernel and driver included, generator and sink "
              "not", ["driver", "forwarder", ("median", "instructions/packet"), ("least", ""),
                      ("most", ""), ("ip_forward takes", "times as many")],
              [[e["params"]["driver"], label(e), e["value"], e["min"], e["max"],
                kernel[e["params"]["driver"]] / e["value"] if e["params"]["driver"] in kernel else None]
               for e in entries])
    names = list(dict.fromkeys(label(e) for e in entries))
    doc.figure("instructions", "Instructions per forwarded packet, zero-copy drivers", "forwarder",
               "instructions per packet",
               [series(driver, [[names.index(label(e)), e["value"], e["min"], e["max"]]
                                for e in entries if e["params"]["driver"] == driver], "points")
                for driver in drivers],
               x_labels=[[i, name] for i, name in enumerate(names)], x_rotated=True,
               y_range=[0, None], x_range=[-0.7, len(names) - 0.3])
    for driver in drivers:
        ours = {label(e): e["value"] for e in entries if e["params"]["driver"] == driver
                and not e["name"].startswith("vm.kernel")}
        if driver in kernel and ours:
            best = min(ours, key=ours.get)
            doc.finding("DESIGN", f"{driver}: shunt takes fewer instructions than the kernel's ip_forward",
                        ours[best] < kernel[driver], f"{ours[best]:.0f} ({best}) beside "
                        f"{kernel[driver]:.0f}: {kernel[driver] / ours[best]:.1f} times fewer")
    doc.data["parameters"]["spread"] = stats.median(
        [e["max"] / e["min"] - 1 for e in entries if e["min"] > 0] or [0.0])
    doc.note("An instruction is not a cycle: what waits for memory costs nothing more here. The guest's "
             "processor is emulated and has no AVX-512.")
