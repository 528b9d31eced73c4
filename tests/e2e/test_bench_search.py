# SPDX-License-Identifier: BSD-2-Clause
"""The search for a rate without loss, on a forwarder that is simulated: what it finds is known."""
import contextlib
import html
import math
import os
import re
import shutil
import random
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest


from shuntlab.lab import wait_until
import exp_batch
import exp_cio
import exp_compare
import exp_rfc2544
import exp_size
import places
import plot
import stats
from search import Search, confidence
GIGABIT = 1e9


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


class Line(places.Place):
    """A device that forwards all that its line of 1 Gbit/s brings; a generator that refuses to send more
    than that, as shunt-gen does. Its clock is short by a little."""
    line_bps = GIGABIT

    def __init__(self, capacity=1.0):
        self.capacity, self.asked = capacity, []

    def trial(self, dst_mac, rate=0, seconds=1.0, count=None, size=60, **_):
        bytes_ = exp_size.IMIX_BYTES if size == exp_size.IMIX else size + exp_size.FCS
        line = GIGABIT / ((bytes_ + 20) * 8)
        self.asked.append(rate / line)
        if rate > line:
            raise places.Failed("shunt-gen: --rate: more than the line has")
        made = rate or line
        sent = count or round(made * seconds)
        loss = max(0.0, 1 - self.capacity * line / made)
        return {"pps": 1.01 * made * (1 - loss), "offered_pps": 1.01 * made, "confirmed_pps": 1.01 * made,
                "held": True, "loss": loss, "sent": sent, "received": sent - round(loss * sent),
                "cpu_s": 0.1, "passed_s": seconds,
                "latency_ns": {"count": sent, "p50": 1, "p99": 1, "min": 1, "mean": 1, "max": 1}}


def context(place):
    return SimpleNamespace(place=place, seconds=1.0, runs=1, trials=3, precision=0.05, short=False,
                           progress=SimpleNamespace(step=lambda _: None), until=lambda _: None)


def searched(name, place):
    """(line's rate, rate without loss) by an experiment."""
    ctx = context(place)
    if name == "compare":
        one = SimpleNamespace(name="it", start=lambda _: contextlib.nullcontext({"dst_mac": "x"}))
        return place.line_pps(64), exp_compare.look_closer(ctx, one, 1.01 * place.line_pps(64), 1)["ndr"]
    if name == "size":
        return place.line_pps(exp_size.IMIX_BYTES), exp_size.search(ctx, place, "x", exp_size.IMIX, 1)[1]
    return place.line_pps(1518), exp_rfc2544.one_size(ctx, "x", 1518, 1)["ndr"]


@pytest.mark.parametrize("name", ["compare", "size", "rfc2544"])
def test_no_rate_above_the_line(name):
    """It forwards all that its line brings: that is what is found, and more is never asked for, neither
    in the search nor in what follows it."""
    place = Line()
    line, found = searched(name, place)
    assert found["rate"] == line and found["failing"] is None
    assert 1.0 in place.asked and max(place.asked) == 1.0


@pytest.mark.parametrize("name", ["compare", "size", "rfc2544"])
def test_less_than_the_line(name):
    line, found = searched(name, Line(0.6))
    assert 0.55 * line < found["rate"] <= 1.01 * 0.6 * line


def test_a_generator_that_reaches_a_tenth():
    """What it reached says where to go on."""
    search = Search(forwarder(1e7, most=1e5), 3, 0.05)
    found = search.find(0.0, 1e6, 2e6)
    assert 0.9e5 <= found["rate"] <= 1e5 * 1.001 and found["by_generator"]
    assert search.count() < 20


def test_time_is_up_before_anything_passed():
    """Some rate is found all the same, and said to be a lower bound."""
    found = Search(forwarder(3e4), 3, 0.05, until=time.monotonic()).find(0.0, 1e6, 2e6)
    assert 0 < found["rate"] <= 3e4 and found["is_cut"]
    assert found["failing"] > 3e4


