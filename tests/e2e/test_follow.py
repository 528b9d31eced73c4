# SPDX-License-Identifier: BSD-2-Clause
"""The thread that follows the kernel's routes: what becomes of packets while it stands still, and while the
control thread does. tests/timing/test_follow.py says how soon; test_bridge.py has what is bridged."""
import concurrent.futures
import signal
import subprocess
import time

import pytest

from shuntlab.faults import STALE_S
from shuntlab.frames import GEN, SINK, routed, udp4
from shuntlab.lab import wait_until
from shuntlab.ptrace import Stopped
from shuntlab.shuntd import Shuntd, Watched
from shuntlab.trickle import Trickle, numbered

pytestmark = pytest.mark.usefixtures("each_lane")

FOLLOWER = "shunt-follow"
FAR = "10.99.0.1"
BEFORE, MOVED = "02:00:00:00:0b:01", "02:00:00:00:0b:02"
ROUTES = 100_000
DROP_IN = "add table netdev f; add chain netdev f f { type filter hook ingress device eth1 priority 0; }; " \
          "add rule netdev f f udp dport 4444 drop"
DROP = "add table inet f; add chain inet f f { type filter hook forward priority 0; }; " \
       "add rule inet f f udp dport 4444 drop"


# Loaded before libc, it keeps the follower, once that has its name, from its first turn.
NEVER_BEGINS = """#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int prctl(int option, ...)
{
	unsigned long more[4];
	va_list list;

	va_start(list, option);
	for (int i = 0; i < 4; i++)
		more[i] = va_arg(list, unsigned long);
	va_end(list);
	while (option == PR_SET_NAME && !strcmp((const char *)more[0], "shunt-follow"))
		pause();
	return syscall(SYS_prctl, option, more[0], more[1], more[2], more[3]);
}
"""


@pytest.fixture
def moving(lab):
    """The lab with a route that has two next hops to choose from: hop(address) takes one."""
    def hop(address):
        lab.ip("route", "replace", "10.99.0.0/16", "via", address)

    for address, lladdr in ("10.0.2.11", BEFORE), ("10.0.2.12", MOVED):
        lab.ip("neigh", "replace", address, "lladdr", lladdr, "dev", "eth2", "nud", "permanent")
    hop("10.0.2.11")
    yield hop
    lab.ip("route", "del", "10.99.0.0/16")
    for address in "10.0.2.11", "10.0.2.12":
        lab.ip("neigh", "del", address, "dev", "eth2")


class Stations:
    """Frames to the route, and which station they come to."""

    def __init__(self, lab):
        self.gen, self.sink = lab.ends()
        self.sent = udp4(104, dst=FAR)

    def arrives_at(self, mac):
        """Whether a frame that is sent now comes to that station, and to no other."""
        wanted = {station: routed(self.sent, eth_dst=station) for station in (BEFORE, MOVED)}
        self.gen.send(self.sent)
        return self.sink.receive(lambda frame: frame in wanted.values(), timeout=5) == wanted[mac]


def goes_on(daemon, stations, each_lane, mac):
    """Frames take the lane under test again."""
    def is_forwarded():
        before = daemon.packets(each_lane)
        assert stations.arrives_at(mac)
        return daemon.packets(each_lane) > before
    wait_until(is_forwarded)


def test_a_follower_that_never_begins(lab, moving, tmp_path):
    """It is as stale as one that stopped later: packets obey the kernel."""
    source, library = tmp_path / "never.c", tmp_path / "never.so"
    source.write_text(NEVER_BEGINS, encoding="ascii")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
    stations = Stations(lab)
    with Watched(lab, f"LD_PRELOAD={library}", "shuntd", "route", "eth1", "eth2", program="env", chatty=True,
                 check=False) as daemon:
        moving("10.0.2.12")
        wait_until(lambda: stations.arrives_at(MOVED), 20)
        assert all(stations.arrives_at(MOVED) for _ in range(50))
        # all of these may have come before the port forwards
        wait_until(lambda: stations.arrives_at(MOVED) and daemon.steered("stale"), 20, "what is stale")
        daemon.kill()  # an end in order waits for the thread


