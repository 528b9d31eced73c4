# SPDX-License-Identifier: BSD-2-Clause
"""shuntd bridges three hosts: alone, and over a bridge of the kernel's that is its fallback."""
import concurrent.futures
import time

import pytest

from shuntlab.shuntd import Shuntd, Watched, refused
from shuntlab.frames import ethernet, mac
from shuntlab.lab import wait_until
from shuntlab.ptrace import Stopped

pytestmark = pytest.mark.usefixtures("each_lane")

HOSTS = ["gen", "sink", "third"]
PORTS = ["eth1", "eth2", "eth3"]
MACS = {"gen": "02:00:00:00:01:02", "sink": "02:00:00:00:02:02", "third": "02:00:00:00:03:02"}
OTHER = "02:00:00:00:99:99"
FAR = "02:00:00:00:77:77"
NEAR = "02:00:00:00:88:88"
NOBODY = "02:00:00:00:66:66"
BROADCAST = "ff:ff:ff:ff:ff:ff"


def frame(dst, src, mark):
    return ethernet(bytes([mark]) * 46, dst, src, 0x88b5)


@pytest.fixture
def three(make_lab):
    """The lab with one host more at dut's eth3, all with addresses in one subnet."""
    lab = make_lab()
    lab.add_third()
    for number, host in enumerate(HOSTS, 1):
        lab.ip("addr", "add", f"10.77.0.{number}/24", "dev", "eth1", host=host)
        # what hosts say by themselves would be among what is counted
        lab.link(host, "eth1", "addrgenmode", "none")
    return lab


def add_bridge(lab):
    lab.ip("link", "add", "br0", "type", "bridge")
    for port in PORTS:
        lab.link("dut", port, "master", "br0")
    lab.ip("addr", "add", "10.77.0.100/24", "dev", "br0")
    lab.link("dut", "br0", "up")
    wait_until(lambda: all(link["linkinfo"]["info_slave_data"]["state"] == "forwarding"
                           for link in lab.json("dut", "ip", "-j", "-d", "link", "show",
                                                "master", "br0")), what="ports that forward")
    lab.remember()


def bridge(lab, *args, kind=Shuntd):
    lab.remember()
    return kind(lab, "bridge", *args, "--poll", "interrupt", chatty=True)


def ping(lab, host, address):
    lab.exec(host, "ping", "-q", "-c", 1, "-W", 5, address)


def port_of(daemon, station):
    rows = [row for row in daemon.show("macs")["macs"] if row["mac"] == station]
    return rows[0]["port"] if rows else None


def learn(daemon, wire, station, port):
    """The station speaks, again where shunt did not listen yet, and shunt knows where it is."""
    def spoken_and_known():
        wire.send(frame(OTHER, station, 1))
        return port_of(daemon, station) == port
    wait_until(spoken_and_known, what=f"{station} on {port}")


def crossed(daemon):
    """Frames that lane xdp has switched."""
    return sum(daemon.packets("xdp", port) for port in PORTS)


def kernel_port_of(lab, station):
    rows = [row["ifname"] for row in lab.json("dut", "bridge", "-j", "fdb", "show", "br", "br0")
            if row["mac"] == station]
    return rows[0] if rows else None


def expect_known(lab, to, others, dst, src_wire, src):
    """A frame to dst arrives at to, and not at others: a broadcast sent after it is the next."""
    wires = {host: lab.wire(host) for host in [to, *others]}
    sent, marker = frame(dst, src, 0x55), frame(BROADCAST, src, 0xaa)
    src_wire.send(sent, marker)
    wires[to].expect(sent)
    for host in others:
        assert sent not in wires[host].until(marker), f"{host} got what is not for it"


@pytest.mark.parametrize("beneath", [False, True])
def test_hosts_reach_one_another(three, beneath):
    if beneath:
        add_bridge(three)
    with bridge(three, *(["br0"] if beneath else PORTS)) as daemon:
        for number, host in enumerate(HOSTS):
            ping(three, host, f"10.77.0.{(number + 1) % 3 + 1}")
        if beneath:
            ping(three, "sink", "10.77.0.100")
        assert not any((daemon.drops("graph") + daemon.drops("bridge")).values())


