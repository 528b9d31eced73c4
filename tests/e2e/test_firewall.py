# SPDX-License-Identifier: BSD-2-Clause
"""What the host's firewall would judge is the kernel's: before the start, while shuntd runs, after the
rules are gone. What it would not judge stays shunt's. At the operator's word all of it is bypassed."""
import concurrent.futures
import contextlib
import socket
import threading
import time

import pytest

from shuntlab import bpf
from shuntlab.frames import SINK, routed, udp4, udp6
from shuntlab.lab import wait_until
from shuntlab.shuntd import Shuntd
from shuntlab.wire import inside

# Where frames are looked at: their way is another one in each lane. Who judges is asked in none.
in_each_lane = pytest.mark.usefixtures("each_lane")

DEBIAN = """flush ruleset
table inet filter {
    chain input { type filter hook input priority filter; }
    chain forward { type filter hook forward priority filter; }
    chain output { type filter hook output priority filter; }
}"""
ALL_ACCEPT = """table inet nothing {
    chain input { type filter hook input priority filter; policy drop; }
    chain output { type filter hook output priority filter; tcp dport 1 drop; }
    chain empty { type filter hook postrouting priority 0; }
    chain unhooked { drop; }
    set s { type ipv4_addr; }
}
table arp a { chain in { type filter hook input priority 0; policy drop; } }
table inet asleep { flags dormant; chain f { type filter hook forward priority 0; policy drop; } }
table netdev far { chain i { type filter hook ingress device lo priority 0; policy drop; } }"""
DROP = "table inet f { chain f { type filter hook forward priority 0; udp dport 4444 drop; } }"

# By what is loaded: how, the port that it is about alone (None: both).
JUDGES = {
    "inet forward rule": (DROP, None),
    "inet forward policy": ("table inet f { chain f { type filter hook forward priority 0; policy drop; } }",
                            None),
    "ip prerouting": ("table ip f { chain p { type filter hook prerouting priority raw; "
                      "udp dport 4444 drop; } }", None),
    "ip6 forward": ("table ip6 f { chain p { type filter hook forward priority 0; "
                    "udp dport 4444 drop; } }", None),
    "masquerade": ("table ip nat { chain p { type nat hook postrouting priority srcnat; "
                   "oif eth2 masquerade; } }", None),
    "netdev ingress": ("table netdev n { chain i { type filter hook ingress device eth1 priority 0; "
                       "udp dport 4444 drop; } }", "eth1"),
    "netdev egress": ("table netdev n { chain i { type filter hook egress device eth2 priority 0; "
                      "udp dport 4444 drop; } }", "eth1"),
    "inet ingress": ("table inet n { chain i { type filter hook ingress devices = { eth1, lo } "
                     "priority 0; udp dport 4444 drop; } }", "eth1"),
    "two tables": (DEBIAN + "\n" + DROP, None),
}
BRIDGE_DROP = "table bridge b { chain f { type filter hook forward priority 0; ether type 0x88b5 drop; } }"


def nft(lab, text):
    lab.exec("dut", "nft", text.replace("} }", "}\n}"))  # nft 1.0.6 wants the newline


def flush(lab):
    lab.exec("dut", "nft", "flush", "ruleset")


def reasons(daemon):
    return {row["port"]: row["reason"] for row in daemon.show("lanes")["lanes"]}


def is_judged(daemon, only=None, reason="firewall"):
    """Whether the ports that the rules are about are the kernel's, and none else."""
    rows = daemon.show("lanes")["lanes"]
    return all((row["reason"] == reason and row["in_use"] == "kernel") == (only in (None, row["port"]))
               for row in rows)


def is_free(daemon):
    return not any(reason.startswith("firewall") for reason in reasons(daemon).values())


def route(lab, *args, **more):
    return Shuntd(lab, "route", "eth1", "eth2", *args, chatty=True, check=False, **more)


@pytest.mark.parametrize("name", JUDGES)
def test_rules_of_nftables_before_and_while_it_runs(lab, name):
    rules, only = JUDGES[name]
    nft(lab, rules)
    with route(lab) as daemon:
        assert is_judged(daemon, only), daemon.show("lanes")
        assert "more" not in str(daemon.show("lanes"))  # a chain of one device counts once
        flush(lab)
        wait_until(lambda: is_free(daemon), 5, "forwarding without the rules")
        nft(lab, rules)
        wait_until(lambda: is_judged(daemon, only), 5, "the rules seen")


