# SPDX-License-Identifier: BSD-2-Clause
"""Maximum throughput by frame size, without loss (NDR) and with a little (PDR), as Varis and Manner did
for 78 to 1518 bytes and a mix, and as RFC 2544 asks; by a search that is sound on noisy machines."""
import forwarders
import stats
from document import series
from search import Search

TITLE = "Frame sizes: throughput without loss"
HELP = "64 to 1518 bytes and IMIX: the rate without loss (NDR), with 0.5 % (PDR)"
PAPER = "Varis and Manner"
PDR = 0.005
FCS = 4
SIZES = [64, 78, 128, 256, 512, 1024, 1280, 1518]  # with FCS, as the RFCs count
IMIX = "imix"
IMIX_BYTES = (7 * 64 + 4 * 594 + 1518) / 12


def sizes(ctx):
    chosen = [64, 78, 512, 1518] if ctx.short else SIZES
    return [*ctx.thinned(chosen), IMIX]


def bytes_of(size):
    return IMIX_BYTES if size == IMIX else size


def gbit(pps, size):
    """On the wire: with preamble and gap (L1)."""
    return pps * (bytes_of(size) + 20) * 8 / 1e9


def search(ctx, place, dst_mac, size, left):
    """(most at full speed, NDR, PDR, Search) of what forwards now. left: how many searches are to come,
    this one among them."""
    word = IMIX if size == IMIX else size - FCS
    full = [place.trial(dst_mac, 0, ctx.seconds, size=word) for _ in range(ctx.runs)]
    top = stats.median([t["pps"] for t in full])
    if not top:
        return full, None, None, None

    def trial(rate):
        ctx.progress.step(f"{size} bytes at {rate / 1e6:.3f} Mpps")
        return place.trial(dst_mac, rate, ctx.seconds, size=word)
    made = Search(trial, ctx.trials, ctx.precision, ctx.until(left), place.line_pps(bytes_of(size)))
    return full, *made.both(PDR, top), made


def row_of(size, full, ndr, pdr, made):
    top = stats.spread([t["pps"] / 1e6 for t in full])
    if not made:
        return [str(size), *top, *[None] * 9]
    return [str(size), *top, ndr["rate"] / 1e6 or None, gbit(ndr["rate"], size) or None,
            f"{ndr['good']} of {ndr['trials']}", stats.percent(ndr["confidence"]),
            pdr["rate"] / 1e6 or None, gbit(pdr["rate"], size) or None, f"{pdr['good']} of {pdr['trials']}",
            stats.percent(pdr["confidence"]), made.count()]


COLUMNS = [("frame", "bytes with FCS"), ("flood", "Mpps"), ("least", "Mpps"), ("most", "Mpps"),
           ("NDR", "Mpps"), ("NDR", "Gbit/s L1"), "passed", ("confidence", "%"), ("PDR", "Mpps"),
           ("PDR", "Gbit/s L1"), "passed", ("confidence", "%"), "trials in all"]


def run(ctx, doc):
    chosen, results = sizes(ctx), {}
    if ctx.ports == "vm":
        import guest_costs  # pylint: disable=import-outside-toplevel  # there only
        guest_costs.size(ctx, doc, [s for s in chosen if s != IMIX], FCS)
        return
    ctx.progress.expect(len(chosen) * 4 * ctx.trials)
    with forwarders.shunt(ctx.place, "xconnect", ctx.cpus[:1], "--poll", "spin", "--batch",
                          str(ctx.batch), "--lane", "user") as forwarder:
        ctx.in_use(doc, forwarder["in_use"])
        for i, size in enumerate(chosen):
            results[size] = search(ctx, ctx.place, forwarder["dst_mac"], size, len(chosen) - i)
    doc.data["parameters"].update({"trial_seconds": ctx.seconds, "trials_at_most": ctx.trials,
                                   "precision": ctx.precision, "pdr_loss": PDR})
    doc.table("sizes", "Cross-connect by frame size: flooded, without loss (NDR), with "
              f"{100 * PDR:g} % at most (PDR)", COLUMNS,
              [row_of(size, *results[size]) for size in chosen])
    numbered = [s for s in chosen if s != IMIX and results[s][3]]
    for name, unit, value in (("throughput", "Mpps", lambda p, s: p / 1e6),
                              ("bits", "Gbit/s on the wire", gbit)):
        doc.figure(name, "Throughput by frame size", "frame with FCS [bytes]", f"throughput [{unit}]",
                   [series("flooded", [stats.point(s, [value(t["pps"], s) for t in results[s][0]])
                                       for s in numbered]),
                    series("PDR, 0.5 % loss", bracket(results, numbered, 2, value)),
                    series("NDR, no loss", bracket(results, numbered, 1, value))],
                   y_range=[0, None], paper=f"{PAPER}; RFC 2544, section 26.1",
                   caption="Bars of NDR and PDR reach to the lowest rate that failed.")
    note_generator(doc, {str(s): r[2] for s, r in results.items() if r[2]})
    silent = [str(s) for s in chosen if not results[s][3]]
    if silent:
        doc.note("Of a flood next to nothing came through, so nothing was searched for: "
                 f"{', '.join(silent)}.")
    if len(numbered) < 2:
        return
    small, large = results[numbered[0]][0], results[numbered[-1]][0]
    ratio = stats.median([t["pps"] for t in large]) / stats.median([t["pps"] for t in small])
    doc.finding("Gallenmüller et al. 2015, section 4.3, after Rizzo",
                f"a frame of {numbered[-1]} bytes costs only a little more than one of {numbered[0]}",
                ratio > 0.75, f"{100 * ratio:.0f} % as many packets a second"
                + ("; ports that copy pay for bytes" if ctx.is_copying(doc) else ""),
                figure="throughput")


def note_generator(doc, found):
    """Notes whether forwarder or generator set the limit that was found."""
    none = [name for name, one in found.items() if not one["rate"]]
    if none:
        doc.note("No rate that was tried passed, and none is printed: " + ", ".join(none) + ".")
    found = {name: one for name, one in found.items() if one["rate"]}
    names = [name for name, one in found.items() if one["by_generator"]]
    if names:
        doc.note("The next higher rate could not be sent, so these may take more than was found: "
                 + ", ".join(names) + ".")
    cut = [name for name, one in found.items() if one.get("is_cut")]
    if cut:
        doc.note("Time for searching was up before the precision asked for was reached: " +
                 ", ".join(cut) + ". What was found is a lower bound.")


def bracket(results, chosen, which, value):
    points = []
    for size in chosen:
        found = results[size][which]
        if not found["rate"]:
            continue  # none was found, which is not 0
        rate = value(found["rate"], size)
        above = value(found["failing"] or found["rate"], size)
        points.append([size, rate, rate, above])
    return points
