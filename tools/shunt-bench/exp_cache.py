# SPDX-License-Identifier: BSD-2-Clause
"""The influence of caches (Gallenmüller et al. 2015, section 5.4): a step through a random cyclic list
for every packet, beside 100 cycles of task, by the size of the list; and how long such a step takes
by itself: the access time of each cache level."""
import stats
from document import series

TITLE = "Tables and caches"
ACCESS_MS = 10  # a run of stepping alone
HELP = "a lookup in a table of 1 KiB to 256 MiB for every packet: throughput, access times"
PAPER = "Gallenmüller et al. 2015"
TASK_CYCLES = 100


def sizes(is_short):
    every = [1 << n for n in range(10, 29)]  # 1 KiB to 256 MiB
    return every[::2] + [] if is_short else every


def human(size):
    for shift, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size >= 1 << shift:
            value = size / (1 << shift)
            return f"{value:.0f} {unit}" if value == int(value) else f"{value:.1f} {unit}"
    return f"{size} B"


def levels(caches, access):
    """[(name, capacity or None, [cycles of the sizes that fit in it and not in the level before])].
    A size counts where it takes half of the level at most: the rest of the program is there too."""
    bounds = sorted({(c["level"], c["bytes"]) for c in caches if c["type"] != "instruction"})
    rows, before = [], 0
    for level, capacity in bounds:
        fits = [v for size, runs in access.items() if before < size <= capacity / 2 for v in runs]
        rows.append((f"L{level}", capacity, fits))
        before = capacity
    rows.append(("memory", None, [v for size, runs in access.items() if size >= 2 * before
                                  for v in runs]))
    return rows


def measure(ctx, chosen):
    access = {size: [] for size in chosen}
    points = {size: [] for size in chosen}
    ctx.progress.expect(2 * ctx.runs * len(chosen))
    for run in range(ctx.runs):
        for size in chosen:
            ctx.progress.step(f"run {run + 1}, access to {human(size)}")
            access[size] += ctx.memory.access(size, 3, ACCESS_MS)
            ctx.progress.step(f"run {run + 1}, forwarding beside a list of {human(size)}")
            points[size].append(ctx.memory.point(rate=ctx.asked_rate or 0, cycles=TASK_CYCLES, list=size,
                                                 batch=ctx.batch, mode="macrewrite"))
    return access, points


def predicted_pps(access, base, hz, rate):
    made = hz / (base + TASK_CYCLES + access)
    return min(rate, made) if rate else made


def describe(doc, access, points, base, hz, rate):
    rows = []
    for size in sorted(points):
        step = stats.median(access[size])
        mpps, low, high = stats.spread([r["pps"] / 1e6 for r in points[size]])
        predicted = predicted_pps(step, base, hz, rate) / 1e6
        rows.append([human(size), step, min(access[size]), max(access[size]), mpps, low, high,
                     predicted, 100 * (mpps / predicted - 1)])
    doc.table("sizes", f"A step through a list for every packet, beside {TASK_CYCLES} cycles of task",
              ["list", ("step", "cycles"), ("least", "cycles"), ("most", "cycles"),
               ("throughput", "Mpps"), ("least", "Mpps"), ("most", "Mpps"), ("predicted", "Mpps"),
               ("beside it", "%")], rows)
    return rows


def draw(doc, access, points, base, hz, rate, caches):
    marks = [[c["bytes"], f"L{c['level']}"] for c in caches]
    labels = [[size, human(size)] for size in sorted(points)][::2 if len(points) > 10 else 1]
    x = "size of the list"
    at = sorted(points)
    doc.figure("throughput", "Throughput with a table lookup for every packet", x,
               "throughput [Mpps]",
               [series("measured", [stats.point(s, [r["pps"] / 1e6 for r in points[s]])
                                    for s in at]),
                series(f"f / (c_io + {TASK_CYCLES} + access time)",
                       [[s, predicted_pps(stats.median(access[s]), base, hz, rate) / 1e6]
                        for s in at], "predicted")],
               x_scale="log2", x_labels=labels, x_rotated=True, y_range=[0, None], marks=marks,
               paper=f"{PAPER}, figure 3(a)",
               caption="Dotted: the sizes of this processor's caches, as the kernel tells them.")
    doc.figure("access", "Access time", x, "cycles of the clock for one step",
               [series("measured", [stats.point(s, access[s]) for s in at])],
               x_scale="log2", x_labels=labels, x_rotated=True, y_scale="log10", marks=marks,
               paper=f"{PAPER}, section 5.4 (text)")


def run(ctx, doc):
    caches = doc.data["machine"]["caches"]
    chosen = ctx.thinned(sizes(ctx.short))
    access, points = measure(ctx, chosen)
    # c_io and the forwarding node, from the worker's counters where the list costs least
    smallest = points[min(points)]
    hz = smallest[0]["cycles_hz"]
    base = stats.median([hz / r["pps"] for r in
                         [ctx.memory.point(rate=0, cycles=TASK_CYCLES, batch=ctx.batch,
                                           mode="macrewrite")
                          for _ in range(ctx.runs)]]) - TASK_CYCLES
    rows = describe(doc, access, points, base, hz, ctx.asked_rate)
    found = levels(caches, access)
    doc.table("levels", "Access time by cache level, of the sizes that fit in half of it",
              ["level", "size", ("median", "cycles"), ("least", "cycles"), ("most", "cycles"),
               ("median", "ns")],
              [[name, human(size) if size else "-", *stats.spread(v), stats.median(v) / hz * 1e9]
               for name, size, v in found if v])
    doc.data["parameters"].update({"cycles_hz": hz, "asked_pps": ctx.asked_rate, "c_io": base,
                                   "task_cycles": TASK_CYCLES})
    medians = [stats.median(v) for _, _, v in found if v]
    doc.finding(f"{PAPER}, section 5.4", "each level further away takes longer",
                medians == sorted(medians) if len(medians) > 1 else None,
                ", ".join(f"{name} {stats.median(v):.0f}" for name, _, v in found if v) + " cycles",
                figure="access")
    worst = max(abs(row[-1]) for row in rows)
    doc.finding(f"{PAPER}, section 5.4", "the model predicts the throughput from the access time "
                "within 10 %", worst <= 10, f"at most {worst:.1f} % beside it", figure="throughput")
    draw(doc, access, points, base, hz, ctx.asked_rate, caches)
