# SPDX-License-Identifier: BSD-2-Clause
"""Transmission efficiency (Gallenmüller et al. 2015, section 5.3): a task of so many cycles on every
packet, more and more, until the throughput falls. Where it falls c_busy is 0 and c_task known, so
f = n (c_io + c_task + c_busy) gives c_io; below, it gives c_busy. Held against what the worker
counts itself."""
import stats
from document import series

TITLE = "What a packet costs: c_io, c_task, c_busy"
HELP = "an emulated task, more and more cycles, until the throughput falls: c_io and c_busy"
PAPER = "Gallenmüller et al. 2015"
# A point is on the falling part when its throughput is this share of the offered rate or less.
FALLING = 0.97
# ... and less than this share of the cycles went into empty polls.
WAITING = 0.05
AGREE_PCT = 10
# Where no link sets a rate: half of what is forwarded without a task is offered.
SHARE = 0.5


def sweep(rate, hz, c_io, count, is_short=False):
    """Cycles of the task: from nothing to three times what the link leaves room for, in steps that are
    finest where the throughput should fall."""
    room = max(hz / rate - c_io, 50)
    shares = [0, 0.25, 0.5, 0.7, 0.85, 0.95, 1.05, 1.2, 1.5, 2, 2.5, 3]
    if is_short:
        shares = [0, 0.5, 0.85, 1.05, 1.5, 2, 3]
    if count:
        shares = [3 * i / (count - 1) for i in range(count)]
    return [int(round(room * s)) for s in shares]


def cost(run_, hz):
    """Cycles of a packet, f / n: f are the cycles that the worker was given."""
    return hz * min(run_.get("cpu_share", 1.0), 1.0) / max(run_["pps"], 1)


def is_falling(run_, rate):
    """Less came out than came in, and not because the worker had waited for it: where both happen the
    traffic came in bursts, and the run says nothing of the fall."""
    offered = min(rate, run_.get("offered_pps") or rate)
    return run_["pps"] <= FALLING * offered and run_["c_busy"] <= WAITING * cost_counted(run_)


def cost_counted(run_):
    return sum(run_[key] or 0 for key in ("c_io", "c_task", "c_busy"))


def analyse(points, rate, hz):
    """points: {cycles: [run]}; a run has pps, c_io, c_task, c_busy. What follows from the throughput
    alone, and what the worker said."""
    top = max(stats.median([r["pps"] for r in runs]) for runs in points.values())
    falling = {c: kept for c, kept in
               ((c, [r for r in runs if is_falling(r, min(rate, top))])
                for c, runs in points.items()) if 2 * len(kept) > len(points[c])}
    by_runs = [cost(r, hz) - c for c, runs in falling.items() for r in runs]
    counted = [r["c_io"] + r["c_task"] - c for c, runs in falling.items() for r in runs
               if r["c_io"] is not None]
    if not by_runs:
        return None
    c_io = stats.median(by_runs)
    return {"c_io": stats.spread(by_runs), "counted": stats.spread(counted) if counted else None,
            "knee": hz / rate - c_io, "falling": sorted(falling)}


def throughput_lines(name, points, model, rate, hz):
    lines = [series(f"{name}, measured",
                    [stats.point(c, [r["pps"] / 1e6 for r in runs])
                     for c, runs in sorted(points.items())])]
    if model:
        c_io, low, high = model["c_io"][0], min(points), max(points)
        at = [low + (high - low) * i / 100 for i in range(101)]
        lines.append(series(f"{name}, min(r_max, f / (c_io + c_task))",
                            [[c, min(rate, hz / max(c_io + c, 1)) / 1e6] for c in at], "predicted"))
    return lines


def cost_lines(name, points, model, hz):
    """Figure 2(b): what is left of f / n beyond the task, and how it divides."""
    lines = [series(f"{name}: c_io + c_busy by throughput",
                    [stats.point(c, [cost(r, hz) - c for r in runs])
                     for c, runs in sorted(points.items())]),
             series(f"{name}: c_io + c_busy as the worker counts",
                    [stats.point(c, [r["c_io"] + r["c_task"] - c + r["c_busy"] for r in runs
                                     if r["c_io"] is not None])
                     for c, runs in sorted(points.items())
                     if any(r["c_io"] is not None for r in runs)], "points")]
    if model:
        c_io = model["c_io"][0]
        lines.append(series(f"{name}: c_io", [[min(points), c_io], [max(points), c_io]],
                            "predicted"))
    return lines


