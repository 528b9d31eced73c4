# SPDX-License-Identifier: BSD-2-Clause
"""The influence of the batch: throughput with and without a task (Gallenmüller et al. 2015, figure 4;
VPP, figure 2(a)), latency (figure 5), and the batches really received against the offered load (VPP,
figure 2(b))."""
import model
import stats
from document import series

TITLE = "Batches"
HELP = "batches of 1 to 256: throughput, latency, and those really received by load"
GALLENMUELLER = "Gallenmüller et al. 2015"
VPP = "Barach et al. (VPP)"
SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256]
SHORT_SIZES = [1, 8, 32, 64, 256]
LOADS = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99]
LATENCY_LOAD = 0.99  # of the link's rate
LAB_LOAD = 0.7  # of what is forwarded, where no link sets a rate
SHOWN = (1, 8, 32, 256)


PREDICTION = "the queue's model (shunt-model)"


def tasks(ctx):
    return ctx.thinned([0, 50, 100, 200] if ctx.short else [0, 25, 50, 75, 100, 150, 200, 300, 400])


def sizes_of(ctx):
    """Where every point needs a daemon of its own, a short run has fewer."""
    return SHORT_SIZES if ctx.short and ctx.ports != "mem" else SIZES


def measure_throughput(ctx):
    made = {(b, c): [] for b in sizes_of(ctx) for c in tasks(ctx)}
    ctx.progress.expect(ctx.runs * len(made))
    for run in range(ctx.runs):
        for batch, cycles in made:
            ctx.progress.step(f"run {run + 1}, batch {batch}, task of {cycles} cycles")
            made[batch, cycles].append(ctx.memory.point(batch=batch, cycles=cycles,
                                                        mode="macrewrite", copy=True))
    return made


def measure_latency(ctx, rate):
    made = {b: [] for b in sizes_of(ctx)}
    ctx.progress.expect(ctx.runs * len(made))
    for run in range(ctx.runs):
        for batch in made:
            ctx.progress.step(f"run {run + 1}, latency with batch {batch}")
            made[batch].append(ctx.memory.point(rate=rate, batch=batch, latency=True,
                                                mode="macrewrite", copy=True))
    return made


def measure_loads(ctx, top):
    loads = LOADS[1::2] + [0.99] if ctx.short else LOADS
    made = {load: [] for load in ctx.thinned(loads)}
    ctx.progress.expect(ctx.runs * len(made))
    for run in range(ctx.runs):
        for load in made:
            ctx.progress.step(f"run {run + 1}, {100 * load:.0f} % load")
            made[load].append(ctx.memory.point(rate=load * top, batch=256, mode="macrewrite",
                                               copy=True))
    return made


def draw_throughput(doc, made, hz):
    cycles, sizes = sorted({c for _, c in made}), sorted({b for b, _ in made})
    doc.figure("throughput", "Throughput by batch", "batch B [packets]", "throughput [Mpps]",
               [series("no task" if not c else f"task of {c} cycles",
                       [stats.point(b, [r["pps"] / 1e6 for r in made[b, c]]) for b in sizes])
                for c in cycles], x_scale="log2", y_range=[0, None],
               paper=f"{VPP}, figure 2(a)")
    doc.figure("task", "Throughput by task and batch", "c_task [cycles per packet]",
               "throughput [Mpps]",
               [series(f"batch {b}", [stats.point(c, [r["pps"] / 1e6 for r in made[b, c]])
                                      for c in cycles]) for b in SHOWN], y_range=[0, None],
               paper=f"{GALLENMUELLER}, figure 4")
    costs = [series("measured", [stats.point(b, [hz / r["pps"] for r in made[b, 0]])
                                 for b in sizes])]
    fitted = model.fit([(b, stats.median([hz / r["pps"] for r in made[b, 0]])) for b in sizes])
    costs.append(series(f"fitted: {fitted[0]:.1f} + {fitted[1]:.1f} / B",
                        [[b, fitted[0] + fitted[1] / b] for b in sizes], "predicted"))
    doc.figure("cost", "Cycles per packet by batch, no task", "batch B [packets]",
               "cycles per packet", costs, x_scale="log2", y_range=[0, None],
               paper="Li, Ren and Yang 2021, C_io + C_call / B")
    return fitted


