# SPDX-License-Identifier: BSD-2-Clause
"""Why a port has its lane, by name."""

# A part of the sentence that `show lanes` has for it, the first that fits.
SENTENCES = {
    "set by shuntctl": "set",
    "gets them by a veth pair": "detour",
    "not all of the ports are network devices": "no_device",
    "nodes are configured": "nodes",
    "all of the drivers claim zero-copy": "zerocopy_claimed",
    "the kernel granted zero-copy": "zerocopy",
    "before Linux 6.9": "old_generic",
    "TCP in bulk": "bulk",
    "there is no other port": "alone",
    "a device of that name is there": "no_detour",
    "and the kernel knows nothing of": "kernel_cannot",
    "the kernel forwards nothing between these ports": "asked_in_vain",
    "so what goes there is the kernel's": "asked_partly",
    "which only the kernel's bridge minds": "bridge",
    "routing rules (ip rule)": "ip_rules",
    "it still has the program": "gone_with_program",
    "a device that takes its place": "gone",
    "somebody took the steering program off": "taken_off",
    "another's XDP program": "anothers_program",
    "could not return": "refused",
    " is gone": "far_gone",
    "take no frames from XDP": "far_takes_none",
    "takes no frames from XDP": "far_takes_none",
    "frames from XDP": "far_takes",
    "asked for": "asked",
}


def lane_reason(daemon, port="eth1"):
    """The name of the reason for which a port of a daemon has its lane."""
    row = daemon.lane(port)
    if "reason" in row:
        return row["reason"]
    names = [name for part, name in SENTENCES.items() if part in row["why"]]
    assert names, row
    return names[0]
