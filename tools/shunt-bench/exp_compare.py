# SPDX-License-Identifier: BSD-2-Clause
"""Is this faster than the kernel here, and by how much: the kernel's bridge, its IP forwarding, a bare
XDP redirect, and shunt in each lane and mode, on the same devices with the same traffic, in turn."""
import os

import baselines
import forwarders
import places
import stats
from document import series
from exp_size import note_generator
from search import Search

TITLE = "The kernel, XDP and shunt side by side"
HELP = "kernel bridge, ip_forward, XDP redirect, shunt's lanes and modes: rate, latency, CPU"
SHARES = (0.10, 0.50, 0.90, 0.99)
PDR = 0.005
AGAIN = 3


def candidates(ctx, doc):
    is_lab = ctx.place.kind == "lab"
    made = forwarders.kernel_ones(ctx.cpus, is_lab)
    made += forwarders.shunt_ones(ctx.cpus, ctx.batch, is_lab)
    try:
        made += baselines.forwarders(ctx, doc)
    except OSError as error:
        doc.skip("DPDK, xdp-tools", str(error))
    return forwarders.named(made, ctx.only, [s["what"] for s in doc.data["skipped"]])


def is_main(one):
    return getattr(one, "is_main", one.name == "DPDK testpmd, net_af_xdp")


def timed_trial(ctx, dst_mac, rate=0, beside=None, **options):
    """A trial with the CPU time that the whole machine spent meanwhile; cpu_us, that for a packet that
    arrived, less what `beside` spent: an idle trial, for the programs that begin and end take longer
    than short traffic."""
    trial = ctx.place.trial(dst_mac, rate, ctx.seconds, **options)
    trial["cpus_busy"] = trial["cpu_s"] / trial["passed_s"]
    if beside and trial["received"] > beside["received"]:
        spent = trial["cpu_s"] - beside["cpu_s"]
        resolution = 2 * os.cpu_count() * places.CPU_TICK_S
        trial["cpu_us"] = 1e6 * spent / trial["received"] if spent > resolution else None
        trial["cpu_us_off"] = 1e6 * resolution / trial["received"]
    return trial


def held_trial(ctx, dst_mac, rate, beside):
    """A trial with latency, again while the generator misses the rate; of so many the nearest."""
    made = []
    while not made or not made[-1]["held"] and len(made) < AGAIN:
        made.append(timed_trial(ctx, dst_mac, rate, beside, latency=True))
    return min(made, key=lambda trial: abs(trial["offered_pps"] - rate))


def flood_all(ctx, doc, chosen):
    """{name: [trial]} at full speed, interleaved; those that cannot be started are left out."""
    made = {}
    ctx.progress.expect(ctx.runs * len(chosen))
    for run in range(ctx.runs):
        for one in list(chosen):
            ctx.progress.step(f"run {run + 1}, {one.name}")
            try:
                with one.start(ctx.place) as started:
                    made.setdefault(one.name, []).append(timed_trial(ctx, started["dst_mac"]))
                    ctx.in_use(doc, started["in_use"])
            except places.Failed as error:
                doc.skip(one.name, str(error))
                chosen.remove(one)
                made.pop(one.name, None)
    return made


def look_closer(ctx, one, top, left):
    """Loss-free rate, and latency and CPU at shares of it; left: how many are to come, with this one."""
    with one.start(ctx.place) as started:
        def trial(rate):
            ctx.progress.step(f"{one.name} at {rate / 1e6:.3f} Mpps")
            return ctx.place.trial(started["dst_mac"], rate, ctx.seconds)
        search = Search(trial, ctx.trials, ctx.precision, ctx.until(left), ctx.place.line_pps(64))
        ndr, pdr = search.both(PDR, top)
        base = ndr["rate"] or pdr["rate"]
        at = {}
        idle = timed_trial(ctx, started["dst_mac"], 1000, count=1) if base else None
        for share in SHARES if base else ():
            ctx.progress.step(f"{one.name}: latency at {100 * share:.0f} %")
            at[share] = held_trial(ctx, started["dst_mac"], share * base, idle)
    return {"ndr": ndr, "pdr": pdr, "base": "NDR" if ndr["rate"] else "PDR", "at": at}


