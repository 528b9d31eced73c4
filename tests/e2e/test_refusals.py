# SPDX-License-Identifier: BSD-2-Clause
"""What cannot be: one sentence with the remedy, exit code 1 (2 for usage), the machine as it was."""
import os
import re

import pytest

from frames import SINK, udp4
from shuntd import Shuntd, refused, unchanged
from lab import ROOT
from test_forward import PAIRS

OBJ = os.path.join(ROOT, os.environ.get("B", "build"), "bpf", "tools", "shunt_sink.bpf.o")

# arguments, exit code, what the sentence has
ARGUMENTS = [
    (["xconnect", "eth1", "eth9"], 1, ["eth9: no such device", "ip link"]),
    (["xconnect", "lo", "eth1"], 1, ["lo: not an Ethernet device"]),
    (["xconnect", "eth1", "eth2", "--queues", "2"], 1, ["2 queues", "has 1", "can have 1 queue"]),
    (["xconnect", "eth1", "eth2", "--cpu", "0,1"], 1, ["2 workers", "can have 1 queue"]),
    (["xconnect", "eth1", "eth2", "--cpu", "900"], 1, ["CPU 900"]),
    (["xconnect", "eth1", "eth2", "--require", "zerocopy"], 1, ["zero-copy", "veth"]),
    (["xconnect", "eth1", "eth2", "--copy-mode", "zerocopy"], 1, ["zero-copy", "copy"]),
    (["xconnect", "eth1", "eth2", "--frames", "64"], 1, ["frames is 64", "take 4096", "raise it"]),
    (["xconnect", "eth1", "eth2", "--attach", "external"], 1, ["no steering program", "ip link"]),
    (["xconnect", "eth1", "cap,kind=pcap,in=/nonexistent"], 1, ["/nonexistent", "No such file"]),
    (["xconnect", "eth1", "cap,kind=pcap,out=/nonexistent/x"], 1, ["/nonexistent/x"]),
    (["xconnect", "eth1", "eth2", "--control", "/nonexistent/s"], 1, ["/nonexistent/s"]),
    (["xconnect", "eth1", "eth2", "--pidfile", "/nonexistent/p"], 1, ["/nonexistent/p"]),
    (["-c", "/nonexistent.yaml"], 1, ["/nonexistent.yaml"]),
    (["xconnect", "eth1", "eth2", "--ring-size", "1000"], 2, ["ring_size is 1000", "1024"]),
    (["xconnect", "eth1", "eth2", "--batch", "0"], 2, ["batch is 0", "1 to 256"]),
    (["xconnect", "eth1", "eth2", "--batch", "257"], 2, ["batch is 257", "1 to 256"]),
    (["xconnect", "eth1", "eth2", "--frame-size", "3000"], 2, ["frame_size is 3000", "4096"]),
    (["xconnect", "eth1", "eth2", "--poll", "lazy"], 2, ["--poll is 'lazy'", "adaptive"]),
    (["xconnect", "eth1", "eth2", "--rule", "proto udp"], 2, ["lane"]),
    (["xconnect", "eth1", "eth1"], 2, ["port eth1 is named twice"]),
    (["xconnect", "eth1"], 2, ["pairs of two"]),
    (["static3", "eth1", "eth2"], 2, ["no next hop", "MAC"]),
    (["bogus", "eth1", "eth2"], 2, ["bogus", "xconnect"]),
    ([], 2, ["no ports", "--help"]),
    (["--bogus"], 2, ["--bogus"]),
]


def test_arguments(lab):
    with unchanged(lab):
        for args, code, says in ARGUMENTS:
            sentence = refused(lab, *args, code=code)
            for words in says:
                assert words in sentence, (args, sentence)


# Lines of a file that is otherwise right, and what is said of it.
FILES = [
    ("batch: many", "4", ["batch", "many"]),
    ("batch: 300", "4", ["batch is 300", "1 to 256"]),
    ("btach: 32", "4", ["btach"]),
    ("poll: sometimes", "4", ["sometimes"]),
    ("ring_size: 100", "4", ["power of two"]),
    ("rules: ['proto udp lane nowhere']", "4", ["nowhere"]),
    ("replace: perhaps", "4", ["perhaps"]),
    ("workers: {count: [1]}", "4", ["count"]),
    ("batch: [", "", []),
]


