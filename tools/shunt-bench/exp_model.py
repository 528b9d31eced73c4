# SPDX-License-Identifier: BSD-2-Clause
"""Prediction and measurement: the queue M^X/G^B/1/(R+B) with vacations of Li, Ren and Yang (2021), solved
by shunt-model with constants that it fits to some runs, laid over other runs under the same bursts."""
import json
import os
import tempfile

import model
import stats
from document import series

TITLE = "The queue's model and shunt"
HELP = "latency, cost and batches under bursts, by load, beside shunt-model's predictions"
PAPER = "Li, Ren and Yang 2021"
PSI, NU, RING, BATCH = 20, 0.701, 512, 32
LOADS = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95]
TASK = 100
CALIBRATION = [(batch, load) for batch in (1, 4, 32) for load in (0.2, 0.5, 0.8)]
CLOSE = 0.1
# A run of so long is as often undisturbed as not on a machine of others', and holds 10,000 bursts.
SECONDS, TRIES, TRIES_SHORT = 0.02, 7, 3


def point(ctx, rate, batch):
    """Of several short runs the one that was disturbed least, which is where the latest packet was least
    late: a mean, which is what the model knows, is the worst of all figures where a worker loses its
    CPU for a millisecond."""
    made = [ctx.memory.point(rate=round(rate), batch=batch, cycles=TASK, psi=PSI, nu=NU, ring=RING,
                             latency=True, again=1, seconds=min(ctx.seconds, SECONDS))
            for _ in range(TRIES_SHORT if ctx.short else TRIES)]
    return min(made, key=lambda run: run["latency_ns"]["max"])


def cost(run):
    """Cycles a packet, without empty polls."""
    return run["workers"][0]["work_cycles"] / max(run["received"], 1)


def utilisation(run):
    worker = run["workers"][0]
    return worker["work_cycles"] / max(worker["work_cycles"] + worker["busy_cycles"], 1)


def saturation(ctx, batch):
    """Packets a second of a ring that is never empty."""
    return ctx.memory.point(batch=batch, cycles=TASK)["pps"]


def fit(ctx, hz):
    """The constants, by shunt-model, from runs at other batches and loads than those they predict."""
    points = ctx.thinned(CALIBRATION)
    ctx.progress.expect(ctx.runs * len(points))
    tops = {batch: saturation(ctx, batch) for batch in sorted({b for b, _ in points})}
    entries, empties = [], []
    for _ in range(ctx.runs):
        for batch, load in points:
            ctx.progress.step(f"constants: batch {batch}, {100 * load:.0f} % load")
            run = point(ctx, load * tops[batch], batch)
            worker = run["workers"][0]
            entries.append({"name": "bursts", "params": {"batch": run["batch_mean"]},
                            "value": cost(run), "unit": "cycles/packet"})
            if worker["empty_turns"]:
                empties.append(worker["busy_cycles"] / worker["empty_turns"])
    if empties:
        entries.append({"name": "bursts.empty", "params": {}, "unit": "cycles/poll",
                        "value": stats.median(empties)})
    with tempfile.TemporaryDirectory(prefix="shunt-bench-") as folder:
        path = os.path.join(folder, "measured.json")
        with open(path, "w", encoding="ascii") as file:
            json.dump(entries, file)
        return model.ask("fit", path, "--name", "bursts", "--freq", hz)


def predict(constants, rate):
    return model.ask("queue", "--rate", rate, "--batch", BATCH, "--ring", RING, "--psi", PSI, "--nu", NU,
                     "--c-io", constants["c_io"], "--c-call", constants["c_call"], "--c-v",
                     constants["c_v"], "--c-task", 0, "--freq", constants["freq_hz"])


def measure(ctx, top):
    loads = ctx.thinned(LOADS[1::2] if ctx.short else LOADS)
    made = {load: [] for load in loads}
    ctx.progress.expect(ctx.runs * len(loads))
    for number in range(ctx.runs):
        for load in loads:
            ctx.progress.step(f"run {number + 1}, {100 * load:.0f} % load")
            made[load].append(point(ctx, load * top, BATCH))
    return made


# What is compared: name, unit, of a run, of a prediction.
QUANTITIES = (
    ("latency", "us", lambda r: r["latency_ns"]["mean"] / 1000, lambda p: p["latency_ns"] / 1000),
    ("cost", "cycles per packet", cost, lambda p: p["cost_per_packet"]),
    ("batch", "packets", lambda r: r["batch_mean"], lambda p: p["batch_mean"]),
    ("utilisation", "%", lambda r: 100 * utilisation(r), lambda p: 100 * p["utilisation"]),
)


