# SPDX-License-Identifier: BSD-2-Clause
"""shunt-model as a user runs it. What it computes is tested in tests/unit/test_model*.c."""
import json
import os
import subprocess

import pytest

MODEL = os.path.join(os.path.dirname(__file__), "../..", os.environ.get("B", "build"),
                     "bin/shunt-model")


def run(*args):
    return subprocess.run([MODEL, *map(str, args)], capture_output=True, text=True, timeout=50,
                          check=False)


def answer(*args):
    done = run(*args, "-j")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_queue_adds_up():
    got = answer("queue", "--load", 0.7)
    assert got["input"]["ring"] == 512 and got["input"]["batch"] == 32
    assert got["saturation_pps"] == pytest.approx(1.6e9 / (45 + 100 + 43 / 32))
    assert got["throughput_pps"] == pytest.approx(0.7 * got["saturation_pps"])
    assert got["cost_per_packet"] == pytest.approx(45 + 100 + 43 / got["batch_mean"])
    sizes = got["batch_distribution"]
    assert len(sizes) == 32 and sum(sizes) == pytest.approx(1)
    assert sum(j * p for j, p in enumerate(sizes, 1)) == pytest.approx(got["batch_mean"])
    cycles = got["c_io"] + got["c_task"] + got["c_busy"]
    assert cycles * got["throughput_pps"] == pytest.approx(1.6e9)
    # Little's law: what is in the system, by what goes through it.
    assert got["latency_ns"] * got["throughput_pps"] / 1e9 == pytest.approx(got["queue_mean"])


def test_three_ways_to_say_the_load():
    by_load = answer("queue", "--load", 0.5)
    given = by_load["input"]
    assert answer("queue", "--rate", given["offered_pps"])["latency_ns"] == pytest.approx(
        by_load["latency_ns"])
    assert answer("queue", "--lambda", given["lambda_per_s"])["latency_ns"] == pytest.approx(
        by_load["latency_ns"], rel=1e-6)
    of_link = answer("queue", "--load", 0.5, "--link", "10G")
    assert of_link["input"]["offered_pps"] == pytest.approx(10e9 / 8 / 84 / 2)


def test_sweep_is_what_single_runs_say():
    done = run("queue", "--sweep", "load=0.2:0.8:0.3")
    rows = [line.split() for line in done.stdout.splitlines()]
    assert rows[0][:2] == ["#", "load"] and [row[0] for row in rows[1:]] == ["0.2", "0.5", "0.8"]
    for got in answer("queue", "--load", 0.7, "--sweep", "batch=1,32"):
        alone = answer("queue", "--rate", got["input"]["offered_pps"], "--batch",
                       got["input"]["batch"])
        assert got["latency_ns"] == pytest.approx(alone["latency_ns"])


@pytest.mark.parametrize("args, status, failed", [
    (["queue", "--ring", "infinite", "--sweep", "load=0.5,1.5,0.7,2"], 1, {1.5, 2}),
    (["queue", "--load", "0.7", "--ring", "64", "--sweep", "batch=0,8,128,32"], 2, {0, 128}),
    (["tmax", "--sweep", "size=59,60,70000"], 2, {59, 70000}),
])
def test_a_sweep_goes_on_where_a_value_has_no_answer(args, status, failed):
    name, _, values = args[-1].partition("=")
    wanted = [float(value) for value in values.split(",")]
    solved = [value for value in wanted if value not in failed]
    text, as_json = run(*args), run(*args, "-j")
    assert text.returncode == as_json.returncode == status
    assert [float(line.split()[0]) for line in text.stdout.splitlines()[1:]] == solved
    sentences = [line.removeprefix("shunt-model: ") for line in text.stderr.splitlines()]
    assert text.stderr == as_json.stderr and len(sentences) == len(failed)
    for value, sentence in zip(sorted(failed), sentences):
        assert sentence.startswith(f"--sweep {name}={value:g}: "), sentences
    rows = json.loads(as_json.stdout)
    assert len(rows) == len(wanted)
    assert [row["input"][name] for row in rows if "error" in row] == sorted(failed)
    assert [row["error"] for row in rows if "error" in row] == sentences
    assert all("latency_ns" in row or "t_max_pps" in row for row in rows if "error" not in row)


