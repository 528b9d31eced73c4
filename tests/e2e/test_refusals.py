# SPDX-License-Identifier: BSD-2-Clause
"""What cannot be: one sentence with the remedy, exit code 1 (2 for usage), the machine as it was."""
import re

import pytest

from shuntlab.doctor import doctor
from shuntlab.frames import SINK, udp4
from shuntlab.modes import PAIRS
from shuntlab.programs import FOREIGN, attach, detach, on_device
from shuntlab.shuntd import Shuntd, refused, unchanged

# Arguments, exit code, what the sentence names. tests/unit has those that no device is asked for.
ARGUMENTS = [
    (["xconnect", "eth1", "eth9"], 1, ["eth9"]),
    (["xconnect", "lo", "eth1"], 1, ["lo"]),
    (["xconnect", "eth1", "eth2", "--queues", "2"], 1, ["eth1", "2"]),
    (["xconnect", "eth1", "eth2", "--cpu", "900"], 1, ["900"]),
    (["xconnect", "eth1", "eth2", "--require", "zerocopy"], 1, ["zero-copy", "veth"]),
    (["xconnect", "eth1", "eth2", "--copy-mode", "zerocopy"], 1, ["zero-copy"]),
    (["xconnect", "eth1", "eth2", "--frames", "64"], 1, ["frames", "64", "4096"]),
    (["xconnect", "eth1", "eth2", "--attach", "external"], 1, ["eth1", "ip link"]),
    (["xconnect", "eth1", "cap,kind=pcap,in=/nonexistent"], 1, ["/nonexistent"]),
    (["xconnect", "eth1", "cap,kind=pcap,out=/nonexistent/x"], 1, ["/nonexistent/x"]),
    (["xconnect", "eth1", "eth2", "--control", "/nonexistent/s"], 1, ["/nonexistent/s"]),
    (["xconnect", "eth1", "eth2", "--pidfile", "/nonexistent/p"], 1, ["/nonexistent/p"]),
    (["xconnect", "eth1", "eth2", "--user", "no-such-user"], 1, ["no-such-user"]),
    (["-c", "/nonexistent.yaml"], 1, ["/nonexistent.yaml"]),
    (["xconnect", "eth1", "eth2", "--batch", "0"], 2, ["batch", "0"]),
    (["route", "eth1", "eth2", "--driver-mode", "generic"], 2, ["generic", "native"]),
    (["--bogus"], 2, ["--bogus"]),
]


def test_arguments(lab):
    with unchanged(lab):
        for args, code, says in ARGUMENTS:
            sentence = refused(lab, *args, code=code)
            for words in says:
                assert words in sentence, (args, sentence)


# Lines of a file that is otherwise right, the number of the line that is named, and what is.
FILES = [("batch: many", "4", ["batch", "many"]), ("btach: 32", "4", ["btach"]), ("batch: [", "", [])]


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


def test_a_port_of_another_device_is_not_routed(lab):
    lab.ip("link", "add", "br0", "type", "bridge")
    lab.link("dut", "eth1", "master", "br0")
    with unchanged(lab):
        assert "nomaster" in refused(lab, "route", "eth1", "eth2")


def test_a_pid_file_goes_through_no_link(lab, tmp_path):
    """Root's pid file in a folder of somebody else's."""
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "pid").symlink_to(tmp_path / "precious")
    with Shuntd(lab, *PAIRS["xconnect"], "--pidfile", str(tmp_path / "pid")) as daemon:
        assert int((tmp_path / "pid").read_text()) == daemon.process.pid
        assert not (tmp_path / "pid").is_symlink()
    assert (tmp_path / "precious").read_text() == "precious"


def test_no_rights(lab):
    """Root without one capability: the sentence names it, and so does the doctor."""
    for missing in "net_admin", "net_raw", "sys_admin":
        drop = ["setpriv", "--bounding-set", "-" + missing, "--inh-caps", "-" + missing]
        named = "CAP_" + missing.upper()
        with unchanged(lab):
            assert named in refused(lab, *PAIRS["xconnect"], wrap=drop)
        finding = doctor(lab, "-s", "/nowhere", "eth1", wrap=drop)[1]["host", "rights"][0]
        assert finding["level"] == "error" and named in finding["sentence"], finding


def test_not_root(lab):
    nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    sentence = refused(lab, *PAIRS["xconnect"], "--control", "none", wrap=nobody)
    assert "CAP_NET_ADMIN" in sentence


@pytest.mark.parametrize("kind", ["xdpdrv", "xdpgeneric"])
def test_device_in_use(lab, kind):
    """Another's program, native or generic: named, and left where it is."""
    attach(lab, "eth2", FOREIGN, kind)
    with unchanged(lab):
        sentence = refused(lab, *PAIRS["xconnect"])
    assert "eth2" in sentence and "--replace" in sentence and "sink" in sentence
    # With leave it gives way, and is back in the end.
    with unchanged(lab):
        with Shuntd(lab, *PAIRS["xconnect"], "--replace", check=False):
            assert "steer" in on_device(lab, "eth2")["name"]
    # What the sentence says to do does it, and what the doctor says is the same.
    remedy = re.search(r"`(ip link .*? off)`", sentence)[1]
    assert remedy in lab.exec("dut", "shuntctl", "-s", "/nowhere", "doctor", "eth2", check=False).stdout
    lab.exec("dut", *remedy.split())
    assert not on_device(lab, "eth2")


def test_what_gave_way_comes_back_after_a_kill(lab):
    """Its only other holder was the device: it is pinned meanwhile, over a successor's time too."""
    attach(lab, "eth2", FOREIGN)
    with unchanged(lab):
        first = Shuntd(lab, *PAIRS["xconnect"], "--replace")
        second = Shuntd(lab, *PAIRS["xconnect"], "--takeover")
        assert first.process.wait(60) == 0
        second.show("ports")  # from here on nobody starts the first one again in its place
        second.kill()
        assert lab.exec("dut", "ls", "/sys/fs/bpf/shunt").stdout.count("native") == 1
        done = lab.exec("dut", "shuntd", *PAIRS["xconnect"], "--on-death", "kernel", "--control",
                        first.control, check=False)
        assert "gave back what a killed daemon had changed" in done.stderr
        assert done.returncode == 1 and "--replace" in done.stderr, done.stderr
    detach(lab, "eth2")


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
    with Shuntd(lab, *PAIRS["xconnect"], "--driver-mode", "generic", "--lane", "xdp"):
        assert on_device(lab)["name"].startswith("shunt_steer_sg")
        lab.crosses(udp4(1514, eth_dst=SINK))


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
