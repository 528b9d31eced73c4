# SPDX-License-Identifier: BSD-2-Clause
"""RFC 2544's tests: throughput, latency at it, frame loss by rate, and back-to-back frames as RFC 9004
has them. The length of a trial is the user's to choose; the RFC's are 60 s (latency 120 s)."""
import forwarders
import stats
from document import series
from exp_size import note_generator
from search import Search

TITLE = "RFC 2544 and RFC 9004"
HELP = "throughput, latency, frame loss rate, back-to-back frames"
FCS = 4
SIZES = [64, 128, 256, 512, 1024, 1280, 1518]
LOSS_STEPS = 10
BURST_MAX_S = 2.0  # RFC 9004 asks for at most 2 s of frames
OVER = 1.03  # a clock's error is not yet more than a line carries


def throughput(ctx, dst_mac, size, left):
    """The search for no loss at all; from it everything else follows."""
    flood = stats.median([ctx.place.trial(dst_mac, 0, ctx.seconds, size=size - FCS)["pps"]
                          for _ in range(ctx.runs)])

    def trial(rate):
        ctx.progress.step(f"{size} bytes, throughput at {rate / 1e6:.3f} Mpps")
        return ctx.place.trial(dst_mac, rate, ctx.seconds, size=size - FCS)
    search = Search(trial, ctx.trials, ctx.precision, ctx.until(left), ctx.place.line_pps(size))
    return search.find(0.0, max(0.8 * flood, 1000), max(2 * flood, 1000)), flood


def latency(ctx, dst_mac, size, rate):
    made = []
    for run_ in range(ctx.runs):
        ctx.progress.step(f"{size} bytes, latency {run_ + 1} at {rate / 1e6:.3f} Mpps")
        got = ctx.place.trial(dst_mac, rate, ctx.seconds, size=size - FCS, latency=True)["latency_ns"]
        if got and got["count"]:
            made.append(got)
    return made


def loss_by_rate(ctx, dst_mac, size, flood):
    """Section 26.3: from the most downwards in tenths, until two in a row lose nothing."""
    made, clean = [], 0
    most = min(1.3 * flood, ctx.place.line_pps(size))
    for tenth in range(LOSS_STEPS, 0, -2 if ctx.short else -1):
        rate = most * tenth / LOSS_STEPS
        ctx.progress.step(f"{size} bytes, loss at {rate / 1e6:.3f} Mpps")
        trial = ctx.place.trial(dst_mac, rate, ctx.seconds, size=size - FCS)
        made.append([trial["offered_pps"] / 1e6, 100 * trial["loss"]])
        clean = clean + 1 if trial["received"] >= trial["sent"] else 0
        if clean == 2:
            break
    return made


def burst_rate(ctx, dst_mac, size):
    """(the rate to ask for, 0 for the most; what the generator then makes). A device that takes more than
    its line carries gets what the line does."""
    line = ctx.place.line_pps(size)

    def made(rate):
        return stats.median([ctx.place.trial(dst_mac, rate, 0.2, size=size - FCS)["offered_pps"]
                             for _ in range(ctx.runs)])
    most = made(0)
    if most <= OVER * line:
        return 0, min(most, line)
    return line, min(made(line), line)


