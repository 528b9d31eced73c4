# SPDX-License-Identifier: BSD-2-Clause
"""shuntctl doctor on a lab's dut, before shuntd, beside it, and after it."""
import json

import pytest

from shuntlab.lab import wait_until
from shuntlab.shuntd import Shuntd, refused


def doctor(lab, *args):
    """Exit status, and findings by (object, topic)."""
    done = lab.exec("dut", "shuntctl", "-j", "doctor", *args, check=False)
    assert done.stdout, done.stderr
    report = json.loads(done.stdout)
    found = {}
    for finding in report.get("findings", []):
        found.setdefault((finding["object"], finding["topic"]), []).append(finding)
    return done.returncode, found


def levels(findings):
    return [finding["level"] for finding in findings]


def test_healthy_veth_has_no_errors(lab):
    code, found = doctor(lab, "-s", "/nowhere", "eth1", "eth2")
    assert code == 0
    for dev in ["eth1", "eth2"]:
        for topic in ["driver", "link", "mtu", "queues", "program", "fallback"]:
            assert levels(found[dev, topic]) == ["ok"], found[dev, topic]
        assert "veth never" in found[dev, "zerocopy"][0]["sentence"]
        assert "basic redirect" in found[dev, "driver"][0]["sentence"]
    assert levels(found["host", "rights"]) == ["ok"]
    assert levels(found["daemon", "daemon"]) == ["note"]
    assert lab.changes() == []


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


def test_filters_that_are_bypassed(lab):
    """The kernel's own that forwarded packets would meet, and none but those: by the doctor, and at the
    start of a router whose rules leave nothing to the kernel."""
    def nft(text):
        lab.exec("dut", "nft", text)

    def finding():
        return doctor(lab, "-s", "/nowhere", "eth1")[1]["host", "filters"][0]

    def said(*args):
        path = f"/run/shunt-lab/{lab.name}/said.sock"
        daemon = lab.popen("dut", "shuntd", "route", "eth1", "eth2", *args, "--control", path)
        try:
            wait_until(lambda: lab.exec("dut", "shuntctl", "-s", path, "show", "ports",
                                        check=False).returncode == 0, 60)
        finally:
            daemon.terminate()
        return daemon.communicate(timeout=60)[1]

    assert finding()["level"] == "ok"
    nft(FILTERS)
    assert finding()["level"] == "ok"
    assert "bypasses" not in said()
    nft(FORWARD)
    assert "bypasses nftables (inet filter forward); " in finding()["sentence"]
    nft(NAT)
    lab.exec("dut", "ip", "xfrm", "policy", "add", "src", "10.0.1.0/24", "dst", "10.0.2.0/24", "dir",
             "fwd", "action", "block")
    sentence = finding()["sentence"]
    assert finding()["level"] == "warning"
    assert " and 1 more), IPsec policies (1); " in sentence, sentence
    assert f"shuntd: warning: {sentence}\n" in said()
    assert "bypasses" not in said("--rule", "proto tcp lane kernel")
    lab.exec("dut", "ip", "xfrm", "policy", "flush")
    untold = lab.exec("dut", "setpriv", "--bounding-set=-net_admin", "--inh-caps=-net_admin", "shuntctl",
                      "-j", "-s", "/nowhere", "doctor", "eth1", check=False).stdout
    assert "only with CAP_NET_ADMIN" in untold


@pytest.mark.parametrize("command,topic,word", [
    (["ip", "link", "set", "dev", "eth1", "mtu", "65000"], "mtu", "17 frames"),
    (["ip", "link", "set", "dev", "eth1", "down"], "link", "down"),
    (None, "program", "is not shunt's"),
], ids=["mtu", "down", "foreign"])
def test_what_is_in_the_way_is_an_error(lab, tmp_path, command, topic, word):
    if command is None:
        command = foreign_program(tmp_path)
    lab.exec("dut", *command)
    code, found = doctor(lab, "-s", "/nowhere", "eth1")
    finding = found["eth1", topic][0]
    assert (code, finding["level"]) == (1, "error")
    assert word in finding["sentence"] and finding["remedy"]


def foreign_program(folder):
    """Commands that attach a program of our own making, with nothing of shunt in it."""
    (folder / "f.c").write_text(
        '__attribute__((section("xdp"), used)) int other(void *ctx) { return 2; }\n'
        'char _license[] __attribute__((section("license"), used)) = "GPL";\n')
    return ["sh", "-c", f"clang -O2 -g -target bpf -c {folder}/f.c -o {folder}/f.o && "
                        f"ip link set dev eth1 xdpdrv obj {folder}/f.o sec xdp"]