@contextlib.contextmanager
def asked_about(daemon):
    """What changes in here was asked about when this ends, after its event, and in a second's look that
    began later."""
    def answers():
        return daemon.show("lanes")["firewall_answers"]
    before = answers()
    yield
    looked = answers()["looked"]
    wait_until(lambda: answers()["followed"] > before["followed"] and answers()["looked"] >= looked + 2)


def test_what_can_do_nothing_leaves_shunt_on(lab, each_lane):
    nft(lab, DEBIAN)
    with route(lab) as daemon:
        assert is_free(daemon)
        with asked_about(daemon):
            nft(lab, ALL_ACCEPT)
        assert {row["in_use"] for row in daemon.show("lanes")["lanes"]} == {each_lane}


@in_each_lane
def test_no_packet_gets_by(lab):
    """What the rule drops is never seen, what it lets by is."""
    gen, sink = lab.ends()
    nft(lab, DROP)
    with route(lab) as daemon:
        for make in udp4, udp6:
            gen.reaches(sink, make(), routed(make()))
            gen.send(*[make(dport=4444)] * 50, make(dport=5555))
            assert routed(make(dport=4444)) not in sink.until(routed(make(dport=5555)))
        assert daemon.drops("steer", "eth1")["lane_kernel"] >= 100


def test_the_operators_word(lab):
    """ignore bypasses, and says so where modes are shown."""
    gen, sink = lab.ends()
    nft(lab, DROP)
    with route(lab, "--firewall", "ignore") as daemon:
        assert is_free(daemon)
        gen.reaches(sink, udp4(dport=4444), routed(udp4(dport=4444)))
        assert {row["firewall"] for row in daemon.show("lanes")["lanes"]} == {"ignore"}
        assert [row["name"] for row in daemon.show("notices")["notices"]].count("bypassed") == 1
        assert 'firewall="ignore"' in daemon.ctl("metrics").stdout
        flush(lab)
        wait_until(lambda: "bypassed" not in [row["name"] for row in daemon.show("notices")["notices"]],
                   5, "the notice gone")
    # a steering rule is no such word
    nft(lab, DROP)
    with route(lab, "--rule", "proto tcp lane kernel") as daemon:
        assert is_judged(daemon)


def test_managed_or_said_why_not(lab):
    """`firewall: manage`: a table of shunt's own where the kernel has flowtables, and else the kernel's, with
    the reason. What a guest's kernel does with it is the guest case `managed`."""
    def state():
        return daemon.show("lanes")["managed"]
    gen, sink = lab.ends()
    with route(lab, "--firewall", "manage") as daemon:
        assert is_free(daemon) and state()["state"] == "needless"
        nft(lab, DROP)
        wait_until(lambda: state()["state"] in ("active", "failed"), 5, "an attempt")
        assert ("shunt-" in lab.exec("dut", "nft", "list", "tables").stdout) == (state()["state"] == "active")
        if state()["state"] == "failed":
            assert is_judged(daemon) and "no flowtables" in state()["why"]
            wait_until(lambda: daemon.notice("unmanaged"), 5, "the notice")
        gen.send(*[udp4(dport=4444)] * 50, udp4(dport=5555))
        assert routed(udp4(dport=4444)) not in sink.until(routed(udp4(dport=5555)))
        flush(lab)
        wait_until(lambda: is_free(daemon) and state()["state"] == "needless", 5, "forwarding without rules")
        wait_until(lambda: not daemon.notice("unmanaged"), 5, "the notice gone")
    assert "shunt-" not in lab.exec("dut", "nft", "list", "tables").stdout


@in_each_lane
@pytest.mark.parametrize("rule", ["lane user", "lane xdp", "proto udp dport 4444 lane xdp", "lane auto"])
def test_a_steering_rule_leads_past_no_firewall(lab, rule):
    """A port that is left to the kernel is left by its rules, too; what they drop stays dropped."""
    gen, sink = lab.ends()
    nft(lab, DROP)
    with route(lab, "--rule", "proto udp dport 6666 lane drop", "--rule", rule) as daemon:
        assert is_judged(daemon)
        for lane in "user", "xdp":
            daemon.ctl("lane", "set", "eth1", lane, check=False)  # xdp: where there are tables for it
            gen.send(*[udp4(dport=4444)] * 50, *[udp4(dport=6666)] * 50, udp4(dport=5555))
            seen = sink.until(routed(udp4(dport=5555)))
            assert routed(udp4(dport=4444)) not in seen and routed(udp4(dport=6666)) not in seen
        assert daemon.packets("user") == daemon.packets("xdp") == 0
        assert daemon.packets("drop") == 100
        flush(lab)
        wait_until(lambda: is_free(daemon), 5, "the port free")
        daemon.ctl("lane", "set", "eth1", "auto")
        gen.reaches(sink, udp4(dport=4444), routed(udp4(dport=4444)))
        assert daemon.packets("user") + daemon.packets("xdp") > 0


