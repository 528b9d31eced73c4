# SPDX-License-Identifier: BSD-2-Clause
"""What a figure shows, in words made from its data, never from what was expected. Readers who cannot see
the figure need them. And what the papers found, with the verdict."""
from terminal import number

LINES_MAX = 6
SAME = 0.05  # a line that varies by less is level


def unit_of(axis):
    """The words in the last brackets of an axis' label, None without."""
    return axis[axis.rindex("[") + 1:].rstrip("]") if "[" in axis else None


def with_unit(value, axis):
    unit = unit_of(axis)
    return number(float(value)) + (f" {unit}" if unit else "")


def at_text(x, figure):
    for at, text in figure.get("x_labels", []):
        if abs(at - x) < 1e-9:
            return text
    return number(x if isinstance(x, int) else float(x)) if x != int(x) else f"{int(x)}"


def trend(line, figure):
    """From where to where a line goes, and its turning point."""
    points = [p for p in line["points"] if p[1] is not None]
    if not points:
        return None
    points.sort()
    first, last = points[0], points[-1]
    top, low = max(points, key=lambda p: p[1]), min(points, key=lambda p: p[1])
    axis = figure.get("y2") if line["axis"] == "y2" else figure["y"]
    if len(points) == 1:
        return f"{with_unit(first[1], axis)} at {at_text(first[0], figure)}"
    if low[1] >= (1 - SAME) * top[1]:
        return f"level, {with_unit(low[1], axis)} to {with_unit(top[1], axis)}"
    said = f"{number(float(first[1]))} at {at_text(first[0], figure)}, "
    if top not in (first, last):
        said += f"most {number(float(top[1]))} at {at_text(top[0], figure)}, "
    if low not in (first, last):
        said += f"least {number(float(low[1]))} at {at_text(low[0], figure)}, "
    return said + f"{with_unit(last[1], axis)} at {at_text(last[0], figure)}"


def ranking(line, figure):
    points = sorted((p for p in line["points"] if p[1] is not None), key=lambda p: -p[1])
    if not points:
        return None
    if len(points) == 1:
        return f"{at_text(points[0][0], figure)} {with_unit(points[0][1], figure['y'])}"
    return (f"most by {at_text(points[0][0], figure)}, {with_unit(points[0][1], figure['y'])}; least by "
            f"{at_text(points[-1][0], figure)}, {with_unit(points[-1][1], figure['y'])}")


def beside(predicted, figure):
    """How far a prediction is from the line measured at the same places, if there is one."""
    want = {p[0]: p[1] for p in predicted["points"]}
    lines = [line for line in figure["series"] if line["style"] == "linespoints"]
    lines = [line for line in lines if predicted["title"].startswith(line["title"])] or lines
    if len(lines) != 1:
        return None  # which of them is meant?
    both = [(p[1] / want[p[0]] - 1, p[0]) for p in lines[0]["points"]
            if want.get(p[0]) and p[1] is not None]
    if len(both) < 2 or len(both) < len(lines[0]["points"]):
        return None
    off, at = max(both, key=lambda b: abs(b[0]))
    middle = sorted(abs(b[0]) for b in both)[len(both) // 2]
    return (f"'{lines[0]['title']}' is at most {100 * off:+.0f} % beside '{predicted['title']}' (at "
            f"{at_text(at, figure)}), {100 * middle:.0f} % in the median")


def spread(figure):
    """The widest error bar, in percent of its point."""
    if "bars up to" in figure["title"]:
        return None  # they are something else
    worst = [(p[3] - p[2]) / p[1] for line in figure["series"] for p in line["points"]
             if line["style"] in ("linespoints", "bars") and len(p) == 4 and p[1]]
    # of one run there is nothing to say
    return f"Runs of one point lie at most {100 * max(worst):.0f} % of it apart." if any(worst) else None


def of(figure):
    """Sentences on what a figure shows."""
    said, ranked = [], bool(figure.get("x_rotated")) and not figure.get("x_scale")
    for line in figure["series"][:LINES_MAX]:
        if line["style"] in ("area",):
            continue
        if line["style"] == "predicted":
            text = beside(line, figure)
        else:
            words = (ranking if ranked else trend)(line, figure)
            text = words and f"{line['title']}: {words}"
        if text:
            said.append(text)
    text = "Seen here: " + ". ".join(said) + "." if said else ""
    return " ".join(part for part in (text, spread(figure)) if part)


def findings_of(doc, figure):
    """The findings that a figure bears on."""
    return [f for f in doc["findings"] if f.get("figure") == figure["name"]]