def test_takeover(three):
    """Alone, and between two daemons too: to a station that is known by its port, to all by all ports but
    the one that it came in on, each once."""
    # so that the other end takes frames from XDP, as the lab's own hosts do
    three.exec("third", "ethtool", "-K", "eth1", "gro", "on")
    daemon, number = bridge(three, *PORTS), 0
    gen, sink, third = (three.wire(host) for host in HOSTS)
    learn(daemon, sink, FAR, "eth2")

    def made(dst, mark):
        return ethernet(mark.to_bytes(4, "big") + bytes(42), dst, NEAR, 0x88b6)

    with concurrent.futures.ThreadPoolExecutor() as pool:
        starting = pool.submit(Shuntd, three, "bridge", *PORTS, "--takeover", chatty=True)
        while not starting.done() or number < 100:
            gen.send(made(FAR, number), made(BROADCAST, number))
            time.sleep(0.001)
            number += 1
        assert daemon.process.wait(20) == 0
        daemon = starting.result()
    known, to_all = ([made(dst, mark) for mark in range(number)] for dst in (FAR, BROADCAST))
    last, answer = frame(BROADCAST, NEAR, 0xaa), frame(NEAR, FAR, 0xbb)
    gen.send(last)
    got = {host: [f for f in wire.until(last) if f[12:14] == b"\x88\xb6"]
           for host, wire in (("sink", sink), ("third", third))}
    sink.send(answer)
    assert sorted(got["sink"]) == sorted(known + to_all)
    assert sorted(got["third"]) == sorted(to_all)
    assert not [f for f in gen.until(answer) if f[12:14] == b"\x88\xb6"]
    daemon.stop()


@pytest.mark.parametrize("beneath", [False, True])
def test_unknown_is_flooded_known_is_not(three, beneath):
    if beneath:
        add_bridge(three)
    with bridge(three, *(["br0"] if beneath else PORTS)) as daemon:
        gen, sink, third = (three.wire(host) for host in HOSTS)
        sent = frame(FAR, OTHER, 7)
        gen.reaches(sink, sent)
        third.expect(sent)
        learn(daemon, sink, FAR, "eth2")
        expect_known(three, "sink", ["third"], FAR, gen, OTHER)


@pytest.mark.parametrize("beneath", [False, True])
def test_between_known_stations_the_lane_does_it(three, each_lane, beneath):
    """And only there: to or from a station not known, and to groups, frames are another's."""
    if beneath:
        add_bridge(three)
    with bridge(three, *(["br0"] if beneath else PORTS)) as daemon:
        gen, sink = three.ends()
        learn(daemon, sink, FAR, "eth2")
        learn(daemon, gen, NEAR, "eth1")
        before = crossed(daemon)
        gen.send(frame(BROADCAST, NEAR, 1), frame(OTHER, MACS["third"], 2))
        expect_known(three, "sink", [], FAR, gen, NEAR)
        assert crossed(daemon) - before == (1 if each_lane == "xdp" else 0)


def test_never_back_to_its_port(three):
    with bridge(three, *PORTS) as daemon:
        gen, sink = three.ends()
        learn(daemon, gen, FAR, "eth1")
        learn(daemon, sink, NEAR, "eth2")
        gen.send(frame(FAR, OTHER, 9), frame(BROADCAST, OTHER, 10))
        wait_until(lambda: daemon.drops()["same_port"])
        answer = frame(FAR, NEAR, 11)
        sink.send(answer)
        assert [got for got in gen.until(answer) if got[6:12] == mac(OTHER)] == []


@pytest.mark.parametrize("beneath", [False, True])
def test_station_moves(three, beneath):
    if beneath:
        add_bridge(three)
    with bridge(three, *(["br0"] if beneath else PORTS)) as daemon:
        gen, sink, third = (three.wire(host) for host in HOSTS)
        learn(daemon, sink, FAR, "eth2")
        expect_known(three, "sink", ["third"], FAR, gen, OTHER)
        learn(daemon, third, FAR, "eth3")
        expect_known(three, "third", ["sink"], FAR, gen, OTHER)
        assert daemon.show("macs")["counters"]["moved"] >= 1