# Connections are tracked for the host's own sake, too: without its rule the other one would end that.
MASQUERADE = """table inet own { chain i { type filter hook input priority 0; ct state established accept; } }
table ip nat { chain p { type nat hook postrouting priority srcnat; oif eth2 masquerade; } }"""


def test_a_translation_that_its_rule_outlives_not(lab):
    """A chain without its rule goes on translating the connections that it has: they stay the kernel's until
    they are gone. A chain that has translated none is no reason."""
    gen, sink = lab.ends()
    nft(lab, MASQUERADE)
    translated = routed(udp4(src="10.0.2.1"))
    with route(lab) as daemon:
        assert is_judged(daemon)
        gen.reaches(sink, udp4(), translated)
        with asked_about(daemon):
            lab.exec("dut", "nft", "flush", "chain", "ip", "nat", "p")
        assert is_judged(daemon), daemon.show("lanes")
        assert "connections of before" in str(daemon.show("lanes"))
        gen.reaches(sink, udp4(), translated)
        lab.exec("dut", "sysctl", "-qw", "net.netfilter.nf_conntrack_udp_timeout=1",
                 "net.netfilter.nf_conntrack_udp_timeout_stream=1")
        gen.reaches(sink, udp4(), translated)
        wait_until(lambda: is_free(daemon), 30, "the connection gone, and the port free")
        gen.reaches(sink, udp4(), routed(udp4()))
        assert is_free(daemon)
        flush(lab)


def test_tc_and_ipsec(lab):
    """What is no netfilter: filters where frames come in or leave, queues that shape, policies."""
    def tc(*args):
        lab.exec("dut", "tc", *args)

    def xfrm(*args):
        lab.exec("dut", "ip", "xfrm", "policy", *args)

    with route(lab) as daemon:
        for add, remove, only in [
                (("filter", "add", "dev", "eth1", "ingress", "bpf", "da", "bytecode", "1,6 0 0 0,"),
                 ("filter", "del", "dev", "eth1", "ingress"), "eth1"),
                (("filter", "add", "dev", "eth2", "egress", "bpf", "da", "bytecode", "1,6 0 0 0,"),
                 ("filter", "del", "dev", "eth2", "egress"), "eth1"),
                (("qdisc", "add", "dev", "eth2", "root", "tbf", "rate", "1mbit", "burst", "10k",
                  "latency", "50ms"), ("qdisc", "del", "dev", "eth2", "root"), "eth1")]:
            if add[0] == "filter":
                with asked_about(daemon):
                    tc("qdisc", "add", "dev", add[3], "clsact")
                assert is_free(daemon)
            if lab.exec("dut", "tc", *add, check=False).returncode:
                continue  # a kernel without that classifier or queue
            wait_until(lambda only=only: is_judged(daemon, only), 5, f"seen: {add}")
            tc(*remove)
            wait_until(lambda: is_free(daemon), 5, f"seen: {remove}")
        with asked_about(daemon):
            xfrm("add", "src", "10.0.1.0/24", "dst", "10.0.2.0/24", "dir", "in", "action", "block")
        assert is_free(daemon)
        for direction in "fwd", "out":
            xfrm("add", "src", "10.0.1.0/24", "dst", "10.9.0.0/16", "dir", direction, "action", "block")
            wait_until(lambda: is_judged(daemon), 5, "the policy seen")
            xfrm("del", "src", "10.0.1.0/24", "dst", "10.9.0.0/16", "dir", direction)
            wait_until(lambda: is_free(daemon), 5, "the policy gone")
        xfrm("setdefault", "fwd", "block")
        wait_until(lambda: is_judged(daemon), 5, "the default seen")
        xfrm("setdefault", "fwd", "accept")
        wait_until(lambda: is_free(daemon), 5, "the default gone")