def test_time_is_up_and_nothing_passes():
    """Both rates together take no more trials than one."""
    search = Search(forwarder(1.0), 3, 0.05, until=time.monotonic())
    ndr, pdr = search.both(0.005, 1e6)
    assert ndr["rate"] == pdr["rate"] == 0.0
    assert search.count() == 2 * 4


def burst_of(buffer, line=GIGABIT):
    """What the experiment makes of a device that holds so many frames more than it forwards."""
    place = Line()
    place.line_bps = line
    trial = place.trial

    def limited(dst_mac, rate=0, seconds=1.0, count=None, size=60, **_):
        made = trial(dst_mac, rate, seconds, count, size)
        made["received"] = min(made["sent"], buffer) if count else made["received"]
        return made
    place.trial = limited
    found, rate, is_bounded = exp_rfc2544.back_to_back(context(place), "x", 1518)
    return found[0], rate, is_bounded, place


def test_longest_burst():
    found, rate, is_bounded, place = burst_of(5000)
    assert 4500 <= found <= 5000 and is_bounded
    implied, corrected = exp_rfc2544.buffer_time([found], rate, rate / 4, is_bounded)
    assert implied == pytest.approx(1e3 * found / rate) and corrected == pytest.approx(0.75 * implied)
    assert rate == place.line_pps(1518)


def test_no_burst_is_lost():
    """Of a buffer that nothing overran, no size is told."""
    found, rate, is_bounded, place = burst_of(1e9)
    assert found == int(2 * rate) and not is_bounded
    assert exp_rfc2544.buffer_time([found], rate, rate, is_bounded) == (None, None)


def test_bursts_of_a_device_without_a_pace_of_its_own():
    """It takes ten times what its line carries: bursts come at the line's rate."""
    _, rate, _, place = burst_of(5000, GIGABIT / 10)
    assert rate == place.line_pps(1518) and place.asked[-1] == pytest.approx(0.1)


def tables_of(describe, *args):
    """{name: (title, {column: value} of the first row)} that an experiment puts into its document."""
    made = {}

    def table(name, title, columns, rows):
        names = [column if isinstance(column, str) else column[0] for column in columns]
        made[name] = (title, dict(zip(reversed(names), reversed(rows[0]))))
    describe(SimpleNamespace(table=table, figure=lambda *_, **__: None), *args)
    return made


def test_offered_is_what_was_made():
    """Of a rate that the generator missed, what was asked for is not said to be offered."""
    run = {"offered_pps": 1.2e5, "pps": 1.1e5, "c_io": 1, "c_task": 2, "c_busy": 3, "batch_mean": 2.0,
           "batches": [[2, 9]], "empty_turns": 0, "turns": 9, "lost": 0, "arrived": 18,
           "latency_ns": {"p50": 1e3, "p99": 1e3, "p999": 1e3}}
    made = tables_of(exp_cio.describe, [("lab", {0: [run]}, None)], 2e5, 1e9)
    assert made["points"][1]["offered"] == 0.12 and "0.200 Mpps asked for" in made["c_io"][0]
    silent = SimpleNamespace(of=lambda *_: None, line=lambda title, _: {"title": title})
    assert tables_of(exp_batch.draw_loads, {0.5: [run]}, 4e5, silent)["received"][1]["offered"] == 0.12
    title, row = tables_of(exp_batch.draw_latency, {64: [run]}, 2e5, silent)["latency"]
    assert "0.20 Mpps asked for" in title and row["offered"] == 0.12
    del run["offered_pps"]
    assert stats.offered([run | {"seconds": 2.0}]) == 9


def test_nothing_passes():
    found = Search(lambda rate: {"loss": 0.5, "confirmed_pps": rate, "held": True}, 3, 0.1) \
        .find(0.0, 1e6, 1e7)
    assert found["rate"] == 0.0 and found["good"] == 0 and found["confidence"] is None


