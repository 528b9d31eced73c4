# SPDX-License-Identifier: BSD-2-Clause
"""What shuntctl says of routes is what `ip route` says, a moment later."""
from shuntlab.shuntd import Shuntd
from shuntlab.lab import wait_until


def hops(d, address):
    """Of the route to an address: its prefix, and port or kind of each next hop."""
    route = d.ask("route", "get", address)
    return route["prefix"], [h.get("port", h["kind"]) for h in route["next_hops"]]


def test_route_get_follows(lab):
    with Shuntd(lab, "route", "eth1", "eth2") as d:
        assert hops(d, "198.19.7.7") == ("198.19.0.0/16", ["eth2"])
        assert hops(d, "2001:2:0:1::7") == ("2001:2:0:1::/64", ["eth1"])
        assert hops(d, "10.0.1.1") == ("10.0.1.1/32", ["local"])
        assert hops(d, "203.0.113.1") == (None, ["noroute"])
        lab.exec("dut", "ip", "route", "add", "203.0.113.0/24", "via", "10.0.1.2")
        wait_until(lambda: hops(d, "203.0.113.1") == ("203.0.113.0/24", ["eth1"]), 5, "the route")
        lab.exec("dut", "ip", "route", "replace", "203.0.113.0/24", "nexthop", "via", "10.0.1.2",
                 "nexthop", "via", "10.0.2.2", "weight", "3")
        wait_until(lambda: sorted(hops(d, "203.0.113.1")[1]) == ["eth1", "eth2"], 5, "both paths")
        lab.exec("dut", "ip", "route", "replace", "blackhole", "203.0.113.0/24")
        wait_until(lambda: hops(d, "203.0.113.1")[1] == ["blackhole"], 5, "the black hole")
        lab.exec("dut", "ip", "route", "del", "203.0.113.0/24")
        wait_until(lambda: hops(d, "203.0.113.1") == (None, ["noroute"]), 5, "its end")


def test_show_routes_neighbours_mirror(lab):
    with Shuntd(lab, "route", "eth1", "eth2") as d:
        shown = d.show("routes")
        prefixes = {r["prefix"]: r["next_hops"] for r in shown["routes"]}
        assert shown["shown"] == shown["ip4_routes"] + shown["ip6_routes"] == len(prefixes)
        assert prefixes["198.18.0.0/16"][0]["port"] == "eth1"
        assert prefixes["10.0.2.2/32"][0]["mac"] == "02:00:00:00:02:02"
        neighbours = {n["address"]: n for n in d.show("neighbours")["neighbours"]}
        assert neighbours["10.0.1.2"]["usable"] and neighbours["10.0.1.2"]["device"] == "eth1"
        mirror = d.show("mirror")
        assert mirror["state"] == "following" and mirror["counters"]["overruns"] == 0
        kernel = lab.exec("dut", "ip", "-4", "route", "show", "table", "main").stdout.strip().split("\n")
        local = lab.exec("dut", "ip", "-4", "route", "show", "table", "local").stdout.strip().split("\n")
        assert mirror["ip4_routes"] == len(kernel) + len(local)


def test_an_audit_at_once(lab):
    """It is not waited for until one is due, a minute later; and the mirror has what the kernel has."""
    with Shuntd(lab, "route", "eth1", "eth2") as d:
        lab.exec("dut", "ip", "route", "add", "203.0.113.0/24", "via", "10.0.1.2")
        assert d.audit() == 0
        lab.exec("dut", "ip", "route", "del", "203.0.113.0/24")