@pytest.mark.parametrize("each_lane", ["user"], indirect=True)
def test_kernel_is_told_and_heard(three):
    add_bridge(three)
    with bridge(three, "br0") as daemon:
        sink = three.wire("sink")
        learn(daemon, sink, FAR, "eth2")
        wait_until(lambda: kernel_port_of(three, FAR) == "eth2", what="the kernel's entry")
        entry = [row for row in three.json("dut", "bridge", "-j", "fdb", "show", "br", "br0")
                 if row["mac"] == FAR][0]
        assert entry["state"] == "" and "extern_learn" not in entry["flags"], "an ordinary entry"
        three.exec("dut", "bridge", "fdb", "add", OTHER, "dev", "eth3", "master", "static")
        wait_until(lambda: port_of(daemon, OTHER) == "eth3", what="the static entry")
        three.exec("dut", "bridge", "fdb", "del", OTHER, "dev", "eth3", "master")
        wait_until(lambda: port_of(daemon, OTHER) is None, what="its end")
        three.exec("dut", "bridge", "fdb", "del", FAR, "dev", "eth2", "master")
        wait_until(lambda: port_of(daemon, FAR) is None, what="the end of a learned one")


@pytest.mark.parametrize("each_lane", ["xdp"], indirect=True)
def test_only_ports_that_may_forward(three):
    add_bridge(three)
    with bridge(three, "br0") as daemon:
        gen, sink, third = (three.wire(host) for host in HOSTS)
        learn(daemon, sink, FAR, "eth2")
        three.exec("dut", "bridge", "link", "set", "dev", "eth2", "state", 1)
        sent, marker = frame(FAR, OTHER, 3), frame(BROADCAST, OTHER, 4)
        wait_until(lambda: gen.send(sent) or daemon.drops()["port_blocked"])
        assert silent(gen, third, sent, marker), "known, so it is not looked for"
        assert port_of(daemon, FAR) == "eth2"
        three.exec("dut", "bridge", "link", "set", "dev", "eth2", "state", 3)
        wait_until(lambda: gen.send(sent) or sink.receive(lambda got: got == sent, timeout=0.1))
        expect_known(three, "sink", ["third"], FAR, gen, OTHER)


def silent(gen, sink, sent, marker):
    """Whether the marker comes without what was sent before it."""
    gen.send(sent, marker)
    return sent not in sink.until(marker)


@pytest.mark.parametrize("each_lane", ["xdp"], indirect=True)
def test_an_isolated_port_reaches_no_other(three, each_lane):
    add_bridge(three)
    with bridge(three, "br0") as daemon:
        gen, sink, third = (three.wire(host) for host in HOSTS)
        for wire, station, port in (gen, OTHER, "eth1"), (sink, FAR, "eth2"), (third, NEAR, "eth3"):
            learn(daemon, wire, station, port)
        for port in "eth1", "eth2":
            three.exec("dut", "bridge", "link", "set", "dev", port, "isolated", "on")
        sent, marker, unknown = frame(FAR, OTHER, 5), frame(NEAR, OTHER, 6), frame(NOBODY, OTHER, 7)
        wait_until(lambda: daemon.lane()["reason"] == "isolated")
        assert daemon.lane()["in_use"] == "kernel"
        gen.send(sent, unknown, marker)
        third.expect(unknown)
        third.expect(marker)
        third.send(frame(FAR, NEAR, 8))  # reaches it, as all that is not isolated does
        assert not {sent, unknown} & set(sink.until(frame(FAR, NEAR, 8)))
        for port in "eth1", "eth2":
            three.exec("dut", "bridge", "link", "set", "dev", port, "isolated", "off")
        wait_until(lambda: daemon.lane()["in_use"] == each_lane)
        expect_known(three, "sink", ["third"], FAR, gen, OTHER)


