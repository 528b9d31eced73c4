# SPDX-License-Identifier: BSD-2-Clause
"""Figures by gnuplot, as SVG and PNG, from what a document says of them."""
import contextlib
import os
import shutil
import subprocess

# Okabe and Ito's colours, which people with any colour vision can tell apart.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c6bb1",
           "#7f7f7f"]
AREAS = ["#9ecae1", "#fdd0a2", "#c7e9c0", "#dadaeb"]
WIDTH, HEIGHT = 900, 520
KEY_ROW = 24  # of a key below, which long titles want
KEY_LINES = 1.4  # the same in lines of text
LABEL_LINES = 3.6  # below the axis: numbers and what they are
ROTATED = 0.32  # lines that a letter of a rotated label takes
ROTATED_RIGHT = 0.66  # columns of a margin that it takes
COLUMNS = 85  # of a whole figure less its left margin
RIGHT_LEAST = 4
END_ROOM = 1.12  # of a logarithmic axis beyond its first and last label
LONG_TITLE = 24
MANY_LABELS = 8  # of the x axis: they want the width, and height when they are rotated
LABEL_HEIGHT = 130
TIMEOUT = 60
# What each kind of file ends with, when it is whole.
ENDS = {"svg": b"</svg>", "png": b"IEND\xaeB`\x82"}


class NoGnuplot(Exception):
    """There is no gnuplot, or it cannot draw what is asked of it."""


def find():
    path = shutil.which("gnuplot")
    if not path:
        raise NoGnuplot("gnuplot is not there: tables and JSON only; install gnuplot-nox for figures")
    return path


def quoted(text):
    """As gnuplot takes it literally: in its double quotes, what stands in backquotes is run by a shell."""
    return "'" + str(text).replace("'", "''").replace("\n", " ") + "'"


def style_of(line, i, areas):
    colour = COLOURS[i % len(COLOURS)]
    using = "using 1:2"
    has_bars = all(len(p) == 4 for p in line["points"])
    axes = "axes x1" + ("y2" if line["axis"] == "y2" else "y1")
    title = f"title {quoted(line['title'])}"
    plots = []
    if line["style"] == "area":
        colour = AREAS[areas % len(AREAS)]
        return [f'$s{i} using 1:2:3 {axes} with filledcurves fc rgb "{colour}" fs solid 0.55 '
                f"noborder {title}"]
    if line["style"] == "bars":
        bars = [f'$s{i} using 1:2:(0.7) {axes} with boxes fc rgb "{colour}" fs solid 0.7 {title}']
        if has_bars:
            bars.append(f'$s{i} using 1:3:(0):($4-$3) {axes} with vectors nohead lw 2 lc rgb "#333333" '
                        'notitle')
        return bars
    if line["style"] == "predicted":
        return [f'$s{i} {using} {axes} with lines lw 2 dt (8,5) lc rgb "{colour}" {title}']
    if has_bars:
        plots.append(f'$s{i} using 1:3:(0):($4-$3) {axes} with vectors nohead lw 1 lc rgb '
                     f'"{colour}" notitle')
    kind = {"lines": "lines lw 2", "points": f"points pt {5 + 2 * (i % 5)} ps 0.8"}.get(
        line["style"], f"linespoints lw 2 pt {5 + 2 * (i % 5)} ps 0.7")
    plots.append(f'$s{i} {using} {axes} with {kind} lc rgb "{colour}" {title}')
    return plots


def axis_script(figure):
    lines = [f"set xlabel {quoted(figure['x'])}", f"set ylabel {quoted(figure['y'])}"]
    if figure.get("y2"):
        lines += [f"set y2label {quoted(figure['y2'])}", "set y2tics", "set ytics nomirror"]
    for axis in ("x", "y", "y2"):
        scale = figure.get(f"{axis}_scale")
        if scale in ("log2", "log10"):
            lines.append(f"set logscale {axis} {scale[3:]}")
        bounds = figure.get(f"{axis}_range")
        if not bounds and axis == "x" and scale and figure.get("x_labels"):
            # rounding drops a label that stands at the very end of a logarithmic axis
            bounds = [figure["x_labels"][0][0] / END_ROOM, figure["x_labels"][-1][0] * END_ROOM]
        if bounds:
            low, high = ("*" if b is None else f"{b:.9g}" for b in bounds)
            lines.append(f"set {axis}range [{low}:{high}]")
    if figure.get("x_labels"):
        tics = ", ".join(f"{quoted(text)} {at:.9g}" for at, text in figure["x_labels"])
        if figure.get("x_rotated"):
            lines.append(f"set rmargin {right_columns(figure):.1f}")
        lines.append(f"set xtics ({tics}){' rotate by -40' if figure.get('x_rotated') else ''}")
    elif figure.get("x_scale") == "log2" and not figure.get("x_format"):
        lines.append("set xtics 2")
    if figure.get("x_format"):
        lines.append(f"set format x {quoted(figure['x_format'])}")
    return lines


