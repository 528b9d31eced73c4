# SPDX-License-Identifier: BSD-2-Clause
"""The faults. Each is a function of a Dut with a running daemon and a random generator: it does
harm, undoes it, and returns with a daemon running and what is worth saying of this time, or "".
What is lost, who forwarded and how soon all is well again others look at."""
import ctypes
import functools
import os
import signal
import subprocess
import time

from shuntlab import above, memgroup
from shuntlab.dut import DROP, Broken, to_sink
from shuntlab.frames import SINK
from shuntlab.lab import BIN, IS_REAL, OPTIONS
from shuntlab.ptrace import EndlessLoop, Stopped, is_possible
from shuntlab.rights import helpers

FAULTS = {}
STALE_S = 0.2  # what is not followed for so long is the kernel's
JUDGED_NS = 100_000_000  # a rule that was loaded so long ago holds
MADV_PAGEOUT = 21
SYS_PIDFD_OPEN, SYS_PROCESS_MADVISE = 434, 440


def fault(name, why, shape=None, befalls=lambda mode: True):
    """Enters a fault: its name, what it is, the shape (dut.SHAPES) that it needs, and whether it befalls
    a mode (dut.Mode)."""
    def enter(function):
        FAULTS[name] = function
        function.why, function.shape, function.befalls = why, shape, befalls
        return function
    return enter


def on_veth(_mode):
    return not IS_REAL


def kernels_alone(dut, seconds):
    """Whatever comes from now on for so long the kernel forwards."""
    now, before = time.time_ns(), dut.forwarded()
    time.sleep(seconds)
    if dut.forwarded() != before:
        raise Broken(f"{dut.forwarded() - before} frames by shunt")
    if not sum(dut.stream.arrived_since(now)):
        raise Broken("no frames by the kernel")


# --- the daemon -----------------------------------------------------------------------------------

def started_after(dut, rng, end):
    """The daemon ends by what end does; another is started a moment later."""
    start = time.monotonic()
    end()
    dut.wait_dead()
    gone = time.monotonic() - start
    time.sleep(rng.uniform(0.1, 0.5))
    took = dut.start()
    return f"gone after {gone * 1e3:.0f} ms, a new one forwards {took * 1e3:.0f} ms after its start"


@fault("kill -9", "the process is gone at once; another is started a moment later")
def killed(dut, rng):
    return started_after(dut, rng, lambda: dut.signal(signal.SIGKILL))


@fault("crash", "SIGSEGV, SIGBUS or SIGABRT, as of a bug; another is started a moment later")
def crashed(dut, rng):
    number = rng.choice((signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT))
    return f"{number.name}, {started_after(dut, rng, lambda: dut.signal(number))}"


@fault("out of memory", "the kernel's memory killer; another is started a moment later")
def out_of_memory(dut, rng):
    if not memgroup.is_possible():
        return "no memory control groups here"
    return started_after(dut, rng, lambda: memgroup.kill(dut.daemon.pid))


@fault("helper killed", "the helper process ends alone; a takeover has one again")
def helper_killed(dut, rng):
    os.kill(helpers(dut.daemon.pid)[0], signal.SIGKILL)
    time.sleep(rng.uniform(0.05, 0.3))
    dut.check_ledger()
    return taken_over(dut, rng)


def stopped_for(dut, seconds):
    dut.signal(signal.SIGSTOP)
    try:
        time.sleep(seconds)
    finally:
        dut.signal(signal.SIGCONT)
    return ""


@fault("SIGSTOP, short", "10 to 30 ms: less than makes a worker count as hung")
def stopped_short(dut, rng):
    return stopped_for(dut, rng.uniform(0.010, 0.030))


@fault("SIGSTOP, long", "0.2 to 0.8 s, then SIGCONT")
def stopped_long(dut, rng):
    return stopped_for(dut, rng.uniform(0.2, 0.8))


@fault("endless loop", "the worker turns round in one place for 0.2 to 0.6 s, burning its CPU")
def endless_loop(dut, rng):
    if not is_possible():
        return "not on this machine: the jump to itself is x86-64's"
    with EndlessLoop(dut.daemon.pid, "shunt-w0", f"{BIN}/shuntd"):
        time.sleep(rng.uniform(0.2, 0.6))
        dut.ctl("show", "workers")  # the control thread lives
    return ""