def test_hung_follower(lab, moving, each_lane):
    """It stands still: packets are the kernel's, and obey it. It goes on: they are shunt's again."""
    stations = Stations(lab)
    with Watched(lab, "route", "eth1", "eth2", chatty=True, check=False) as daemon:
        goes_on(daemon, stations, each_lane, BEFORE)
        with Stopped(daemon.process.pid, FOLLOWER):
            wait_until(lambda: stations.gen.send(stations.sent) or daemon.steered("stale") > 0)
            moving("10.0.2.12")
            wait_until(lambda: stations.arrives_at(MOVED))
            assert all(stations.arrives_at(MOVED) for _ in range(50))
            assert daemon.ask("show", "lanes")["lanes"], "control does not answer"
            daemon.said_until(wait_until(lambda: daemon.notice("unfollowed"))["text"].partition(" for ")[0])
        goes_on(daemon, stations, each_lane, MOVED)
        wait_until(lambda: daemon.notice("unfollowed") is None)


def test_hung_follower_and_a_new_rule(lab, each_lane):
    """A rule that is loaded while it stands still holds."""
    gen, sink = lab.ends()
    sent = udp4(104, dport=4444)
    with Watched(lab, "route", "eth1", "eth2", chatty=True, check=False) as daemon:
        wait_until(lambda: gen.send(sent) or daemon.packets(each_lane) > 0)  # it is followed then
        with Stopped(daemon.process.pid, FOLLOWER):
            wait_until(lambda: gen.send(sent) or daemon.steered("stale") > 0)
            lab.exec("dut", "nft", DROP)
            gen.reaches(sink, numbered(1), routed(numbered(1)))
            gen.send(*[sent] * 100)
            assert sink.receive(lambda frame: frame == routed(sent), timeout=0.5) is None
        wait_until(lambda: daemon.lane()["reason"] == "firewall")
        lab.exec("dut", "nft", "flush", "ruleset")
        wait_until(lambda: daemon.lane()["in_use"] == each_lane)


def sent(length):
    """What DROP_IN drops."""
    return udp4(length, eth_dst=SINK, dport=4444)


def crosses(gen, sink, daemon, lane):
    """Whether the lane has packets between stations that both are known."""
    sink.send(udp4(104, eth_dst=GEN, eth_src=SINK))
    gen.send(sent(104))
    return daemon.packets(lane) > 0


@pytest.mark.parametrize("firewall", ["auto", "ignore"])
def test_hung_follower_and_a_bridge_alone(lab, each_lane, firewall):
    """Rules of its ports judge it, which nobody follows then: nothing crosses, until it goes on. Where the
    operator's word is to pass them by, nothing is followed."""
    gen, sink = lab.ends()
    with Watched(lab, "bridge", "eth1", "eth2", "--firewall", firewall, chatty=True, check=False) as daemon:
        wait_until(lambda: crosses(gen, sink, daemon, each_lane))
        with Stopped(daemon.process.pid, FOLLOWER):
            if firewall == "auto":
                wait_until(lambda: gen.send(sent(104)) or daemon.steered("stale") > 0)
                lab.exec("dut", "nft", DROP_IN)
                gen.send(*[sent(105)] * 100)
                assert sink.receive(lambda frame: frame == sent(105), timeout=0.5) is None
            else:
                daemon.said_until("what follows the kernel's routes")
                gen.reaches(sink, sent(106))
                assert daemon.steered("stale") == 0
        if firewall == "auto":
            wait_until(lambda: daemon.lane()["reason"] == "firewall_in_vain")
            lab.exec("dut", "nft", "flush", "ruleset")
        wait_until(lambda: daemon.lane()["in_use"] == each_lane)
        wait_until(lambda: gen.send(sent(107)) or
                   sink.receive(lambda frame: frame == sent(107), timeout=0.1))