def test_a_sweep_without_any_answer():
    done = run("queue", "--ring", "infinite", "--sweep", "load=1.5,2")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 2)


def test_task_with_a_distribution():
    one = answer("queue", "--load", 0.5, "--c-task", 200)
    mixed = answer("queue", "--load", 0.5, "--c-task", "100:0.9,1.1k:0.1")
    each = answer("queue", "--load", 0.5, "--c-task", "100:0.9,1.1k:0.1", "--task-per", "packet")
    assert mixed["c_task"] == pytest.approx(200)
    assert mixed["saturation_pps"] == pytest.approx(one["saturation_pps"])
    assert one["latency_ns"] < each["latency_ns"] < mixed["latency_ns"]


def test_tmax():
    got = answer("tmax", "--link", "10G", "--freq", "3.3G", "--c-io", 100, "--c-call", 0,
                 "--c-task", 350)
    assert got["t_max_pps"] == got["c_max_pps"] == pytest.approx(3.3e9 / 450)
    assert got["c_busy"] == 0
    assert answer("tmax")["r_max_pps"] is None


def entries(cost, **params):
    return [{"name": "mem.xconnect", "params": {"batch": batch, **params}, "unit": "cycles/packet",
             "value": cost(batch)} for batch in (1, 2, 4, 8, 16, 32, 64, 128, 256)]


def test_fit_and_its_constants(tmp_path):
    measured = tmp_path / "bench.json"
    measured.write_text(json.dumps(
        entries(lambda b: 20 + 64 / b, copy=False) + entries(lambda b: 90 + 1 / b, copy=True) +
        [{"name": "mem.empty", "params": {}, "unit": "cycles/poll", "value": 31.5},
         {"name": "mem.macrewrite", "params": {"batch": 1}, "unit": "cycles/packet", "value": 7}]))
    fitted = tmp_path / "fit.json"
    fitted.write_text(run("fit", "-j", "--freq", "2G", measured).stdout)
    got = json.loads(fitted.read_text())
    assert (got["c_io"], got["c_call"], got["c_v"]) == pytest.approx((20, 64, 31.5))
    assert got["worst"] < 1e-6 and len(got["points"]) == 9
    assert answer("fit", "--copy", measured)["c_io"] == pytest.approx(90)
    used = answer("queue", "--constants", fitted, "--load", 0.5, "--c-call", 5)["input"]
    assert (used["c_io"], used["c_call"], used["c_v"], used["freq_hz"]) == pytest.approx(
        (20, 5, 31.5, 2e9))


def test_fit_takes_empty_polls_from_runtime(tmp_path):
    measured, runtime = tmp_path / "bench.json", tmp_path / "runtime.json"
    measured.write_text(json.dumps(entries(lambda b: 10 + 10 / b)))
    runtime.write_text(json.dumps({"total": {"busy_cycles": 5000, "empty_turns": 100},
                                   "cycles_hz": 2.3e9}))
    got = answer("fit", measured, runtime)
    assert (got["c_v"], got["freq_hz"]) == (50, 2.3e9)


def document(experiment, **parameters):
    line = {"title": "measured", "points": [[b, 10 + 40 / b, 1, 99] for b in (1, 2, 8, 64)]}
    return json.dumps({"experiment": experiment, "parameters": parameters, "figures": [
        {"name": "latency", "series": []},
        {"name": "cost", "series": [{"title": "fitted", "points": [[1, 1]]}, line]}]})


def test_fit_takes_a_document_of_shunt_bench(tmp_path):
    path = tmp_path / "batch-mem.json"
    path.write_text(document("batch", cycles_hz=2e9, c_v=30))
    got = answer("fit", path)
    assert (got["c_io"], got["c_call"], got["c_v"], got["freq_hz"]) == pytest.approx((10, 40, 30, 2e9))
    assert len(got["points"]) == 4
    path.write_text(document("batch"))
    assert "freq_hz" not in answer("fit", path)


