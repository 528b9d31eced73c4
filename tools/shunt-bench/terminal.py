# SPDX-License-Identifier: BSD-2-Clause
"""What a user sees while it runs: where it is and how long it will take, then the tables."""
import sys
import time


def clock(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


class Progress:
    """Steps of an experiment, on standard error: one line that is rewritten on a terminal, a line
    every few seconds elsewhere."""
    EVERY = 10

    def __init__(self, name, is_quiet=False):
        self.name, self.is_quiet = name, is_quiet
        self.is_terminal = sys.stderr.isatty()
        self.total = self.done = 0
        self.started = time.monotonic()
        self.said = 0.0

    def expect(self, steps):
        """So many steps more will come."""
        self.total += steps

    def step(self, what):
        """The next one begins."""
        now = time.monotonic()
        if not self.is_quiet and (self.is_terminal or now - self.said >= self.EVERY):
            self.said = now
            self._say(f"{self.name}: {min(self.done + 1, self.total)} of {self.total}, "
                      f"{self._left(now)}: {what}")
        self.done += 1
        self.total = max(self.total, self.done)

    def say(self, text):
        """A line that is not a step's own."""
        if not self.is_quiet:
            self._say(text)

    def _left(self, now):
        passed = now - self.started
        if self.done < 2:
            return clock(passed)
        return f"{clock(passed)}, some {clock(passed / self.done * (self.total - self.done))} left"

    def _say(self, text):
        if self.is_terminal:
            sys.stderr.write(f"\r\x1b[K{text[:119]}")
        else:
            sys.stderr.write(text + "\n")
        sys.stderr.flush()

    def end(self):
        if self.is_terminal and not self.is_quiet:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def number(value):
    """As many digits as say something."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, float):
        return str(value)
    if value and abs(value) < 0.001:
        return f"{value:.1e}"
    digits = 0 if abs(value) >= 1000 else 1 if abs(value) >= 100 else 2 if abs(value) >= 1 else 3
    return f"{value:.{digits}f}"


def print_table(table, out=sys.stdout):
    heads = [c["name"] + (f" [{c['unit']}]" if c.get("unit") else "") for c in table["columns"]]
    rows = [[number(v) for v in row] for row in table["rows"]]
    widths = [max(len(line[i]) for line in [heads] + rows) for i in range(len(heads))]
    is_text = [all(isinstance(row[i], str) for row in table["rows"]) for i in range(len(heads))]
    print(f"\n{table['title']}", file=out)
    for line in [heads] + rows:
        print("  " + "  ".join(v.ljust(w) if t else v.rjust(w)
                               for v, w, t in zip(line, widths, is_text)).rstrip(), file=out)


def print_document(doc, out=sys.stdout):
    for table in doc["tables"]:
        print_table(table, out)
    if doc["findings"]:
        print("\nWhat the papers found, here:", file=out)
    for finding in doc["findings"]:
        print(f"  [{finding['verdict']}] {finding['claim']} ({finding['paper']}): "
              f"{finding['measured']}", file=out)
    for note in doc["notes"]:
        print(f"\nNote: {note}", file=out)
    if doc["skipped"]:
        print("\nLeft out:", file=out)
    for skipped in doc["skipped"]:
        print(f"  {skipped['what']}: {skipped['why']}", file=out)
    out.flush()
