# SPDX-License-Identifier: BSD-2-Clause
"""Several queues: who has what arrives on each, and what is said when that is mostly the kernel."""
import pytest

from shuntlab.doctor import doctor
from shuntlab.frames import udp4
from shuntlab.lab import wait_until
from shuntlab.modes import STATIC3
from shuntlab.shuntd import Shuntd, refused


def shares(daemon):
    return {row["queue"]: row for row in daemon.port()["kernel_parts"]}


def send_flows(lab, count):
    """Many flows, which veth spreads over its queues by a hash."""
    wire = lab.wire("gen")
    for n in range(count):
        wire.send(udp4(sport=1024 + n))


def test_a_queue_without_a_worker_is_said(make_lab):
    """Two of four queues are served: shuntctl, doctor and the log tell of the others, once. (A worker
    that had to wait for a CPU may have been taken for hung, which is told of too.)"""
    lab = make_lab(queues=4, static_neigh=True)
    with Shuntd(lab, *STATIC3, "--queues", 2, chatty=True) as daemon:
        send_flows(lab, 6000)
        wait_until(lambda: sum(row["kernel"] + row["forwarded"] for row in shares(daemon).values())
                   >= 6000)
        rows = shares(daemon)
        assert set(rows) == {0, 1, 2, 3}, rows
        for queue, row in rows.items():
            assert row["part"] > 0.9 if queue >= 2 else row["forwarded"], row
            assert (row["most"] == "no_socket") == (queue >= 2), row
        wait_until(lambda: [row["queue"] for row in daemon.notices("kernel_part")] == [2, 3])
        said = daemon.notices("kernel_part")[1]["text"]
        assert said in daemon.ctl("show", "ports").stdout
        _, found = doctor(lab, "-s", daemon.control)
        assert said in [row["sentence"] for row in found["eth1", "in use"]], found
        daemon.said_until(said.partition(":")[0] + ":")  # by then with fewer frames


def test_queues_that_come_meanwhile(make_lab):
    """A device gets more queues than shuntd knows of: that is said, without a frame that arrives there
    (which veth does not even give to XDP), and a successor serves them."""
    lab = make_lab(queues=4, static_neigh=True)

    def channels(cnt, hosts):  # never fewer to receive on than the peer sends on
        for host in hosts:
            lab.exec(host, "ethtool", "-L", "eth1", "rx", cnt, "tx", cnt)

    channels(2, ["gen", "dut"])
    with Shuntd(lab, *STATIC3, chatty=True) as daemon:
        assert daemon.port()["queues_of_device"] == 2 and not daemon.notices("queues")
        channels(4, ["dut", "gen"])
        assert daemon.port()["queues_of_device"] == 4
        notice, = wait_until(lambda: daemon.notices("queues"))
        assert "ethtool -L eth1 rx 2 tx 2" in notice["text"], "the remedy"
        daemon.said_until(notice["text"])
        _, found = doctor(lab, "-s", daemon.control, "eth1")
        assert notice["text"] in [row["sentence"] for row in found["eth1", "in use"]], found
        with Shuntd(lab, *STATIC3, "--takeover", check=False, chatty=True) as successor:
            assert daemon.process.wait(60) == 0
            assert successor.port()["queues_served"] == 4 and not successor.notices("queues")


def test_served_queues_are_not_warned_of(make_lab):
    lab = make_lab(queues=4, static_neigh=True)
    with Shuntd(lab, *STATIC3, "--cpu", "0,1") as daemon:
        # Workers that had to wait for a CPU may have been taken for hung, and some be the kernel's.
        queues = []
        while not queues or not all(row["rx_packets"] for row in queues) or \
                sum(row["forwarded"] for row in shares(daemon).values()) < 1900:
            send_flows(lab, 500)
            queues = daemon.port()["queues"]
        assert [row["worker"] for row in queues] == [0, 1, 0, 1]
        assert not daemon.notices("kernel_part")


def test_spread_where_there_is_no_table(lab):
    """veth has no indirection table: one sentence, nothing changed, no journal left."""
    assert "spread" in refused(lab, "static3", STATIC3[1] + ",spread=true", STATIC3[2])
    assert lab.changes() == []


@pytest.mark.parametrize("way", ["stopped", "killed"])
def test_spread_is_given_back_as_it_was(nic, way):
    """The kernel's own table as that, which follows the number of queues; one that somebody set, as set."""
    ports = STATIC3[1] + ",spread=true", STATIC3[2]
    for was in None, [1, 0, 0, 1, 1, 0, 0, 1]:
        nic.set_table(was)
        daemon = Shuntd(nic.lab, "static3", *ports)
        assert nic.table() == [0] * 8
        if way == "stopped":
            daemon.stop()
        else:
            daemon.kill()
            with Shuntd(nic.lab, *STATIC3) as after:
                assert any("gave back" in line for line in after.log), after.log
        assert nic.table() == was


def test_ntuple_where_there_are_no_filters(lab):
    """veth has none: one sentence, nothing changed, no journal left; doctor says so beforehand."""
    port = STATIC3[1] + ",ntuple=ipv4 proto udp dport 53 queue 0"
    assert "ntuple" in refused(lab, "static3", port, STATIC3[2])
    assert lab.changes() == []
    said = lab.exec("dut", "shuntctl", "-s", "/nowhere", "doctor", "eth1", check=False).stdout
    assert "no ntuple filters in the driver veth" in said