def us(trial, key):
    latency = trial["latency_ns"] if trial else None
    return latency[key] / 1000 if latency and latency["count"] else None


def describe(doc, floods, closer):
    rows = []
    for name, trials in floods.items():
        found = closer.get(name)
        at = {s: t for s, t in found["at"].items() if t["held"]} if found else {}
        rows.append([name, *stats.spread([t["pps"] / 1e6 for t in trials]),
                     (found["ndr"]["rate"] / 1e6 or None) if found else None,
                     stats.percent(found["ndr"]["confidence"]) if found else None,
                     (found["pdr"]["rate"] / 1e6 or None) if found else None,
                     at[0.9].get("cpu_us") if 0.9 in at else None,
                     at[0.9].get("cpu_us_off") if 0.9 in at else None,
                     stats.median([t["cpus_busy"] for t in trials])])
    doc.table("main", "Throughput of 64-byte frames (with FCS), flooded and without loss; CPU of all "
              "cores, generator and sink included",
              ["forwarder", ("flooded", "Mpps"), ("least", "Mpps"), ("most", "Mpps"), ("NDR", "Mpps"),
               ("confidence", "%"), ("PDR", "Mpps"), ("CPU at 90 %", "us/packet"),
               ("resolution", "us/packet"),
               ("CPUs busy, flooded", "CPUs")], rows)
    rows = []
    for name, found in closer.items():
        for share, trial in found["at"].items():
            rows.append([name, f"{100 * share:.0f} % of {found['base']}"
                         + ("" if trial["held"] else ", missed"), trial["offered_pps"] / 1e6,
                         us(trial, "p50"), us(trial, "p99"), us(trial, "p999"), us(trial, "max"),
                         100 * trial["loss"], trial["cpus_busy"]])
    if rows:
        doc.table("latency", "Latency by load, generator to sink", [
            "forwarder", "load", ("offered", "Mpps"), ("median", "us"), ("p99", "us"),
            ("p99.9", "us"), ("max", "us"), ("lost", "%"), ("CPUs busy", "CPUs")], rows)


def draw(doc, floods, closer):
    names = list(floods)
    labels = [[i, name] for i, name in enumerate(names)]
    doc.figure("throughput", "Throughput of 64-byte frames, flooded", "forwarder",
               "throughput [Mpps]",
               [series("at the sink", [stats.point(i, [t["pps"] / 1e6 for t in floods[n]])
                                       for i, n in enumerate(names)], "bars"),
                series("without loss (NDR)",
                       [[i, closer[n]["ndr"]["rate"] / 1e6] for i, n in enumerate(names)
                        if n in closer and closer[n]["ndr"]["rate"]], "points")],
               x_labels=labels, x_rotated=True, y_range=[0, None], x_range=[-0.7, len(names) - 0.3])
    lines = []
    for name, found in closer.items():
        lines.append(series(name, [[100 * s, us(t, "p50"), us(t, "p50"), us(t, "p99")]
                                   for s, t in found["at"].items() if us(t, "p50") and t["held"]]))
    doc.figure("latency", "Latency by load, median, bars up to p99",
               "load [% of the rate without loss]", "latency [us]", lines, y_scale="log10")


def judge(doc, floods):
    """Lane auto, and the best of lane user, beside the kernel's routing."""
    best = {n: stats.median([t["pps"] for t in trials]) for n, trials in floods.items()}
    user = [n for n in best if n.startswith("shunt") and " user " in n]
    ours = [max(user, key=best.get)] if user else []
    for other in [n for n in best if n.startswith("kernel ip_forward")]:
        auto = other.replace("kernel ip_forward", "shunt route lane auto")
        for name in ours + [auto] * (auto in best):
            doc.finding("DESIGN", f"{name} forwards more than {other}", best[name] > best[other],
                        f"{best[name] / 1e6:.3f} Mpps beside {best[other] / 1e6:.3f}: "
                        f"{best[name] / max(best[other], 1):.2f} times as much", figure="throughput")


