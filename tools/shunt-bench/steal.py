# SPDX-License-Identifier: BSD-2-Clause
"""What a hypervisor takes of this machine's CPUs while something is measured: that is measured again. And
what other programs took of them before and after."""
import os
import time

# CPUs, on average over a measurement: where more were stolen it is done again, so often at most, and so
# long altogether.
STOLEN_MAX = 0.1
AGAIN = 3
PATIENCE_S = 25
# CPUs that others may use when an experiment begins and when it is over; how long it is looked at; which
# columns of /proc/stat: user, nice, system, irq, softirq.
BUSY_MAX = 0.5
LOOK_S = 0.5
BUSY = (1, 2, 3, 6, 7)


def cpu_seconds(*columns):
    """Seconds of all CPUs of this machine together, of these columns of /proc/stat."""
    with open("/proc/stat", encoding="ascii") as stat:
        words = stat.readline().split()
    return sum(int(words[c]) for c in columns) / os.sysconf("SC_CLK_TCK")


def stolen_seconds():
    """Seconds that CPUs waited for the hypervisor."""
    return cpu_seconds(8)


def busy_cpus():
    """How many CPUs something uses, now that nothing of an experiment runs."""
    before, start = cpu_seconds(*BUSY), time.monotonic()
    time.sleep(LOOK_S)
    return (cpu_seconds(*BUSY) - before) / (time.monotonic() - start)


def confess_company(doc, before, after):
    """Notes in the document that other programs ran when it began, or when it was over."""
    when, cpus = ("began", before) if before > BUSY_MAX else ("was over", after)
    if cpus > BUSY_MAX:
        doc.withhold(f"When it {when}, other programs used {cpus:.1f} of the {os.cpu_count()} CPUs, and "
                     "what wants them reads too slow")


class Repeats:
    """Measures, again where that was disturbed, and counts."""

    def __init__(self):
        self.measured = self.disturbed = 0
        self._left_s = PATIENCE_S

    def least_disturbed(self, measure, shows=lambda made: True):
        """What measure() returns, of several the one with the least stolen. shows(made) says whether
        a theft can have changed it."""
        self.measured += 1
        best, least = None, None
        for _ in range(AGAIN):
            stolen, start = stolen_seconds(), time.monotonic()
            made = measure()
            passed = time.monotonic() - start
            share = (stolen_seconds() - stolen) / passed
            if least is None or share < least:
                best, least = made, share
            if least <= STOLEN_MAX or not shows(best):
                return best
            if self._left_s <= 0:
                break
            self._left_s -= passed
        self.disturbed += 1
        return best

    def confess(self, doc):
        """Says in the document what that did to the figures."""
        if self.disturbed:
            doc.note(f"In {self.disturbed} of {self.measured} measurements a hypervisor took more than "
                     f"{100 * STOLEN_MAX:.0f} % of a CPU away, also when repeated: those read too slow.")
        if 2 * self.disturbed > self.measured:
            doc.withhold("That is most of them")
