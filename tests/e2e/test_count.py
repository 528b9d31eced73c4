# SPDX-License-Identifier: BSD-2-Clause
"""What `count` counts: rules, neighbours and routes."""
import pytest

from shuntlab.frames import routed, udp4, udp6
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
        assert neighbour(daemon, "10.0.2.2") == (None, None)
        assert "shunt_neighbour" not in daemon.ctl("metrics").stdout
        assert "packets" not in daemon.ctl("show", "rules").stdout.splitlines()[0]


def neighbour(daemon, address):
    row = next(row for row in daemon.show("neighbours")["neighbours"] if row["address"] == address)
    return row["packets"], row["bytes"]


@pytest.mark.parametrize("lane", ["user", "xdp"])
def test_neighbours(lab, lane):
    """By the neighbour, whatever the route: a host route, a gateway's, one with an MTU of its own."""
    gen, sink = lab.ends()
    routes = [["10.8.0.0/16", "via", "10.0.2.2"], ["10.9.0.0/16", "via", "10.0.2.2", "mtu", "1400"]]
    for route in routes:
        lab.exec("dut", "ip", "route", "add", *route)
    with Shuntd(lab, "route", "eth1", "eth2", "--lane", lane, "--count", chatty=True) as daemon:
        gen.reaches(sink, udp4(), routed(udp4()))
        wait_until(lambda: daemon.ask("route", "get", "10.9.0.1")["next_hops"][0].get("mtu") == 1400)
        before = neighbour(daemon, "10.0.2.2")
        frames = [udp4(size, dst=dst) for dst in ("10.8.0.1", "10.9.0.1", "10.0.2.2") for size in (60, 500)]
        for frame in frames:
            gen.reaches(sink, frame, routed(frame))
        gen.send(udp4(1460, dst="10.9.0.1"), udp4(dst="10.77.0.1"))  # the kernel's
        passed(gen, sink)
        want = before[0] + 7, before[1] + sum(map(len, frames)) + len(udp4())
        wait_until(lambda: neighbour(daemon, "10.0.2.2") == want)
        labels = '{device="eth2",address="10.0.2.2"}'
        lines = daemon.ctl("metrics").stdout.splitlines()
        assert f"shunt_neighbour_packets_total{labels} {want[0]}" in lines
        assert f"shunt_neighbour_bytes_total{labels} {want[1]}" in lines
        assert daemon.ctl("show", "neighbours").stdout.splitlines()[0].split()[-2:] == ["packets", "bytes"]
        for route in routes:
            lab.exec("dut", "ip", "route", "del", *route)


@pytest.mark.parametrize("lane", ["user", "xdp"])
def test_an_explanation_counts_for_nothing(lab, lane):
    gen, sink = lab.ends()
    with Shuntd(lab, "route", "eth1", "eth2", "--lane", lane, "--count",
                "--rule", "proto udp dport 5001 lane drop", "--rule", "proto udp dport 9999 lane auto",
                chatty=True) as daemon:
        gen.reaches(sink, udp4(), routed(udp4()))
        passed(gen, sink, udp4(dport=5001))

        def counted():
            return counts(daemon), neighbour(daemon, "10.0.2.2"), by_route(daemon, "10.0.2.2/32")
        wait_until(lambda: counts(daemon) == [(1, len(udp4()))] * 2)
        before = counted()
        for dport in 5001, 9999, 53:
            assert daemon.ctl("explain", "eth1", f"udp 10.0.1.2:5 > 10.0.2.2:{dport}").returncode == 0
        assert counted() == before


def by_route(daemon, prefix):
    row = next(row for row in daemon.show("routes")["routes"] if row["prefix"] == prefix)
    return row["packets"], row["bytes"]


@pytest.mark.parametrize("lane", ["user", "xdp"])
def test_routes(lab, lane):
    """By the route, though all lead to one neighbour; one that is led elsewhere goes on counting."""
    gen, sink = lab.ends()
    prefixes = {"10.8.0.0/16": "10.8.0.1", "10.9.0.0/16": "10.9.0.1", "10.9.9.0/24": "10.9.9.1"}
    for prefix in prefixes:
        lab.ip("route", "add", prefix, "via", "10.0.2.2")
    lab.ip("-6", "route", "add", "2001:db8:8::/48", "via", "fd00:2::2")
    with Shuntd(lab, "route", "eth1", "eth2", "--lane", lane, "--count", chatty=True) as daemon:
        gen.reaches(sink, udp4(), routed(udp4()))
        gen.reaches(sink, udp6(), routed(udp6()))
        want = {}
        for cnt, (prefix, dst) in enumerate(prefixes.items(), 2):
            frames = [udp4(100 * cnt, dst=dst)] * cnt
            for frame in frames:
                gen.reaches(sink, frame, routed(frame))
            want[prefix] = (cnt, sum(map(len, frames)))
        frame = udp6(90, dst="2001:db8:8::1")
        gen.reaches(sink, frame, routed(frame))
        want["2001:db8:8::/48"] = (1, len(frame))
        wait_until(lambda: {prefix: by_route(daemon, prefix) for prefix in want} == want,
                   what=f"counts {want}")
        lines = daemon.ctl("metrics").stdout.splitlines()
        assert 'shunt_route_packets_total{prefix="10.9.9.0/24",table="254"} 4' in lines
        assert 'shunt_route_bytes_total{prefix="10.9.0.0/16",table="254"} 900' in lines
        assert any(line.startswith("10.8.0.0/16 dev eth2 ") and line.endswith(" packets 2 bytes 400")
                   for line in daemon.ctl("show", "routes").stdout.splitlines())
        assert daemon.ask("route", "get", "10.9.9.7")["packets"] == 4
        lab.ip("route", "change", "10.8.0.0/16", "via", "10.0.2.2", "mtu", "1400")
        wait_until(lambda: daemon.ask("route", "get", "10.8.0.1")["next_hops"][0].get("mtu") == 1400)
        frame = udp4(dst="10.8.0.1")
        gen.reaches(sink, frame, routed(frame))
        wait_until(lambda: by_route(daemon, "10.8.0.0/16") == (3, 400 + len(frame)))
        for prefix in prefixes:
            lab.ip("route", "del", prefix)
        lab.ip("-6", "route", "del", "2001:db8:8::/48")
    with Shuntd(lab, "route", "eth1", "eth2", "--lane", lane, chatty=True) as daemon:
        gen.reaches(sink, udp4(), routed(udp4()))
        assert "packets" not in daemon.ctl("show", "routes").stdout
        assert "shunt_route" not in daemon.ctl("metrics").stdout