def test_confidence():
    assert confidence(3, 3) == 1 - 1 / 8
    assert confidence(0, 3) == 1 - 1 / 8
    assert confidence(2, 3) == 0.5
    assert confidence(7, 7) == 1 - 1 / 128


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_while_a_daemon_is_started(number, monkeypatch):
    """It is ended all the same."""
    made, start = [], subprocess.Popen

    def popen(*args, **options):
        made.append(start(*args, **options))
        os.kill(os.getpid(), number)
        time.sleep(0.01)  # the interpreter looks for signals
        return made[0]

    def end(*_):
        raise KeyboardInterrupt
    monkeypatch.setattr(subprocess, "Popen", popen)
    before = signal.signal(number, end)
    try:
        with pytest.raises(KeyboardInterrupt):
            with places.running(["sleep", "60"], "never said"):
                pass
    finally:
        signal.signal(number, before)
    try:
        assert made[0].poll() == -signal.SIGTERM
    finally:
        made[0].kill()


def test_killed_while_a_daemon_runs():
    """kill -9 takes the daemon along: on devices there is no lab to end it."""
    script = ("import os, places\n"
              "with places.running(['sh', '-c', 'echo ready >&2; exec sleep 60'], 'ready') as one:\n"
              "    print(one.pid, flush=True); os.kill(os.getpid(), 9)")
    done = subprocess.run([sys.executable, "-c", script], cwd=os.path.dirname(places.__file__), text=True,
                          stdout=subprocess.PIPE, timeout=50, check=False)
    assert done.returncode == -signal.SIGKILL
    path = f"/proc/{int(done.stdout)}/cmdline"

    def is_gone():
        with contextlib.suppress(OSError):
            with open(path, "rb") as file:
                return b"sleep" not in file.read()
        return True
    wait_until(is_gone, timeout=20, what="the daemon gone")


@pytest.mark.parametrize("lengths", [
    [30] * 9, [15, 15, 15, 38, 37, 42, 42, 40], [8] * 10, [60, 5, 5]], ids=str)
def test_rotated_labels_end_within_the_figure(lengths, tmp_path):
    if not shutil.which("gnuplot"):
        pytest.skip("no gnuplot")
    labels = [[i, "ab cd"[i % 5] * length] for i, length in enumerate(lengths)]
    plot.draw({"name": "x", "title": "x", "x": "", "y": "y", "x_rotated": True, "x_labels": labels,
               "series": [{"title": "x", "style": "bars", "axis": "y1",
                           "points": [[i, 1] for i, _ in labels]}]}, str(tmp_path / "x"))
    drawn = (tmp_path / "x.svg").read_text(encoding="utf-8")
    starts = [float(x) for x in re.findall(r"translate\(([\d.]+),[\d.]+\) rotate\(40", drawn)]
    assert len(starts) == len(lengths)
    letter = 8.4 * math.cos(math.radians(40))  # pixels of its font, on average
    assert max(x + letter * length for x, length in zip(starts, lengths)) <= plot.WIDTH
    assert starts[-1] - starts[0] > plot.WIDTH / 4


def test_a_figures_words_are_drawn_as_they_are(tmp_path):
    """A document may be another's: gnuplot is told nothing by it."""
    if not shutil.which("gnuplot"):
        pytest.skip("no gnuplot")
    words = f"`touch {tmp_path}/made` a\"b'c\\\\d $e @f"
    folder = tmp_path / "it's `x` \"y\""
    folder.mkdir()
    plot.draw({"name": "x", "title": words, "paper": words, "x": words, "y": words, "y2": words,
               "marks": [[1, words]], "x_labels": [[1, words], [2, words]],
               "series": [{"title": words, "style": "lines", "axis": "y2", "points": [[1, 1], [2, 2]]}]},
              str(folder / "x"))
    assert not (tmp_path / "made").exists()
    drawn = html.unescape((folder / "x.svg").read_text(encoding="utf-8"))
    assert f">{words}<" in drawn and f"(after {words})" in drawn
