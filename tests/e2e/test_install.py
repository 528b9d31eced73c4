# SPDX-License-Identifier: BSD-2-Clause
"""What `make install` puts where: the programs run from there, a program of somebody else's links with
libshunt by what pkg-config says and forwards, and `make uninstall` leaves no file."""
import os
import subprocess

import pytest

from shuntlab.lab import ENV, ROOT

FORWARDER = r"""
#include <config/config.h>
#include <engine/engine.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct shunt_engine *engine = NULL;
	struct shunt_config config;
	struct shunt_err err = {""};
	uint64_t packets = 0;
	int ret = argc == 2 ? shunt_config_load(&config, argv[1], &err) : -1;

	if (!ret)
		ret = shunt_engine_create(&engine, &config, &err);
	if (!ret)
		ret = shunt_engine_open(engine, &err);
	if (!ret)
		ret = shunt_engine_start(engine, &err);
	for (int ms = 0; !ret && !packets && ms < 60000; ms++) {
		usleep(1000);
		packets = shunt_counter_read(&engine->ports.at[1].queues[0]->stats.tx_packets);
	}
	if (!ret)
		ret = shunt_engine_destroy(engine, &err);
	printf("%s%s\n", packets ? "forwards" : "does not forward", err.msg);
	return ret ? 1 : 0;
}
"""
CONFIG = """
ports: [{name: a, kind: mem}, {name: b, kind: mem}]
forward: [{mode: xconnect, ports: [a, b]}]
"""


def run(*words, **env):
    done = subprocess.run(words, capture_output=True, text=True, env=dict(ENV, **env), cwd=ROOT,
                          stdin=subprocess.DEVNULL, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(name="prefix")
def _prefix(tmp_path):
    prefix = str(tmp_path / "usr")
    run("make", "install", f"PREFIX={prefix}")
    yield prefix
    run("make", "uninstall", f"PREFIX={prefix}")
    assert [name for _, _, names in os.walk(prefix) for name in names] == []


def test_install(prefix, tmp_path):
    for program in ("sbin/shuntd", "bin/shuntctl", "bin/shunt-gen", "bin/shunt-bench", "bin/shunt-model"):
        assert "shunt" in run(os.path.join(prefix, program), "--help")
    said = run(os.path.join(prefix, "bin/shunt-bench"), "--ports", "mem", "--short", "--runs", "1",
               "--points", "2", "--no-figures", "-o", tmp_path / "out", "batch")
    assert "Mpps" in said
    (tmp_path / "forwarder.c").write_text(FORWARDER)
    (tmp_path / "forwarder.yaml").write_text(CONFIG)
    flags = run("pkg-config", "--cflags", "--libs", "shunt", PKG_CONFIG_PATH=f"{prefix}/lib/pkgconfig")
    run("gcc", "-Wall", "-Werror", "-o", tmp_path / "forwarder", tmp_path / "forwarder.c", *flags.split())
    assert run(tmp_path / "forwarder", tmp_path / "forwarder.yaml") == "forwards\n"
