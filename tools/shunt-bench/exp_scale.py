# SPDX-License-Identifier: BSD-2-Clause
"""Queues and workers, 1 to as many as there are CPUs (PFQ, figures 2 to 4): each worker has a queue and
a CPU of its own."""
import os

import forwarders
import stats
from document import series

TITLE = "Queues and workers"
HELP = "1 to n queues and workers: throughput"
PAPER = "Schöffmann (PFQ)"
TASKS = (0, 200)
# Of the guest: flows of its traffic, and what is not more instructions.
GUEST_FLOWS, MORE_PCT = 64, 5


def memory(ctx, counts):
    made = {(n, c): [] for c in TASKS for n in counts}
    ctx.progress.expect(ctx.runs * len(made))
    for run_ in range(ctx.runs):
        for n, cycles in made:
            ctx.progress.step(f"run {run_ + 1}, {n} workers, task of {cycles} cycles")
            made[n, cycles].append(ctx.memory.point(cpus=ctx.cpus[:n], cycles=cycles,
                                                    batch=ctx.batch, mode="macrewrite", copy=True))
    return {f"task of {c} cycles" if c else "no task":
            {n: [r["pps"] for r in made[n, c]] for n in counts} for c in TASKS}


def devices(ctx, doc, counts):
    """The generator has as many threads, each with a queue of its own; in a lab it shares the
    workers' CPUs, where there are no others."""
    made = {n: [] for n in counts}
    ctx.progress.expect(ctx.runs * len(counts))
    for run_ in range(ctx.runs):
        for n in counts:
            ctx.progress.step(f"run {run_ + 1}, {n} workers")
            with forwarders.shunt(ctx.place, "xconnect", ctx.cpus[:n], "--queues", str(n), "--poll",
                                  "adaptive", "--batch", str(ctx.batch),
                                  "--lane", "user") as forwarder:
                ctx.in_use(doc, forwarder["in_use"])
                trial = ctx.place.trial(forwarder["dst_mac"], ctx.asked_rate or 0, ctx.seconds,
                                        options=["--threads", str(n), "--flows", str(64 * n)])
                made[n].append(trial["pps"])
    return {"cross-connect": made}


def guest(ctx, doc):
    """All workers have the one processor: what more of them do to a packet's instructions."""
    import guest_points  # pylint: disable=import-outside-toplevel  # there only
    counts = range(1, int(os.environ["VMLAB_QUEUES"]) + 1)
    ctx.progress.expect(len(counts))
    made, frames = {}, {}
    for n in counts:
        ctx.progress.step(f"{n} workers")
        ctx.memory.set_queues(n)
        one = guest_points.workers(n, ctx.batch)
        runs = [ctx.memory.by_queue(one, GUEST_FLOWS) for _ in range(ctx.runs)]
        made[n], frames[n] = [cost for cost, _ in runs], runs[0][1]
    one = stats.median(made[1])
    doc.table("workers", f"Instructions for a forwarded 64-byte frame of {GUEST_FLOWS} flows, zero-copy, by "
              "workers on one processor, each with a queue",
              ["workers", ("median", "instructions"), ("least", "instructions"), ("most", "instructions"),
               ("beside one", "%"), "frames by queue"],
              [[n, *stats.spread(runs), 100 * (stats.median(runs) / one - 1),
                ", ".join(map(str, frames[n]))]
               for n, runs in made.items()])
    doc.figure("instructions", "Instructions for a forwarded packet by workers", "workers, each with a queue",
               "instructions per packet",
               [series("cross-connect, zero-copy", [stats.point(n, runs) for n, runs in made.items()])],
               y_range=[0, None], x_range=[0.5, max(counts) + 0.5], x_labels=[[n, str(n)] for n in counts],
               paper=f"{PAPER}, figures 2 to 4")
    beside = {n: 100 * (stats.median(runs) / one - 1) for n, runs in made.items()}
    doc.finding(f"{PAPER}, fig. 2 to 4", "more workers and queues take no more instructions for a packet: "
                "they share nothing that would keep throughput from growing with processors",
                max(beside.values()) <= MORE_PCT and min(map(min, frames.values())) > 0,
                ", ".join(f"{more:+.1f} % with {n}" for n, more in beside.items() if n > 1),
                figure="instructions")


def run(ctx, doc):
    if ctx.ports == "vm":
        guest(ctx, doc)
        return
    counts = list(range(1, len(ctx.cpus) + 1))
    lines = memory(ctx, counts) if ctx.ports == "mem" else devices(ctx, doc, counts)
    doc.table("workers", "Throughput by workers",
              ["with", "workers", ("median", "Mpps"), ("least", "Mpps"), ("most", "Mpps"),
               ("beside one", "times")],
              [[name, n, *(x / 1e6 for x in stats.spread(runs)),
                stats.median(runs) / max(stats.median(by[1]), 1)]
               for name, by in lines.items() for n, runs in by.items()])
    doc.figure("throughput", "Throughput by queues and workers", "workers, each with a queue and a CPU",
               "throughput [Mpps]",
               [series(name, [stats.point(n, [x / 1e6 for x in runs]) for n, runs in by.items()])
                for name, by in lines.items()] +
               [series(f"{name}, in proportion", [[n, n * stats.median(by[1]) / 1e6] for n in by],
                       "predicted") for name, by in lines.items()],
               y_range=[0, None], x_range=[0.5, counts[-1] + 0.5],
               x_labels=[[n, str(n)] for n in counts], paper=f"{PAPER}, figures 2 to 4")
    if len(counts) < 2:
        doc.note("This machine, or --cpu, has one CPU: there is nothing to compare with.")
        return
    by = next(iter(lines.values()))
    ratio = stats.median(by[counts[-1]]) / max(stats.median(by[1]), 1)
    enough = ctx.ports == "mem" or ctx.place.kind == "nic"
    doc.finding(f"{PAPER}, fig. 2 to 4", "throughput grows in proportion with queues and workers",
                ratio > 0.85 * counts[-1] if enough else None,
                f"{ratio:.2f} times with {counts[-1]}" +
                ("" if enough else "; generator and sink share the workers' CPUs in a lab"),
                figure="throughput")