@pytest.mark.parametrize("each_lane", ["user", "xdp"], indirect=True)
def test_a_port_that_is_moved_to_another_bridge(three, each_lane):
    """All that comes in there is that bridge's, which shunt does not follow; until it comes back."""
    add_bridge(three)
    with bridge(three, "br0") as daemon:
        three.ip("link", "add", "br1", "type", "bridge")
        three.link("dut", "br1", "up")
        gen, sink, third = (three.wire(host) for host in HOSTS)
        for wire, station, port in (gen, OTHER, "eth1"), (sink, FAR, "eth2"), (third, NEAR, "eth3"):
            learn(daemon, wire, station, port)
        for port in "eth1", "eth3":
            three.link("dut", port, "master", "br1")
        sent = frame(NEAR, OTHER, 5)
        wait_until(lambda: gen.send(sent) or third.receive(lambda got: got == sent, timeout=0.1))
        wait_until(lambda: [daemon.lane(port)["reason"] for port in PORTS] ==
                   ["not_member", daemon.lane("eth2")["reason"], "not_member"])
        assert daemon.lane("eth2")["in_use"] == each_lane
        gen.reaches(third, frame(BROADCAST, OTHER, 6))
        assert sink.receive(lambda got: got == frame(BROADCAST, OTHER, 6), timeout=0.3) is None
        for port in "eth1", "eth3":
            three.link("dut", port, "master", "br0")
        three.ip("link", "del", "br1")
        wait_until(lambda: {daemon.lane(port)["in_use"] for port in PORTS} == {each_lane})
        learn(daemon, sink, FAR, "eth2")
        expect_known(three, "sink", ["third"], FAR, gen, OTHER)


@pytest.mark.parametrize("each_lane", ["xdp"], indirect=True)
def test_what_changes_while_events_are_lost(three, tmp_path):
    """More is told than the socket takes, and then: a port leaves, a station that is static goes, the ageing
    time is another. All of it is asked for again."""
    add_bridge(three)
    batch = tmp_path / "batch"
    batch.write_text("".join(f"fdb {word} {NOBODY} dev eth2 master static\n"
                             for _ in range(40_000) for word in ("add", "del")))
    with bridge(three, "br0") as daemon:
        sink = three.wire("sink")
        learn(daemon, sink, FAR, "eth2")
        three.exec("dut", "bridge", "fdb", "add", NEAR, "dev", "eth2", "master", "static")
        wait_until(lambda: port_of(daemon, NEAR) == "eth2")
        with Stopped(daemon.process.pid, "shunt-follow"):
            three.exec("dut", "bridge", "-batch", batch)
            three.exec("dut", "bridge", "fdb", "del", NEAR, "dev", "eth2", "master")
            three.link("dut", "eth3", "nomaster")
            three.ip("link", "set", "br0", "type", "bridge", "ageing_time", 70000)
        wait_until(lambda: daemon.show("macs")["kernel"]["overruns"] > 0)
        wait_until(lambda: daemon.show("macs")["ageing_s"] == 700)
        wait_until(lambda: port_of(daemon, NEAR) is None)
        wait_until(lambda: daemon.lane("eth3")["reason"] == "not_member")
        assert port_of(daemon, FAR) == "eth2", "of this one the dump tells"
        three.link("dut", "eth3", "master", "br0")
        three.ip("link", "set", "br0", "type", "bridge", "ageing_time", 30000)
        wait_until(lambda: {daemon.lane(port)["in_use"] for port in PORTS} == {"xdp"})


@pytest.mark.parametrize("each_lane", ["user"], indirect=True)
def test_a_backup_port(three, each_lane):
    """A port goes down: what is for its stations leaves by its backup port."""
    add_bridge(three)
    with bridge(three, "br0") as daemon:
        gen, sink, third = (three.wire(host) for host in HOSTS)
        learn(daemon, gen, OTHER, "eth1")
        learn(daemon, sink, FAR, "eth2")
        three.exec("dut", "bridge", "link", "set", "dev", "eth2", "backup_port", "eth3")
        sent = frame(FAR, OTHER, 5)
        gen.reaches(sink, sent)
        three.link("sink", "eth1", "down")
        wait_until(lambda: gen.send(sent) or third.receive(lambda got: got == sent, timeout=0.1))
        wait_until(lambda: {daemon.lane(port)["reason"] for port in PORTS} == {"backup_port"})
        three.link("sink", "eth1", "up")
        three.exec("dut", "bridge", "link", "set", "dev", "eth2", "nobackup_port")
        wait_until(lambda: daemon.lane()["in_use"] == each_lane)