def share_areas(points, model, hz):
    """Figure 1's areas: which share of the cycles goes where, one upon the other, in percent."""
    io, task, busy = [], [], []
    for c, runs in sorted(points.items()):
        whole = stats.median([cost(r, hz) for r in runs])
        part = min(100, 100 * model["c_io"][0] / whole)
        with_task = min(100, part + 100 * c / whole)
        io.append([c, 0, part])
        task.append([c, part, with_task])
        busy.append([c, with_task, 100])
    return [series("c_io", io, "area", "y2"), series("c_task", task, "area", "y2"),
            series("c_busy", busy, "area", "y2")]


def describe(doc, variants, rate, hz):
    rows = []
    for name, points, model in variants:
        for c, runs in sorted(points.items()):
            mpps, low, high = stats.spread([r["pps"] / 1e6 for r in runs])
            rest = stats.median([cost(r, hz) - c for r in runs])
            said = [r for r in runs if r["c_io"] is not None]
            c_io = model["c_io"][0] if model else None
            rows.append([name, c, stats.offered(runs) / 1e6, mpps, low, high, rest,
                         max(0.0, rest - c_io) if model else None,
                         stats.median([r["c_io"] for r in said]) if said else None,
                         stats.median([r["c_task"] for r in said]) if said else None,
                         stats.median([r["c_busy"] for r in said]) if said else None])
    doc.table("points", "Throughput by the task's cycles; c_io and c_busy by f = n (c_io + c_task + "
              "c_busy), and as the worker counts them",
              ["ports", ("task", "cycles"), ("offered", "Mpps"), ("median", "Mpps"),
               ("least", "Mpps"), ("most", "Mpps"),
               ("c_io+c_busy", "cycles"), ("c_busy", "cycles"), ("counted c_io", "cycles"),
               ("counted c_task", "cycles"), ("counted c_busy", "cycles")], rows)
    rows = []
    for name, _, model in variants:
        if model:
            c_io, low, high = model["c_io"]
            counted = model["counted"][0] if model["counted"] else None
            rows.append([name, c_io, low, high, model["knee"], counted,
                         counted - c_io if counted is not None else None])
        else:
            rows.append([name, *[None] * 6])
    doc.table("c_io", f"c_io where the throughput falls, f = {hz / 1e9:.3f} GHz (clock), "
              f"{rate / 1e6:.3f} Mpps asked for",
              ["ports", ("c_io", "cycles"), ("least", "cycles"), ("most", "cycles"),
               ("throughput falls at", "cycles"), ("c_io as counted", "cycles"),
               ("difference", "cycles")], rows)


def judge(doc, name, points, model, rate, hz):
    if not model:
        doc.finding(f"{PAPER}, fig. 2(a)", f"{name}: the throughput falls once the task takes the "
                    "cycles that are left", None, "it did not fall in the range measured",
                    figure="throughput")
        return
    c_io = model["c_io"][0]
    misses = [abs((c_io + c) / stats.median([cost(r, hz) for r in points[c]]) - 1)
              for c in model["falling"]]
    doc.finding(f"{PAPER}, fig. 1 and 2(a)", f"{name}: behind the fall the throughput is "
                "f / (c_io + c_task), a hyperbola", max(misses) < 0.05,
                f"at most {100 * max(misses):.1f} % beside it at {len(misses)} points",
                figure="throughput")
    beside = [(abs(stats.median([cost(r, hz) - c for r in points[c]]) - c_io), c)
              for c in model["falling"]]
    doc.finding(f"{PAPER}, fig. 2(b)", f"{name}: c_io stays the same however long the task is",
                all(miss <= 0.1 * c_io + 0.02 * c for miss, c in beside),
                f"{c_io:.0f} cycles, at most {max(beside)[0]:.0f} beside that over tasks of "
                f"{min(model['falling'])} to {max(model['falling'])} cycles", figure="cost")
    if model["counted"]:
        miss = model["counted"][0] - c_io
        doc.finding("equation (7)", f"{name}: the worker's own counters agree with f / n - c_task "
                    f"within {AGREE_PCT} % of a packet's cycles",
                    abs(miss) <= AGREE_PCT / 100 * stats.median(
                        [cost(r, hz) for c in model["falling"] for r in points[c]]),
                    f"counted {model['counted'][0]:.1f}, by throughput {c_io:.1f}: {miss:+.1f} cycles",
                    figure="cost")