def empty_poll(loads):
    """Cycles of a poll that found nothing, from where most polls do."""
    made = [r["busy_cycles"] / r["empty_turns"] for runs in loads.values() for r in runs
            if r.get("busy_cycles") and r["empty_turns"] > 100]
    return stats.median(made) if made else None


class Predicted:
    """What the queue's model says, with constants fitted to the measurements here; nothing where there
    is no shunt-model, which the document then says."""
    RING = 512

    def __init__(self, doc, hz, fitted, c_v):
        self.doc, self.hz, self.fitted, self.c_v = doc, hz, fitted, c_v

    def of(self, rate, batch, key):
        if not self.c_v:
            return None
        try:
            return model.queue(self.hz, *self.fitted, self.c_v, rate, batch, self.RING)[key]
        except model.NoModel as error:
            if not any(s["what"] == PREDICTION for s in self.doc.data["skipped"]):
                self.doc.skip(PREDICTION, str(error))
            return None

    def line(self, title, points):
        return series(title, [p for p in points if p[1] is not None], "predicted")


def draw_latency(doc, made, rate, predicted):
    def us(runs, key):
        return [r["latency_ns"][key] / 1000 for r in runs]
    doc.figure("latency", f"Latency by batch, {rate / 1e6:.2g} Mpps asked for", "batch B [packets]",
               "latency [us]",
               [series("p99", [stats.point(b, us(made[b], "p99")) for b in made]),
                series("median", [stats.point(b, us(made[b], "p50")) for b in made]),
                predicted.line("mean, by Li, Ren and Yang's queue", [
                    [b, scaled(predicted.of(stats.offered(runs), b, "latency_ns"), 1e-3)]
                    for b, runs in made.items()])],
               x_scale="log2", y_scale="log10", paper=f"{GALLENMUELLER}, figure 5",
               caption="A batch too small to keep up with this rate is overloaded, its ring full.")
    doc.table("latency", f"Latency by batch, {rate / 1e6:.2f} Mpps asked for, no task",
              [("batch", "packets"), ("offered", "Mpps"), ("median", "us"), ("p99", "us"), ("p99.9", "us"),
               ("lost", "%")],
              [[b, stats.offered(made[b]) / 1e6,
                *(stats.median(us(made[b], k)) for k in ("p50", "p99", "p999")),
                stats.median([100 * r["lost"] / max(r["arrived"], 1) for r in made[b]])]
               for b in made])


def scaled(value, factor):
    return None if value is None else value * factor


def draw_loads(doc, made, top, predicted):
    # by what came of the loads asked for
    by = sorted(((100 * stats.offered(runs) / top, runs) for runs in made.values()),
                key=lambda point: point[0])
    doc.figure("received", "Batches received by load, at most 256", "offered load [%]",
               "packets received at once",
               [series("mean", [stats.point(x, [r["batch_mean"] for r in runs]) for x, runs in by]),
                series("99 % of receives have at most",
                       [stats.point(x, [stats.quantile(r["batches"], 0.99) for r in runs])
                        for x, runs in by]),
                predicted.line("mean, by Li, Ren and Yang's queue", [
                    [x, predicted.of(x / 100 * top, 256, "batch_mean")] for x, _ in by])],
               y_scale="log10", paper=f"{VPP}, figure 2(b)",
               caption=f"100 % are {top / 1e6:.1f} Mpps, what a batch of 256 forwards.")
    doc.table("received", "Batches received by load",
              [("asked for", "%"), ("asked for", "Mpps"), ("offered", "Mpps"), ("mean", "packets"),
               ("p99", "packets"), ("empty polls", "%"), ("lost", "%")],
              [[100 * l, l * top / 1e6, stats.offered(runs) / 1e6,
                stats.median([r["batch_mean"] for r in runs]),
                stats.median([stats.quantile(r["batches"], 0.99) for r in runs]),
                stats.median([100 * r["empty_turns"] / max(r["turns"], 1) for r in runs]),
                stats.median([100 * r["lost"] / max(r["arrived"], 1) for r in runs])]
               for l, runs in sorted(made.items())])


