# SPDX-License-Identifier: BSD-2-Clause
"""Which experiments use which options, and on which ports. An option that none of those asked for uses
is refused, not ignored."""

ON_LINES = ("lab", "nic")  # where shunt-gen makes the traffic, but for two experiments in the guest
BY_GENERATOR = ("rfc2544", "idle")
SWEEPS = ("cio", "cache", "batch", "model", "size", "rfc2544", "idle")
SEARCHES = "searches: compare, size and rfc2544, not in memory, with vm rfc2544 alone"


def is_driven(name, ports):
    """Whether shunt-gen sends for so many seconds."""
    return ports in ON_LINES or name in BY_GENERATOR


def searches(name, ports):
    return name in ("compare", "size", "rfc2544") and ports != "mem" and is_driven(name, ports)


def has_rate(name, ports):
    return name in ("cio", "batch", "cache") and ports != "vm" or name == "scale" and ports in ON_LINES


# Option: whether an experiment on such ports uses it, and which ones do.
USES = {
    "gen_ports": (lambda name, ports: ports == "nic", "two devices given to --ports"),
    "gen_via": (lambda name, ports: ports == "nic", "two devices given to --ports"),
    "gen_cpu": (lambda name, ports: ports in ON_LINES, "a lab and two devices"),
    "driver": (lambda name, ports: ports == "vm", "--ports vm"),
    "cpu": (lambda name, ports: ports != "vm", "other ports than vm, which has one"),
    "seconds": (lambda name, ports: ports == "mem" or is_driven(name, ports),
                "other ports than vm, and there for rfc2544 and idle"),
    "rate": (has_rate, "cio, cache and batch on other ports than vm, and scale in a lab or on devices"),
    "batch": (lambda name, ports: name not in ("batch", "model"), "other experiments than batch and model"),
    "trials": (searches, SEARCHES),
    "precision": (searches, SEARCHES),
    "search_seconds": (searches, SEARCHES),
    "only": (lambda name, ports: name == "compare" and ports != "mem", "compare, but not in memory"),
    "points": (lambda name, ports: name in SWEEPS, "sweeps: " + ", ".join(SWEEPS)),
}
MEASURING = [*USES, "ports", "short", "runs"]  # report and table measure nothing
NOT_OF = {"report": [*MEASURING, "no_figures"], "table": [*MEASURING, "no_figures", "out"]}


def flag(option):
    return "--" + option.replace("_", "-")


def of_documents(args, command):
    """None, or the sentence that refuses an option of report or table."""
    for option in NOT_OF[command]:
        if getattr(args, option):
            return f"{flag(option)} says nothing to {command}, which takes documents that there are"
    return None


def of_experiments(args, asked):
    """None, or the sentence that refuses an option. asked: pairs of experiment and kind of ports."""
    names = ", ".join(dict.fromkeys(name for name, _ in asked))
    for option, (is_used, users) in USES.items():
        if getattr(args, option) and not any(is_used(name, ports) for name, ports in asked):
            return f"{flag(option)} says nothing to {names} here: it is for {users}"
    return None
