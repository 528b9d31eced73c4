# SPDX-License-Identifier: BSD-2-Clause
"""What is left to a running shuntd, and that it works with that."""
from shuntlab.process import threads

NET_ADMIN = 1 << 12


def check_rights(pid, uid, worker_caps=0):
    found = threads(pid)
    assert set(found) - {"shunt-follow"} == {"shuntd", "shunt-w0"}
    for name, fields in found.items():
        caps = worker_caps if name == "shunt-w0" else NET_ADMIN
        assert (int(fields["CapEff"], 16), int(fields["CapPrm"], 16)) == (caps, caps), fields
        for empty in ["CapBnd", "CapInh", "CapAmb"]:
            assert int(fields[empty], 16) == 0, fields
        assert (fields["NoNewPrivs"], fields["Seccomp"]) == ("1", "2"), fields
        assert fields["Uid"].split() == [str(uid)] * 4, fields
    # The workers' filter comes on top of the control thread's.
    assert int(found["shunt-w0"]["Seccomp_filters"]) > int(found["shuntd"]["Seccomp_filters"])


def check_at_work(lab, daemon, frame, leaves=None):
    """It forwards and answers under its filters."""
    lab.crosses(frame, leaves)
    for name in ["ports", "workers", "runtime", "drops", "ledger", "rules", "nodes", "config"]:
        assert daemon.show(name)
    assert daemon.port()["in_use"]["driver_mode"] == "native"
