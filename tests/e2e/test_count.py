# SPDX-License-Identifier: BSD-2-Clause
"""What `count` counts: rules."""
import pytest

from shuntlab.frames import routed, udp4
from shuntlab.lab import wait_until
from shuntlab.shuntd import Shuntd

RULES = ["proto udp dport 5001 lane drop", "proto udp dport 5002-5009 lane auto", "ipv6 lane kernel"]
FILE = """
ports: [{{name: eth1}}, {{name: eth2}}]
forward: [{{mode: route, lane: {lane}, ports: [eth1, eth2]}}]
rules: {rules}
count: true
"""


def counts(daemon):
    return [(row["packets"], row["bytes"]) for row in daemon.show("rules")["rules"]]


def rule_metrics(daemon):
    lines = daemon.ctl("metrics").stdout.splitlines()
    return [line for line in lines if line.startswith("shunt_rule_")]


def passed(gen, sink, *frames):
    """Frames, and one that leaves behind all of them: whatever the others came to is counted then."""
    gen.send(*frames)
    last = udp4(dport=9999)
    gen.reaches(sink, last, routed(last))


@pytest.mark.parametrize("lane", ["user", "xdp"])
def test_rules(lab, tmp_path, lane):
    gen, sink = lab.ends()
    path = tmp_path / "shuntd.yaml"

    def write(rules):
        path.write_text(FILE.format(lane=lane, rules="[" + ", ".join(f'"{r}"' for r in rules) + "]"))

    def have(rules):
        write(rules)
        assert daemon.ctl("reload").returncode == 0

    size = len(udp4())
    drop, auto = udp4(dport=5001), udp4(dport=5002)
    write(RULES)
    with Shuntd(lab, "-c", path, chatty=True) as daemon:
        gen.reaches(sink, udp4(), routed(udp4()))
        passed(gen, sink, drop, drop, auto)
        wait_until(lambda: counts(daemon)[1][0] == 1)
        assert counts(daemon)[:2] == [(2, 2 * size), (1, size)]
        assert f'shunt_rule_packets_total{{order="1",rule="{RULES[0]}"}} 2' in rule_metrics(daemon)
        assert f'shunt_rule_bytes_total{{order="2",rule="{RULES[1]}"}} {size}' in rule_metrics(daemon)
        have([RULES[1], "proto udp dport 5001 lane kernel", RULES[0]])
        assert counts(daemon) == [(1, size), (0, 0), (2, 2 * size)]
        passed(gen, sink, drop, auto)
        wait_until(lambda: counts(daemon)[0][0] == 2)
        assert counts(daemon) == [(2, 2 * size), (1, size), (2, 2 * size)]
        assert daemon.ctl("show", "rules").stdout.splitlines()[0].split() == [
            "order", "lane", "rule", "packets", "bytes"]


def test_nothing_unless_asked_for(lab):
    with Shuntd(lab, "route", "eth1", "eth2", "--rule", RULES[0]) as daemon:
        assert counts(daemon) == [(None, None)]
        assert rule_metrics(daemon) == []
        assert "packets" not in daemon.ctl("show", "rules").stdout.splitlines()[0]
