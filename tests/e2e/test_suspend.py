# SPDX-License-Identifier: BSD-2-Clause
"""Where lane auto comes to the kernel no steering program is on the device, until one is needed."""
import pytest

from shuntlab.frames import SINK, routed, udp4
from shuntlab.lab import wait_until
from shuntlab.shuntd import Shuntd, refused, unchanged
from test_doctor import doctor, foreign_program

AUTO = "route", "eth1", "eth2", "--lane", "auto"


def lane(shuntd, port="eth1"):
    return next(row for row in shuntd.show("lanes")["lanes"] if row["port"] == port)


def packets(shuntd, name, port="eth1"):
    return lane(shuntd, port)["lanes"][name]["packets"]


def on_device(lab, port="eth1"):
    """The name of the XDP program, None without one."""
    return lab.json("dut", "ip", "-d", "-j", "link", "show", port)[0].get(
        "xdp", {}).get("prog", {}).get("name")


def both_on_device(lab):
    return [(on_device(lab, port) or "").startswith("shunt") for port in ("eth1", "eth2")]


def set_gro(lab, state):
    """Without, nothing can be sent to the sink by XDP."""
    lab.exec("sink", "ethtool", "-K", "eth1", "gro", state)


@pytest.fixture
def net(make_lab):
    """Neither neighbour takes frames from XDP."""
    return make_lab(static_neigh=True, gro=False)


def test_the_program_goes_and_comes_back(net):
    gen, sink = net.wire("gen"), net.wire("sink")
    with Shuntd(net, *AUTO, chatty=True) as shuntd:
        for _ in range(2):
            wait_until(lambda: both_on_device(net) == [False, False], what="no programs")
            assert lane(shuntd)["in_use"] == "kernel" and lane(shuntd)["suspended"] is True
            gen.send(udp4())
            sink.expect(routed(udp4()))
            before = packets(shuntd, "xdp")
            set_gro(net, "on")
            # what eth2 sends is still the kernel's, and it needs no program to take eth1's
            wait_until(lambda: both_on_device(net) == [True, False], what="the program on eth1")
            wait_until(lambda: lane(shuntd)["in_use"] == "xdp", what="lane xdp")
            assert lane(shuntd)["suspended"] is False and lane(shuntd, "eth2")["suspended"] is True
            gen.send(udp4())
            sink.expect(routed(udp4()))
            assert packets(shuntd, "xdp") == before + 1
            set_gro(net, "off")


def test_what_is_shown(net):
    with Shuntd(net, *AUTO) as shuntd:
        port = shuntd.show("ports")["ports"][0]
        assert port["program"]["suspended"] is True and port["in_use"]["driver_mode"] == "none"
        assert "eth1 needs no program now: it is off the device" in shuntd.ctl("show", "lanes").stdout
        assert "off the device while everything is the kernel's" in shuntd.ctl("show", "ports").stdout
        code, found = doctor(net, "-s", shuntd.control, "eth1", "eth2")
        errors = [row for rows in found.values() for row in rows if row["level"] == "error"]
        assert (code, errors, found["eth1", "program"][0]["level"]) == (0, [], "note")
        assert "off the device" in found["eth1", "program"][0]["sentence"]


def test_a_share_brings_it_back(net):
    gen, sink = net.wire("gen"), net.wire("sink")
    with Shuntd(net, *AUTO) as shuntd:
        shuntd.ctl("lane", "set", "eth1", "user=100%")
        assert both_on_device(net) == [True, False]
        gen.send(udp4())
        sink.expect(routed(udp4()))
        assert packets(shuntd, "user") == 1
        shuntd.ctl("lane", "set", "eth1", "auto")
        assert both_on_device(net) == [False, False]


def test_rules_bring_it_back(net, tmp_path):
    gen, sink = net.wire("gen"), net.wire("sink")
    path = tmp_path / "shuntd.yaml"
    text = "ports: [{name: eth1}, {name: eth2}]\nforward: [{mode: route, ports: [eth1, eth2]}]\n"
    path.write_text(text)
    with Shuntd(net, "-c", path, "--lane", "auto", chatty=True) as shuntd:
        assert both_on_device(net) == [False, False]
        path.write_text(text + "rules: ['proto udp dport 1003 lane drop']\n")
        shuntd.ctl("reload")
        assert both_on_device(net) == [True, True]
        gen.send(udp4(dport=1003), udp4(dport=1004))
        assert routed(udp4(dport=1003)) not in sink.until(routed(udp4(dport=1004)))
        path.write_text(text)
        shuntd.ctl("reload")
        assert both_on_device(net) == [False, False]


def test_asked_for_it_stays(net):
    with Shuntd(net, "route", "eth1", "eth2", "--lane", "kernel"):
        assert both_on_device(net) == [True, True]


@pytest.mark.parametrize("args", [AUTO, ("xconnect", "eth1", "eth2", "--driver-mode", "generic"),
                                  (*AUTO, "--attach", "external"), ("static3", f"eth2,next_hop={SINK}",
                                                                    f"eth1,next_hop={SINK}")])
def test_another_daemon_is_refused(net, args):
    """By name of the process, as where the program is on the device; the first one is not disturbed."""
    with Shuntd(net, *AUTO) as first:
        assert both_on_device(net) == [False, False]
        with unchanged(net):
            sentence = refused(net, *args)
        port = "eth2" if args[0] == "static3" else "eth1"
        assert sentence == (f"{port}: process {first.process.pid} runs shunt on the device already; "
                            "stop it first")
        assert "another's" not in lane(first)["why"]


def test_a_device_of_the_same_number_elsewhere(net, make_lab):
    """In another network namespace it is another device."""
    with Shuntd(net, *AUTO) as first, Shuntd(make_lab(static_neigh=True, gro=False), *AUTO) as second:
        assert lane(first)["suspended"] is True and lane(second)["suspended"] is True