def test_remedies_work(lab):
    """What is said to help does."""
    lab.exec("dut", "ip", "link", "set", "dev", "eth1", "mtu", 1800)
    lab.exec("dut", "ip", "link", "set", "dev", "eth1", "down")
    _, found = doctor(lab, "-s", "/nowhere", "eth1", "--frame-size", 2048)
    lab.exec("dut", *found["eth1", "link"][0]["remedy"].split())
    assert "--frame-size 4096" in found["eth1", "mtu"][0]["remedy"]
    assert doctor(lab, "-s", "/nowhere", "eth1", "--frame-size", 4096)[0] == 0


def test_jumbo_frames(lab):
    """Without a word on their size, packets take as many frames as they need."""
    lab.exec("dut", "ip", "link", "set", "dev", "eth1", "mtu", 9000)
    code, found = doctor(lab, "-s", "/nowhere", "eth1")
    assert (code, found["eth1", "mtu"][0]["level"]) == (0, "ok")
    assert "9014 bytes takes 3 frames of 4096" in found["eth1", "mtu"][0]["sentence"]
    code, found = doctor(lab, "-s", "/nowhere", "eth1", "--require", "zerocopy")
    assert (code, found["eth1", "mtu"][0]["level"]) == (1, "ok"), "no MTU gives a veth zero-copy"
    assert found["eth1", "zerocopy"][0]["level"] == "error"
    assert "zero-copy" in refused(lab, "xconnect", "eth1", "eth2", "--require", "zerocopy")


def test_bridge_beneath_is_a_fallback(lab):
    lab.exec("dut", "ip", "link", "add", "br9", "type", "bridge")
    lab.exec("dut", "ip", "link", "set", "dev", "eth1", "master", "br9")
    _, found = doctor(lab, "-s", "/nowhere", "eth1")
    assert "bridge br9" in found["eth1", "fallback"][0]["sentence"]


def test_same_list_against_what_is_in_use(lab):
    with Shuntd(lab, "xconnect", "eth1", "eth2") as daemon:
        code, found = doctor(lab, "-s", daemon.control)
        assert code == 0
        assert "daemon's" in found["eth1", "program"][0]["sentence"]
        assert levels(found["eth2", "in use"]) == ["ok", "note"]
        assert "copy_mode is copy, and auto was asked for" in \
            found["eth2", "in use"][1]["sentence"]
        # Without the socket its program is one that nobody owns up to.
        _, found = doctor(lab, "-s", "/nowhere", "eth1")
        assert "no daemon" in found["eth1", "program"][0]["sentence"]


def test_devices_are_needed_without_a_daemon(lab):
    done = lab.exec("dut", "shuntctl", "-s", "/nowhere", "doctor", check=False)
    assert done.returncode == 2 and "devices" in done.stderr
    done = lab.exec("dut", "shuntctl", "-s", "/nowhere", "doctor", "nope9", check=False)
    assert done.returncode == 1 and "no such device" in done.stdout


def test_required_zerocopy_is_refused_with_the_doctors_reason(lab):
    done = lab.exec("dut", "shuntd", "xconnect", "eth1", "eth2", "--require", "zerocopy",
                    "--control", "none", check=False)
    assert done.returncode == 1
    assert "veth never has zero-copy" in done.stderr
    assert lab.changes() == []


def test_from_another_namespace(lab):
    """Devices of the same name there are not the daemon's."""
    with Shuntd(lab, "xconnect", "eth1", "eth2") as daemon:
        done = lab.exec("gen", "shuntctl", "-s", daemon.control, "-j", "doctor", check=False)
        findings = json.loads(done.stdout)["findings"]
        assert done.returncode == 0, findings
        assert any("in another network namespace" in f["sentence"] for f in findings)
        assert {f["topic"] for f in findings if f["object"].startswith("eth")} == {"in use"}
        found = json.loads(lab.exec("gen", "shuntctl", "-s", daemon.control, "-j", "doctor", "eth1",
                                    check=False).stdout)["findings"]
        program = [f for f in found if (f["object"], f["topic"]) == ("eth1", "program")]
        assert program[0]["sentence"] == "no XDP program is on the device", program


def test_generic_as_the_daemon_runs(lab):
    lab.exec("dut", "ip", "link", "add", "link", "eth2", "name", "mac0", "up", "type", "macvlan")
    lab.remember()
    with Shuntd(lab, "xconnect", "eth1", "mac0", "--driver-mode", "generic") as daemon:
        code, found = doctor(lab, "-s", daemon.control)
        assert code == 0 and levels(found["mac0", "driver"]) == ["warning"], found
        assert "generic mode always copies" in found["eth1", "zerocopy"][0]["sentence"]


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
    done = lab.exec("dut", "unshare", "--user", "--map-root-user", "shuntctl", "-s", "/nowhere", "-j",
                    "doctor", "eth1", check=False)
    found = next(row for row in json.loads(done.stdout)["findings"] if row["topic"] == "rights")
    assert done.returncode == 1 and found["level"] == "error", found
    assert "user namespace" in found["sentence"]
    assert "user namespace" in refused(lab, "xconnect", "eth1", "eth2",
                                       wrap=("unshare", "--user", "--map-root-user"))
