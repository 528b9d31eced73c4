# SPDX-License-Identifier: BSD-2-Clause
"""How long after a rule is loaded a packet that it drops may still pass; and what every shuntd of this kernel
would mind, so that no other may run."""
import socket
import time

from shuntlab import bpf
from shuntlab.frames import DUT2, udp4
from shuntlab.lab import wait_until
from shuntlab.shuntd import Watched
from shuntlab.stream import Stream
from shuntlab.wire import inside

DROP = "add table inet f; add chain inet f f { type filter hook forward priority 0; }; " \
       "add rule inet f f udp dport 4444 drop"
NF_INET_FORWARD = 2
SOON_MS = 100
SPAN_S = 0.5  # in which frames may still pass


def test_a_rule_holds_soon_after_it_is_loaded(lab, each_lane):
    """From the kernel's acknowledgement to the last frame that passes all the same, at 3,000 frames a
    second beside 100,000 the other way."""
    passed_ms = []
    with Watched(lab, "route", "eth1", "eth2", chatty=True, check=False) as daemon, \
            Stream(lab, 3000, lambda **more: udp4(dport=4444, **more)) as stream:
        load = lab.popen("sink", "shunt-gen", "send", "eth1", "--rate", "100k", "--duration", "30",
                         "--dst-mac", DUT2, "--dst-ip", "10.0.1.2", "--src-ip", "10.0.2.2")
        for _ in range(9):
            wait_until(lambda: stream.latest_arrival_ns() > time.time_ns() - 20_000_000, 10, "frames")
            lab.exec("dut", "nft", DROP)
            loaded = time.time_ns()
            time.sleep(SPAN_S)
            passed_ms.append(max(0, stream.latest_arrival_ns() - loaded) / 1e6)
            assert daemon.lane()["reason"] == "firewall"
            lab.exec("dut", "nft", "flush", "ruleset")
            wait_until(lambda: daemon.lane()["in_use"] == each_lane, 5, "shunt's turn")
        load.terminate()
        load.communicate(timeout=30)
    print(f"frames passed until, in ms after the rule was loaded: {sorted(passed_ms)}")
    assert max(passed_ms) < SOON_MS, passed_ms


def test_a_program_on_a_hook(lab):
    """It is there before: a kernel that does not list its hooks does not tell of a later one. A link of
    BPF on a hook does not say its network namespace."""
    with inside(f"/run/netns/{lab.netns('dut')}"):
        link = bpf.link_netfilter(socket.AF_INET, NF_INET_FORWARD)
    try:
        with Watched(lab, "route", "eth1", "eth2", chatty=True, check=False) as daemon:
            assert {(row["reason"], row["in_use"]) for row in daemon.show("lanes")["lanes"]} == \
                {("firewall", "kernel")}
    finally:
        bpf.unlink(link)