def test_hung_follower(three, each_lane):
    """While it stands still, a bridge over the kernel's is the kernel's, and obeys the states that its ports
    have now; one of shunt's alone that no rules judge goes on."""
    with bridge(three, *PORTS, "--firewall", "ignore", kind=Watched) as daemon:
        gen, sink = three.ends()
        learn(daemon, sink, FAR, "eth2")
        with Stopped(daemon.process.pid, "shunt-follow"):
            for _ in range(300):
                expect_known(three, "sink", [], FAR, gen, OTHER)
        assert daemon.steered("stale") == 0
    add_bridge(three)
    with bridge(three, "br0", kind=Watched) as daemon:
        gen, sink = three.ends()
        learn(daemon, gen, OTHER, "eth1")
        learn(daemon, sink, FAR, "eth2")
        sent, marker = frame(FAR, OTHER, 5), frame(BROADCAST, NEAR, 6)
        with Stopped(daemon.process.pid, "shunt-follow"):
            wait_until(lambda: gen.send(sent) or daemon.steered("stale") > 0)
            for port in "eth1", "eth2":
                three.exec("dut", "bridge", "link", "set", "dev", port, "isolated", "on")
            third = three.wire("third")
            third.reaches(sink, marker)
            gen.send(*[sent] * 100)
            assert sink.receive(lambda got: got == sent, timeout=0.5) is None
        wait_until(lambda: daemon.lane()["reason"] == "isolated")
        for port in "eth1", "eth2":
            three.exec("dut", "bridge", "link", "set", "dev", port, "isolated", "off")
        wait_until(lambda: daemon.lane()["in_use"] == each_lane)
        expect_known(three, "sink", [], FAR, gen, OTHER)


@pytest.mark.parametrize("each_lane", ["user"], indirect=True)
def test_what_only_the_kernels_bridge_minds(three, each_lane):
    add_bridge(three)
    with bridge(three, "br0") as daemon:
        gen, sink = three.ends()
        learn(daemon, gen, OTHER, "eth1")
        learn(daemon, sink, FAR, "eth2")
        three.exec("dut", "bridge", "link", "set", "dev", "eth1", "hairpin", "on")
        wait_until(lambda: daemon.lane()["reason"] == "hairpin")
        gen.reaches(gen, frame(OTHER, NEAR, 9))
        three.exec("dut", "bridge", "link", "set", "dev", "eth1", "hairpin", "off")
        wait_until(lambda: daemon.lane()["in_use"] == each_lane)
        if not three.exec("dut", "bridge", "link", "set", "dev", "eth1", "learning", "off",
                          "locked", "on", check=False).returncode:  # Linux 5.18
            wait_until(lambda: daemon.lane()["reason"] == "locked")
            assert silent(gen, sink, frame(FAR, NOBODY, 10), frame(FAR, OTHER, 11))
            three.exec("dut", "bridge", "link", "set", "dev", "eth1", "locked", "off",
                       "learning", "on")
        three.exec("dut", "ip", "link", "set", "br0", "type", "bridge", "ageing_time", 0)
        wait_until(lambda: daemon.lane()["reason"] == "unaged")
        three.exec("dut", "ip", "link", "set", "br0", "type", "bridge", "ageing_time", 70000)
        wait_until(lambda: daemon.lane()["in_use"] == each_lane)
        assert daemon.show("macs")["ageing_s"] == 700
        three.exec("dut", "ip", "link", "set", "br0", "type", "bridge", "ageing_time", 30000)


@pytest.mark.parametrize("each_lane", ["user"], indirect=True)
def test_a_sticky_entry_stays(three):
    add_bridge(three)
    with bridge(three, "br0") as daemon:
        gen, sink, third = (three.wire(host) for host in HOSTS)
        learn(daemon, gen, OTHER, "eth1")
        three.exec("dut", "bridge", "fdb", "add", FAR, "dev", "eth3", "master", "dynamic",
                   "sticky")
        wait_until(lambda: port_of(daemon, FAR) == "eth3")
        sink.reaches(gen, frame(OTHER, FAR, 12))
        gen.reaches(third, frame(FAR, OTHER, 13))


