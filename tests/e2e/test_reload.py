# SPDX-License-Identifier: BSD-2-Clause
"""The configuration read again under way: new rules between two frames, or one sentence and
nothing changed."""
import itertools
import signal

import pytest

from shuntlab.shuntd import Shuntd
from shuntlab.frames import DUT2, SINK, mac, udp4
from shuntlab.lab import wait_until

HOP2 = "02:00:00:00:09:02"  # which forwarder a frame came by is seen by where it goes
FILE = """
ports: [{{name: eth1}}, {{name: eth2}}]
forward: [{{mode: static3, ports: [eth1, eth2], next_hop: ["02:00:00:00:09:01", "{hop}"]}}]
rules: {rules}
batch: {batch}
"""


class Reloaded(Shuntd):
    """A shuntd with a file that can be written anew."""

    def __init__(self, lab, folder, *args, rules=(), **options):
        self.path = folder / "shuntd.yaml"
        self.write(rules)
        super().__init__(lab, "-c", self.path, *args, chatty=True, **options)

    def write(self, rules, batch=64):
        text = "[" + ", ".join(f'"{rule}"' for rule in rules) + "]"
        self.path.write_text(FILE.format(hop=HOP2, rules=text, batch=batch))

    def reload(self):
        return self.ctl("reload", check=False)

    def rules(self):
        return [row["rule"] for row in self.show("rules")["rules"]]

    def refuses(self, *words):
        """A reload fails with one sentence that has these words; the rules are as they were."""
        before = self.rules()
        done = self.reload()
        assert done.returncode == 1 and done.stdout == "", done
        assert done.stderr.startswith("shuntctl: ") and done.stderr.count("\n") == 1, done.stderr
        for word in words:
            assert word in done.stderr
        assert self.rules() == before


_numbers = itertools.count()


def taken_by(daemon, gen, sink, port):
    """What forwards a frame to that port: user, kernel or nobody. The kernel may also do it because the
    worker got no CPU: that is no answer."""
    before = None
    while before != daemon.steered("hung"):
        before = daemon.steered("hung")
        data = next(_numbers).to_bytes(18, "big")
        gen.send(udp4(dport=port, data=data), udp4(dport=9, data=data))
        seen = [frame for frame in until_marker(sink, data)
                if frame[36:38] == port.to_bytes(2, "big") and frame[42:] == data]
    if not seen:
        return "nobody"
    return {mac(HOP2): "user", mac(SINK): "kernel"}[seen[0][:6]]


def until_marker(sink, data=b""):
    """What arrives before a frame to port 9 that ends with the data."""
    seen = []
    while True:
        frame = sink.receive(lambda f: f[6:12] == mac(DUT2))
        assert frame, "the marker did not arrive"
        if frame[36:38] == b"\0\x09" and frame.endswith(data):
            return seen
        seen.append(frame)


@pytest.mark.parametrize("by_signal", [False, True])
def test_rules_change(lab, tmp_path, by_signal):
    gen, sink = lab.ends()

    def have(rules):
        daemon.write(rules)
        if by_signal:
            daemon.process.send_signal(signal.SIGHUP)
            wait_until(lambda: daemon.rules() == rules)
        else:
            assert daemon.reload().stdout == f"rules in force: {len(rules)}\n"
            assert daemon.rules() == rules

    with Reloaded(lab, tmp_path, rules=["proto udp dport 5000 lane kernel"]) as daemon:
        assert [taken_by(daemon, gen, sink, port) for port in (5000, 5001)] == ["kernel", "user"]
        have(["proto udp dport 5001 lane drop", "proto udp dport 5000-5009 lane user"])
        assert [taken_by(daemon, gen, sink, port) for port in (5000, 5001)] == ["user", "nobody"]
        have([])
        assert [taken_by(daemon, gen, sink, port) for port in (5000, 5001)] == ["user", "user"]
        have(["lane kernel"])
        assert [taken_by(daemon, gen, sink, port) for port in (5000, 5001)] == ["kernel", "kernel"]


def test_bad_files_change_nothing(lab, tmp_path):
    gen, sink = lab.ends()
    with Reloaded(lab, tmp_path, rules=["proto udp dport 5000 lane kernel"]) as daemon:
        daemon.write(["proto udp dport 70000 lane kernel"])
        daemon.refuses("shuntd.yaml", "70000")
        daemon.write(["lane drop"], batch=32)
        daemon.refuses("'batch' has changed", "--takeover")
        daemon.write([f"proto udp dport {port} lane drop" for port in range(1000, 1129)])
        daemon.refuses("128")
        daemon.path.write_text("ports: [")
        daemon.refuses("shuntd.yaml")
        daemon.path.unlink()
        daemon.refuses("shuntd.yaml", "No such file")
        assert [taken_by(daemon, gen, sink, port) for port in (5000, 5001)] == ["kernel", "user"]


def test_as_another_user(lab, tmp_path):
    """A daemon that became another user reads the file with that user's rights."""
    with Reloaded(lab, tmp_path, "--user", "nobody", control="run/shuntd.sock") as daemon:
        tmp_path.chmod(0o755)
        daemon.write(["proto udp dport 5000 lane drop"])
        daemon.path.chmod(0o600)
        daemon.refuses("shuntd.yaml", "Permission denied")
        daemon.path.chmod(0o644)
        for folder in list(tmp_path.parents)[:2]:
            folder.chmod(0o755)
        assert daemon.reload().returncode == 0
        assert daemon.rules() == ["proto udp dport 5000 lane drop"]


def test_without_a_file(lab):
    with Shuntd(lab, "xconnect", "eth1", "eth2") as daemon:
        done = daemon.ctl("reload", check=False)
        assert done.returncode == 1 and "without a file" in done.stderr
        done = daemon.ctl("reload", "now", check=False)
        assert done.returncode == 2 and "'now'" in done.stderr


def test_nothing_is_lost_under_a_stream(lab, tmp_path):
    """Every frame is forwarded by the old rules or by the new, while they change thirty
    times."""
    gen, sink = lab.ends()
    kernel, count = ["lane kernel"], 0
    with Reloaded(lab, tmp_path) as daemon:
        for turn in range(30):
            daemon.write(kernel if turn % 2 else [])
            daemon.process.send_signal(signal.SIGHUP)
            for _ in range(20):
                gen.send(udp4(data=count.to_bytes(4, "big") + bytes(14)))
                count += 1
        gen.send(udp4(dport=9))
        frames = {frame[42:46] for frame in until_marker(sink)}
        # The marker may overtake those that went the other way.
        while len(frames) < count:
            frame = sink.receive(lambda f: f[36:38] == (4001).to_bytes(2, "big"))
            assert frame, f"{count - len(frames)} of {count} lost"
            frames.add(frame[42:46])
        assert daemon.process.poll() is None
