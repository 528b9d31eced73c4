# SPDX-License-Identifier: BSD-2-Clause
"""What is left to a running shuntd, and that it works with that."""
import os

from shuntlab.process import arguments, threads

NET_ADMIN = 1 << 12
BPF = 1 << 39
# What the helper keeps: for captures it loads programs.
CAPTURES = NET_ADMIN | BPF | 1 << 38
DAC_OVERRIDE = 1 << 1
# Under libxdp's dispatcher: CAP_SYS_ADMIN and CAP_PERFMON too.
DISPATCHER = NET_ADMIN | BPF | 1 << 21 | 1 << 38
HELPER = "shunt-helper"


def check_status(fields, uid, caps):
    """One thread's, by the fields of its /proc/PID/status."""
    assert (int(fields["CapEff"], 16), int(fields["CapPrm"], 16)) == (caps, caps), fields
    for empty in ["CapBnd", "CapInh", "CapAmb"]:
        assert int(fields[empty], 16) == 0, fields
    assert (fields["NoNewPrivs"], fields["Seccomp"]) == ("1", "2"), fields
    assert fields["Uid"].split() == [str(uid)] * 4, fields


def helpers(pid):
    """The processes of a daemon that are its helper: one, in a daemon that is well."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        children = file.read().split()
    return [int(child) for child in children if HELPER in threads(child)]


def check_helper(pid, uid, caps=CAPTURES):
    """The daemon's helper: its rights, its name in ps, and that it has no socket but one and no packets."""
    (helper,) = helpers(pid)
    found = threads(helper)
    assert set(found) == {HELPER}
    check_status(found[HELPER], uid, caps)
    assert arguments(helper) == [HELPER]
    links = [os.readlink(f"/proc/{helper}/fd/{fd}") for fd in os.listdir(f"/proc/{helper}/fd")]
    assert sum(link.startswith("socket:") for link in links) == 1, links
    assert not any(link.startswith(("pipe:", "anon_inode:[")) for link in links), links
    with open(f"/proc/{helper}/maps", encoding="ascii") as maps:
        assert not any("anon_inode:[xdp" in line or "socket:" in line for line in maps)
    return helper


def check_rights(pid, uid, caps=0, worker_caps=0, helper_caps=CAPTURES):
    """A daemon's, of its worker and its helper. Returns the helper's number."""
    found = threads(pid)
    assert set(found) - {"shunt-follow"} == {"shuntd", "shunt-w0"}
    for name, fields in found.items():
        check_status(fields, uid, worker_caps if name == "shunt-w0" else caps)
    # The workers' filter comes on top of the control thread's.
    assert int(found["shunt-w0"]["Seccomp_filters"]) > int(found["shuntd"]["Seccomp_filters"])
    return check_helper(pid, uid, helper_caps)


def check_at_work(lab, daemon, frame, leaves=None):
    """It forwards and answers under its filters."""
    lab.crosses(frame, leaves)
    for name in ["ports", "workers", "runtime", "drops", "ledger", "rules", "nodes", "config"]:
        assert daemon.show(name)
    assert daemon.port()["in_use"]["driver_mode"] == "native"