LOST = ("lost", "%", lambda r: 100 * r["lost"] / max(r["arrived"], 1), lambda p: 100 * p["loss"])


def describe(ctx, doc, made, predicted):
    rows = []
    for name, unit, measured, said in (*QUANTITIES, LOST):
        for load, runs in sorted(made.items()):
            middle, low, high = stats.spread([measured(r) for r in runs])
            want = said(predicted[load])
            # of a share that is next to nothing no share can be told
            off = 100 * (middle / want - 1) if want and name != "lost" else None
            rows.append([f"{name} [{unit}]", 100 * load, middle, low, high, want, off,
                         low <= want <= high])
    sure = (f"; the true median lies between least and most of {ctx.runs} runs with "
            f"{100 * stats.median_interval(ctx.runs):.0f} %") if ctx.runs > 1 else ", one run"
    doc.table("by-load", f"Measured and predicted, bursts of 1 to {PSI} packets, B = {BATCH}, "
              f"R = {RING}{sure}",
              ["", ("load", "%"), "measured", "least", "most", "predicted", ("difference", "%"),
               "predicted lies between"], rows)


def draw(doc, made, predicted):
    for name, unit, measured, said in QUANTITIES:
        doc.figure(name, f"{name.capitalize()} by load, B = {BATCH}", "offered load [% of saturation]",
                   f"{name} [{unit}]",
                   [series("measured", [stats.point(100 * l, [measured(r) for r in runs])
                                        for l, runs in sorted(made.items())]),
                    series("predicted", [[100 * l, said(p)] for l, p in sorted(predicted.items())],
                           "predicted")],
                   y_scale="log10" if name == "latency" else "linear",
                   paper=PAPER + {"latency": ", figure 3(c)", "cost": ", figure 3(a)"}.get(name, ""))
    middle = min(made, key=lambda l: abs(l - 0.7))
    sizes = dict(enumerate(predicted[middle]["batch_distribution"], 1))
    counted = {}
    for run in made[middle]:
        for size, receives in run["workers"][0]["batches"]:
            counted[size] = counted.get(size, 0) + receives
    total = sum(counted.values()) or 1
    doc.figure("sizes", f"Batches received at {100 * middle:.0f} % load", "packets received at once",
               "share of the receives [%]",
               [series("measured", [[j, 100 * counted.get(j, 0) / total] for j in sizes]),
                series("predicted", [[j, 100 * p] for j, p in sizes.items()], "predicted")])


def judge(doc, made, predicted):
    for name, unit, measured, said in QUANTITIES:
        off = {}
        for load, runs in made.items():
            want, got = said(predicted[load]), stats.median([measured(r) for r in runs])
            off[load] = got / want - 1
        worst = max(off, key=lambda l: abs(off[l]))
        low = [abs(v) for l, v in off.items() if l <= 0.8] or [abs(off[worst])]
        doc.finding(PAPER, f"the model predicts the {name} within {100 * CLOSE:.0f} % up to 80 % load",
                    max(low) <= CLOSE,
                    f"most {100 * max(low):.1f} % off up to 80 %, {100 * off[worst]:+.1f} % at "
                    f"{100 * worst:.0f} %", figure=name)


def run(ctx, doc):
    hz = ctx.memory.point(batch=32)["cycles_hz"]
    try:
        constants = fit(ctx, hz)
        top = hz / (constants["c_io"] + constants["c_call"] / BATCH)
        made = measure(ctx, top)
        predicted = {load: predict(constants, load * top) for load in made}
    except model.NoModel as error:
        doc.skip("predictions", str(error))
        doc.note("Nothing was measured: there is nothing to lay it over.")
        return
    doc.table("constants", f"Constants fitted, TSC cycles (C_task, here of {TASK} nominal cycles, is in "
              "C_io: the two cannot be told apart by rates)",
              ["C_io + C_task", "C_call", "C_v", ("fit's rms", "cycles")],
              [[constants[k] for k in ("c_io", "c_call", "c_v", "rms")]])
    describe(ctx, doc, made, predicted)
    draw(doc, made, predicted)
    judge(doc, made, predicted)
