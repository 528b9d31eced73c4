# SPDX-License-Identifier: BSD-2-Clause
"""Programs attached by hand, with the commands of shuntd(8), and served by shuntd."""
import re
import subprocess

from shuntlab.shuntd import Shuntd, refused, unchanged
from shuntlab.frames import SINK, udp4
from shuntlab.programs import STEER, attach, detach, on_device

SERVE = ("xconnect", "eth1", "eth2", "--attach", "external")
PIN = "/sys/fs/bpf/steer-%s"
BPFTOOL = f"bpftool prog load {STEER} {PIN} pinmaps /sys/fs/bpf/maps-%s && " \
    f"bpftool net attach xdpdrv pinned {PIN} dev %s"


def numbered(number):
    return udp4(100, eth_dst=SINK, data=number.to_bytes(8, "big") + bytes(50))


def serves(lab):
    """A daemon serves what is on the ports, is killed, and another one goes on."""
    before = [on_device(lab, device) for device in ("eth1", "eth2")]
    assert all(before)
    lab.remember()
    daemon = Shuntd(lab, *SERVE)
    lab.crosses(numbered(1))
    daemon.kill()
    with Shuntd(lab, *SERVE):
        lab.crosses(numbered(2))
    assert [on_device(lab, device) for device in ("eth1", "eth2")] == before


def test_ip_link(lab):
    for device in "eth1", "eth2":
        attach(lab, device)
    serves(lab)


def test_bpftool_with_pinned_maps(lab):
    for device in "eth1", "eth2":
        lab.exec("dut", "sh", "-c", BPFTOOL.replace("%s", device))
    serves(lab)


def other_version(path):
    """The object as if it were built of other source: the same programs and maps, another number."""
    with open(STEER, "rb") as file:
        data = bytearray(file.read())
    said = subprocess.run(["readelf", "-SW", STEER], capture_output=True, text=True, check=True).stdout
    offset = int(re.search(r"\.data\.shunt_cfg +PROGBITS +\w+ (\w+)", said)[1], 16)
    assert any(data[offset + 32:offset + 40]), "no version"
    data[offset + 32] ^= 1
    path.write_bytes(data)
    return path


def test_another_version_is_refused(lab, tmp_path):
    """Its maps look the same, and what is in them may not mean the same."""
    obj = other_version(tmp_path / "other.bpf.o")
    for device in "eth1", "eth2":
        attach(lab, device, obj)
    lab.remember()
    sentence = refused(lab, *SERVE)
    assert "eth1" in sentence and "version" in sentence
    assert lab.changes() == []
    for device in "eth1", "eth2":
        detach(lab, device)
        attach(lab, device)
    serves(lab)


def test_generic_is_refused_where_frames_come_back(lab):
    """To a generic program comes again what is handed back to the kernel; a pair hands back nothing."""
    for device in "eth1", "eth2":
        attach(lab, device, mode="xdpgeneric")
    with unchanged(lab):
        for mode in "route", "bridge", "mix":
            sentence = refused(lab, mode, "eth1", "eth2", "--attach", "external")
            assert "eth1" in sentence and f"mode {mode}" in sentence and "xdpdrv" in sentence
    lab.remember()
    with Shuntd(lab, *SERVE):
        lab.crosses(numbered(3))


def test_one_program_cannot_serve_two_ports(lab):
    lab.exec("dut", "sh", "-c", BPFTOOL.replace("%s", "eth1"))
    lab.exec("dut", "sh", "-c", f"bpftool net attach xdpdrv pinned {PIN % 'eth1'} dev eth2")
    lab.remember()
    assert "/sys/fs/bpf/steer-eth2" in refused(lab, *SERVE), "the remedy"
    assert lab.changes() == []