def back_to_back(ctx, dst_mac, size):
    """RFC 9004: the longest burst without loss, by halving, several times over. Returns the burst
    lengths found, the rate that bursts were sent at, and whether each was followed by one that lost."""
    asked, rate = burst_rate(ctx, dst_mac, size)
    most = max(1, int(rate * min(BURST_MAX_S, 2 * ctx.seconds)))
    found, is_bounded = [], True
    for run_ in range(ctx.runs):
        low, high, cnt = 0, None, min(256, most)
        while high is None or high - low > max(16, max(ctx.precision, 0.1) * low):
            ctx.progress.step(f"{size} bytes, burst {run_ + 1} of {cnt} frames")
            trial = ctx.place.trial(dst_mac, asked, 1, count=cnt, size=size - FCS)
            if trial["received"] < trial["sent"]:
                high = cnt
            else:
                low = cnt
                if cnt == most:
                    break
            cnt = min(4 * cnt, most) if high is None else max(1, (low + high) // 2)
        found.append(low)
        is_bounded &= high is not None
    return found, rate, is_bounded


def buffer_time(found, rate, ndr, is_bounded):
    """RFC 9004, section 6.4: what the buffer holds, and that beyond what is forwarded meanwhile, in
    milliseconds; without a throughput the latter is not known, and neither where no burst overran it."""
    if not is_bounded:
        return None, None
    implied = 1e3 * stats.median(found) / rate
    return implied, implied * max(0.0, 1 - ndr / rate) if ndr else None


def one_size(ctx, dst_mac, size, left):
    ndr, flood = throughput(ctx, dst_mac, size, left)
    result = {"ndr": ndr, "flood": flood,
              "latency": latency(ctx, dst_mac, size, ndr["rate"]) if ndr["rate"] else [],
              "loss": loss_by_rate(ctx, dst_mac, size, flood) if flood else []}
    result["bursts"], result["burst_rate"], result["is_bounded"] = back_to_back(ctx, dst_mac, size)
    return result


def describe(doc, results):
    rows = []
    for size, r in results.items():
        ndr = r["ndr"]
        mid = {k: stats.median([l[k] / 1000 for l in r["latency"]]) if r["latency"] else None
               for k in ("min", "mean", "p50", "p99", "max")}
        implied, corrected = buffer_time(r["bursts"], r["burst_rate"], ndr["rate"], r["is_bounded"])
        rows.append([size, ndr["rate"] / 1e6 or None, f"{ndr['good']} of {ndr['trials']}",
                     stats.percent(ndr["confidence"]), *mid.values(), stats.median(r["bursts"]),
                     min(r["bursts"]), max(r["bursts"]), r["burst_rate"] / 1e6, implied,
                     corrected])
    doc.table("results", "Throughput (26.1), latency at it (26.2), back-to-back frames (RFC 9004)",
              [("frame", "bytes with FCS"), ("throughput", "Mpps"), "passed", ("confidence", "%"),
               ("min", "us"), ("mean", "us"), ("median", "us"), ("p99", "us"), ("max", "us"),
               ("burst", "frames"), ("least", "frames"), ("most", "frames"), ("sent at", "Mpps"),
               ("buffer", "ms"), ("corrected", "ms")], rows)
    doc.table("loss", "Frame loss rate (26.3)",
              [("frame", "bytes with FCS"), ("offered", "Mpps"), ("lost", "%")],
              [[size, *point] for size, r in results.items() for point in r["loss"]])
    whole = [f"{size} bytes" for size, r in results.items() if not r["is_bounded"]]
    if whole:
        doc.note("No burst that was tried lost a frame, in some run at least: longer ones are not known, and "
                 "no buffer time follows: " + ", ".join(whole) + ".")


def run(ctx, doc):
    sizes = ctx.thinned([64, 512, 1518] if ctx.short else SIZES)
    if ctx.short:
        sizes = sizes[:1] + sizes[-1:]
    ctx.progress.expect(len(sizes) * (4 * ctx.trials + LOSS_STEPS + 8 * ctx.runs))
    results = {}
    # the guest's processor is the generator's too
    poll = "interrupt" if ctx.ports == "vm" else "spin"
    with forwarders.shunt(ctx.place, "xconnect", ctx.cpus[:1], "--poll", poll, "--batch",
                          str(ctx.batch), "--lane", "user") as forwarder:
        ctx.in_use(doc, forwarder["in_use"])
        for i, size in enumerate(sizes):
            results[size] = one_size(ctx, forwarder["dst_mac"], size, len(sizes) - i)
    doc.data["parameters"].update({"trial_seconds": ctx.seconds, "trials_at_most": ctx.trials,
                                   "precision": ctx.precision})
    note_generator(doc, {f"{size} bytes": r["ndr"] for size, r in results.items()})
    describe(doc, results)
    doc.figure("loss", "Frame loss rate", "offered [Mpps]", "frames lost [%]",
               [series(f"{size} bytes", sorted(r["loss"])) for size, r in results.items()],
               y_range=[0, None], paper="RFC 2544, section 26.3")
    doc.figure("latency", "Latency at the throughput", "frame with FCS [bytes]", "latency [us]",
               [series(name, [stats.point(size, [l[key] / 1000 for l in r["latency"]])
                              for size, r in results.items() if r["latency"]])
                for name, key in (("p99", "p99"), ("median", "p50"), ("least", "min"))],
               y_scale="log10", paper="RFC 2544, section 26.2")
    doc.figure("bursts", "Back-to-back frames without loss", "frame with FCS [bytes]",
               "frames in the longest burst",
               [series("shunt, cross-connect", [stats.point(size, r["bursts"])
                                                for size, r in results.items()])],
               y_range=[0, None], paper="RFC 9004")
    if ctx.seconds < 60:
        doc.note(f"RFC 2544 asks for trials of 60 s (latency: 120 s); these took {ctx.seconds:g} s. "
                 "Take --seconds 60 for the RFC's.")