def test_stopped_with_a_bridge_alone(lab, each_lane):
    """All of the daemon stands still: as after its death, the bridge goes on between known stations, although
    nobody follows the rules."""
    gen, sink = lab.ends()
    with Watched(lab, "bridge", "eth1", "eth2", chatty=True, check=False) as daemon:
        wait_until(lambda: crosses(gen, sink, daemon, each_lane))
        before = sum(daemon.packets(way) for way in ("user", "xdp"))
        daemon.process.send_signal(signal.SIGSTOP)
        try:
            time.sleep(3 * STALE_S)  # nobody answers who could be asked
            gen.send(*[sent(108)] * 50)
            for _ in range(50):
                assert sink.receive(lambda frame: frame == sent(108), timeout=10)
        finally:
            daemon.process.send_signal(signal.SIGCONT)
        # not that nothing was stale: a host's router solicitation goes to no station
        assert sum(daemon.packets(way) for way in ("user", "xdp")) - before >= 50


def test_busy_control(lab, moving, each_lane):
    """The control thread stands still, as in a driver that loads a program: packets go on, by the routes of
    now, and nothing is stale."""
    stations = Stations(lab)
    with Shuntd(lab, "route", "eth1", "eth2", chatty=True, check=False) as daemon:
        goes_on(daemon, stations, each_lane, BEFORE)
        before = daemon.packets(each_lane)
        with Stopped(daemon.process.pid, "shuntd"):
            moving("10.0.2.12")
            wait_until(lambda: stations.arrives_at(MOVED))
            trickle = Trickle(lab)
            trickle.run(2)
            assert not trickle.lost()
            moving("10.0.2.11")
            wait_until(lambda: stations.arrives_at(BEFORE))
        assert daemon.packets(each_lane) - before >= len(trickle.sent)


@pytest.mark.parametrize("end", ["stop", "takeover"])
def test_end_while_the_follower_hangs(lab, each_lane, end):
    """An end comes all the same, is no success, and leaves nothing behind; a successor forwards."""
    stuck = Shuntd(lab, "route", "eth1", "eth2")
    with Stopped(stuck.process.pid, FOLLOWER) as follower, \
            concurrent.futures.ThreadPoolExecutor() as pool:
        if end == "stop":
            stuck.process.send_signal(signal.SIGTERM)
        else:
            starting = pool.submit(Shuntd, lab, "route", "eth1", "eth2", "--takeover", chatty=True)
        follower.wait_killed()
    if end == "takeover":
        with starting.result() as after:
            trickle = Trickle(lab)
            before = after.packets(each_lane)
            assert trickle.run(30, lambda: after.packets(each_lane) > before)
    _, err = stuck.process.communicate(timeout=60)
    assert stuck.process.returncode == 1 and "what follows the kernel hangs" in err, err
    assert lab.changes() == []


def test_many_routes(lab, tmp_path, each_lane):
    """A table that takes a while to load, and one that comes and goes while packets pass: nothing is lost,
    shuntctl is answered, and what loads is not taken for hung."""
    batches = {}
    for word in "replace", "del":
        batches[word] = tmp_path / word
        batches[word].write_text("".join(
            f"route {word} 10.{64 + n // 2048}.{n // 8 % 256}.{n % 8 * 32}/27 via 10.0.2.2\n"
            for n in range(ROUTES)))
    lab.exec("dut", "ip", "-b", batches["replace"])
    try:
        trickle = Trickle(lab)
        with Shuntd(lab, "route", "eth1", "eth2", chatty=True, check=False) as daemon:
            trickle.run(60, lambda: daemon.show("mirror")["state"] == "following")
            assert daemon.show("routes")["ip4_routes"] > ROUTES
            trickle.run(60, lambda: daemon.lane()["in_use"] == each_lane)
            assert daemon.steered("stale") == 0
            lab.exec("dut", "ip", "-b", batches["del"])
            trickle.run(60, lambda: daemon.show("routes")["ip4_routes"] < ROUTES)
            before = daemon.packets(each_lane)
            assert trickle.run(60, lambda: daemon.packets(each_lane) > before)
            assert not trickle.lost()
    finally:
        lab.exec("dut", "ip", "-f", "-b", batches["del"], check=False)