@pytest.mark.parametrize("each_lane", ["user"], indirect=True)
def test_a_static_entry_moves_with_its_station(three):
    """And stays static, as in the kernel's bridge alone; but a sticky one."""
    add_bridge(three)

    def states():
        rows = three.json("dut", "bridge", "-j", "fdb", "show", "br", "br0")
        return [(row["ifname"], row["state"]) for row in rows if row["mac"] == FAR]

    def known():
        return [(row["port"], row["static"]) for row in daemon.show("macs")["macs"]
                if row["mac"] == FAR]

    with bridge(three, "br0") as daemon:
        gen, sink = three.ends()
        learn(daemon, gen, OTHER, "eth1")
        three.exec("dut", "bridge", "fdb", "add", FAR, "dev", "eth3", "master", "static")
        wait_until(lambda: known() == [("eth3", True)])
        learn(daemon, sink, FAR, "eth2")
        wait_until(lambda: states() == [("eth2", "static")])
        assert known() == [("eth2", True)]
        expect_known(three, "sink", ["third"], FAR, gen, OTHER)
        three.exec("dut", "bridge", "fdb", "replace", FAR, "dev", "eth3", "master", "static",
                   "sticky")
        wait_until(lambda: port_of(daemon, FAR) == "eth3")
        sink.reaches(gen, frame(OTHER, FAR, 12))
        expect_known(three, "third", ["sink"], FAR, gen, OTHER)
        assert states() == [("eth3", "static")]


def long(dst, src, length):
    return ethernet(bytes(length - 14), dst, src, 0x88b5)


@pytest.mark.parametrize("each_lane", ["user", "xdp"], indirect=True)
def test_a_lower_mtu_is_followed(three):
    """Longer frames do not leave by the port, flooded or not: as with the kernel's bridge alone."""
    add_bridge(three)
    with bridge(three, "br0") as daemon:
        gen, sink, third = (three.wire(host) for host in HOSTS)
        learn(daemon, gen, OTHER, "eth1")
        learn(daemon, sink, FAR, "eth2")
        gen.reaches(sink, long(FAR, OTHER, 1319))
        three.exec("dut", "ip", "link", "set", "eth2", "mtu", 1300)
        for dst in NOBODY, BROADCAST, FAR:
            sent, longest = long(dst, OTHER, 1319), long(dst, OTHER, 1318)
            wait_until(lambda: silent(gen, sink, sent, longest), 10)
        for dst in NOBODY, BROADCAST:
            third.expect(long(dst, OTHER, 1319))
        three.exec("dut", "ip", "link", "set", "eth2", "mtu", 1500)
        for dst in NOBODY, FAR:
            sent, marker = long(dst, OTHER, 1319), frame(dst, OTHER, 1)
            wait_until(lambda: not silent(gen, sink, sent, marker), 10)


@pytest.mark.parametrize("each_lane", ["user"], indirect=True)
def test_kernel_goes_on_after_a_kill(three):
    add_bridge(three)
    daemon = bridge(three, "br0")
    gen, sink = three.ends()
    learn(daemon, sink, FAR, "eth2")
    wait_until(lambda: kernel_port_of(three, FAR) == "eth2", what="the kernel's entry")
    daemon.kill()
    sent = frame(FAR, OTHER, 4)
    gen.reaches(sink, sent)
    ping(three, "gen", "10.77.0.2")


@pytest.mark.parametrize("each_lane", ["user"], indirect=True)
def test_says_what_is_wrong(three):
    three.exec("dut", "ip", "link", "add", "br1", "type", "bridge")
    assert "br1" in refused(three, "bridge", "br1")
    three.exec("dut", "ip", "link", "set", "eth1", "master", "br1")
    assert "br1" in refused(three, "bridge", "eth1", "eth2")


@pytest.mark.parametrize("each_lane", ["user", "xdp"], indirect=True)
def test_a_port_without_xdp_stays_the_kernels(three):
    """The bridge's others are shunt's, and its stations reach theirs."""
    add_bridge(three)
    three.exec("dut", "sh", "-ec", """
        ip link add far0 type veth peer name far1
        ip link add link far0 name odd0 type macvlan mode passthru
        for dev in far0 far1 odd0; do ip link set $dev up; done
        ip link set odd0 master br0
        ip link add down0 type veth peer name down1; ip link set down0 master br0""")
    with bridge(three, "br0") as daemon:
        for port, why in ("odd0", "it has no native XDP"), ("down0", "it is down"):
            said = f"shuntd: warning: {port}, a port of br0, stays the kernel's: {why}\n"
            assert said in daemon.log, daemon.log
        assert sorted(port["name"] for port in daemon.show("ports")["ports"]) == PORTS
        gen, sink, far = three.wire("gen"), three.wire("sink"), three.wire("dut", "far1")
        learn(daemon, gen, OTHER, "eth1")
        learn(daemon, sink, NEAR, "eth2")
        gen.reaches(sink, frame(NEAR, OTHER, 2))
        far.send(frame(OTHER, FAR, 3))
        gen.expect(frame(OTHER, FAR, 3))
        wait_until(lambda: kernel_port_of(three, FAR) == "odd0", what="the kernel's entry")
        for mark in range(4, 20):
            gen.reaches(far, frame(FAR, OTHER, mark))
            far.reaches(gen, frame(OTHER, FAR, mark + 100))
        assert port_of(daemon, FAR) in (None, "kernel")


