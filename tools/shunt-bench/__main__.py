# SPDX-License-Identifier: BSD-2-Clause
"""shunt-bench: experiments, as JSON, tables and one HTML report. See shunt-bench(1)."""
import errno
import importlib
import os
import signal
import sys
import time

import arguments
import document
import in_guest
import lab_points
import machine
import markdown
import mem
import options
import paths
import places
import report
import steal
import terminal

# In the order of the report. Each is a module exp_NAME with TITLE, HELP and run(ctx, doc).
EXPERIMENTS = ["compare", "cio", "cache", "batch", "model", "size", "rfc2544", "scale", "idle"]
IN_MEMORY = {"compare", "cio", "cache", "batch", "model", "scale"}
ONLY_IN_MEMORY = {"model"}  # with --ports or without
KINDS = ("lab", "mem", "vm")  # of --ports, where it names no devices
# What `all` runs on, where it is not the lab alone.
ALL_PORTS = {"compare": ("lab", "mem"), "cio": ("mem", "lab"), "cache": ("mem",), "batch": ("mem",),
             "model": ("mem",), "scale": ("mem", "lab")}
# Seconds of an experiment with --short until its searches end, and at least of those to come.
SEARCH_S, SEARCH_LEAST_S = 40, 8
TEN_GIGABIT_PPS = 1e10 / (84 * 8)  # frames of 64 bytes with FCS, preamble and gap


class Refused(Exception):
    """What was asked for cannot be done: one sentence, exit status 1."""


# AssertionError: what the guest's libraries, those of the tests, say when something is not as it should.
FAILURES = (Refused, paths.Missing, mem.Failed, places.Failed, AssertionError)


def module_of(name):
    return importlib.import_module("exp_" + name)


class Context:
    """What an experiment is given."""

    def __init__(self, args, name):
        self.name, self.short = name, args.short
        self.ports = "mem" if name in ONLY_IN_MEMORY else args.ports or "lab"
        in_memory = self.ports == "mem"
        self.runs = args.runs or (1 if self.ports == "vm" else  # the same from run to run
                                  (3 if in_memory else 2) if args.short else 7 if in_memory else 5)
        self.seconds = args.seconds or ((0.05 if args.short else 0.2) if in_memory else
                                        (0.4 if args.short else 2.0))
        self.rate = args.rate or TEN_GIGABIT_PPS
        self.asked_rate = args.rate
        self.batch, self.points = args.batch or 64, args.points
        self.cpus = args.cpu or sorted(os.sched_getaffinity(0), reverse=True)
        self.progress = terminal.Progress(name, args.quiet)
        self.trials = args.trials or (3 if args.short else 7)
        self.precision = args.precision / 100 if args.precision else (0.2 if args.short else 0.03)
        self.only = args.only.split(",") if args.only else []
        # When searches end, whatever they have found; None: when they are done.
        limit = args.search_seconds or (SEARCH_S if args.short else None)
        self.search_end = time.monotonic() + limit if limit else None
        self.search_least = min(SEARCH_LEAST_S, limit or SEARCH_LEAST_S)
        self.place, self.close = None, lambda: None
        if in_memory:
            self.memory = mem.Memory(self.cpus, self.seconds)

    def open_place(self, args):
        """The lab, or the devices, that it is measured on."""
        if self.ports == "mem":
            return
        if self.ports == "vm":
            self._open_guest()
            return
        gen_cpus = args.gen_cpu or [c for c in sorted(os.sched_getaffinity(0))
                                    if c != self.cpus[0]][:1] or self.cpus[:1]
        if self.ports == "lab":
            wide = len(self.cpus) if self.name == "scale" else 1
            self.place = places.Lab(queues=wide, gen_cpus=(gen_cpus * wide)[:wide])
        else:
            self.place = places.Devices(self.ports.split(","), args.gen_ports.split(","), args.gen_via,
                                        gen_cpus)
        self.close = self.place.close
        self.memory = lab_points.Points(self.place, self.cpus, self.seconds)

    def _open_guest(self):
        """The lab of the guest's devices."""
        import guest_points  # pylint: disable=import-outside-toplevel  # there only
        self.place = places.Lab(gen_cpus=self.cpus[:1])
        self.memory = guest_points.Points(self.place)

        def close():
            self.memory.close()
            self.place.close()
        self.close = close

    @staticmethod
    def in_use(doc, shown):
        """Takes down once what modes shuntd's ports are in, as the kernel confirmed them."""
        ports = doc.data["ports"]
        if shown and "driver_mode" not in ports:
            ports["driver_mode"] = "/".join(sorted({p["driver_mode"] for p in shown.values()}))
            ports["copy_mode"] = "/".join(sorted({p["copy_mode"] for p in shown.values()}))

    @staticmethod
    def is_copying(doc):
        return doc.data["ports"].get("copy_mode") == "copy"

    def until(self, left):
        """When the first of so many searches to come is to end; None: when it is done."""
        if not self.search_end:
            return None
        now = time.monotonic()
        return now + max(self.search_end - now, self.search_least) / left

    def thinned(self, values):
        """As many of a sweep's values as --points asks for, evenly, the ends among them."""
        cnt = max(self.points, 2)
        if not self.points or cnt >= len(values):
            return values
        return [values[round(i * (len(values) - 1) / (cnt - 1))] for i in range(cnt)]

    def parameters(self):
        return {"short": self.short, "runs": self.runs, "run_seconds": self.seconds,
                "batch": self.batch, "cpus": self.cpus[:1]}

    def ports_facts(self):
        if self.ports == "vm":
            return {"kind": "vm", "driver": os.environ["VMLAB_DRIVER"], "copy_mode": "zerocopy",
                    "names": list(self.place.devices)}
        return self.place.facts() if self.place else dict(mem.PORTS)


