# SPDX-License-Identifier: BSD-2-Clause
"""shunt-bench where it measures a lab: a search for a rate without loss finds none on a busy machine."""
import json
import os
import subprocess

import pytest

from shuntlab.lab import BIN
from shuntlab.report import POINTS, SEARCHES, SHORT, bench, check_document, check_report


@pytest.mark.parametrize("psi", [1, 20])
def test_bursts(psi):
    """Packets come at the rate asked for, whatever the worker does meanwhile, and are all accounted
    for: forwarded, lost, or waiting in the ring. What the worker counts may lag while it is held up."""
    done = subprocess.run([os.path.join(BIN, "shunt-membench"), "point", "--rate", "1e6", "--psi", str(psi),
                           "--seconds", "0.5", "--latency"],
                          capture_output=True, text=True, timeout=60, check=True)
    got = json.loads(done.stdout)["workers"][0]
    assert got["arrived"] == pytest.approx(1e6 * got["seconds"], rel=0.3)
    assert abs(got["arrived"] - got["lost"] - got["received"]) <= 2 * 512
    assert 0 <= got["latency_ns"]["count"] - got["received"] + 512 <= 1024
    assert got["latency_ns"]["mean"] > 0


@pytest.mark.limit(240)
@pytest.mark.parametrize("names, options", [
    (["cio", "scale"], []),
    (["compare", "idle"], [*SEARCHES, "--only", "kernel ip_forward,xconnect user spin"]),
    (["size", "rfc2544"], SEARCHES)],
    ids=lambda words: "-".join(words) if words and words[0].isalnum() else "")
def test_lab_experiments(names, options, tmp_path):
    """The least that there is of each; and nothing is left behind."""
    done = bench(*SHORT, *POINTS, "--seconds", "0.05", *options, "-o", str(tmp_path), *names)
    assert done.returncode == 0, done.stderr
    docs = [check_document(tmp_path / f"{name}-lab.json") for name in names]
    check_report(tmp_path, docs)
    for doc in docs:
        assert doc["ports"]["kind"] == "lab"
        assert doc["ports"]["driver_mode"] == "native" and doc["ports"]["copy_mode"] == "copy"
        assert not os.path.exists(f"/run/netns/shunt-{doc['ports']['lab']}-dut")