def judge(doc, made, loads, latency):
    rate = {b: stats.median([r["pps"] for r in runs]) for (b, c), runs in made.items() if not c}
    fastest = max(rate, key=rate.get)
    doc.finding(f"{GALLENMUELLER}, section 5.5", "a batch of 32 is enough for the highest throughput",
                rate[32] >= 0.95 * rate[fastest],
                f"{rate[32] / 1e6:.3g} Mpps with 32, most with {fastest}: "
                f"{rate[fastest] / 1e6:.3g}, and {rate[256] / 1e6:.3g} with 256", figure="throughput")
    doc.finding(f"{GALLENMUELLER}, fig. 4", "larger batches forward more", rate[256] > rate[1],
                f"{rate[256] / rate[1]:.1f} times as much with 256 as with 1",
                figure="task")
    if loads:
        judge_loads(doc, loads, latency)


def judge_loads(doc, loads, latency):
    low, high = min(loads), max(loads)
    sizes = [stats.median([r["batch_mean"] for r in loads[l]]) for l in (low, high)]
    doc.finding(f"{VPP}, fig. 2(b)", "batches are small until the load comes near what can be "
                "processed", sizes[0] < 16 and sizes[1] > 4 * sizes[0],
                f"{sizes[0]:.1f} packets at {100 * low:.0f} % load, {sizes[1]:.1f} at "
                f"{100 * high:.0f} %", figure="received")
    p50 = {b: stats.median([r["latency_ns"]["p50"] for r in latency[b]]) for b in latency}
    best = min(p50, key=p50.get)
    doc.finding(f"{GALLENMUELLER}, section 5.6", "a batch too small to keep up has the worst latency",
                p50[1] > 2 * p50[best],
                f"median {p50[1] / 1000:.1f} us with 1, {p50[best] / 1000:.1f} us with {best}",
                figure="latency")
    doc.finding(f"{GALLENMUELLER}, section 5.6", "beyond the best batch, latency grows with the batch",
                p50[256] > 1.5 * p50[best],
                f"median {p50[256] / 1000:.2f} us with 256, {p50[best] / 1000:.2f} us with {best}; "
                "a batch here is what has come, never waited for", figure="latency")


def run(ctx, doc):
    made = measure_throughput(ctx)
    hz = made[1, 0][0]["cycles_hz"]
    top = stats.median([r["pps"] for r in made[256, 0]])
    rate = (LATENCY_LOAD * min(ctx.rate, top) if ctx.ports == "mem" else
            ctx.asked_rate or LAB_LOAD * top)
    in_guest = ctx.ports == "vm"
    latency = {} if in_guest else measure_latency(ctx, rate)
    loads = {} if in_guest else measure_loads(ctx, top)
    doc.table("throughput", "Throughput by batch and task, Mpps",
              [("batch", "packets")] + [(f"task {c}", "Mpps") for c in tasks(ctx)],
              [[b] + [stats.median([r["pps"] / 1e6 for r in made[b, c]]) for c in tasks(ctx)]
               for b in sizes_of(ctx)])
    fitted = draw_throughput(doc, made, hz)
    if in_guest:
        import guest_points  # pylint: disable=import-outside-toplevel  # there only
        guest_points.note_computed(doc)
        doc.skip("latency by batch, batches by load", "the guest's one processor makes the traffic too, "
                 "so waiting there is the generator's doing")
    else:
        c_v = empty_poll(loads)
        predicted = Predicted(doc, hz, fitted, c_v)
        doc.data["parameters"].update({"c_v": c_v} if c_v else {})
        draw_latency(doc, latency, rate, predicted)
        draw_loads(doc, loads, top, predicted)
    doc.data["parameters"].update({"cycles_hz": hz, "c_io": fitted[0], "c_call": fitted[1]})
    judge(doc, made, loads, latency)