def test_files(lab, tmp_path):
    path = tmp_path / "shuntd.yaml"
    with unchanged(lab):
        for line, number, says in FILES:
            path.write_text("ports: [{name: eth1}, {name: eth2}]\n"
                            "forward: [{mode: xconnect, ports: [eth1, eth2]}]\n"
                            "# a comment\n" + line + "\n")
            sentence = refused(lab, "-c", path)
            for words in [f"{path}:{number}", *says]:
                assert words in sentence, (line, sentence)


@pytest.mark.parametrize("missing, named", [
    ("net_admin", "CAP_NET_ADMIN"), ("net_raw", "CAP_NET_RAW"), ("sys_admin", "CAP_SYS_ADMIN"),
])
def test_no_rights(lab, missing, named):
    """Root without one capability: the sentence names it, and so does the doctor."""
    drop = ["setpriv", "--bounding-set", "-" + missing, "--inh-caps", "-" + missing]
    with unchanged(lab):
        assert named in refused(lab, *PAIRS["xconnect"], wrap=drop)
    found = lab.json("dut", *drop, "shuntctl", "-j", "doctor", "-s", "/nowhere", "eth1", check=False)
    rights = [f for f in found["findings"] if f["topic"] == "rights"]
    assert rights[0]["level"] == "error" and named in rights[0]["sentence"], rights


def test_not_root(lab):
    nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    sentence = refused(lab, *PAIRS["xconnect"], "--control", "none", wrap=nobody)
    assert "CAP_NET_ADMIN" in sentence


@pytest.mark.parametrize("kind", ["xdpdrv", "xdpgeneric"])
def test_device_in_use(lab, kind):
    """Another's program, native or generic: named, and left where it is."""
    lab.exec("dut", "ip", "link", "set", "eth2", kind, "obj", OBJ, "sec", "xdp")
    with unchanged(lab):
        sentence = refused(lab, *PAIRS["xconnect"])
    assert "eth2" in sentence and "--replace" in sentence and "sink" in sentence
    # With leave it gives way, and is back in the end.
    with unchanged(lab):
        with Shuntd(lab, *PAIRS["xconnect"], "--replace", check=False):
            link = lab.json("dut", "ip", "-d", "-j", "link", "show", "eth2")[0]
            assert "steer" in link["xdp"]["prog"]["name"], link
    # What the sentence says to do does it, and what the doctor says is the same.
    remedy = re.search(r"`(ip link .*? off)`", sentence)[1]
    assert remedy in lab.exec("dut", "shuntctl", "-s", "/nowhere", "doctor", "eth2", check=False).stdout
    lab.exec("dut", *remedy.split())
    assert "xdp" not in lab.json("dut", "ip", "-d", "-j", "link", "show", "eth2")[0]


def test_what_gave_way_comes_back_after_a_kill(lab):
    """Its only other holder was the device: it is pinned meanwhile, over a successor's time too."""
    lab.exec("dut", "ip", "link", "set", "eth2", "xdpdrv", "obj", OBJ, "sec", "xdp")
    with unchanged(lab):
        first = Shuntd(lab, *PAIRS["xconnect"], "--replace")
        second = Shuntd(lab, *PAIRS["xconnect"], "--takeover")
        assert first.process.wait(60) == 0
        second.show("ports")  # from here on nobody starts the first one again in its place
        second.kill()
        assert lab.exec("dut", "ls", "/sys/fs/bpf/shunt").stdout.count("native") == 1
        done = lab.exec("dut", "shuntd", *PAIRS["xconnect"], "--control", first.control, check=False)
        assert "gave back what a killed daemon had changed" in done.stderr
        assert done.returncode == 1 and "--replace" in done.stderr, done.stderr
    lab.exec("dut", "ip", "link", "set", "eth2", "xdp", "off")


def test_device_in_use_by_shunt(lab):
    with Shuntd(lab, *PAIRS["xconnect"]) as first:
        with unchanged(lab):
            sentence = refused(lab, *PAIRS["xconnect"])
        assert f"process {first.process.pid} runs shunt" in sentence


