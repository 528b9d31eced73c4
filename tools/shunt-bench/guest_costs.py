# SPDX-License-Identifier: BSD-2-Clause
"""Experiments that in the guest compare costs, instructions for a packet, where elsewhere they compare
rates: a processor that counts instructions forwards its clock by that many packets a second."""
import places
import stats
from document import series
from forwarders import named
from guest_points import HZ, guest_forwarders, worker

LOWER_IS_BETTER = "instructions per packet"
KERNEL = "kernel ip_forward"


def measure(ctx, doc, one, size=60):
    """[(instructions, what the worker says)], a run each; none where it cannot be started."""
    try:
        return [ctx.memory.cost(one, size) for _ in range(ctx.runs)]
    except places.Failed as error:
        doc.skip(one.name, str(error))
        return []


def compare(ctx, doc):
    made = {}
    candidates = named(guest_forwarders(ctx.batch), ctx.only)
    ctx.progress.expect(len(candidates))
    for one in candidates:
        ctx.progress.step(one.name)
        runs = measure(ctx, doc, one)
        if runs:
            made[one.name] = runs
    if not made:
        raise places.Failed("nothing could be measured: " + "; ".join(
            f"{s['what']}: {s['why']}" for s in doc.data["skipped"]))
    medians = {name: stats.median([cost for cost, _ in runs]) for name, runs in made.items()}
    kernel = medians.get(KERNEL)
    doc.table("main", f"Instructions for a forwarded 64-byte frame, driver and kernel in, generator and "
              f"sink ({ctx.memory.alone():.0f} more) not",
              ["forwarder", ("median", "instructions"), ("least", "instructions"),
               ("most", "instructions"), ("ip_forward takes", "times as many"),
               ("worker's own count", "instructions"), ("a turn", "packets"), ("kicks", "per packet")],
              [[name, *stats.spread([cost for cost, _ in runs]),
                kernel / medians[name] if kernel else None, *worker_columns(runs)]
               for name, runs in made.items()])
    doc.figure("instructions", f"Instructions for a forwarded packet, {doc.data['ports']['driver']}",
               "forwarder", LOWER_IS_BETTER,
               [series("whole cost", [stats.point(i, [cost for cost, _ in runs])
                                      for i, runs in enumerate(made.values())], "bars")],
               x_labels=[[i, name] for i, name in enumerate(made)], x_rotated=True, y_range=[0, None],
               x_range=[-0.7, len(made) - 0.3],
               caption="Fewer is better. " + compare_text(medians))
    ours = {name: cost for name, cost in medians.items() if "zerocopy" in name}
    if kernel and ours:
        best = min(ours, key=ours.get)
        doc.finding("DESIGN", "shunt's lane user with zero-copy takes fewer instructions than the kernel's "
                    "ip_forward", ours[best] < kernel, f"{ours[best]:.0f} ({best}) beside {kernel:.0f}: "
                    f"{kernel / ours[best]:.2f} times fewer", figure="instructions")


def compare_text(medians):
    best = min(medians, key=medians.get)
    said = f"Least here: {best}, {medians[best]:.0f}"
    return said + (f"; {KERNEL} {medians[KERNEL]:.0f}." if KERNEL in medians else ".")


def worker_columns(runs):
    said = [worker_said for _, worker_said in runs if worker_said]
    if not said:
        return [None] * 3
    middle = [stats.median([one[i] for one in said]) for i in range(4)]
    return [middle[0], middle[1], middle[2] + middle[3]]


def size(ctx, doc, sizes, fcs):
    """Instructions by frame size, zero-copy, copying and the kernel."""
    kinds = [worker("xconnect", ctx.batch), worker("xconnect", ctx.batch, copy_mode="copy"),
             guest_forwarders(ctx.batch)[0]]
    made = {one.name: {} for one in kinds}
    ctx.progress.expect(len(sizes) * (1 + len(kinds)))
    for length in sizes:  # before the rest: it wants the sink elsewhere
        ctx.progress.step(f"generator and sink alone, {length} bytes")
        ctx.memory.alone(length - fcs)
    for one in kinds:
        for length in sizes:
            ctx.progress.step(f"{one.name}, {length} bytes")
            runs = measure(ctx, doc, one, length - fcs)
            if runs:
                made[one.name][length] = [cost for cost, _ in runs]
    made = {name: by for name, by in made.items() if by}
    doc.table("sizes", "Instructions for a forwarded frame by its size, and what a clock of 1 GHz, an "
              "instruction a tick, makes of them",
              ["forwarder", ("frame", "bytes with FCS"), ("median", "instructions"),
               ("least", "instructions"), ("most", "instructions"), ("at 1 GHz", "Mpps")],
              [[name, length, *stats.spread(runs), HZ / stats.median(runs) / 1e6]
               for name, by in made.items() for length, runs in by.items()])
    doc.figure("instructions", "Instructions for a forwarded packet by frame size",
               "frame with FCS [bytes]", LOWER_IS_BETTER,
               [series(name, [stats.point(length, runs) for length, runs in by.items()])
                for name, by in made.items()], y_range=[0, None],
               paper="Varis and Manner", caption="What is copied costs by the byte, what is not does not.")
    for name, by in made.items():
        small, large = (stats.median(by[length]) for length in (min(by), max(by)))
        doc.finding("Gallenmüller et al. 2015, section 4.3, after Rizzo",
                    f"{name}: a frame of {max(by)} bytes costs only a little more than one of {min(by)}",
                    large < small / 0.75, f"{large:.0f} instructions beside {small:.0f}",
                    figure="instructions")
    doc.note("Rates without loss are a lab's and a NIC's to find: here one processor is generator, "
             "forwarder and sink, so the guest gives costs, which no search is needed for.")