def check_options(names, args):
    """The sentence that refuses an option which says nothing to what was asked for; None."""
    if names[0] in options.NOT_OF:
        return options.of_documents(args, names[0])
    asked = []
    for name in names:
        kinds = (["mem"] if is_in_memory(name, args) else [args.ports] if args.ports else
                 ALL_PORTS.get(name, ("lab",)) if args.is_all else ["lab"])
        asked += [(name, kind if kind in KINDS else "nic") for kind in kinds]
    return options.of_experiments(args, asked)


def is_in_memory(name, args):
    """Whether it runs there whatever --ports says."""
    return name in ONLY_IN_MEMORY and args.ports != "vm"


def check_ports(name, args):
    if name in ONLY_IN_MEMORY and args.ports not in (None, "mem", "vm") and not args.is_all:
        raise Refused(f"{name} runs on in-memory ports alone, not on --ports {args.ports}")
    ports = "mem" if is_in_memory(name, args) else args.ports
    if ports in (None, "lab") or ports == "mem" and name in IN_MEMORY:
        if ports != "mem" and os.geteuid() != 0:
            raise Refused("network namespaces, where it runs, need root; "
                          "in-memory ports do not: --ports mem")
        return
    if ports == "mem":
        raise Refused(f"{name} does not run on in-memory ports, only: {', '.join(sorted(IN_MEMORY))}")
    if ports == "vm":
        why = None if in_guest.is_here() else in_guest.why_not(name, args.driver)
        if why:
            raise Refused(f"--ports vm: {why}")
        return
    if not is_pair(ports):
        raise Refused(f"--ports '{ports}' is none of mem, lab, vm, and no pair of devices as eth1,eth2")
    if not is_pair(args.gen_ports):
        raise Refused("--ports with devices wants --gen-ports too: generator's and sink's device, at "
                      "the other ends of the links")
    both = set(ports.split(",")) & set(args.gen_ports.split(","))
    if both and not args.gen_via:
        raise Refused(f"{', '.join(sorted(both))} cannot be in --ports and --gen-ports: those are the other "
                      "ends of the links")


def is_pair(ports):
    """Whether these are two names, not one twice."""
    names = set((ports or "").split(","))
    return len(names) == 2 and "" not in names and ports.count(",") == 1


def run_here(args, name):
    """Runs an experiment; its document's data."""
    ctx = Context(args, name)
    module = module_of(name)
    company = steal.busy_cpus if ctx.ports != "vm" else lambda: 0  # there instructions are counted
    before = company()
    ctx.open_place(args)
    try:
        doc = document.Document(name, module.TITLE, ctx.ports_facts(), ctx.parameters())
        module.run(ctx, doc)
    finally:
        ctx.progress.end()
        ctx.close()
    ctx.memory.confess(doc)
    steal.confess_company(doc, before, company())
    return doc.data


def run_in_guest(args, names):
    """Experiments, all in one guest; their documents' data, saved."""
    progress = terminal.Progress("vm", args.quiet)
    try:
        docs, failures = in_guest.run(args, names, progress)
    finally:
        progress.end()
    for line in failures:
        print(line, file=sys.stderr)
    args.has_failed = bool(failures)
    return [finish(args, data) for data in docs]


def run_one(args, name):
    """Runs an experiment; its document's data, saved."""
    started = time.monotonic()
    data = run_here(args, name)
    data["seconds"] = round(time.monotonic() - started, 1)
    return finish(args, data)


