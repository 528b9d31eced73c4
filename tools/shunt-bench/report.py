# SPDX-License-Identifier: BSD-2-Clause
"""Documents as one HTML file that needs no other: tables, figures, and the data behind them."""
import base64
import html
import json
import os

import plot
import seen
import terminal
from document import ident, write_whole

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 60rem; margin: 2rem auto;
       padding: 0 1rem }
h1, h2, h3 { line-height: 1.2 } h2 { margin-top: 3rem; border-top: 2px solid #ddd; padding-top: 1rem }
table { border-collapse: collapse; font-size: 14px; margin: 1rem 0; font-variant-numeric: tabular-nums }
th, td { padding: .2rem .6rem; text-align: right; border-bottom: 1px solid #e5e5e5 }
th { background: #f4f4f4; font-weight: 600; vertical-align: bottom }
th span { color: #666; font-weight: 400; display: block }
td.text, th.text { text-align: left }
.wide { overflow-x: auto } figure { margin: 1.5rem 0 } figure img { width: 100%; border: 1px solid #e5e5e5 }
figcaption, .small { color: #555; font-size: 14px } code { background: #f4f4f4; padding: 0 .2rem }
.holds { color: #00693e } .does-not-hold { color: #a33c00 } .not-decided { color: #666 }
li { margin: .3rem 0 } summary { cursor: pointer; color: #0059a3 }
@media print { details { display: none } }
"""


def text(value):
    return html.escape(terminal.number(value) if not isinstance(value, str) else value)


def cell(value, tag="td"):
    kind = " class=text" if isinstance(value, str) else ""
    return f"<{tag}{kind}>{text(value)}</{tag}>"


def head(column, is_text):
    unit = f"<span>{html.escape(column['unit'])}</span>" if column.get("unit") else ""
    return f"<th{' class=text' if is_text else ''}>{html.escape(column['name'])}{unit}</th>"


def table_html(name, table):
    rows = table["rows"]
    heads = "".join(head(c, bool(rows) and isinstance(rows[0][i], str))
                    for i, c in enumerate(table["columns"]))
    body = "".join("<tr>" + "".join(cell(v) for v in row) + "</tr>\n" for row in rows)
    return (f"<div class=wide><table id={name}-table-{html.escape(table['name'])}><caption class=small>"
            f"{html.escape(table['title'])}</caption><thead><tr>{heads}</tr></thead>"
            f"<tbody>\n{body}</tbody></table></div>\n")


def data_url(path, kind):
    with open(path, "rb") as file:
        return f"data:{kind};base64," + base64.b64encode(file.read()).decode("ascii")


def named(docs):
    """Pairs of name and document; of several that are called the same, the others have a number."""
    pairs, seen_names = [], {}
    for doc in docs:
        name = ident(doc)
        seen_names[name] = seen_names.get(name, 0) + 1
        pairs.append((name if seen_names[name] == 1 else f"{name}-{seen_names[name]}", doc))
    return pairs


def figure_html(name, doc, figure, folder):
    stem = os.path.join(folder, f"{name}-{figure['name']}")
    about = [html.escape(figure["caption"])] if figure.get("caption") else []
    if figure.get("paper"):
        about.append(f"After {html.escape(figure['paper'])}.")
    about.append(html.escape(seen.of(figure)))
    about += [f"<br><span class={f['verdict'].replace(' ', '-')}>{html.escape(f['claim'])}: "
              f"{html.escape(f['verdict'])}</span> ({html.escape(f['measured'])})."
              for f in seen.findings_of(doc, figure)]
    name = os.path.basename(stem)
    about.append(f'<a download="{name}.png" href="{data_url(stem + ".png", "image/png")}">PNG</a>')
    return (f'<figure><img alt="{html.escape(figure["title"])}" id="{name}" '
            f'src="{data_url(stem + ".svg", "image/svg+xml")}">'
            f"<figcaption>{' '.join(about)}</figcaption></figure>\n")


def findings_html(pairs):
    rows = []
    for name, doc in pairs:
        for f in doc["findings"]:
            kind = f["verdict"].replace(" ", "-")
            rows.append(f"<tr><td class=text><a href=#{name}>{name}</a></td>"
                        f"<td class=text>{html.escape(f['claim'])}<br><span class=small>"
                        f"{html.escape(f['paper'])}</span></td><td class='text {kind}'>"
                        f"{html.escape(f['verdict'])}</td><td class=text>{html.escape(f['measured'])}"
                        "</td></tr>\n")
    if not rows:
        return ""
    return ("<h2 id=findings>What the papers found, here</h2>\n<table><thead><tr><th class=text></th>"
            "<th class=text>claim</th><th class=text>verdict</th><th class=text>measured here</th>"
            "</tr></thead><tbody>\n" + "".join(rows) + "</tbody></table>\n")


def facts_html(facts):
    def shown(value):
        if isinstance(value, list):
            return ", ".join(f"L{c['level']} {c['type']} {c['bytes'] >> 10} KiB" for c in value)
        return terminal.number(value) if not isinstance(value, str) else value
    return "<table>" + "".join(
        f"<tr><td class=text>{html.escape(k.replace('_', ' '))}</td><td class=text>"
        f"{html.escape(shown(v))}</td></tr>" for k, v in facts.items()
        if v is not None) + "</table>\n"


def ports_text(ports):
    words = {"lab": "a lab of network namespaces joined by veth", "mem": "in-memory ports",
             "vm": "a guest with zero-copy drivers", "nic": "real devices"}
    modes = ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in ports.items()
                      if k not in ("kind", "names") and isinstance(v, str))
    return words.get(ports["kind"], ports["kind"]) + (f" ({modes})" if modes else "")


def document_html(name, doc, folder, has_figures):
    out = [f"<h2 id={name}>{html.escape(doc['title'])}</h2>\n",
           f"<p class=small>On {html.escape(ports_text(doc['ports']))}; {doc['started']}, "
           f"{doc['seconds']:.0f} s; <code>{html.escape(doc['command'])}</code></p>\n"]
    if has_figures:
        out += [figure_html(name, doc, figure, folder) for figure in doc["figures"]]
    out += [table_html(name, table) for table in doc["tables"]]
    out += [f"<p>{html.escape(note)}</p>\n" for note in doc["notes"]]
    if doc["skipped"]:
        out.append("<p>Left out:</p><ul>" + "".join(
            f"<li>{html.escape(s['what'])}: {html.escape(s['why'])}</li>" for s in doc["skipped"])
            + "</ul>\n")
    out.append("<details><summary>parameters and data</summary>\n"
               f"{facts_html({k: str(v) for k, v in doc['parameters'].items()})}"
               f'<a download="{name}.json" href="data:application/json;base64,'
               f'{base64.b64encode(json.dumps(doc).encode()).decode()}">the JSON document</a>'
               "</details>\n")
    return "".join(out)


def draw_all(pairs, folder):
    """Draws every figure. Returns None, or why there are none."""
    try:
        for name, doc in pairs:
            for figure in doc["figures"]:
                plot.draw(figure, os.path.join(folder, f"{name}-{figure['name']}"))
    except plot.NoGnuplot as error:
        return str(error)
    return None


def write(docs, path):
    """Writes the report of documents, figures beside it. Returns None, or why it has no figures."""
    folder = os.path.dirname(path) or "."
    pairs = named(docs)
    no_figures = draw_all(pairs, folder)
    first = docs[0]
    links = " · ".join(f"<a href=#{name}>{html.escape(name)}</a>" for name, _ in pairs)
    parts = [
        "<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8>"
        '<meta name=viewport content="width=device-width">'
        f"<title>shunt-bench: {html.escape(first['machine']['cpu'])}</title>"
        f"<style>{STYLE}</style></head><body>\n<h1>shunt, measured</h1>\n",
        f"<p>{links}</p>\n" if len(docs) > 1 else "",
        "<p>Medians of the runs, which are taken in turn so that what else the machine does hits all "
        "of them alike; bars and [least, most] show the spread. Cycles are those of the processor's "
        "constant-rate clock (TSC).</p>\n",
        f"<p><strong>No figures: {html.escape(no_figures)}.</strong></p>\n" if no_figures else "",
        findings_html(pairs),
        *[document_html(name, doc, folder, not no_figures) for name, doc in pairs],
        "<h2 id=machine>The machine</h2>\n", facts_html(first["machine"]),
        facts_html(first["versions"]), "</body></html>\n"]
    write_whole("".join(parts), path)
    return no_figures