def test_ip_rules(make_lab):
    """Routing is all the kernel's while rules lead elsewhere."""
    lab = make_lab(static_neigh=True)
    with Shuntd(lab, *AUTO, chatty=True) as shuntd:
        assert both_on_device(lab) == [True, True]
        lab.exec("dut", "ip", "rule", "add", "from", "10.9.9.9", "table", "99")
        lab.exec("dut", "ip", "route", "add", "unreachable", "default", "table", "99")
        wait_until(lambda: both_on_device(lab) == [False, False], what="no programs")
        lab.exec("dut", "ip", "rule", "del", "from", "10.9.9.9", "table", "99")
        wait_until(lambda: both_on_device(lab) == [True, True], what="both programs")
        assert lane(shuntd)["in_use"] == "xdp"
        lab.exec("dut", "ip", "route", "flush", "table", "99")


def test_anothers_program_comes_meanwhile(net, tmp_path):
    foreign = foreign_program(tmp_path)
    with Shuntd(net, *AUTO, chatty=True, check=False) as shuntd:
        net.exec("dut", *foreign)
        name = on_device(net)
        assert name and not name.startswith("shunt")
        set_gro(net, "on")
        wait_until(lambda: "another's XDP program" in lane(shuntd)["why"], what="its being seen")
        assert lane(shuntd)["in_use"] == "kernel" and on_device(net) == name
        _, found = doctor(net, "-s", shuntd.control, "eth1")
        assert found["eth1", "program"][0]["remedy"] == "ip link set dev eth1 xdp off"
        net.exec("dut", *found["eth1", "program"][0]["remedy"].split())
        wait_until(lambda: lane(shuntd)["in_use"] == "xdp", what="lane xdp")
        wait_until(lambda: both_on_device(net) == [True, False], what="the program on eth1")


def test_a_share_waits_for_anothers_program(net, tmp_path):
    with Shuntd(net, *AUTO, chatty=True, check=False) as shuntd:
        net.exec("dut", *foreign_program(tmp_path))
        wait_until(lambda: "another's XDP program" in lane(shuntd)["why"], what="its being seen")
        shuntd.ctl("lane", "set", "eth1", "user=100%")
        assert lane(shuntd)["in_use"] == "kernel" and "another's" in lane(shuntd)["why"]
        net.exec("dut", "ip", "link", "set", "dev", "eth1", "xdp", "off")
        wait_until(lambda: both_on_device(net) == [True, False], what="the program on eth1")
        gen, sink = net.wire("gen"), net.wire("sink")
        wait_until(lambda: lane(shuntd)["in_use"] == "user", what="lane user")
        gen.send(udp4())
        sink.expect(routed(udp4()))
        assert packets(shuntd, "user") == 1


def test_the_device_refuses_it(net):
    """An MTU that no program would have allowed came while none was there."""
    gen, sink = net.wire("gen"), net.wire("sink")
    with Shuntd(net, *AUTO, chatty=True) as shuntd:
        for host in "gen", "dut":
            net.link(host, "eth1", "mtu", "9000")
        set_gro(net, "on")
        wait_until(lambda: "could not return" in lane(shuntd)["why"], what="the refusal")
        assert lane(shuntd)["in_use"] == "kernel" and lane(shuntd)["suspended"] is True
        assert "ip link set dev eth1 mtu" in lane(shuntd)["why"]
        shuntd.ctl("lane", "set", "eth1", "user=100%")
        assert lane(shuntd)["in_use"] == "kernel"
        shuntd.ctl("lane", "set", "eth1", "auto")
        gen.send(udp4())
        sink.expect(routed(udp4()))
        for host in "gen", "dut":
            net.link(host, "eth1", "mtu", "1500")
        wait_until(lambda: both_on_device(net) == [True, False], what="the program on eth1")
        wait_until(lambda: lane(shuntd)["in_use"] == "xdp", what="lane xdp")
        gen.send(udp4())
        sink.expect(routed(udp4()))
        assert packets(shuntd, "xdp") == 1
        set_gro(net, "off")


def test_killed_it_leaves_nothing(net):
    gen, sink = net.wire("gen"), net.wire("sink")
    shuntd = Shuntd(net, *AUTO)
    shuntd.kill()
    assert both_on_device(net) == [False, False]
    gen.send(udp4())
    sink.expect(routed(udp4()))
    Shuntd(net, *AUTO).stop()


def test_taken_over(net):
    before = Shuntd(net, *AUTO, check=False)
    with Shuntd(net, *AUTO, "--takeover") as shuntd:
        before.process.wait(timeout=30)
        assert lane(shuntd)["suspended"] is True
        shuntd.ctl("lane", "set", "eth1", "user=100%")
        assert both_on_device(net) == [True, False]


def test_a_port_that_another_needs_keeps_it(make_lab):
    """A generic program on the far side sends to eth1, a veth, which needs none of its own."""
    lab = make_lab(static_neigh=True, gro=False)
    lab.exec("dut", "ip", "link", "add", "br0", "type", "bridge")
    lab.link("dut", "br0", "up")
    for port in "eth1", "eth2":
        lab.link("dut", port, "master", "br0")
    gen, sink = lab.wire("gen"), lab.wire("sink")
    with Shuntd(lab, "xconnect", "eth1", "eth2,driver_mode=generic", "--lane", "auto",
                check=False) as shuntd:
        assert lane(shuntd)["in_use"] == "kernel" and lane(shuntd, "eth2")["in_use"] == "xdp"
        assert both_on_device(lab) == [False, True]
        frame = udp4(eth_dst=SINK)
        gen.send(frame)
        sink.expect(frame)
