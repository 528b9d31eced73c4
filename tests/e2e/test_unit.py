# SPDX-License-Identifier: BSD-2-Clause
"""The systemd unit: what it grants is enough, also for busy polling, and no more than it says."""
import os
import pwd
import re
import shutil
import subprocess

import pytest

from shuntlab.shuntd import Shuntd
from shuntlab.frames import SINK, udp4
from shuntlab.lab import BIN, ROOT
from shuntlab.process import threads
from shuntlab.rights import CAPTURES, check_at_work, helpers

UNIT = os.path.join(ROOT, "user", "shuntd.service")
KNOBS = "cd /sys/class/net; cat eth1/napi_defer_hard_irqs eth1/gro_flush_timeout"
# Higher is worse; what an uncommented unit without hardening has is above 9.
EXPOSURE_MAX = 3.2


def granted():
    with open(UNIT, encoding="ascii") as file:
        found = re.search(r"^AmbientCapabilities=(.*)$", file.read(), re.M)[1].split()
    return [cap.removeprefix("CAP_").lower() for cap in found]


def start(lab, caps, *args):
    """shuntd as user nobody with these capabilities and no others, as systemd starts it."""
    folder = f"/run/shunt-lab/{lab.name}/unit"
    os.makedirs(folder)
    os.chown(folder, pwd.getpwnam("nobody").pw_uid, -1)
    plus = ",".join("+" + cap for cap in caps)
    popen = lab.popen
    lab.popen = lambda host, *cmd: popen(
        host, "setpriv", "--reuid", "nobody", "--clear-groups", "--bounding-set", "-all," + plus,
        "--inh-caps", "-all," + plus, "--ambient-caps", "-all," + plus, *cmd)
    try:
        return Shuntd(lab, "xconnect", "eth1", "eth2", *args, control="unit/shuntd.sock")
    finally:
        del lab.popen


@pytest.fixture(name="open_build", autouse=True)
def fixture_open_build():
    """nobody must reach the program."""
    if subprocess.run(["setpriv", "--reuid", "nobody", "--clear-groups", f"{BIN}/shuntd", "-V"],
                      capture_output=True, check=False).returncode:
        pytest.skip("user nobody cannot run what was built here")


def test_busy_polling_with_the_rights_of_the_unit(lab):
    frame = udp4(eth_dst=SINK)
    with start(lab, granted(), "--poll", "busy") as daemon:
        assert lab.exec("dut", "sh", "-c", KNOBS).stdout.split() == ["2", "200000"]
        # Without CAP_SETPCAP the bounding set stays, which matters to an execve only.
        for name, fields in threads(daemon.process.pid).items():
            assert int(fields["CapEff"], 16) == 0, name
            assert (int(fields["CapAmb"], 16), fields["Seccomp"]) == (0, "2")
        (helper,) = helpers(daemon.process.pid)
        assert int(threads(helper)["shunt-helper"]["CapEff"], 16) == CAPTURES
        check_at_work(lab, daemon, frame)
    # stop() has seen that the settings are back


def test_without_the_right_to_set_them_it_is_said(lab):
    caps = [cap for cap in granted() if cap != "dac_override"]
    with start(lab, caps, "--poll", "busy") as daemon:
        warning = daemon.process.stderr.readline()
        assert "cannot set" in warning and "CAP_DAC_OVERRIDE" in warning, warning


def test_the_unit_is_well_formed_and_hardened(tmp_path):
    if not shutil.which("systemd-analyze"):
        pytest.skip("no systemd-analyze here")
    unit = tmp_path / "shuntd.service"
    with open(UNIT, encoding="ascii") as file:
        text = file.read()
    for program in ("/usr/sbin/shuntd", "/usr/bin/shuntctl"):
        text = text.replace(program, os.path.join(BIN, os.path.basename(program)))
    unit.write_text(re.sub("^Documentation=.*\n", "", text, flags=re.M))
    said = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True,
                          timeout=60, check=False)
    assert "shuntd.service:" not in said.stderr, said.stderr
    said = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager", unit],
                          capture_output=True, text=True, timeout=60, check=False).stdout
    found = re.search(r"exposure level for shuntd.service: ([\d.]+)", said)
    assert found and float(found[1]) <= EXPOSURE_MAX, said


def test_a_start_that_fails_is_tried_for_ever():
    """A network card may come minutes later. By itself systemd gives up after five starts in ten seconds."""
    with open(UNIT, encoding="ascii") as file:
        sections = dict(re.findall(r"^\[(\w+)\]\n(.*?)(?=^\[|\Z)", file.read(), re.M | re.S))
    assert re.search("^StartLimitIntervalSec=0$", sections["Unit"], re.M)
    assert re.search("^Restart=on-failure$", sections["Service"], re.M)


def test_shuntctl_asks_the_socket_of_the_unit_by_default():
    with open(UNIT, encoding="ascii") as file:
        unit = file.read()
    path = re.search(r"^ExecStart=.* --control (\S+)$", unit, re.M)[1]
    folder = re.search(r"^RuntimeDirectory=(\S+)$", unit, re.M)[1]
    assert os.path.dirname(path) == f"/run/{folder}"
    for program in "shuntd", "shuntctl":
        said = subprocess.run([f"{BIN}/{program}", "--help"], capture_output=True, text=True,
                              check=True, timeout=60).stdout
        assert f"({path})" in said


def test_the_folder_of_the_socket_is_made_for_a_user(lab):
    folder = f"/run/shunt-lab/{lab.name}/made"
    with Shuntd(lab, "xconnect", "eth1", "eth2", "--user", "nobody", control="made/control") as daemon:
        found = os.stat(folder)
        assert (found.st_mode & 0o777, found.st_uid) == (0o755, pwd.getpwnam("nobody").pw_uid)
        assert daemon.show("ports")["ports"]
    assert os.listdir(folder) == []