@fault("follower hangs", "what follows the kernel's tables stands still for 0.3 to 0.6 s: by 0.2 s on all "
       "is the kernel's", befalls=lambda mode: mode.follows)
def follower_hangs(dut, rng):
    with Stopped(dut.daemon.pid, "shunt-follow"):
        time.sleep(STALE_S)
        kernels_alone(dut, rng.uniform(0.1, 0.4))
    return ""


@fault("takeover", "a new daemon takes over from the running one")
def taken_over(dut, _rng):
    old = dut.daemon
    took = dut.start("--takeover")
    said = old.communicate(timeout=30)[1]
    if old.returncode:
        raise Broken(f"the daemon that handed over ended with {old.returncode}: {said.strip()}")
    return f"{took * 1e3:.0f} ms"


@fault("takeover fails", "the new daemon cannot become its user; the old one is started again")
def takeover_fails(dut, _rng):
    start = time.monotonic()
    old = dut.daemon
    new = dut.popen("--takeover", "--user", "nix")
    said = new.communicate(timeout=90)[1]
    if new.returncode != 1 or "was started again" not in said:
        raise Broken(f"exit code {new.returncode}: {said.strip()}")
    old.wait(90)  # its pipes are the successor's
    dut.adopt()
    return f"{(time.monotonic() - start) * 1e3:.0f} ms"


@fault("rules reloaded", "the file is read again, ten times, with other rules or mistakes in it")
def rules_reloaded(dut, rng):
    files = [["lane kernel"], ["proto udp dport 4001 lane kernel", "ethertype 0x88cc lane drop"],
             ["proto tcp dport 22 lane kernel"] * 128, ["lane nowhere"], []]
    for _ in range(10):
        rules = rng.choice(files)
        dut.write_file(rules)
        before = dut.rules()
        dut.reload(rules != ["lane nowhere"])
        if dut.rules() != (before if rules == ["lane nowhere"] else rules):
            raise Broken(f"after a reload of {rules} there is {dut.rules()} in force")
    dut.write_file([])
    dut.reload(True)
    return ""


# --- what the kernel is told ------------------------------------------------------------------------

@fault("firewall", "a rule that drops the stream is loaded, replaced ten times by itself, and gone",
       befalls=lambda mode: mode.families)
def firewall(dut, rng):
    family = rng.choice(dut.mode.families)
    dut.judge(family, DROP)
    loaded_ns = time.time_ns()
    for _ in range(10):
        dut.judge(family, DROP)
    time.sleep(rng.uniform(0.1, 0.3))
    passed = sum(dut.stream.arrived_since(loaded_ns + JUDGED_NS))
    dut.judge_no_more()
    if passed:
        raise Broken(f"{passed} frames passed a rule that drops them")
    return f"{family}, all dropped for {(time.time_ns() - loaded_ns) / 1e6:.0f} ms"


@fault("routes", "ten thousand routes come and go, more than a socket's buffer holds the news of",
       befalls=lambda mode: mode.follows)
def routes(dut, _rng):
    lines = [f"route %s 10.{100 + (n >> 8)}.{n & 255}.0/24 via 10.0.2.2\n" for n in range(10_000)]
    for verb in "add", "del":
        dut.batch("".join(line % verb for line in lines))
    return ""


def is_routed(mode):
    return mode.forward == "mode: route"


def is_plain(mode):
    """Nothing stands above the ports."""
    return is_routed(mode) and not mode.above


@functools.cache
def can_make(*kind):
    """Whether this kernel makes such a device."""
    return not subprocess.run(["unshare", "-n", "ip", "link", "add", "link", "lo", "name", "probe", "type",
                               *kind], check=False, capture_output=True, timeout=30).returncode


@fault("ip rules", "rules by device, source and destination come and go, forty times; their table leads "
       "where main does", befalls=is_routed)
