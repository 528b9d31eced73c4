# SPDX-License-Identifier: BSD-2-Clause
"""What a hypervisor takes of this machine's CPUs while something is measured: that is measured again."""
import os
import time

from document import VERDICTS

# CPUs, on average over a measurement: where more were stolen it is done again, so often at most, and so
# long altogether.
STOLEN_MAX = 0.1
AGAIN = 3
PATIENCE_S = 25
UNDECIDED = VERDICTS[None]


def stolen_seconds():
    """Seconds that CPUs of this machine waited for the hypervisor, of all together."""
    with open("/proc/stat", encoding="ascii") as stat:
        return int(stat.readline().split()[8]) / os.sysconf("SC_CLK_TCK")


class Repeats:
    """Measures, again where that was disturbed, and counts."""

    def __init__(self):
        self.measured = self.disturbed = 0
        self._spent_s = 0

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
            if self._spent_s >= PATIENCE_S:
                break
            self._spent_s += passed
        self.disturbed += 1
        return best

    def confess(self, doc):
        """Says in the document what that did to the figures."""
        if self.disturbed:
            doc.note(f"In {self.disturbed} of {self.measured} measurements a hypervisor took more than "
                     f"{100 * STOLEN_MAX:.0f} % of a CPU away, also when repeated: those read too slow.")
        if 2 * self.disturbed > self.measured:
            for finding in doc.data["findings"]:
                finding["verdict"] = UNDECIDED
            doc.note("That is most of them: no verdict is given.")
