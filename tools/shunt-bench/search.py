# SPDX-License-Identifier: BSD-2-Clause
"""The highest rate with so little loss, on a machine that is not quiet. One trial proves little there:
a frame lost to an interrupt says nothing of the forwarder, and a lucky trial too much. So a rate is
tried several times and passes when more than half of its trials do; trials end early once that is
decided. With it come the trials made, and how sure it is: 1 less the probability that a rate which
passes half of the time would look like this. All trials are kept; NDR and PDR share them."""
import math
import time

# From rate to rate until the one sought is between two: the first step, and the largest.
STEP, STEP_MAX = 1.3, 4.0
# Of what a generator reached that was asked for more: what it can surely hold.
SLOWER = 0.9


def confidence(good, cnt):
    """1 - P(so many good ones or more | one in two is good), or the same of bad ones for a rate that
    failed."""
    best = max(good, cnt - good)
    return 1 - sum(math.comb(cnt, k) for k in range(best, cnt + 1)) / 2 ** cnt


class Search:
    """trial(pps) makes one trial and returns {loss, confirmed_pps, held: whether it was sent at that
    rate}. trials: an odd number, the most at one rate."""

    def __init__(self, trial, trials=5, precision=0.03, until=None, line=math.inf):
        """until: time.monotonic() at which a search ends with what it has found, and one that has found
        nothing goes down in the largest steps; line: the rate that the generator's line carries, above
        which none is tried."""
        self.trial, self.trials, self.precision, self.line = trial, trials, precision, line
        self.until = until or math.inf
        self.made = {}  # rate: [trial]

    def _passes(self, rate, limit):
        """The rate's verdict, with as few new trials as decide it: {rate, passes, good, trials, sent,
        reached: of what was missed, what the generator's device confirmed at most}. A trial in which the
        generator missed the rate says nothing of the forwarder: it is made again, and a rate that cannot
        be sent has not passed (sent is False)."""
        made = self.made.setdefault(rate, [])
        while True:
            held = [t for t in made if t["held"]]
            good = sum(t["loss"] <= limit for t in held)
            bad = len(held) - good
            missed = len(made) - len(held)
            if 2 * good > self.trials or 2 * bad > self.trials or len(held) >= self.trials or \
                    2 * missed > self.trials:
                sent = 2 * missed <= self.trials
                return {"rate": rate, "passes": sent and good > bad, "good": good,
                        "trials": len(held), "sent": sent,
                        "reached": max((t["confirmed_pps"] for t in made if not t["held"]), default=0)}
            made.append(self.trial(rate))

    def find(self, limit, start, high):
        """The highest rate up to high whose loss is limit at most: a dict with rate (0.0: none was
        found down to a 64th of start), failing (the lowest rate above it that failed; None when high
        passed), by_generator (that one could not be sent), trials, good, confidence, is_cut (time was
        up before the precision was reached). In steps from start until one rate passes and another does
        not, then by halving what is between them down to the precision."""
        high = min(high, self.line)
        best, failing, rate, step = None, None, min(start, high), STEP
        while rate and (time.monotonic() < self.until or not best):
            one = self._passes(rate, limit)
            if one["passes"]:
                best = one
            else:
                failing = one
            rate = self._next(best, failing, start, high,
                              step if time.monotonic() < self.until else STEP_MAX)
            # the further away it is, the larger the steps
            step = min(step * STEP, STEP_MAX)
        return {**self._result(best, failing), "is_cut": bool(rate)}

    def _next(self, best, failing, start, high, step):
        """The rate to try next; None when it is decided."""
        if not best:
            rate = failing["rate"] / step
            if not failing["sent"]:  # what could be sent then is nearer than many a step
                rate = min(rate, max(SLOWER * failing["reached"], rate / STEP_MAX))
            return self._near(rate, 0, failing["rate"]) if rate >= start / 64 else None
        if not failing:
            return min(best["rate"] * step, high) if best["rate"] < high else None
        if failing["rate"] / best["rate"] - 1 <= self.precision:
            return None
        return self._near(math.sqrt(best["rate"] * failing["rate"]), best["rate"], failing["rate"])

    def _near(self, rate, low, high):
        """A rate that was tried already, rather than a new one just beside it."""
        tried = [r for r in self.made if low < r < high and abs(r / rate - 1) < self.precision]
        return min(tried, key=lambda r: abs(r / rate - 1)) if tried else rate

    def _result(self, best, failing):
        """rate is what the generator's device confirmed at the rate found."""
        sure = [confidence(x["good"], x["trials"]) for x in (best, failing) if x and x["sent"]]
        return {"rate": self.confirmed(best["rate"]) if best else 0.0,
                "failing": failing["rate"] if failing else None,
                "by_generator": bool(failing and not failing["sent"]),
                "good": best["good"] if best else 0,
                "trials": best["trials"] if best else failing["trials"],
                "failing_trials": failing["trials"] if failing else 0,
                "confidence": min(sure) if best and sure else None}

    def confirmed(self, rate):
        """What the generator's device confirmed of the trials that held a rate, median; no more than its
        line carries, however short the clock found the trial."""
        made = sorted(t["confirmed_pps"] for t in self.made[rate] if t["held"])
        return min(made[len(made) // 2], self.line)

    def both(self, loss, top):
        """(NDR, PDR) of what forwards so much of a flood: without loss, and with that much. Of a flood
        it may forward less than without one."""
        pdr = self.find(loss, 0.9 * top, 2 * top)
        if not pdr["rate"] and time.monotonic() >= self.until:
            return pdr, pdr
        ndr = self.find(0.0, 0.9 * (pdr["rate"] or 0.1 * top), pdr["rate"] or top)
        # A generator that was away may have missed the one and not the other.
        return ndr, max(pdr, ndr, key=lambda found: found["rate"])

    def count(self):
        return sum(map(len, self.made.values()))