def test_a_full_disk_is_a_failure():
    with open("/dev/full", "w", encoding="ascii") as full:
        done = subprocess.run([MODEL, "queue", "--load", "0.5", "-j"], stdout=full, timeout=50,
                              stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1 and "the result is lost" in done.stderr


@pytest.mark.parametrize("args, status, says", [
    (["queue"], 2, "one of --load, --rate or --lambda"),
    (["queue", "--load", "1", "--rate", "1"], 2, "not several"),
    (["queue", "--load", "1", "--ring", "infinite"], 1, "no steady state"),
    (["queue", "--load", "0"], 2, "--load 0"),
    (["queue", "--rate", "1e300"], 1, "of what can be served"),
    (["queue", "--load", "nan"], 2, "not a number"),
    (["queue", "--load", "0.5", "--psi", "1.5"], 2, "whole number"),
    (["queue", "--load", "0.5", "--nu", "-1"], 2, "--nu"),
    (["queue", "--load", "0.5", "--batch", "1k"], 2, "the batch B is 1000"),
    (["queue", "--load", "0.5", "--ring", "16"], 2, "the ring R is 16"),
    (["queue", "--load", "0.5", "--c-task", "1:0.5,2:0.4"], 2, "add up to 0.9"),
    (["queue", "--load", "0.5", "--c-io", "0", "--c-call", "0", "--c-task", "0"], 2, "all 0"),
    (["queue", "--load", "0.5", "--task-per", "day"], 2, "batch or packet"),
    (["queue", "--sweep", "load=1:0:0.1"], 2, "has no end"),
    (["queue", "--sweep", "load=0:1:1e-9"], 2, "at most 10000"),
    (["queue", "--sweep", "colour=1,2"], 2, "--sweep colour=1,2"),
    (["queue", "--load", "0.5", "more"], 2, "options only"),
    (["queue", "--constants", "/nonexistent", "--load", "1"], 1, "/nonexistent"),
    (["tmax", "--size", "59"], 2, "60 to 65535"),
    (["tmax", "--load", "0.5"], 2, "tmax takes no --load"),
    (["fit", "--batch", "32", "/dev/null"], 2, "fit takes no --batch"),
    (["queue", "--load", "0.5", "--c-v", "1e13"], 2, "at most 1e12"),
    (["fit"], 2, "FILEs"),
    (["fit", "/nonexistent"], 1, "/nonexistent"),
    (["guess"], 2, "guess is not a command"),
    ([], 2, "queue, tmax or fit"),
])
def test_bad_input(args, status, says):
    done = run(*args)
    assert (done.returncode, done.stdout) == (status, ""), done
    assert says in done.stderr and done.stderr.count("\n") == 1, done.stderr


@pytest.mark.parametrize("text, says", [
    ("[]", "no measurement of mem.xconnect"),
    (document("cio"), "only that of batch"),
    ('{"experiment": "batch"}', "only that of batch"),
    ('{"experiment": "batch", "figures": [3, {"name": "cost", "series": {}}]}', "only that of batch"),
    (json.dumps(entries(lambda b: 1)[:1]), "two different batches"),
    (json.dumps(entries(lambda b: -1)), "must be above 0"),
    (json.dumps(entries(lambda b: 1e308)), "at most 1e+12"),
    ('[1, "x", {"name": 3, "params": [], "value": "y", "unit": {}}]', "no measurement"),
])
def test_fit_refuses(tmp_path, text, says):
    path = tmp_path / "in.json"
    path.write_text(text)
    done = run("fit", path)
    assert done.returncode == 1 and done.stdout == ""
    assert says in done.stderr and done.stderr.count("\n") == 1


def test_constants_refused(tmp_path):
    path = tmp_path / "in.json"
    for text, says in (('{"c_io": 1}', "no c_call"), ('{"c_io": -1}', "--c-io"), ("[]", "no c_io")):
        path.write_text(text)
        done = run("queue", "--load", 0.5, "--constants", path)
        assert done.returncode == 1 and says in done.stderr and str(path) in done.stderr