def ip_rules(dut, rng):
    table = "".join(f"route replace 198.1{7 + link}.0.0/16 via 10.0.{link}.2 table 77\n" for link in (1, 2))
    rules = ["rule %s pref 90 iif eth1 lookup 77", "rule %s pref 80 from 198.18.0.0/24 lookup 77",
             "rule %s pref 70 to 198.19.0.0/24 lookup 77", "rule %s pref 60 iif eth2 tos 0x10 prohibit"]
    dut.batch(table)
    for _ in range(20):
        some = rng.sample(rules, 2)
        for verb in "add", "del":
            dut.batch("\n".join(rule % verb for rule in some) + "\n")
            time.sleep(rng.uniform(0, 0.02))
    dut.sh("ip route flush table 77")
    return ""


@fault("VLAN devices", "two hundred VLAN devices above the ports come and go",
       befalls=lambda mode: is_plain(mode) and can_make("vlan", "id", "1"))
def vlan_devices(dut, _rng):
    names = [(f"v{dev[-1]}.{number}", dev, number) for dev in ("eth1", "eth2") for number in range(2, 102)]
    dut.batch("".join(f"link add link {dev} name {name} type vlan id {number}\nlink set {name} up\n"
                      for name, dev, number in names))
    dut.batch("".join(f"link del {name}\n" for name, _, _ in names))
    return ""


@fault("VRF", "the ports join a VRF, one after the other, and leave it",
       befalls=lambda mode: is_plain(mode) and can_make("vrf", "table", "1"))
def vrf(dut, rng):
    devices = rng.sample(["eth1", "eth2"], 2)
    dut.sh("ip link add red type vrf table 1001 && ip link set red up")
    for dev in devices:
        dut.sh(f"ip link set {dev} master red")
        time.sleep(rng.uniform(0, 0.1))
    for link in 1, 2:
        dut.sh(f"ip neigh replace 10.0.{link}.2 lladdr 02:00:00:00:0{link}:02 dev eth{link};"
               f"ip route replace 198.1{7 + link}.0.0/16 via 10.0.{link}.2 table 1001")
    time.sleep(rng.uniform(0.1, 0.3))
    for dev in devices:
        dut.sh(f"ip link set {dev} nomaster")
    # the rules that the first VRF made stay without it
    dut.sh("ip link del red; ip route flush table 1001; ip rule del pref 1000; ip -6 rule del pref 1000")
    for dev in devices:
        dut.restore_network(dev)
    return ""


@fault("bond made", "a bond of one port is made, and dissolved",
       befalls=lambda mode: is_plain(mode) and can_make("bond"))
def bond_made(dut, rng):
    dev, link = rng.choice((("eth1", 1), ("eth2", 2)))
    addresses = (f"10.0.{link}.1/24", f"fd00:{link}::1/64")
    dut.sh(f"ip link add bond9 address 02:00:00:00:0{link}:01 type bond mode active-backup miimon 20;"
           f"ip address flush dev {dev} scope global; ip link set {dev} down; ip link set {dev} master bond9;"
           f"ip link set bond9 up;" + "".join(f"ip address add {each} dev bond9 {nodad(each)};"
                                              for each in addresses))
    dut.restore_network(dev, "bond9")
    time.sleep(rng.uniform(0.1, 0.5))
    dut.sh(f"ip link del bond9; ip link set {dev} up;" +
           "".join(f"ip address add {each} dev {dev} {nodad(each)};" for each in addresses))
    dut.restore_network(dev)
    return dev


def nodad(address):
    return "nodad" if ":" in address else ""


# --- a bond or a bridge above ports -----------------------------------------------------------------

def is_bond(mode):
    return mode.above and mode.above.is_bond


def is_bridge(mode):
    return mode.above and not mode.above.is_bond


def can_have(mode):
    """Whether there can be what stands above the ports here: the second one is a veth, without zero-copy."""
    return not mode.above or "zerocopy" not in OPTIONS and (not is_bond(mode) or can_make("bond"))


@fault("bond members", "six times: another member is active, one leaves and comes back, or its link goes",
       befalls=is_bond)
