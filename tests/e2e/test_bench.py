# SPDX-License-Identifier: BSD-2-Clause
"""shunt-bench: every experiment in a shortened form. What it measures on a busy machine is not judged
here; that the documents are what the schema says, and the report and its figures are there, is."""
import json
import os
import shutil
import signal
import subprocess

import pytest

from shuntlab.lab import BIN
from shuntlab.report import BENCH, POINTS, SHORT, Page, bench, bench_of, check_document, check_report

MEMORY = ["cio", "cache", "batch"]


@pytest.fixture(scope="module")
def memory_report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    done = bench(*SHORT, *POINTS, "--seconds", "0.01", "--ports", "mem", "-o", str(folder), *MEMORY)
    assert done.returncode == 0, done.stderr
    return folder, done


@pytest.mark.limit(180)
def test_model(tmp_path):
    """Predictions lie over measurements; how close they are is not judged on a busy machine."""
    done = bench(*SHORT, *POINTS, "-o", str(tmp_path), "model")
    assert done.returncode == 0, done.stderr
    doc = check_document(tmp_path / "model-mem.json")
    assert [f["name"] for f in doc["figures"]] == ["latency", "cost", "batch", "utilisation", "sizes"]
    assert [[line["title"] for line in f["series"]] for f in doc["figures"]] == \
        5 * [["measured", "predicted"]]
    check_report(tmp_path, [doc])


@pytest.mark.limit(500)  # with the first use of memory_report, for which DPDK's l3fwd may have to be built
def test_memory_experiments(memory_report):
    folder, done = memory_report
    docs = [check_document(folder / f"{name}-mem.json") for name in MEMORY]
    check_report(folder, docs)
    for doc in docs:
        assert doc["ports"]["kind"] == "mem"
        assert f"=== {doc['experiment']}:" in done.stdout
        assert doc["tables"][0]["title"] in done.stdout


def test_every_label_of_an_axis_is_drawn(memory_report):
    folder, _ = memory_report
    doc = json.loads((folder / "cache-mem.json").read_text(encoding="ascii"))
    for figure in doc["figures"]:
        drawn = (folder / f"cache-mem-{figure['name']}.svg").read_text(encoding="utf-8")
        assert [text for _, text in figure["x_labels"] if f">{text}<" not in drawn] == []


def test_others_at_work_are_said_and_nothing_is_decided(tmp_path):
    with subprocess.Popen(["nice", "-n", "19", "sh", "-c", "while :; do :; done"]) as other:
        try:
            done = bench(*SHORT, *POINTS, "--seconds", "0.01", "--ports", "mem", "-o", str(tmp_path),
                         "cache")
        finally:
            other.kill()
    assert done.returncode == 0, done.stderr
    doc = check_document(tmp_path / "cache-mem.json")
    assert any("When it began, other programs used" in note for note in doc["notes"])
    assert {finding["verdict"] for finding in doc["findings"]} == {"not decided"}


def test_shunt_model_fits_what_batch_measured(memory_report):
    folder, _ = memory_report
    doc = json.loads((folder / "batch-mem.json").read_text(encoding="ascii"))
    done = subprocess.run([os.path.join(BIN, "shunt-model"), "fit", "-j", folder / "batch-mem.json"],
                          capture_output=True, text=True, timeout=20, check=True)
    fit = json.loads(done.stdout)
    assert (fit["c_io"], fit["c_call"], fit["freq_hz"]) == pytest.approx(
        [doc["parameters"][key] for key in ("c_io", "c_call", "cycles_hz")], rel=1e-3)


@pytest.mark.limit(120)
def test_devices(lab, tmp_path):
    """Devices by name, the generator at their other ends, reached by a command; dut is as before."""
    via = f"env PATH={os.path.dirname(BENCH)}:{os.environ['PATH']}"
    ends = ",".join(f"shunt-{lab.name}-{host}/eth1" for host in ("gen", "sink"))
    done = lab.exec("dut", BENCH, *SHORT, "--seconds", "0.1", "--cpu", "0", "--ports", "eth1,eth2",
                    "--gen-ports", ends, "--gen-via", via, "-o", str(tmp_path), "scale", timeout=100)
    doc = check_document(tmp_path / "scale-nic.json")
    assert doc["ports"] == {"kind": "nic", "names": ["eth1", "eth2"], "driver_mode": "native",
                            "copy_mode": "copy"}
    assert doc["tables"][0]["rows"][0][2] > 0, done.stdout
    assert lab.changes() == []


@pytest.mark.limit(120)
def test_a_generator_that_fails_says_why(lab, tmp_path):
    lab.sink("sink", "eth1")
    ends = ",".join(f"shunt-{lab.name}-{host}/eth1" for host in ("gen", "sink"))
    done = lab.exec("dut", BENCH, *SHORT, *POINTS, "--ports", "eth1,eth2", "--gen-ports", ends, "-o",
                    str(tmp_path), "cio", timeout=100, check=False)
    assert done.returncode == 1
    assert "shunt-gen: attaching the sink to eth1" in done.stderr and "another XDP program" in done.stderr
    assert done.stderr.strip().count("\n") == 0


