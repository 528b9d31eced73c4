# SPDX-License-Identifier: BSD-2-Clause
"""Nodes that a configuration puts in front of a mode: they see every packet first."""
import pytest

from shuntlab.frames import DUT1, SINK, routed, udp4
from shuntlab.shuntd import Shuntd


@pytest.mark.parametrize("mode", ["xconnect", "route"])
def test_discard(lab, mode):
    dst = SINK if mode == "xconnect" else DUT1
    gen, sink = lab.ends()
    with Shuntd(lab, mode, "eth1", "eth2", "--node", "discard", "--node", "discard") as shuntd:
        marker = udp4(dport=10, eth_dst=dst)
        gen.send(*[udp4(dport=9, eth_dst=dst)] * 3, marker)
        arrives = marker if mode == "xconnect" else routed(marker)
        assert [f for f in sink.until(arrives) if f[36:38] == b"\0\x09"] == []
        assert shuntd.drops("graph")["discarded"] == 3
        nodes = [n["name"] for n in shuntd.show("nodes")["nodes"]]
        assert nodes[:2] == ["discard", "discard"]


def test_emulate(lab):
    """The emulated task is c_task: what the worker counts for it is no less than was asked for."""
    gen, sink = lab.ends()
    with Shuntd(lab, "xconnect", "eth1", "eth2", "--node", "emulate,cycles=20000") as shuntd:
        frame = udp4(dport=10, eth_dst=SINK)
        for _ in range(40):  # one at a time: a turn each, and one turn in 32 is timed
            gen.send(frame)
            sink.until(frame)
        node = next(n for n in shuntd.show("runtime")["workers"][0]["nodes"]
                    if n["name"] == "emulate")
        assert node["sampled_packets"] >= 1
        assert node["cycles_per_packet"] >= 19000, node
