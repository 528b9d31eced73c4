# SPDX-License-Identifier: BSD-2-Clause
"""The modes that join two ports: the arguments that start them, and what leaves for what came in."""
from shuntlab.frames import DUT1, DUT2, GEN, SINK, rewritten, routed

# Where shuntd sends what it routes: not to SINK, so that the kernel's routing is told from ours.
HOP1, HOP2 = "02:00:00:00:0a:01", "02:00:00:00:0a:02"
PAIRS = {
    "xconnect": ("xconnect", "eth1", "eth2"),
    "macrewrite": ("macrewrite", f"eth1,next_hop={HOP1}", f"eth2,next_hop={HOP2}"),
    "static3": ("static3", f"eth1,next_hop={HOP1}", f"eth2,next_hop={HOP2}"),
}
# To the lab's own hosts, as the kernel would.
STATIC3 = ("static3", f"eth1,next_hop={GEN}", f"eth2,next_hop={SINK}")
MACREWRITE = ("macrewrite", *STATIC3[1:])
POLLING = ["spin", "busy", "adaptive", "interrupt"]


def _leaves(mode, frame, hop, port):
    return {"xconnect": lambda f: f, "macrewrite": lambda f: rewritten(f, hop, port),
            "static3": lambda f: routed(f, hop, port)}[mode](frame)


def there(mode, frame):
    """What leaves eth2 for what came in on eth1."""
    return _leaves(mode, frame, HOP2, DUT2)


def here(mode, frame):
    """What leaves eth1 for what came in on eth2."""
    return _leaves(mode, frame, HOP1, DUT1)


def to_dut(mode):
    """A routed frame goes to the port's own MAC, a bridged one to the host behind it."""
    return DUT1 if mode == "static3" else SINK
