# SPDX-License-Identifier: BSD-2-Clause
"""`shuntctl doctor` asked on a lab's dut."""
import json


def doctor(lab, *args, host="dut", wrap=()):
    """Exit status, and findings by (object, topic)."""
    done = lab.exec(host, *wrap, "shuntctl", "-j", "doctor", *args, check=False)
    assert done.stdout, done.stderr
    found = {}
    for finding in json.loads(done.stdout).get("findings", []):
        found.setdefault((finding["object"], finding["topic"]), []).append(finding)
    return done.returncode, found


def levels(findings):
    return [finding["level"] for finding in findings]
