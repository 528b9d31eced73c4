# SPDX-License-Identifier: BSD-2-Clause
"""Where lane auto comes to the kernel no steering program is on the device, until one is needed."""
import pytest

from shuntlab.doctor import doctor
from shuntlab.frames import SINK, routed, udp4
from shuntlab.lab import wait_until
from shuntlab.programs import FOREIGN, attach, detach, on_device
from shuntlab.shuntd import Shuntd, refused, unchanged

AUTO = "route", "eth1", "eth2", "--lane", "auto"


def both_on_device(lab):
    return ["steer" in on_device(lab, port).get("name", "") for port in ("eth1", "eth2")]


def set_gro(lab, state):
    """Without, nothing can be sent to the sink by XDP."""
    lab.exec("sink", "ethtool", "-K", "eth1", "gro", state)


@pytest.fixture
def net(make_lab):
    """Neither neighbour takes frames from XDP."""
    return make_lab(static_neigh=True, gro=False)


def test_the_program_goes_and_comes_back(net):
    gen, sink = net.ends()
    with Shuntd(net, *AUTO, chatty=True) as shuntd:
        for _ in range(2):
            wait_until(lambda: both_on_device(net) == [False, False], what="no programs")
            assert shuntd.lane()["in_use"] == "kernel" and shuntd.lane()["suspended"] is True
            gen.reaches(sink, udp4(), routed(udp4()))
            set_gro(net, "on")
            # what eth2 sends is still the kernel's, and it needs no program to take eth1's
            wait_until(lambda: both_on_device(net) == [True, False], what="the program on eth1")
            wait_until(lambda: shuntd.lane()["in_use"] == "xdp", what="lane xdp")
            assert shuntd.lane()["suspended"] is False and shuntd.lane("eth2")["suspended"] is True
            shuntd.until_had("xdp", lambda: gen.reaches(sink, udp4(), routed(udp4())))
            set_gro(net, "off")


def test_what_is_shown(net):
    with Shuntd(net, *AUTO) as shuntd:
        port = shuntd.show("ports")["ports"][0]
        assert port["program"]["suspended"] is True and port["in_use"]["driver_mode"] == "none"
        assert shuntd.lane()["suspended"] is True
        code, found = doctor(net, "-s", shuntd.control, "eth1", "eth2")
        errors = [row for rows in found.values() for row in rows if row["level"] == "error"]
        assert (code, errors, found["eth1", "program"][0]["level"]) == (0, [], "note")


def test_a_share_brings_it_back(net):
    gen, sink = net.ends()
    with Shuntd(net, *AUTO) as shuntd:
        shuntd.ctl("lane", "set", "eth1", "user=100%")
        assert both_on_device(net) == [True, False]
        shuntd.until_had("user", lambda: gen.reaches(sink, udp4(), routed(udp4())))
        shuntd.ctl("lane", "set", "eth1", "auto")
        assert both_on_device(net) == [False, False]


def test_rules_bring_it_back(net, tmp_path):
    gen, sink = net.ends()
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


@pytest.mark.parametrize("args", [AUTO, ("xconnect", "eth1", "eth2", "--driver-mode", "generic")])
def test_another_daemon_is_refused(net, args):
    """By name of the process, as where the program is on the device; the first one is not disturbed."""
    with Shuntd(net, *AUTO) as first:
        assert both_on_device(net) == [False, False]
        with unchanged(net):
            assert f"process {first.process.pid} " in refused(net, *args)
        assert first.lane()["reason"] != "blocked"


def test_a_device_of_the_same_number_elsewhere(net, make_lab):
    """In another network namespace it is another device."""
    with Shuntd(net, *AUTO) as first, Shuntd(make_lab(static_neigh=True, gro=False), *AUTO) as second:
        assert first.lane()["suspended"] is True and second.lane()["suspended"] is True


def test_anothers_program_comes_meanwhile(net):
    with Shuntd(net, *AUTO, chatty=True, check=False) as shuntd:
        attach(net, "eth1", FOREIGN)
        theirs = on_device(net)
        set_gro(net, "on")
        wait_until(lambda: shuntd.lane()["reason"] == "blocked", what="its being seen")
        assert shuntd.lane()["in_use"] == "kernel" and on_device(net) == theirs
        _, found = doctor(net, "-s", shuntd.control, "eth1")
        assert found["eth1", "program"][0]["remedy"] == "ip link set dev eth1 xdp off"
        detach(net, "eth1")
        wait_until(lambda: shuntd.lane()["in_use"] == "xdp", what="lane xdp")
        wait_until(lambda: both_on_device(net) == [True, False], what="the program on eth1")


def test_the_device_refuses_it(net):
    """An MTU that no program would have allowed came while none was there."""
    gen, sink = net.ends()
    with Shuntd(net, *AUTO, chatty=True) as shuntd:
        for host in "gen", "dut":
            net.link(host, "eth1", "mtu", "9000")
        set_gro(net, "on")
        wait_until(lambda: shuntd.lane()["reason"] == "refused", what="the refusal")
        assert shuntd.lane()["in_use"] == "kernel" and shuntd.lane()["suspended"] is True
        assert "ip link set dev eth1 mtu" in shuntd.lane()["why"]
        shuntd.ctl("lane", "set", "eth1", "user=100%")
        assert shuntd.lane()["in_use"] == "kernel"
        shuntd.ctl("lane", "set", "eth1", "auto")
        gen.reaches(sink, udp4(), routed(udp4()))
        for host in "gen", "dut":
            net.link(host, "eth1", "mtu", "1500")
        wait_until(lambda: both_on_device(net) == [True, False], what="the program on eth1")
        wait_until(lambda: shuntd.lane()["in_use"] == "xdp", what="lane xdp")
        shuntd.until_had("xdp", lambda: gen.reaches(sink, udp4(), routed(udp4())))
        set_gro(net, "off")


def test_killed_it_leaves_nothing(net):
    gen, sink = net.ends()
    shuntd = Shuntd(net, *AUTO)
    shuntd.kill()
    assert both_on_device(net) == [False, False]
    gen.reaches(sink, udp4(), routed(udp4()))
    Shuntd(net, *AUTO).stop()


def test_taken_over(net):
    before = Shuntd(net, *AUTO, check=False)
    with Shuntd(net, *AUTO, "--takeover") as shuntd:
        before.process.wait(timeout=30)
        assert shuntd.lane()["suspended"] is True
        shuntd.ctl("lane", "set", "eth1", "user=100%")
        assert both_on_device(net) == [True, False]


def test_a_port_that_another_needs_keeps_it(make_lab):
    """A generic program on the far side sends to eth1, a veth, which needs none of its own."""
    lab = make_lab(static_neigh=True, gro=False)
    lab.exec("dut", "ip", "link", "add", "br0", "type", "bridge")
    lab.link("dut", "br0", "up")
    for port in "eth1", "eth2":
        lab.link("dut", port, "master", "br0")
    gen, sink = lab.ends()
    with Shuntd(lab, "xconnect", "eth1", "eth2,driver_mode=generic", "--lane", "auto",
                check=False) as shuntd:
        assert shuntd.lane()["in_use"] == "kernel" and shuntd.lane("eth2")["in_use"] == "xdp"
        assert both_on_device(lab) == [False, True]
        frame = udp4(eth_dst=SINK)
        gen.reaches(sink, frame)
