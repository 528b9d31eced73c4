# SPDX-License-Identifier: BSD-2-Clause
"""The command line of shunt-bench."""
import argparse
import os

import in_guest


def number(low, high, kind=float):
    def parse(word):
        scale = {"k": 1e3, "M": 1e6, "G": 1e9}.get(word[-1:], 1)
        try:
            value = float(word[:-1] if scale != 1 else word) * scale
        except ValueError:
            value = None
        if value is None or not low <= value <= high:
            raise argparse.ArgumentTypeError(f"'{word}' is not a number from {low:g} to {high:g}")
        if kind(value) != value:
            raise argparse.ArgumentTypeError(f"'{word}' is not a whole number")
        return kind(value)
    return parse


def odd(low, high):
    def parse(word):
        value = number(low, high, int)(word)
        if value % 2 == 0:
            raise argparse.ArgumentTypeError(f"'{word}' is even, and more than half of the trials decide")
        return value
    return parse


def cpu_list(word):
    try:
        cpus = [int(c) for c in word.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{word}' is not a list of CPUs such as 1 or 2,3") from None
    there = os.sched_getaffinity(0)
    for cpu in cpus:
        if cpu not in there:
            raise argparse.ArgumentTypeError(
                f"CPU {cpu} is not there, only {','.join(map(str, sorted(there)))}")
    return cpus


class Parser(argparse.ArgumentParser):
    """Says in one line what is wrong, as the other programs do."""

    def error(self, message):
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def parser(experiments):
    """Of the command line. experiments: their help by name."""
    helps = "\n".join(f"  {name:<8} {text}" for name, text in experiments.items())
    made = Parser(
        prog="shunt-bench", formatter_class=argparse.RawDescriptionHelpFormatter, add_help=False,
        usage="shunt-bench [OPTIONS] EXPERIMENT...|all\n       shunt-bench [OPTIONS] report FILE.json...\n"
              "       shunt-bench table FILE.json...",
        description="Measures forwarders, and writes JSON, tables, figures and one HTML report.\n"
                    "Defaults are in parentheses.\n\n"
                    f"experiments:\n{helps}\n  all      all of them\n"
                    "  report   draw the report of JSON documents\n"
                    "  table    print their main tables and findings as Markdown",
        epilog="examples:\n  shunt-bench --short compare\n  shunt-bench --ports mem cio cache batch\n"
               "  shunt-bench report shunt-report/*.json\n\n"
               "Exit status: 0 done, 1 failed, 2 wrong usage. See shunt-bench(1).")
    made.add_argument("names", nargs="+", metavar="EXPERIMENT", help=argparse.SUPPRESS)
    where = made.add_argument_group("where")
    where.add_argument("-p", "--ports", metavar="WHERE",
                       help="lab: network namespaces; mem: in-memory ports; vm: zero-copy in a guest, "
                            "instructions for cycles; or two devices of this machine, as eth1,eth2 (lab)")
    where.add_argument("--driver", choices=in_guest.DRIVERS, help="vm: the guest's devices (igb)")
    where.add_argument("--gen-ports", metavar="DEV,DEV",
                       help="with devices: those of generator and sink, at the other ends; also "
                            "NAMESPACE/DEV")
    where.add_argument("--gen-via", metavar="COMMAND",
                       help="with devices: what reaches the generator's machine, as 'ssh root@gen'")
    where.add_argument("--gen-cpu", type=cpu_list, metavar="LIST",
                       help="CPUs of the generator (the first that no worker has)")
    where.add_argument("--cpu", type=cpu_list, metavar="LIST", help="CPUs of the workers (the last ones)")
    how = made.add_argument_group("how much")
    how.add_argument("-s", "--short", action="store_true",
                     help="fewer points, fewer and shorter runs: for a first look")
    how.add_argument("-r", "--runs", type=number(1, 1000, int), metavar="N",
                     help="runs of every point (in memory 7, elsewhere 5, vm 1; with --short 3, 2, 1)")
    how.add_argument("-t", "--seconds", type=number(0.01, 3600), metavar="S",
                     help="seconds of a run or trial (in memory 0.2, elsewhere 2; with --short 0.05, 0.4)")
    how.add_argument("--points", type=number(2, 200, int), default=0, metavar="N",
                     help="points of a sweep (by experiment)")
    how.add_argument("--only", metavar="WORD[,WORD...]",
                     help="compare: forwarders with one of these words in their names (all)")
    how.add_argument("-b", "--batch", type=number(1, 256, int), metavar="N",
                     help="packets of a batch, where it does not vary (64)")
    how.add_argument("--rate", type=number(1000, 1e10), metavar="PPS",
                     help="packets a second of the link, with k, M or G (cio, batch: in memory 14.88M, "
                          "else half of what is forwarded; cache, scale: what can be sent)")
    search = made.add_argument_group("searches for a rate")
    search.add_argument("--trials", type=odd(1, 99), metavar="N",
                        help="most trials at one rate, odd (7; with --short 3)")
    search.add_argument("--precision", type=number(0.1, 50), metavar="PERCENT",
                        help="how close to come, in per cent (3; with --short 20)")
    search.add_argument("--search-seconds", type=number(0.1, 1e6), metavar="S",
                        help="seconds after which an experiment's searches end (no limit; with --short 40)")
    output = made.add_argument_group("output")
    output.add_argument("-o", "--out", metavar="DIR",
                        help="folder of report.html, JSON and figures (shunt-report)")
    output.add_argument("--no-figures", action="store_true", help="JSON and tables only")
    output.add_argument("-q", "--quiet", action="store_true", help="no progress")
    output.add_argument("-V", "--version", action="store_true", help="print the version")
    output.add_argument("-h", "--help", action="help", help="print this")
    return made
