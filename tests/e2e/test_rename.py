# SPDX-License-Identifier: BSD-2-Clause
"""A device that gets another name while shuntd runs: it is served on and called as it is called now,
and all that was changed on it is given back, after a stop and after a kill."""
import pytest

from shuntlab.shuntd import Shuntd
from shuntlab.doctor import doctor
from shuntlab.frames import SINK, routed, udp4
from shuntlab.lab import wait_until

NOW = "eth10"
FRAME = udp4(eth_dst=SINK)
BORROWED = f"eth1,spread=true,ntuple=ethertype 0x88f7 queue 0,ntuple=dst-mac {SINK} queue 0"


def rename(lab, old, new):
    lab.exec("dut", "sh", "-c", f"ip link set {old} down && ip link set {old} name {new} && "
             f"ip link set {new} up")
    lab.carriers()


@pytest.fixture(name="renamed")
def _renamed(lab):
    """A lab that is to be as it is once eth1 has its new name."""
    rename(lab, "eth1", NOW)
    lab.remember()
    rename(lab, NOW, "eth1")
    return lab


@pytest.mark.parametrize("way", ["stopped", "killed"])
def test_all_is_given_back(renamed, nic, monkeypatch, way):
    """Program, promiscuity, NAPI knobs, RSS table, filters and their switch, VLAN tags."""
    nic.is_called("nic", monkeypatch)
    daemon = Shuntd(renamed, "xconnect", BORROWED, "eth2", "--poll", "busy", chatty=True)
    rename(renamed, "eth1", NOW)
    nic.name = NOW
    assert len(nic.filters()) == 2 and nic.table() == [0] * 8 and nic.is_on()
    assert nic.takes_tags() == (False, False)
    renamed.crosses(FRAME)
    if way == "stopped":
        daemon.stop()
    else:
        daemon.kill()
        # It serves another port: so it is the journal that finds the device again.
        with Shuntd(renamed, "xconnect", "eth2", "null0,kind=mem") as after:
            said = next(line for line in after.log if "gave back" in line)
            assert said.endswith(": 13 items\n"), said
        assert renamed.changes() == []
    assert nic.filters() == {} and nic.table() is None and not nic.is_on()
    assert nic.takes_tags() == (True, True)


def test_it_is_called_as_it_is_now(renamed):
    with Shuntd(renamed, "xconnect", "eth1", "eth2", check=False, chatty=True) as daemon:
        rename(renamed, "eth1", NOW)
        first, second = daemon.show("ports")["ports"]
        assert (first["name"], second["name"]) == (NOW, "eth2")
        assert {row["name"] for row in daemon.show("nodes")["nodes"]} >= {f"tx:{NOW}", "tx:eth2"}
        notice, = wait_until(lambda: daemon.notices("renamed", NOW))
        _, found = doctor(renamed, "-s", daemon.control, NOW)
        assert notice["text"] in [row["sentence"] for row in found[NOW, "in use"]], found
        assert [row["port"] for row in daemon.show("lanes")["lanes"]] == [NOW, "eth2"]
        for name, lane in (NOW, "xdp"), ("eth1", "user"):
            assert daemon.ask("lane", "set", name, lane)["lanes"][0]["in_use"] == lane
            renamed.crosses(FRAME)
        rename(renamed, "eth2", "eth1")  # now the other one is called so
        rows = daemon.ask("lane", "set", "eth1", "xdp")["lanes"]
        assert [(row["port"], row["in_use"]) for row in rows] == [(NOW, "user"), ("eth1", "xdp")]
        renamed.crosses(FRAME)
        wait_until(lambda: daemon.notices("renamed", NOW) and daemon.notices("renamed", "eth1"))
        rename(renamed, "eth1", "eth2")


@pytest.mark.parametrize("named", ["eth1", NOW, "br0"])
def test_reload(renamed, tmp_path, named):
    """The file may call the device as it was called at the start or as it is now, or name the bridge
    that it belongs to."""
    text = "ports: [{{name: {}}}, {{name: eth2}}]\nforward: [{{mode: bridge, ports: [{}, eth2]}}]\n"
    text = text.format(named, named) if named != "br0" else (
        "ports: [{name: br0}]\nforward: [{mode: bridge, ports: [br0]}]\n")
    path = tmp_path / "shuntd.yaml"
    path.write_text(text.replace(NOW, "eth1"))
    if named == "br0":
        renamed.exec("dut", "sh", "-c", "ip link add br0 type bridge && ip link set br0 up && "
                     "ip link set eth1 master br0 && ip link set eth2 master br0")
        renamed.carriers()
    with Shuntd(renamed, "-c", path, check=False, chatty=True) as daemon:
        rename(renamed, "eth1", NOW)
        wait_until(lambda: daemon.show("ports")["ports"][0]["name"] == NOW)
        path.write_text(text + "rules: ['proto udp lane drop']\n")
        assert daemon.ctl("reload").stdout == "rules in force: 1\n"


def test_routes_follow(renamed):
    """The kernel's settings that decide about routing are looked up by the name of now."""
    setting = f"net.ipv4.conf.{NOW}.forwarding"
    with Shuntd(renamed, "route", "eth1", "eth2", chatty=True) as daemon:
        rename(renamed, "eth1", NOW)
        gen, sink = renamed.ends()

        def by_worker():
            before = daemon.total("tx_packets", "eth2")
            gen.send(udp4())
            return daemon.total("tx_packets", "eth2") - before

        renamed.exec("dut", "sysctl", "-qw", f"{setting}=0")
        wait_until(lambda: not by_worker())
        renamed.exec("dut", "sysctl", "-qw", f"{setting}=1")
        wait_until(by_worker)
        sink.expect(routed(udp4()))
