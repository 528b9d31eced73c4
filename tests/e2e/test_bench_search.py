# SPDX-License-Identifier: BSD-2-Clause
"""The search for a rate without loss, on a forwarder that is simulated: what it finds is known."""
import os
import random
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/shunt-bench"))

from search import Search, confidence  # pylint: disable=wrong-import-position


def forwarder(capacity, unlucky=0.0, most=float("inf"), seed=1):
    """Loses what is over its capacity; now and then a frame for no reason; no more than most can be
    sent."""
    rng = random.Random(seed)

    def trial(rate):
        sent = min(rate, most)
        loss = max(0.0, 1 - capacity / sent)
        if rng.random() < unlucky:
            loss = max(loss, 1e-6)
        return {"loss": loss, "confirmed_pps": sent, "held": sent >= 0.97 * rate}
    return trial


@pytest.mark.parametrize("start", [1e4, 9e5, 1e6, 3e6])
def test_quiet(start):
    found = Search(forwarder(1e6), 3, 0.02).find(0.0, start, 1e7)
    assert found["rate"] <= 1e6 < found["failing"] <= found["rate"] * 1.02
    assert (found["good"], found["trials"], found["by_generator"]) == (2, 2, False)
    assert found["confidence"] == 0.75


@pytest.mark.parametrize("seed", range(20))
def test_noisy(seed):
    """Every fourth trial loses a frame: one trial a rate would end far below, seven do not."""
    found = Search(forwarder(1e6, 0.25, seed=seed), 7, 0.05).find(0.0, 5e5, 1e7)
    assert found["rate"] > 2.5e5
    assert found["rate"] <= 1e6


def test_pdr_shares_trials():
    search = Search(forwarder(1e6), 3, 0.02)
    pdr = search.find(0.005, 9e5, 1e7)
    made = search.count()
    ndr = search.find(0.0, pdr["rate"], pdr["rate"])
    assert ndr["rate"] <= 1e6 and ndr["rate"] <= pdr["rate"] <= 1e6 * 1.006
    assert search.count() - made <= 4 * 3


def test_generator_is_slower():
    """What could not be sent is not found, whatever was lost."""
    found = Search(forwarder(1e7, most=1e6), 3, 0.05).find(0.0, 9e5, 1e8)
    assert found["rate"] <= 1e6 * 1.001
    assert found["by_generator"]


def test_nothing_passes():
    found = Search(lambda rate: {"loss": 0.5, "confirmed_pps": rate, "held": True}, 3, 0.1) \
        .find(0.0, 1e6, 1e7)
    assert found["rate"] == 0.0 and found["good"] == 0 and found["confidence"] is None


def test_confidence():
    assert confidence(3, 3) == 1 - 1 / 8
    assert confidence(0, 3) == 1 - 1 / 8
    assert confidence(2, 3) == 0.5
    assert confidence(7, 7) == 1 - 1 / 128