def test_policies_of_an_xfrm_interface(lab):
    """One with an if_id is about what is sent into such an interface, never about what is forwarded."""
    def xfrm(verb, *args):
        lab.exec("dut", "ip", "xfrm", "policy", verb, "src", "10.0.1.0/24", "dst", "10.0.2.0/24",
                 "dir", "fwd", *args)

    with route(lab) as daemon:
        xfrm("add", "if_id", "7", "action", "block")
        xfrm("add", "action", "block")
        wait_until(lambda: is_judged(daemon), 5, "the policy seen")
        assert "policies (1)" in str(daemon.show("lanes"))
        xfrm("del")
        wait_until(lambda: is_free(daemon), 5, "only the policy of an interface left")


def test_a_qdisc_that_has_one_side(lab):
    """ingress answers for its filters whichever side is asked for. The other port's frames meet none."""
    lab.exec("dut", "tc", "qdisc", "add", "dev", "eth1", "ingress")
    lab.exec("dut", "tc", "filter", "add", "dev", "eth1", "ingress", "bpf", "da", "bytecode", "1,6 0 0 0,")
    with route(lab) as daemon:
        assert is_judged(daemon, "eth1"), daemon.show("lanes")


@pytest.mark.parametrize("command", ["iptables-legacy", "ip6tables-legacy"])
def test_legacy_tables(lab, command):
    """Rules and policies, of which no event tells. A table without any is no judge, nor is a rule where
    forwarded packets never pass."""
    with route(lab) as daemon:
        lab.exec("dut", command, "-A", "INPUT", "-p", "udp", "-j", "DROP")
        for make, end in [
                (("-A", "FORWARD", "-p", "udp", "--dport", "4444", "-j", "DROP"), ("-F", "FORWARD")),
                (("-P", "FORWARD", "DROP"), ("-P", "FORWARD", "ACCEPT")),
                (("-t", "mangle", "-A", "PREROUTING", "-j", "MARK", "--set-mark", "1"),
                 ("-t", "mangle", "-F"))]:
            assert is_free(daemon)
            lab.exec("dut", command, *make)
            wait_until(lambda: is_judged(daemon), 5, f"seen: {make}")
            lab.exec("dut", command, *end)
            wait_until(lambda: is_free(daemon), 5, f"gone: {end}")


def test_a_program_on_a_port(lab):
    """tcx, which sends no event."""
    with route(lab) as daemon:
        assert is_free(daemon)
        with inside(f"/run/netns/{lab.netns('dut')}"):
            link = bpf.link_tcx(socket.if_nametoindex("eth1"))
        wait_until(lambda: is_judged(daemon, "eth1"), 5, "the program seen")
        bpf.unlink(link)
        wait_until(lambda: is_free(daemon), 5, "the program gone")


def make_bridge(lab):
    """One that shows nothing to the hooks of IP and ARP."""
    lab.ip("link", "add", "br0", "type", "bridge")
    for port in "eth1", "eth2":
        lab.link("dut", port, "master", "br0")
    lab.link("dut", "br0", "up")
    lab.exec("dut", "sysctl", "-qw",
             *[f"net.bridge.bridge-nf-call-{what}tables=0" for what in ("ip", "ip6", "arp")])


def test_bridges(lab):
    """A bridge of the kernel's meets the bridge family, and the IP hooks where br_netfilter has them
    called. One of shunt's own meets neither, but what is at its ports."""
    make_bridge(lab)
    nft(lab, DROP)
    with Shuntd(lab, "bridge", "eth1", "eth2", chatty=True, check=False) as daemon:
        assert is_free(daemon)
        nft(lab, BRIDGE_DROP)
        wait_until(lambda: is_judged(daemon), 5, "the bridge's rule seen")
        lab.exec("dut", "nft", "delete", "table", "bridge", "b")
        wait_until(lambda: is_free(daemon), 5, "the bridge's rule gone")
        lab.ip("link", "set", "br0", "type", "bridge", "nf_call_iptables", "1")
        wait_until(lambda: is_judged(daemon), 5, "br_netfilter seen")
        lab.ip("link", "set", "br0", "type", "bridge", "nf_call_iptables", "0")
        wait_until(lambda: is_free(daemon), 5, "br_netfilter gone")
    lab.ip("link", "del", "br0")
    nft(lab, BRIDGE_DROP)
    with Shuntd(lab, "bridge", "eth1", "eth2", chatty=True, check=False) as daemon:
        assert is_free(daemon)
        nft(lab, JUDGES["netdev ingress"][0])
        wait_until(lambda: is_judged(daemon, "eth1", "firewall_in_vain"), 5, "the port's rule seen")