def draw(doc, variants, rate, hz):
    name, points, model = variants[0]
    if model:
        doc.figure("model", f"Where the cycles go, {name}", "c_task [cycles per packet]",
                   "throughput [Mpps]",
                   share_areas(points, model, hz) + throughput_lines(name, points, model, rate, hz),
                   y2="share of the cycles [%]", y2_range=[0, 100], y_range=[0, None],
                   marks=[[model["knee"], "c_equal"]], paper=f"{PAPER}, figure 1",
                   caption="Below c_equal the link is the limit and cycles are left over for empty "
                           "polls; behind it the processor is.")
    doc.figure("throughput", "Throughput with an emulated task", "c_task [cycles per packet]",
               "throughput [Mpps]",
               [l for v in variants for l in throughput_lines(*v, rate, hz)], y_range=[0, None],
               paper=f"{PAPER}, figure 2(a)", caption="Median of the runs, bars from least to most.")
    doc.figure("cost", "Cycles for transmission and for empty polls", "c_task [cycles per packet]",
               "cycles per packet", [l for v in variants for l in cost_lines(*v, hz)],
               # a run in which the worker lost its CPU counts thousands, and would flatten the rest
               y_range=[0, 1.5 * max(stats.median([cost(r, hz) - c for r in runs])
                                     for _, points, _ in variants for c, runs in points.items())],
               paper=f"{PAPER}, figure 2(b)",
               caption="What f / n leaves beyond the task. It falls while empty polls are used up and "
                       "stays at c_io then; the points are the worker's own counters.")


def measure(ctx, kinds):
    """[(name, {cycles: [run]})], interleaved; f and the offered rate."""
    probe = [ctx.memory.point(rate=0, batch=ctx.batch, mode="macrewrite", **kinds[0][1])
             for _ in range(ctx.runs)]
    hz = probe[0]["cycles_hz"]
    most = hz / min(cost(r, hz) for r in probe)
    rate = ctx.rate if ctx.ports == "mem" else ctx.asked_rate or SHARE * most
    # a point in memory takes no time
    cycles = sweep(rate, hz, hz / most, ctx.points, ctx.short and ctx.ports != "mem")
    made = [(name, {c: [] for c in cycles}) for name, _ in kinds]
    ctx.progress.expect(ctx.runs * len(kinds) * len(cycles))
    for run_ in range(ctx.runs):
        for c in cycles:
            for (name, options), (_, points) in zip(kinds, made):
                ctx.progress.step(f"run {run_ + 1}, {name}, task of {c} cycles")
                points[c].append(ctx.memory.point(rate=rate, cycles=c, batch=ctx.batch,
                                                  mode="macrewrite", **options))
    return made, hz, rate


def run(ctx, doc):
    if ctx.ports == "vm":
        import guest_cio  # pylint: disable=import-outside-toplevel  # there only
        guest_cio.run(ctx, doc)
        return
    kinds = ([("memory, zero-copy", {"copy": False}), ("memory, copying", {"copy": True})]
             if ctx.ports == "mem" else [("lab" if ctx.ports == "lab" else "devices", {})])
    made, hz, rate = measure(ctx, kinds)
    variants = [(name, points, analyse(points, rate, hz)) for name, points in made]
    doc.data["parameters"].update({"cycles_hz": hz, "asked_pps": rate})
    describe(doc, variants, rate, hz)
    for name, points, model in variants:
        judge(doc, name, points, model, rate, hz)
    draw(doc, variants, rate, hz)
