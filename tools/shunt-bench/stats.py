# SPDX-License-Identifier: BSD-2-Clause
"""What runs say together: medians with their spread, and how sure a yes or no is."""
import statistics


def median(values):
    return statistics.median(values)


def spread(values):
    """(median, least, most)"""
    return statistics.median(values), min(values), max(values)


def percent(share):
    """Of a share; None of what was not measured."""
    return None if share is None else 100 * share


def point(x, values):
    """One point of a figure: x, median, least, most."""
    return [x, *spread(values)]


def offered(runs):
    """Packets a second that were offered in the runs of a point, median: those that the generator made, or
    that came to the ring in memory."""
    return median([r["offered_pps"] if "offered_pps" in r else r["arrived"] / r["seconds"] for r in runs])


def median_interval(cnt):
    """How sure it is that the true median lies between the least and the most of so many runs: only
    all runs on one side of it would make it lie outside."""
    return 1 - 2 * 0.5 ** cnt


def quantile(buckets, share):
    """The floor of the bucket [floor, count] that holds that quantile; 0 without any."""
    total = sum(count for _, count in buckets)
    seen = 0
    for floor, count in buckets:
        seen += count
        if count and seen >= share * total:
            return floor
    return 0


def mean_batch(batches):
    """The mean size of [size, receives] pairs, over receives; 0 without any."""
    receives = sum(n for _, n in batches)
    return sum(size * n for size, n in batches) / receives if receives else 0.0