def test_what_is_at_the_bridge_itself(lab):
    """What a bridge forwards passes its ports, not the bridge as a device."""
    make_bridge(lab)
    lab.exec("dut", "tc", "qdisc", "add", "dev", "br0", "root", "tbf", "rate", "1mbit", "burst", "10k",
             "latency", "50ms")
    nft(lab, "table netdev n { chain i { type filter hook ingress device br0 priority 0; policy drop; } }")
    with Shuntd(lab, "bridge", "eth1", "eth2", chatty=True, check=False) as daemon:
        assert is_free(daemon), daemon.show("lanes")


def test_rules_of_arp(lab):
    """Those of arptables-legacy, where the bridge calls them."""
    make_bridge(lab)
    with Shuntd(lab, "bridge", "eth1", "eth2", chatty=True, check=False) as daemon:
        lab.exec("dut", "sysctl", "-qw", "net.bridge.bridge-nf-call-arptables=1")
        assert is_free(daemon)
        lab.exec("dut", "arptables-legacy", "-A", "FORWARD", "-j", "DROP")
        wait_until(lambda: is_judged(daemon), 5, "the rule seen")
        lab.exec("dut", "sysctl", "-qw", "net.bridge.bridge-nf-call-arptables=0")
        wait_until(lambda: is_free(daemon), 5, "called no more")
        lab.ip("link", "set", "br0", "type", "bridge", "nf_call_arptables", "1")
        wait_until(lambda: is_judged(daemon), 5, "the bridge's own word seen")
        lab.exec("dut", "arptables-legacy", "-F", "FORWARD")
        wait_until(lambda: is_free(daemon), 5, "the rule gone")


@in_each_lane
def test_no_gap_while_rules_are_replaced(lab):
    """One transaction a time, under load: from the first rule set to the last no packet that all of
    them drop comes out, and no port is shunt's in between."""
    gen, sink = lab.ends()
    nft(lab, DROP)
    with route(lab) as daemon:
        stop, replaced = threading.Event(), []

        def replace():
            while not stop.is_set():
                nft(lab, "flush ruleset\n" + DROP)
                replaced.append(True)

        before = [row["changes"] for row in daemon.show("lanes")["lanes"]]
        thread = threading.Thread(target=replace)
        thread.start()
        try:
            for _ in range(100):
                count = len(replaced)
                gen.send(*[udp4(dport=4444)] * 20)
                wait_until(lambda had=count: len(replaced) > had, what="the rules' next replacement")
        finally:
            stop.set()
            thread.join()
        gen.send(udp4(dport=5555))
        assert routed(udp4(dport=4444)) not in sink.until(routed(udp4(dport=5555)))
        assert before == [row["changes"] for row in daemon.show("lanes")["lanes"]]


def test_cross_connect_never_asks(lab, each_lane):
    """The kernel would forward nothing there, so nothing of it is bypassed."""
    nft(lab, DROP)
    with Shuntd(lab, "xconnect", "eth1", "eth2", chatty=True, check=False) as daemon:
        assert {row["in_use"] for row in daemon.show("lanes")["lanes"]} == {each_lane}
        assert {row["firewall"] for row in daemon.show("lanes")["lanes"]} == {None}


@in_each_lane
@pytest.mark.parametrize("is_alone", [False, True], ids=["over the kernel's", "alone"])
def test_a_takeover_of_a_bridge_lets_nothing_by(lab, is_alone):
    """What the bridge's rules drop, or those of a port of a bridge of shunt's own, never comes out, while
    nobody follows them either."""
    gen, sink = lab.ends()
    bridge = ["bridge", "eth1", "eth2"]
    if is_alone:
        nft(lab, JUDGES["netdev ingress"][0])
    else:
        lab.ip("link", "add", "br0", "type", "bridge")
        for port in "eth1", "eth2":
            lab.link("dut", port, "master", "br0")
        lab.link("dut", "br0", "up")
        nft(lab, BRIDGE_DROP.replace("ether type 0x88b5", "udp dport 4444"))
    bad = udp4(eth_dst=SINK, dport=4444)
    old = Shuntd(lab, *bridge, chatty=True, check=False)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        starting = pool.submit(Shuntd, lab, *bridge, "--takeover", chatty=True, check=False)
        while not starting.done():
            gen.send(bad)
            time.sleep(0.0005)
        with starting.result():
            assert sink.receive(lambda frame: frame == bad, timeout=0.5) is None
            flush(lab)
            wait_until(lambda: gen.send(bad) or sink.receive(lambda frame: frame == bad, timeout=0.05))
        old.process.communicate(timeout=60)
