# SPDX-License-Identifier: BSD-2-Clause
"""ntuple filters on request: set beside those of others, listed by ethtool and by shuntctl, gone after
a clean stop and after kill -9 and the next start, as is their switch. What the device cannot do is one
sentence, and nothing is left behind. No driver here has such filters: fake_nic.c, preloaded,
answers ethtool's ioctls about eth1 for shuntd, shuntctl and ethtool alike, and keeps the table."""

import pytest

from shuntlab.shuntd import Shuntd
from shuntlab.frames import SINK, udp4

PTP, LAST = "ethertype 0x88f7 queue 0", "dst-mac 02:00:00:00:77:77 queue 0 location 2"
ASKED = f"eth1,ntuple={PTP},ntuple={LAST}"


def refused(nic, text, *words):
    was = nic.filters(), nic.is_on()
    done = nic.lab.exec("dut", "shuntd", "xconnect", f"eth1,ntuple={text}", "eth2", "--control",
                        "none", check=False)
    assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr
    assert all(word in done.stderr for word in words), done.stderr
    assert (nic.filters(), nic.is_on()) == was
    assert nic.lab.changes() == []


def locations(daemon):
    return [row["location"] for row in daemon.show("ports")["ports"][0]["in_use"]["ntuple"]]


def test_what_the_device_cannot_do(nic):
    refused(nic, "ipv4 proto tcp dport 80 queue 0",
            "refuses filter 'ipv4 proto tcp dport 80 queue 0 location 15'", "does not compare that")
    refused(nic, "ethertype 0x88f7 queue 9", "expected queue 0 to 0")
    refused(nic, "ethertype 0x88f7 queue 0 location 16", "locations 0 to 15 only")
    nic.add("flow-type", "ether", "proto", "0x88cc", "action", "0", "loc", "15")
    refused(nic, "ethertype 0x88f7 queue 0 location 15", "another filter stands there",
            "ethtool -n eth1 rule 15")


def test_set_shown_and_taken_away(nic):
    with Shuntd(nic.lab, "xconnect", ASKED, "eth2") as daemon:
        filters = nic.filters()
        assert set(filters) == {2, 15} and nic.is_on()
        assert "Ethertype: 0x88F7 mask: 0x0" in filters[15], filters[15]
        assert "Dest MAC addr: 02:00:00:00:77:77 mask: 00:00:00:00:00:00" in filters[2], filters[2]
        assert "Direct to queue 0" in filters[2]
        assert locations(daemon) == [15, 2]
        nic.lab.exec("dut", "ethtool", "-N", "eth1", "delete", 2)
        assert locations(daemon) == [15, None]
        said = nic.lab.exec("dut", "shuntctl", "-s", daemon.control, "doctor", check=False).stdout
        assert "location 2' is not on the device any more" in said, said
        assert "has ntuple filters, 1 of 16 in use" in said
        shown = daemon.ctl("show", "ports").stdout
        assert f"ntuple filter: {PTP} (at location 15)" in shown, shown
        gen, sink = nic.lab.ends()
        gen.reaches(sink, udp4(100, eth_dst=SINK))
    assert nic.filters() == {} and not nic.is_on()


@pytest.mark.parametrize("foreign", [False, True], ids=["alone", "beside another's"])
def test_killed(nic, foreign):
    """The next start gives back what the killed daemon set; another's filter, its place and the
    switch stay."""
    if foreign:
        nic.add("flow-type", "ether", "proto", "0x88cc", "action", "0", "loc", "15")
    before = nic.filters()
    killed = Shuntd(nic.lab, "xconnect", ASKED, "eth2")
    assert set(nic.filters()) == ({2, 14, 15} if foreign else {2, 15})
    killed.kill()
    assert set(nic.filters()) == ({2, 14, 15} if foreign else {2, 15})
    # What is there already serves, and stays.
    there = "eth1,ntuple=ethertype 0x88cc queue 0" if foreign else "eth1"
    with Shuntd(nic.lab, "xconnect", there, "eth2") as daemon:
        assert any("gave back" in line for line in daemon.log), daemon.log
        assert nic.filters() == before and nic.is_on() == foreign
        assert locations(daemon) == ([15] if foreign else [])
    assert nic.filters() == before and nic.is_on() == foreign