# --- in memory --------------------------------------------------------------------------------------

KINDS = [("shunt xconnect, zero-copy", {"mode": "xconnect"}),
         ("shunt xconnect, copying", {"mode": "xconnect", "copy": True}),
         ("shunt macrewrite, zero-copy", {"mode": "macrewrite"}),
         ("shunt macrewrite, copying", {"mode": "macrewrite", "copy": True})]


def run_in_memory(ctx, doc):
    """shunt's own cost beside DPDK's: no driver on either side."""
    made, hz = {name: [] for name, _ in KINDS}, None
    baselines.version_into(doc.data["versions"])
    ctx.progress.expect(ctx.runs * (len(KINDS) + 1))
    for run_ in range(ctx.runs):
        for name, options in KINDS:
            ctx.progress.step(f"run {run_ + 1}, {name}")
            point = ctx.memory.point(batch=ctx.batch, **options)
            hz = point["cycles_hz"]
            made[name].append(point["pps"])
        ctx.progress.step(f"run {run_ + 1}, DPDK")
        rows, skipped = baselines.memory(ctx.cpus[0], ctx.seconds, ctx.batch,
                                         ctx.memory.least_disturbed)
        for row in rows:
            name = row["name"] + ("" if row["huge_pages"] else " (no huge pages)")
            made.setdefault(name, []).append(row["pps"])
    for name, why in skipped:
        doc.skip(name, why)
    doc.data["parameters"]["cycles_hz"] = hz
    doc.table("main", "64-byte frames on in-memory ports, one worker",
              ["forwarder", ("median", "Mpps"), ("least", "Mpps"), ("most", "Mpps"),
               ("median", "cycles/packet")],
              [[name, *(x / 1e6 for x in stats.spread(runs)), hz / stats.median(runs)]
               for name, runs in made.items()])
    doc.figure("throughput", "64-byte frames on in-memory ports", "forwarder", "throughput [Mpps]",
               [series("one worker", [stats.point(i, [x / 1e6 for x in runs])
                                      for i, runs in enumerate(made.values())], "bars")],
               x_labels=[[i, name] for i, name in enumerate(made)], x_rotated=True,
               y_range=[0, None], x_range=[-0.7, len(made) - 0.3])


def run(ctx, doc):
    if ctx.ports == "mem":
        run_in_memory(ctx, doc)
        return
    if ctx.ports == "vm":
        import guest_costs  # pylint: disable=import-outside-toplevel  # there only
        guest_costs.compare(ctx, doc)
        return
    chosen = candidates(ctx, doc)
    floods = flood_all(ctx, doc, chosen)
    if not floods:
        raise places.Failed("nothing could be measured: " + "; ".join(
            f"{s['what']}: {s['why']}" for s in doc.data["skipped"]))
    closer = {}
    ctx.progress.expect(len(chosen) * 3 * ctx.trials)
    tops = {one: stats.median([t["pps"] for t in floods[one.name]]) for one in chosen}
    asked = [one for one in chosen if tops[one] and (not ctx.short or is_main(one))]
    for i, one in enumerate(asked):
        try:
            closer[one.name] = look_closer(ctx, one, tops[one], len(asked) - i)
        except places.Failed as error:
            doc.skip(f"{one.name}, without loss", str(error))
    if ctx.short:
        doc.note("A short run: the rate without loss, and latency, of the main forwarders only.")
    doc.data["parameters"].update({"trial_seconds": ctx.seconds, "trials_at_most": ctx.trials,
                                   "precision": ctx.precision, "frame_bytes_with_fcs": 64})
    note_generator(doc, {name: found["pdr"] for name, found in closer.items()})
    describe(doc, floods, closer)
    draw(doc, floods, closer)
    judge(doc, floods)