def test_generic_only(lab):
    """A device whose driver has no XDP of its own: the sentence gives the mode that works."""
    lab.exec("dut", "ip", "link", "add", "link", "eth2", "name", "mac0", "type", "macvlan")
    lab.exec("dut", "ip", "link", "set", "mac0", "up")
    lab.remember()
    with unchanged(lab):
        sentence = refused(lab, "xconnect", "eth1", "mac0")
    assert "mac0" in sentence and "--driver-mode generic" in sentence
    with Shuntd(lab, "xconnect", "eth1", "mac0", "--driver-mode", "generic") as shuntd:
        modes = {p["name"]: (p["requested"]["driver_mode"], p["in_use"]["driver_mode"])
                 for p in shuntd.show("ports")["ports"]}
        assert modes == {"eth1": ("generic", "generic"), "mac0": ("generic", "generic")}


def test_generic_programs_take_several_buffers(lab):
    """Since Linux 6.9 the kernel then makes room before a frame in pages that it keeps."""
    gen, sink = lab.wire("gen"), lab.wire("sink")
    with Shuntd(lab, *PAIRS["xconnect"], "--driver-mode", "generic", "--lane", "xdp"):
        link = lab.json("dut", "ip", "-d", "-j", "link", "show", "eth1")[0]
        assert link["xdp"]["prog"]["name"].startswith("shunt_steer_sg"), link
        gen.send(udp4(1514, eth_dst=SINK))
        sink.expect(udp4(1514, eth_dst=SINK))


def test_device_down(lab):
    lab.exec("dut", "ip", "link", "set", "eth2", "down")
    with unchanged(lab):
        sentence = refused(lab, *PAIRS["xconnect"])
    assert sentence == "eth2 is down; ip link set eth2 up"


def test_mtu_larger_than_a_frame(make_lab):
    lab = make_lab(mtu=3000)
    sentence = refused(lab, *PAIRS["xconnect"], "--frame-size", 2048)
    assert "eth1: MTU 3000" in sentence and "frame_size 4096" in sentence
    with Shuntd(lab, *PAIRS["xconnect"]):
        pass  # without a wish the frames are of the size that the ports need


def test_mtu_larger_than_a_packet_can_be(make_lab):
    """The kernel sends a packet of 17 pieces at most; what is said to help does."""
    lab = make_lab(mtu=9000)
    ends = [("dut", "eth1"), ("dut", "eth2"), ("gen", "eth1"), ("sink", "eth1")]
    for host, dev in ends:
        lab.exec(host, "ip", "link", "set", "dev", dev, "mtu", 65000)
    sentence = refused(lab, *PAIRS["xconnect"])
    assert "MTU 65000" in sentence and "a packet may take 17 frames" in sentence
    remedy = sentence.split("lower the MTU: ")[1]
    assert remedy == "ip link set dev eth1 mtu 64722"
    for host, dev in ends:
        lab.exec(host, *remedy.replace("eth1", dev).split())
    lab.remember()
    with Shuntd(lab, *PAIRS["xconnect"]) as shuntd:
        limits = [port["in_use"]["mtu_limit"] for port in shuntd.show("ports")["ports"]]
        assert all(limit.startswith("MTU up to 64722: ") for limit in limits)


def test_not_enough_memory(lab):
    """An address space that the frames do not fit in."""
    with unchanged(lab):
        sentence = refused(lab, *PAIRS["xconnect"], "--frames", 4194304,
                           wrap=["prlimit", "--as=1000000000"])
    assert "not enough memory" in sentence and "fewer" in sentence


def test_check_config_touches_nothing(lab, tmp_path):
    """It needs no device, and what it prints means the same."""
    path = tmp_path / "shuntd.yaml"
    done = lab.exec("dut", "shuntd", "xconnect", "eth7", "eth8", "--batch", 7, "--rule",
                    "proto tcp lane kernel", "--check-config")
    path.write_text(done.stdout)
    assert lab.exec("dut", "shuntd", "-c", path, "--check-config").stdout == done.stdout
    assert "batch: 7" in done.stdout and "proto tcp lane kernel" in done.stdout
    assert lab.changes() == []