def bond_members(dut, rng):
    bond, said = dut.mode.above, []
    for _ in range(6):
        dev, what = rng.choice(bond.members), rng.choice(("active", "leaves", "link"))
        said.append(f"{dev} {what}")
        if what == "active":
            # refused where its link is down
            dut.sh(f"ip link set {bond.name} type bond active_slave {dev}", check=False)
        elif what == "leaves":
            above.leave(dut, dev)
            time.sleep(rng.uniform(0, 0.1))
            above.join(dut, dev)
        else:
            far = "eth1" if dev == bond.first else "eth2"
            dut.sh(f"ip link set {far} down; sleep {rng.uniform(0, 0.1):.3f}; ip link set {far} up",
                   host="sink")
        time.sleep(rng.uniform(0, 0.2))
    # the primary one is active again when its link comes, and by this where it was there all the time
    dut.until(lambda: not dut.sh(f"ip link set {bond.name} type bond active_slave {bond.first}",
                                 check=False).returncode, f"{bond.first} to be up")
    above.settle(dut)
    return ", ".join(said)


@fault("bridge members", "a member leaves the bridge and comes back, three times", befalls=is_bridge)
def bridge_members(dut, rng):
    bridge, said = dut.mode.above, []
    for _ in range(3):
        dev = rng.choice(bridge.members)
        said.append(dev)
        if bridge.link == 2 and dev == bridge.first and rng.random() < 0.5:
            above.goes_by(dut, bridge.second)
        above.leave(dut, dev)
        time.sleep(rng.uniform(0, 0.2))
        above.join(dut, dev)
        above.settle(dut)
        time.sleep(rng.uniform(0, 0.2))
    return ", ".join(said)


@fault("bridge's VLANs", "vlan_filtering on, another PVID of the bridge and its members, back, and off",
       befalls=is_bridge)
def bridge_vlans(dut, rng):
    bridge = dut.mode.above
    if dut.sh(f"test -e /sys/class/net/{bridge.name}/bridge/vlan_filtering", check=False).returncode:
        return "this kernel's bridges do not filter"

    def pvid(number):
        for dev, self in (bridge.first, ""), (bridge.second, ""), (bridge.name, "self"):
            dut.sh(f"bridge vlan add dev {dev} vid {number} pvid untagged {self}")
            time.sleep(rng.uniform(0, 0.05))
        if bridge.link == 2:
            above.goes_by(dut, bridge.first, [number])

    dut.sh(f"ip link set {bridge.name} type bridge vlan_filtering 1")
    time.sleep(rng.uniform(0, 0.3))
    pvid(20)
    time.sleep(rng.uniform(0, 0.3))
    pvid(1)
    for dev, self in (bridge.first, ""), (bridge.second, ""), (bridge.name, "self"):
        dut.sh(f"bridge vlan del dev {dev} vid 20 {self}")
    time.sleep(rng.uniform(0, 0.3))
    dut.sh(f"ip link set {bridge.name} type bridge vlan_filtering 0")
    return ""


@fault("stations move", "the other end is behind the other member, and back, ten times", befalls=is_bridge)
def stations_move(dut, rng):
    bridge = dut.mode.above
    for _ in range(10):
        for dev in bridge.second, bridge.first:
            above.goes_by(dut, dev)
            time.sleep(rng.uniform(0, 0.05))
    return ""


# --- memory ---------------------------------------------------------------------------------------

@fault("memory: paged out", "all of its pages that can be are thrown out, again and again")
def paged_out(dut, _rng):
    class Range(ctypes.Structure):
        _fields_ = [("at", ctypes.c_ulong), ("len", ctypes.c_ulong)]

    libc = ctypes.CDLL(None, use_errno=True)
    with open(f"/proc/{dut.daemon.pid}/maps", encoding="utf-8") as maps:
        spans = [[int(number, 16) for number in line.split()[0].split("-")] for line in maps
                 if "[v" not in line]
    pidfd = libc.syscall(SYS_PIDFD_OPEN, dut.daemon.pid, 0)
    done = 0
    try:
        end = time.monotonic() + 0.3
        while time.monotonic() < end:
            for start, stop in spans:
                span = Range(start, stop - start)
                done += libc.syscall(SYS_PROCESS_MADVISE, pidfd, ctypes.byref(span), 1,
                                     MADV_PAGEOUT, 0) > 0
            dut.ctl("show", "workers")
    finally:
        os.close(pidfd)
    return "" if done else "this kernel does not"


@fault("memory: pool dry", "the sink keeps what it gets for 0.1 s, and with it all frames",
       "small pool", lambda mode: on_veth(mode) and not mode.above)