@pytest.mark.parametrize("each_lane", ["user"], indirect=True)
def test_rules_are_read_again_whatever_ports_the_bridge_has(three, tmp_path):
    """Those of shuntd are the bridge's at the start."""
    add_bridge(three)
    path = tmp_path / "shuntd.yaml"
    text = "ports: [{name: br0}]\nforward: [{mode: bridge, ports: [br0]}]\n"
    path.write_text(text)
    three.remember()
    with Shuntd(three, "-c", path, "--poll", "interrupt", chatty=True) as daemon:
        three.exec("dut", "sh", "-ec", "ip link add late0 type veth peer name late1; ip link set late0 up; "
                   "ip link set late0 master br0; ip link set eth3 nomaster")
        path.write_text(text + 'rules: ["proto icmp lane kernel"]\n')
        assert daemon.ctl("reload").returncode == 0
        assert [row["rule"] for row in daemon.show("rules")["rules"]] == ["proto icmp lane kernel"]
        three.exec("dut", "sh", "-ec", "ip link set eth3 master br0; ip link del late0")


@pytest.mark.parametrize("each_lane", ["user"], indirect=True)
def test_a_bridge_without_a_port_that_can_have_xdp(three):
    three.exec("dut", "sh", "-ec",
               "ip link add br1 type bridge; ip link add i0 type ifb; ip link set i0 master br1")
    assert "br1: none of its 1 port is up and can have native XDP" in refused(three, "bridge", "br1")


def test_mix_routes_what_is_sent_to_it_and_bridges_the_rest(three, each_lane):
    """dut's own subnets are routed between, on the same ports on which others are bridged."""
    three.remember()
    with Shuntd(three, "mix", *PORTS, "--poll", "interrupt", chatty=True) as daemon:
        ping(three, "gen", "10.77.0.2")
        ping(three, "gen", "10.0.2.2")  # the neighbour gets known
        before = crossed(daemon)
        ping(three, "gen", "10.0.2.2")
        nodes = daemon.nodes()
        assert nodes["bridge"] >= 2, nodes
        if each_lane == "user":
            assert nodes["ip4_rewrite"] >= 2, nodes
        else:
            assert nodes["ip4_rewrite"] == 0 and crossed(daemon) - before >= 2, nodes
        three.exec("dut", "ip", "rule", "add", "pref", 90, "iif", "eth1", "prohibit")
        wait_until(lambda: three.exec("gen", "ping", "-c", 1, "-W", 1, "10.0.2.2", check=False).returncode,
                   what="the rule")
        three.exec("dut", "ip", "rule", "del", "pref", 90)
        ping(three, "gen", "10.0.2.2")


@pytest.mark.parametrize("each_lane", ["kernel"], indirect=True)
def test_lane_kernel_is_the_bridge_beneath(three):
    """It learns, floods and switches; nothing takes another lane."""
    add_bridge(three)
    with bridge(three, "br0") as daemon:
        gen, sink, third = (three.wire(host) for host in HOSTS)
        sent = frame(FAR, OTHER, 7)
        gen.reaches(sink, sent)
        third.expect(sent)
        sink.send(frame(OTHER, FAR, 1))
        wait_until(lambda: kernel_port_of(three, FAR) == "eth2", what="the kernel's entry")
        expect_known(three, "sink", ["third"], FAR, gen, OTHER)
        for number, host in enumerate(HOSTS):
            ping(three, host, f"10.77.0.{(number + 1) % 3 + 1}")
        ping(three, "sink", "10.77.0.100")
        lanes = [port["lanes"] for port in daemon.show("lanes")["lanes"]]
        assert sum(lane["kernel"]["packets"] for lane in lanes) >= 10
        assert not any(lane[name]["packets"] for lane in lanes for name in ("user", "xdp", "drop"))
