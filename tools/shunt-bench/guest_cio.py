# SPDX-License-Identifier: BSD-2-Clause
"""Transmission efficiency in the guest. Its one processor is generator and sink too, so to load it until
the throughput falls would measure all three: instead the instructions of a packet are counted with each
task, and what is left beyond the task is c_io. Throughput is computed from it."""
import stats
from document import series
from guest_points import HZ, note_computed

PAPER = "Gallenmüller et al. 2015"
TASKS = [0, 50, 100, 200, 400, 800, 1600]
SHORT_TASKS = [0, 200, 800]
NAME = "guest, zero-copy"


def measure(ctx, tasks):
    """{cycles of the task: [point]}"""
    made = {c: [] for c in tasks}
    ctx.progress.expect(ctx.runs * len(tasks))
    for run_ in range(ctx.runs):
        for c in tasks:
            ctx.progress.step(f"run {run_ + 1}, task of {c} cycles")
            made[c].append(ctx.memory.point(cycles=c, batch=ctx.batch, mode="macrewrite"))
    return made


def of_io(c, runs):
    return [run_["cost"] - c for run_ in runs]


def of_worker(runs, key):
    said = [run_[key] for run_ in runs if run_[key] is not None]
    return stats.median(said) if said else None


def judge(doc, made, c_io):
    misses = {c: abs(stats.median(of_io(c, runs)) - c_io) for c, runs in made.items()}
    worst = max(misses, key=misses.get)
    doc.finding(f"{PAPER}, fig. 2(b)", "c_io stays the same however long the task is",
                all(miss <= 0.1 * c_io + 0.02 * c for c, miss in misses.items()),
                f"{c_io:.0f} instructions, at most {misses[worst]:.0f} beside that (task of {worst}) over "
                f"tasks of {min(made)} to {max(made)}", figure="cost")


def draw(doc, made, c_io):
    doc.figure("cost", "Instructions for a packet by the task's", "c_task [instructions per packet]",
               "instructions per packet",
               [series("c_io + c_task", [stats.point(c, [r["cost"] for r in runs])
                                         for c, runs in made.items()]),
                series("c_io", [stats.point(c, of_io(c, runs)) for c, runs in made.items()]),
                series("c_io + c_task, c_io the same for all", [[c, c_io + c] for c in made],
                       "predicted")],
               y_range=[0, None], paper=f"{PAPER}, figure 2(b)",
               caption="Driver and kernel are in c_io, so it is more than what the worker counts. What "
                       "interrupts a task counts as the task's, so long ones leave c_io less.")
    doc.figure("throughput", "Throughput that follows, 1 GHz by a packet's instructions",
               "c_task [instructions per packet]", "throughput [Mpps]",
               [series(NAME, [stats.point(c, [r["pps"] / 1e6 for r in runs])
                              for c, runs in made.items()]),
                series(f"{NAME}: f / (c_io + c_task)", [[c, HZ / (c_io + c) / 1e6] for c in made],
                       "predicted")],
               y_range=[0, None], paper=f"{PAPER}, figure 2(a)",
               caption="Computed, not measured: no link limits it, so there is no level part.")


def run(ctx, doc):
    made = measure(ctx, ctx.thinned(SHORT_TASKS if ctx.short else TASKS))
    c_io = stats.median([io for c, runs in made.items() for io in of_io(c, runs)])
    doc.data["parameters"].update({"cycles_hz": HZ, "c_io": c_io})
    doc.table("points", "Instructions for a packet by the task's: c_io is what is left beyond it, "
              "throughput what a clock of 1 GHz, an instruction a tick, makes of them",
              ["ports", ("task", "instructions"), ("whole", "instructions"), ("c_io", "instructions"),
               ("least", "instructions"), ("most", "instructions"), ("worker counts c_io", "instructions"),
               ("worker counts c_task", "instructions"), ("computed", "Mpps")],
              [[NAME, c, stats.median([r["cost"] for r in runs]), *stats.spread(of_io(c, runs)),
                of_worker(runs, "c_io"), of_worker(runs, "c_task"),
                stats.median([r["pps"] for r in runs]) / 1e6] for c, runs in made.items()])
    judge(doc, made, c_io)
    draw(doc, made, c_io)
    note_computed(doc)
