# SPDX-License-Identifier: BSD-2-Clause
"""What waiting costs: the CPU time of each polling mode, and how late it makes a packet, by load."""
import time

import forwarders
import places
import stats
from document import series

TITLE = "Polling modes: CPU and latency by load"
HELP = "CPU and wake-up latency of spin, busy, adaptive, interrupt by load"
MODES = ("spin", "busy", "adaptive", "interrupt")
LOADS = (0, 100, 1000, 10000, 100000, 400000)


def measure(ctx, doc, mode, load):
    with forwarders.shunt(ctx.place, "xconnect", ctx.cpus[:1], "--poll", mode, "--batch",
                          str(ctx.batch), "--lane", "user") as forwarder:
        ctx.in_use(doc, forwarder["in_use"])
        tid = forwarder["daemon"].show("workers")["workers"][0]["tid"]
        start, before = time.monotonic(), places.thread_seconds(tid)
        if load:
            # a trickle is sent one by one: what is sent in batches waits for its batch
            trial = ctx.place.trial(forwarder["dst_mac"], load, ctx.seconds, latency=True,
                                    options=["--way", "packet"] if load <= 10000 else [])
        else:
            time.sleep(ctx.seconds)  # the time that is measured
            trial = None
        share = (places.thread_seconds(tid) - before) / (time.monotonic() - start)
    latency = trial["latency_ns"] if trial else None
    return {"cpu_pct": 100 * share, "latency": latency if latency and latency["count"] else None,
            "loss": trial["loss"] if trial else None,
            "offered": trial["offered_pps"] if trial else 0.0}


def pick(runs, key):
    return [r["latency"][key] / 1000 for r in runs if r["latency"]]


def draw(doc, made, loads):
    def at(load):
        return max(load, 10)  # "none" stands left of the rest on a logarithmic axis
    labels = [[at(l), f"{l:,}".replace(",", " ") if l else "none"] for l in loads]
    doc.figure("cpu", "CPU time of the worker by load", "offered load [packets per second]",
               "CPU time [% of one CPU]",
               [series(mode, [stats.point(at(l), [r["cpu_pct"] for r in made[mode, l]])
                              for l in loads]) for mode in MODES],
               x_scale="log10", x_range=[7, None], y_range=[0, 110], x_labels=labels)
    for key, name in (("p50", "median"), ("p99", "p99")):
        doc.figure(f"latency_{key}", f"Latency by load, {name}", "offered load [packets per second]",
                   "latency [us]",
                   [series(mode, [stats.point(at(l), pick(made[mode, l], key)) for l in loads
                                  if pick(made[mode, l], key)]) for mode in MODES],
                   x_scale="log10", y_scale="log10",
                   x_labels=[x for x in labels if x[1] != "none"])


def run(ctx, doc):
    loads = ctx.thinned([0, 1000, 10000, 300000] if ctx.short else list(LOADS))
    beyond = [load for load in loads if load > ctx.place.line_pps(64)]
    if beyond:
        doc.skip(f"loads of {', '.join(map(str, beyond))} pps", "the generator's line carries less")
    loads = [load for load in loads if load not in beyond]
    made = {(mode, load): [] for mode in MODES for load in loads}
    ctx.progress.expect(ctx.runs * len(made))
    for run_ in range(ctx.runs):
        for mode, load in made:
            ctx.progress.step(f"run {run_ + 1}, {mode} at {load} pps")
            made[mode, load].append(measure(ctx, doc, mode, load))
    doc.table("modes", "CPU time of the worker, latency from generator to sink",
              ["polling", ("asked", "pps"), ("offered", "pps"), ("CPU", "% of one"), ("least", "%"),
               ("most", "%"), ("median", "us"), ("p99", "us"), ("p99.9", "us"), ("lost", "%")],
              [[mode, load, stats.median([r["offered"] for r in runs]),
                *stats.spread([r["cpu_pct"] for r in runs]),
                *(stats.median(pick(runs, k)) if pick(runs, k) else None
                  for k in ("p50", "p99", "p999")),
                stats.median([100 * r["loss"] for r in runs]) if load else None]
               for (mode, load), runs in made.items()])
    draw(doc, made, loads)
    idle = {m: stats.median([r["cpu_pct"] for r in made[m, loads[0]]]) for m in MODES}
    doc.finding("DESIGN", "a worker that sleeps costs next to nothing when nothing arrives",
                idle["interrupt"] < 5 and idle["adaptive"] < 5,
                ", ".join(f"{m} {v:.1f} %" for m, v in idle.items()), figure="cpu")
    doc.note("Latency is from the generator's stamp to the sink's XDP program: it holds the sender's "
             "own batches (64 frames above 10 000 a second) and the kernel's way on both sides.")