@pytest.mark.parametrize("options, said", [
    (["--ports", "eth1,eth9", "--gen-ports", "eth3,eth2"], "there is no device 'eth"),
    (["--ports", "eth1,eth2"], "wants --gen-ports too"),
    (["--ports", "eth1,eth2", "--gen-ports", "eth3,"], "wants --gen-ports too"),
    (["--ports", "eth1,eth1", "--gen-ports", "eth3,eth4"], "no pair of devices"),
    (["--ports", "eth1,", "--gen-ports", "eth3,eth4"], "no pair of devices"),
    (["--ports", "eth1,eth2", "--gen-ports", "eth2,eth3"], "eth2 cannot be in --ports and --gen-ports"),
    (["--ports", "vm", "--driver", "virtio"],
     "--ports vm: scale: of the guest's devices only igb has several"),
])
def test_devices_refused(options, said, tmp_path):
    done = bench(*SHORT, *options, "-o", str(tmp_path), "scale")
    assert done.returncode == 1 and done.stdout == ""
    assert said in done.stderr and done.stderr.strip().count("\n") == 0


@pytest.mark.limit(120)
def test_interrupted(tmp_path):
    """Ctrl-C takes lab and daemon with it."""
    process = subprocess.Popen([BENCH, "--short", "-o", str(tmp_path), "idle"],
                               stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert "idle: 1 of" in process.stderr.readline()  # the lab is there
    children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process.pid)], text=True,
                              stdout=subprocess.PIPE, check=True).stdout.split()
    mine = [path for path in (f"/run/netns/shunt-r{pid}-dut" for pid in children)
            if os.path.exists(path)]
    assert mine
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=90)
    assert process.returncode == 130
    assert "interrupted" in err and "Traceback" not in err
    assert not any(map(os.path.exists, mine))


@pytest.mark.limit(400)  # all that memory_report does included
def test_report_again(memory_report, tmp_path):
    folder, _ = memory_report
    done = bench("-o", str(tmp_path), "report", *(str(folder / f"{n}-mem.json") for n in MEMORY))
    assert done.returncode == 0, done.stderr
    check_report(tmp_path, [check_document(folder / f"{n}-mem.json") for n in MEMORY])


@pytest.mark.parametrize("of", [lambda doc: doc, lambda doc: doc["ports"], lambda doc: doc["figures"][0]],
                         ids=["experiment", "kind", "name"])
def test_a_name_is_no_path(memory_report, tmp_path, of, request):
    folder, _ = memory_report
    key = request.node.callspec.id
    doc = json.loads((folder / "batch-mem.json").read_text(encoding="utf-8"))
    of(doc)[key] = "../out"
    (tmp_path / "in.json").write_text(json.dumps(doc), encoding="utf-8")
    done = bench("-o", str(tmp_path), "report", str(tmp_path / "in.json"))
    assert done.returncode == 1 and "../out'" in done.stderr.replace("batch-", "").replace("-mem", "")
    assert [path.name for path in tmp_path.iterdir()] == ["in.json"]


@pytest.mark.limit(180)
def test_two_documents_of_a_name(memory_report, tmp_path):
    """Two runs of an experiment side by side, each with its own figures."""
    folder, _ = memory_report
    other = json.loads((folder / "batch-mem.json").read_text(encoding="utf-8"))
    other["figures"][0]["title"] = "of the other run"
    (tmp_path / "other.json").write_text(json.dumps(other), encoding="utf-8")
    done = bench("-o", str(tmp_path), "report", str(folder / "batch-mem.json"), str(tmp_path / "other.json"))
    assert done.returncode == 0, done.stderr
    page = Page(tmp_path / "report.html")
    assert {"batch-mem", "batch-mem-2"} <= set(page.ids) and len(set(page.ids)) == len(page.ids)
    name = other["figures"][0]["name"]
    drawn = [(tmp_path / f"{doc}-{name}.svg").read_text(encoding="utf-8")
             for doc in ("batch-mem", "batch-mem-2")]
    assert ["of the other run" in svg for svg in drawn] == [False, True]


def limited(limit, *options):
    """shunt-bench where no file may grow beyond so many bytes."""
    return bench_of(["prlimit", f"--fsize={limit}", BENCH, *options])