def finish(args, data):
    """Saves and prints it."""
    try:
        document.save(data, os.path.join(args.out, f"{document.ident(data)}.json"))
    finally:
        print(f"\n=== {data['experiment']}: {data['title']} ({data['seconds']:.0f} s)")
        terminal.print_document(data)
    return data


def run_all(args, names):
    """The experiments asked for, one after the other; `all`, with no ports asked for, runs those that
    can on in-memory ports as well."""
    asked, docs = args.ports, []
    if asked == "vm" and not in_guest.is_here():
        return run_in_guest(args, names)
    for name in names:
        for ports in ALL_PORTS.get(name, ("lab",)) if args.is_all and not asked else (asked,):
            args.ports = ports
            try:
                docs.append(run_one(args, name))
            except FAILURES as error:
                if len(names) == 1 and not docs and (not args.is_all or asked):
                    raise
                # the others are worth having
                print(f"\rshunt-bench: {name}: {error}", file=sys.stderr)
                args.has_failed = True
    args.ports = asked
    if not docs:
        raise Refused("no experiment could be done")
    return docs


def write_report(args, docs):
    path = os.path.join(args.out, "report.html")
    why = "--no-figures" if args.no_figures else report.write(docs, path)
    if args.no_figures:
        print(f"\nwritten to {args.out}: JSON documents")
        return
    if why:
        print(f"shunt-bench: {why}", file=sys.stderr)
    print(f"\nwritten to {path}{' without figures' if why else ''}")


def load_all(names):
    """The documents of files, in the order of the report; what was asked for is names[0]."""
    if len(names) == 1:
        raise Refused(f"{names[0]} needs JSON documents of shunt-bench, as shunt-report/*.json")
    docs = [document.load(path) for path in names[1:]]
    order = {name: i for i, name in enumerate(EXPERIMENTS)}
    return sorted(docs, key=lambda d: order.get(d["experiment"], len(order)))


def make_folder(path):
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise Refused(f"cannot make the folder {path}: {error.strerror}") from error
    if not os.access(path, os.W_OK):
        raise Refused(f"cannot write to the folder {path}")


def main():
    if sys.argv[1:] in (["-V"], ["--version"]):
        print("shunt-bench", machine.versions().get("shunt", "unknown"))
        return 0
    args = arguments.parser({name: module_of(name).HELP for name in EXPERIMENTS}).parse_args()
    names, docs = args.names, []
    args.has_failed = False
    args.is_all = names == ["all"]
    if names[0] not in ("report", "table"):
        if args.is_all:
            names = [n for n in EXPERIMENTS if args.ports != "vm" or not in_guest.cannot(n, args.driver)]
        for name in names:
            if name in ("all", "report", "table"):
                print(f"shunt-bench: '{name}' stands {'alone' if name == 'all' else 'first'}, not beside "
                      f"{'experiments' if name == 'all' else names[0]}", file=sys.stderr)
                return 2
            if name not in EXPERIMENTS:
                print(f"shunt-bench: no experiment is called '{name}', only: "
                      f"{', '.join(EXPERIMENTS)}, all, report, table", file=sys.stderr)
                return 2
            if names.count(name) > 1:
                print(f"shunt-bench: {name} is asked for twice", file=sys.stderr)
                return 2
            check_ports(name, args)
    said = check_options(names, args)
    if said:
        print(f"shunt-bench: {said}", file=sys.stderr)
        return 2
    if names[0] == "table":
        print(markdown.text(load_all(names)))
        return 0
    args.out = args.out or "shunt-report"
    make_folder(args.out)
    if names[0] == "report":
        docs = load_all(names)
    else:
        docs = run_all(args, names)
    write_report(args, docs)
    return 1 if args.has_failed else 0


def interrupt(number_, _):
    raise KeyboardInterrupt(number_)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, interrupt)
    signal.signal(signal.SIGHUP, interrupt)
    try:
        sys.exit(main())
    except (*FAILURES, ValueError) as refusal:
        print(f"\rshunt-bench: {refusal}", file=sys.stderr)
        sys.exit(1)
    except OSError as refusal:
        if refusal.filename or refusal.errno not in (errno.ENOSPC, errno.EPIPE):
            raise
        print(f"\rshunt-bench: cannot write to standard output: {refusal.strerror}", file=sys.stderr)
        os._exit(1)  # what is left in its buffer would be tried again
    except KeyboardInterrupt as end:
        print("\nshunt-bench: interrupted", file=sys.stderr)
        sys.exit(128 + (end.args[0] if end.args else signal.SIGINT))
