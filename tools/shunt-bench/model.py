# SPDX-License-Identifier: BSD-2-Clause
"""Predictions to lay over measurements: by shunt-model where it is built, else what a line fits."""
import json
import subprocess

import paths


class NoModel(Exception):
    """There is no shunt-model, or it has no answer; one sentence."""


def ask(*argv):
    """`shunt-model ARGV -j`, as an object."""
    try:
        path = paths.program("shunt-model")
    except paths.Missing as error:
        raise NoModel("shunt-model is not there: no predictions of the queue's model") from error
    done = subprocess.run([path, argv[0], "-j", *map(str, argv[1:])], capture_output=True, text=True,
                          timeout=60, check=False)
    if done.returncode:
        raise NoModel(done.stderr.strip().splitlines()[0] if done.stderr else "shunt-model failed")
    return json.loads(done.stdout)


def queue(hz, c_io, c_call, c_v, rate, batch, ring):
    """The queue of Li, Ren and Yang fed one by one (Poisson), at a rate: their model's answer."""
    return ask("queue", "--psi", 1, "--rate", f"{rate:.0f}", "--batch", batch, "--ring", ring,
               "--c-io", f"{max(c_io, 0.1):.3f}", "--c-call", f"{max(c_call, 0.1):.3f}",
               "--c-v", f"{max(c_v, 1):.3f}", "--c-task", 0, "--freq", f"{hz:.0f}")


def fit(points):
    """(batch, cycles per packet) pairs: c_io and c_call of c_io + c_call / B, by least squares of the
    relative error, each point weighing the same."""
    weights = [1 / (y * y) for _, y in points]
    xs = [1 / b for b, _ in points]
    ys = [y for _, y in points]
    s, sx = sum(weights), sum(w * x for w, x in zip(weights, xs))
    sy = sum(w * y for w, y in zip(weights, ys))
    sxx = sum(w * x * x for w, x in zip(weights, xs))
    sxy = sum(w * x * y for w, x, y in zip(weights, xs, ys))
    slope = (s * sxy - sx * sy) / (s * sxx - sx * sx)
    return (sy - slope * sx) / s, slope
