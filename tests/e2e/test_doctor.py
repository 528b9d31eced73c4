# SPDX-License-Identifier: BSD-2-Clause
"""shuntctl doctor on a lab's dut, before shuntd, beside it, and after it."""
import pytest
from shuntlab.doctor import doctor, levels
from shuntlab.programs import FOREIGN, attach
from shuntlab.shuntd import Shuntd, refused


def test_healthy_veth_has_no_errors(lab):
    code, found = doctor(lab, "-s", "/nowhere", "eth1", "eth2")
    assert code == 0
    for dev in ["eth1", "eth2"]:
        for topic in ["driver", "link", "mtu", "queues", "program", "fallback"]:
            assert levels(found[dev, topic]) == ["ok"], found[dev, topic]
    assert levels(found["host", "rights"]) == ["ok"]
    assert levels(found["daemon", "daemon"]) == ["note"]
    assert lab.changes() == []
    lab.ip("link", "add", "br9", "type", "bridge")
    lab.link("dut", "eth1", "master", "br9")
    assert "br9" in doctor(lab, "-s", "/nowhere", "eth1")[1]["eth1", "fallback"][0]["sentence"]


FILTERS = """
add table inet filter
add chain inet filter plain
add chain inet filter input { type filter hook input priority 0; policy drop; }
add chain inet filter empty { type filter hook forward priority 0; }
"""
FORWARD = "add chain inet filter forward { type filter hook forward priority 1; policy drop; }"
NAT = """
add table ip nat
add chain ip nat post { type nat hook postrouting priority 100; }
add rule ip nat post oif eth2 masquerade
"""


def test_what_judges_forwarded_packets(lab):
    """The kernel's own that forwarded packets would meet, and none but those, each by its name."""
    def nft(text):
        lab.exec("dut", "nft", text)

    def finding(*wrap):
        return doctor(lab, "-s", "/nowhere", "eth1", wrap=wrap)[1]["host", "filters"][0]

    assert finding()["level"] == "ok"
    nft(FILTERS)
    assert finding()["level"] == "ok"
    nft(FORWARD)
    assert "nftables inet filter forward" in finding()["sentence"]
    nft(NAT)
    lab.exec("dut", "ip", "xfrm", "policy", "add", "src", "10.0.1.0/24", "dst", "10.0.2.0/24", "dir",
             "fwd", "action", "block")
    sentence = finding()["sentence"]
    assert finding()["level"] == "warning" and finding()["remedy"]
    assert " and 1 more" in sentence and "IPsec policies (1)" in sentence, sentence
    lab.exec("dut", "ip", "xfrm", "policy", "flush")
    nft("flush ruleset")
    assert finding()["level"] == "ok"
    assert finding("setpriv", "--bounding-set=-net_admin", "--inh-caps=-net_admin")["level"] == "note"


def test_what_a_daemon_made_judges_nothing(lab):
    with Shuntd(lab, "route", "eth1", "eth2"):
        finding = doctor(lab, "-s", "/nowhere", "eth1")[1]["host", "filters"][0]
        assert finding["level"] == "ok", finding


def test_anothers_program_is_an_error(lab):
    attach(lab, "eth1", FOREIGN)
    code, found = doctor(lab, "-s", "/nowhere", "eth1")
    finding = found["eth1", "program"][0]
    assert (code, finding["level"]) == (1, "error") and finding["remedy"]


def test_remedies_work(lab):
    """What is said to help does."""
    lab.exec("dut", "ip", "link", "set", "dev", "eth1", "mtu", 1800)
    lab.exec("dut", "ip", "link", "set", "dev", "eth1", "down")
    _, found = doctor(lab, "-s", "/nowhere", "eth1", "--frame-size", 2048)
    lab.exec("dut", *found["eth1", "link"][0]["remedy"].split())
    assert "--frame-size 4096" in found["eth1", "mtu"][0]["remedy"]
    assert doctor(lab, "-s", "/nowhere", "eth1", "--frame-size", 4096)[0] == 0


def test_same_list_against_what_is_in_use(lab):
    with Shuntd(lab, "xconnect", "eth1", "eth2") as daemon:
        code, found = doctor(lab, "-s", daemon.control)
        assert code == 0
        assert levels(found["eth1", "program"]) == ["ok"]
        assert levels(found["eth2", "in use"]) == ["ok", "note"]
        # Without the socket its program is one that nobody owns up to.
        _, found = doctor(lab, "-s", "/nowhere", "eth1")
        assert levels(found["eth1", "program"]) != ["ok"]


def test_devices_are_needed_without_a_daemon(lab):
    done = lab.exec("dut", "shuntctl", "-s", "/nowhere", "doctor", check=False)
    assert done.returncode == 2 and "devices" in done.stderr
    done = lab.exec("dut", "shuntctl", "-s", "/nowhere", "doctor", "nope9", check=False)
    assert done.returncode == 1 and "no such device" in done.stdout


def test_from_another_namespace(lab):
    """Devices of the same name there are not the daemon's."""
    with Shuntd(lab, "xconnect", "eth1", "eth2") as daemon:
        code, found = doctor(lab, "-s", daemon.control, host="gen")
        assert code == 0, found
        assert {topic for of, topic in found if of.startswith("eth")} == {"in use"}
        _, found = doctor(lab, "-s", daemon.control, "eth1", host="gen")
        assert levels(found["eth1", "program"]) == ["ok"], found


def test_generic_as_the_daemon_runs(lab):
    lab.exec("dut", "ip", "link", "add", "link", "eth2", "name", "mac0", "up", "type", "macvlan")
    lab.remember()
    with Shuntd(lab, "xconnect", "eth1", "mac0", "--driver-mode", "generic") as daemon:
        code, found = doctor(lab, "-s", daemon.control)
        assert code == 0 and levels(found["mac0", "driver"]) == ["warning"], found
        assert levels(found["eth1", "zerocopy"]) != ["error"]


def test_the_other_end_is_here(lab):
    """What is in the way at a veth's other end goes by the remedies alone, lane xdp's way too."""
    lab.exec("dut", "sh", "-c", "ip link add v0 up type veth peer name v1 && ip link set v1 up")
    _, found = doctor(lab, "-s", "/nowhere", "v0")
    remedies = [finding["remedy"] for finding in found["v0", "offload"]]
    assert "ethtool -K v1 gro on" in remedies, remedies
    for remedy in remedies:
        lab.exec("dut", *remedy.split())
    _, found = doctor(lab, "-s", "/nowhere", "v0")
    assert levels(found["v0", "offload"]) == ["ok"], found["v0", "offload"]


def test_in_a_user_namespace(lab):
    """What capabilities there say is not what the kernel loads programs by."""
    wrap = "unshare", "--user", "--map-root-user"
    if lab.exec("dut", *wrap, "true", check=False).returncode:
        pytest.skip("no user namespace can be made here (in a chroot none can)")
    code, found = doctor(lab, "-s", "/nowhere", "eth1", wrap=wrap)
    assert code == 1 and levels(found["host", "rights"]) == ["error"], found
    assert "user namespace" in refused(lab, "xconnect", "eth1", "eth2", wrap=wrap)