def key_rows(figure):
    """Rows of a key below the figure; 0: beside it."""
    titles = [s["title"] for s in figure["series"]]
    if len(titles) == 1 and figure["series"][0]["style"] == "bars":
        return 0
    many = len(figure.get("x_labels", [])) > MANY_LABELS or figure.get("x_rotated")
    if max(map(len, titles), default=0) <= LONG_TITLE and not many:
        return 0
    return len(titles)


def bottom_lines(figure):
    """Lines of text below the axis: a key there would lie upon the axis' own words otherwise."""
    lines = LABEL_LINES + KEY_LINES * key_rows(figure)
    if figure.get("x_rotated"):
        lines += ROTATED * max((len(text) for _, text in figure["x_labels"]), default=0)
    return lines


def right_columns(figure):
    """The margin that rotated labels want, which run out to the right: the last ones, or a longer one
    before."""
    lengths = [ROTATED_RIGHT * len(text) for _, text in figure["x_labels"]]
    least = RIGHT_LEAST
    for before, length in enumerate(reversed(lengths)):
        # margin + before * (COLUMNS - margin) / cnt >= length
        share = before / len(lengths)
        least = max(least, (length - share * COLUMNS) / (1 - share))
    return least


def title_script(figure):
    title = quoted(figure["title"])
    if not figure.get("paper"):
        return f"set title {title}"
    return f"set title {title}.\"\\n\".{quoted('(after ' + figure['paper'] + ')')}"


def script(figure, terminal, path):
    lines = [
        "set encoding utf8", terminal, f"set output {quoted(path)}", "set termoption noenhanced",
        "set border lw 1 lc rgb '#555555'", "set grid lc rgb '#dddddd' lw 1",
        title_script(figure), "set tics out nomirror",
        "set key " + ("at screen 0.5, screen 0.015 center bottom" if key_rows(figure)
                      else "outside right top") + " Left reverse samplen 2 spacing 1.2",
        f"set bmargin {bottom_lines(figure):.1f}",
        "set key off" if len(figure["series"]) == 1 and figure["series"][0]["style"] == "bars" else "",
    ]
    lines += axis_script(figure)
    for i, line in enumerate(figure["series"]):
        lines.append(f"$s{i} << EOD")
        for p in line["points"]:
            lines.append("" if p is None else " ".join("NaN" if v is None else f"{v:.9g}" for v in p))
        lines.append("EOD")
    for at, text in figure.get("marks", []):
        lines += [f"set arrow from first {at:.9g}, graph 0 to first {at:.9g}, graph 1 nohead "
                  "lw 1 dt (3,3) lc rgb '#555555' front",
                  f"set label {quoted(text)} at first {at:.9g}, graph 0.97 offset 0.5,0 "
                  "tc rgb '#333333'"]
    plots, areas = [], 0
    for i, line in enumerate(figure["series"]):
        plots += style_of(line, i, areas)
        areas += line["style"] == "area"
    lines += ["plot " + ", ".join(plots), "unset output"]
    return "\n".join(lines) + "\n"


def is_whole(path, suffix):
    """Whether the file is there to its end; gnuplot itself does not look."""
    try:
        with open(path, "rb") as file:
            return file.read().rstrip(b"\n").endswith(ENDS[suffix])
    except OSError:
        return False


def draw(figure, stem):
    """Draws STEM.svg and STEM.png; NoGnuplot when that cannot be done."""
    gnuplot = find()
    height = HEIGHT + KEY_ROW * key_rows(figure)
    if figure.get("x_rotated"):
        height += LABEL_HEIGHT
    terminals = {
        "svg": f"set terminal svg size {WIDTH},{height} dynamic font 'sans,14' "
               "background rgb 'white'",
        "png": f"set terminal pngcairo size {2 * WIDTH},{2 * height} font 'sans,22' fontscale 1.1 "
               "linewidth 2 pointscale 2 background rgb 'white'",
    }
    for suffix, terminal in terminals.items():
        path = f"{stem}.{suffix}"
        try:
            done = subprocess.run([gnuplot], input=script(figure, terminal, path), text=True,
                                  capture_output=True, timeout=TIMEOUT, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NoGnuplot(f"gnuplot does not run: {error}") from error
        if done.returncode or not is_whole(path, suffix):
            with contextlib.suppress(OSError):
                os.unlink(path)
            said = done.stderr.strip().splitlines()
            raise NoGnuplot(f"gnuplot cannot draw {os.path.basename(path)}: "
                            f"{said[-1] if said else 'it said nothing; is the disk full?'}")