def test_a_full_disk(memory_report, tmp_path):
    """The tables come all the same; no file is half there."""
    folder, _ = memory_report
    done = limited(5000, *SHORT, *POINTS, "--seconds", "0.01", "--ports", "mem", "-o", str(tmp_path), "cio")
    assert done.returncode == 1 and "=== cio:" in done.stdout
    assert "cio-mem.json: File too large" in done.stderr and "\n" not in done.stderr.strip()
    assert not list(tmp_path.iterdir())
    done = limited(15000, "-o", str(tmp_path), "report", str(folder / "batch-mem.json"))
    assert done.returncode == 1
    assert "report.html: File too large" in done.stderr and "\n" not in done.stderr.strip()
    left = list(tmp_path.iterdir())
    assert all(path.suffix == ".svg" and path.read_bytes().rstrip().endswith(b"</svg>") for path in left)
    with open("/dev/full", "w", encoding="ascii") as full:
        done = bench_of([BENCH, "table", str(folder / "batch-mem.json")], stdout=full)
    assert done.returncode == 1 and "cannot write to standard output" in done.stderr
    assert "\n" not in done.stderr.strip()


def test_table_of_nothing():
    done = bench("table")
    assert done.returncode == 1 and done.stdout == ""
    assert "table needs JSON documents" in done.stderr


def test_tables_as_markdown(memory_report):
    folder, _ = memory_report
    path = folder / "batch-mem.json"
    done = bench("table", str(path))
    assert done.returncode == 0, done.stderr
    doc = check_document(path)
    lines = done.stdout.splitlines()
    assert lines[0] == f"### {doc['title']} (batch-mem)"
    rows = [line.count("|") for line in lines if line.startswith("|")]
    assert rows == (2 + len(doc["tables"][0]["rows"])) * [1 + len(doc["tables"][0]["columns"])]
    assert sum(line.startswith("- **") for line in lines) == len(doc["findings"])


@pytest.mark.limit(180)
def test_report_in_a_browser(memory_report, tmp_path):
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if not browser:
        pytest.skip("no chromium")
    folder, _ = memory_report
    done = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
                           f"--user-data-dir={tmp_path}", f"file://{folder}/report.html"],
                          capture_output=True, text=True, timeout=90, check=False)
    assert done.returncode == 0, done.stderr
    assert "</html>" in done.stdout and 'id="cio-mem-throughput"' in done.stdout


@pytest.mark.limit(180)
def test_without_gnuplot(tmp_path):
    """Tables and JSON still come, the report says why there are no figures."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in ("python3", "sh", "env", "taskset", "ip", "dpkg-query", "git"):
        if shutil.which(tool):
            (tools / tool).symlink_to(shutil.which(tool))
    out = tmp_path / "out"
    done = bench(*SHORT, *POINTS, "--seconds", "0.01", "--ports", "mem", "-o", str(out), "cio",
                 env={"PATH": str(tools)})
    assert done.returncode == 0, done.stderr
    assert done.stderr.strip() == ("shunt-bench: gnuplot is not there: tables and JSON only; install "
                                   "gnuplot-nox for figures")
    assert "=== cio:" in done.stdout
    check_document(out / "cio-mem.json")
    assert "No figures" in (out / "report.html").read_text(encoding="utf-8")
    assert not list(out.glob("*.svg"))


PART = "a document without most of its keys"


@pytest.mark.parametrize("options, code, said", [
    (["nothing"], 2, "'nothing'"),
    (["--runs", "0", "cio"], 2, "'0' is not a number from 1 to 1000"),
    (["--cpu", "4095", "cio"], 2, "CPU 4095"),
    (["--ports", "nowhere", "cio"], 1, "--ports 'nowhere'"),
    (["--trials", "2", "size"], 2, "'2' is even"),
    (["cio", "all"], 2, "'all' stands alone"),
    (["--only", "carrier pigeon", "compare"], 1, "'carrier pigeon'"),
    (["report"], 1, "report needs JSON documents"),
    (["report", "/dev/null"], 1, "/dev/null is no JSON"),
    (["table", PART], 1, "it lacks title, command, started, seconds, machine,"),
    (["--ports", "vm", "cache"], 1, "--ports vm: cache: "),
    (["--ports", "lab", "model"], 1, "not on --ports lab"),
    (["-o", "/dev/null/x", "cio"], 1, "/dev/null/x"),
    (["--ports", "mem", "--only", "kernel", "compare"], 2, "--only says nothing to compare here"),
    (["--search-seconds", "9", "scale"], 2, "--search-seconds says nothing to scale here"),
    (["--gen-via", "ssh x", "cio"], 2, "--gen-via says nothing to cio here"),
])
def test_refused(options, code, said, tmp_path, tmp_path_factory):
    part = tmp_path_factory.mktemp("part") / "part.json"
    part.write_text('{"format": 1, "experiment": "cio"}', encoding="ascii")
    out = [] if "table" in options and PART in options else ["-o", str(tmp_path)]
    done = bench(*out, *(str(part) if word == PART else word for word in options))
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert said in done.stderr and "\n" not in done.stderr.strip()
    assert not list(tmp_path.iterdir())