def dry(dut, _rng):
    knobs = "echo %d >/sys/class/net/eth1/napi_defer_hard_irqs;" \
        "echo %d >/sys/class/net/eth1/gro_flush_timeout"
    before = dut.shuntd.steered("dry")
    dut.sh(knobs % (1_000_000, 100_000_000), host="sink")
    time.sleep(1)
    dut.sh(knobs % (0, 0), host="sink")
    return f"{dut.shuntd.steered('dry') - before} frames to the kernel because of that"


@fault("overload", "a generator sends as fast as it can beside the stream for 0.2 s")
def overload(dut, _rng):
    mac = ["--dst-mac", SINK] if dut.mode.make_frame is to_sink else []
    sent = dut.lab.json("gen", "shunt-gen", "send", "eth1", "-j", "--rate", "max", "--duration",
                        "0.2", *mac)
    return f"{sent['pps'] / 1e3:.0f} kpps"


# --- devices --------------------------------------------------------------------------------------

@fault("link flap", "one of dut's ports, or the far end, down for up to 0.3 s")
def link_flap(dut, rng):
    host, dev = rng.choice([("dut", "eth1"), ("dut", "eth2"), ("sink", "eth1")])
    dut.sh(f"ip link set {dev} down; sleep {rng.uniform(0, 0.3):.3f}; ip link set {dev} up",
           host=host)
    if host == "dut":  # going down has taken routes and IPv6 addresses away, as it does
        dut.restore_network(dev)
    return f"{host} {dev}"


@fault("queues", "ethtool -L: one queue less, and back", "spare queue", on_veth)
def queues(dut, rng):
    dev, host, far = rng.choice((("eth1", "gen", "eth1"), ("eth2", "sink", "eth1")))
    dut.sh(f"ethtool -L {far} tx 1", host=host)
    dut.sh(f"ethtool -L {dev} rx 1")
    time.sleep(rng.uniform(0, 0.1))
    dut.sh(f"ethtool -L {dev} rx 2")
    dut.sh(f"ethtool -L {far} tx 2", host=host)
    return dev


@fault("queues in use", "ethtool -L would take away a queue that a socket serves: refused",
       "two queues")
def queues_in_use(dut, rng):
    dev, host, far = rng.choice((("eth1", "gen", "eth1"), ("eth2", "sink", "eth1")))
    if not IS_REAL:
        dut.sh(f"ethtool -L {far} tx 1", host=host)
    said = dut.sh(f"ethtool -L {dev} {'combined' if IS_REAL else 'rx'} 1", check=False)
    if not IS_REAL:
        dut.sh(f"ethtool -L {far} tx 2", host=host)
    if not said.returncode:
        raise Broken("the kernel takes a queue away from under a socket")
    return said.stderr.strip().splitlines()[-1]


@fault("rings", "ethtool -G, where the device has rings")
def rings(dut, rng):
    dev = rng.choice(("eth1", "eth2"))
    if dut.sh(f"ethtool -g {dev}", check=False).returncode:
        return "this device has none to set"
    dut.sh(f"ethtool -G {dev} rx 128 tx 128; ethtool -G {dev} rx 256 tx 256")
    return dev


@fault("MTU", "1300 bytes and back to 1500 on one port")
def mtu(dut, rng):
    dev = rng.choice(("eth1", "eth2"))
    dut.sh(f"ip link set {dev} mtu 1300; sleep {rng.uniform(0, 0.1):.3f};"
           f"ip link set {dev} mtu 1500")
    return dev


@fault("program taken off", "somebody takes shunt's XDP program off; a takeover puts it back")
def taken_off(dut, rng):
    dev = rng.choice(("eth1", "eth2"))
    dut.sh(f"ip link set {dev} xdp off")
    time.sleep(rng.uniform(0.05, 0.2))
    return f"{dev}, {taken_over(dut, rng)}"


@fault("device removed", "the device behind eth2 is deleted and made anew, a takeover serves it",
       befalls=lambda mode: on_veth(mode) and not mode.above)
def device_removed(dut, rng):
    dut.remove_far_link()
    time.sleep(rng.uniform(0.05, 0.2))
    if dut.daemon.poll() is not None:
        raise Broken(f"shuntd ended with {dut.daemon.returncode}")
    dut.check_ledger()
    dut.make_far_link()
    return taken_over(dut, rng)
