"""Self-contained HTML pages: one file, no scripts, no requests, light and dark, for print too."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from streamgauge.cli.output import printable
from streamgauge.drawing.themes import page_style

# Nothing on a page may run or load anything, whatever is written on it.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"

_WIDTH = re.compile(r'^<svg [^>]*\bwidth="(\d+)"')

_STYLE = """
:root { color-scheme: light dark; --ink: #1d2733; --soft: #46535f; --paper: #ffffff;
  --line: #d5dbe1; --stripe: #f4f6f8; --link: #0b62a4;
  --fine: #2c7a3f; --warning: #9a6200; --bad: #b3362b; }
@media screen and (prefers-color-scheme: dark) {
  :root { --ink: #e3e8ed; --soft: #b4bfca; --paper: #171c22; --line: #39434e; --stripe: #1f262e;
    --link: #6cb4f2; --fine: #5fb573; --warning: #e0ad45; --bad: #ff7f70; } }
body { margin: 0 auto; padding: 1.2rem; max-width: 67rem; color: var(--ink);
  background: var(--paper);
  font: 15px/1.5 "Inter", "Segoe UI", "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 1.5rem; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 0.6rem; border-bottom: 1px solid var(--line); }
a { color: var(--link); }
nav a { margin-right: 1.2rem; }
.about, .note, figcaption { color: var(--soft); font-size: 0.87rem; }
.about { margin: 0.2rem 0 1rem; overflow-wrap: anywhere; }
.verdict { border: 1px solid var(--line); border-left: 0.6rem solid var(--soft);
  border-radius: 0.4rem; padding: 0.8rem 1.1rem; margin: 1rem 0; }
.verdict p { margin: 0; font-size: 1.12rem; overflow-wrap: anywhere; }
.verdict p.note { font-size: 0.87rem; margin-top: 0.5rem; }
.verdict.fine { border-left-color: var(--fine); } .verdict.fine strong { color: var(--fine); }
.verdict.warning { border-left-color: var(--warning); }
.verdict.warning strong { color: var(--warning); }
.verdict.bad { border-left-color: var(--bad); } .verdict.bad strong { color: var(--bad); }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 15rem), 1fr));
  gap: 0.6rem 1.4rem; margin: 0.9rem 0 0; }
dl div { min-width: 0; }
dt { color: var(--soft); font-size: 0.87rem; }
dd { margin: 0; font-size: 1.12rem; font-weight: 600; font-variant-numeric: tabular-nums; }
.made dd { font-size: 1rem; font-weight: 400; overflow-wrap: anywhere; }
figure { margin: 0.8rem 0; }
.picture { overflow-x: auto; }
.picture svg { display: block; height: auto; max-width: 100%;
  min-width: calc(0.65 * var(--width)); }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 27rem), 1fr));
  gap: 0.4rem 1.2rem; }
.charts figure { margin: 0.4rem 0; min-width: 0; }
.table { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: 0.87rem; font-variant-numeric: tabular-nums; }
caption { padding: 0.3rem 0; text-align: left; white-space: nowrap; font-weight: 600;
  font-size: 1rem; }
th, td { padding: 0.2rem 0.6rem; text-align: right; white-space: nowrap; vertical-align: baseline; }
thead th { border-bottom: 1px solid var(--soft); vertical-align: bottom; }
thead small { display: block; color: var(--soft); font-weight: 400; }
th:first-child, .text { text-align: left; }
tbody th { font-weight: 400; white-space: normal; overflow-wrap: anywhere; min-width: 8rem; }
tbody th.group { font-weight: 600; padding-top: 0.6rem; }
tbody tr:nth-child(even) { background: var(--stripe); }
code { font: 0.9rem ui-monospace, "Cascadia Mono", Menlo, Consolas, monospace;
  overflow-wrap: anywhere; }
@media print {
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  html { font-size: 9.5pt; }
  body { padding: 0; font-size: 1rem; max-width: none; }
  nav { display: none; }
  .picture, .table { overflow: visible; }
  .picture svg { min-width: 0; }
  .charts { grid-template-columns: 1fr 1fr; }
  figure, .verdict, tr { break-inside: avoid; }
  h2, caption { break-after: avoid; }
  table { font-size: 0.8rem; }
  th, td { padding: 0.1rem 0.35rem; }
  tbody th { min-width: 5rem; }
  @page { margin: 14mm; } }
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table: its name, what its figures are measured in, and if it holds words."""

    name: str
    unit: str = ""
    words: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Rows that belong together, below a heading where they have one."""

    rows: Sequence[Sequence[str]]
    heading: str = ""


def text(value: str) -> str:
    """Text as it may stand anywhere on a page, whoever wrote it."""
    return escape(printable(value))


def table(caption: str, columns: Sequence[Column], groups: Sequence[Rows], note: str = "") -> str:
    """A table; the first cell of every row is its heading."""
    head = "".join(_heading(column) for column in columns)
    parts = [f'<div class="table"><table>\n<caption>{text(caption)}</caption>']
    parts.append(f"<thead><tr>{head}</tr></thead>")
    for group in groups:
        parts.append("<tbody>")
        if group.heading:
            span = f'class="group" colspan="{len(columns)}" scope="rowgroup"'
            parts.append(f"<tr><th {span}>{text(group.heading)}</th></tr>")
        parts += [_row(columns, row) for row in group.rows]
        parts.append("</tbody>")
    parts.append("</table></div>")
    return "\n".join([*parts, paragraph(note)] if note else parts)


def _heading(column: Column) -> str:
    unit = f" <small>{text(column.unit)}</small>" if column.unit else ""
    look = ' class="text"' if column.words else ""
    return f'<th scope="col"{look}>{text(column.name)}{unit}</th>'


def _row(columns: Sequence[Column], row: Sequence[str]) -> str:
    cells = [f'<th scope="row">{text(row[0])}</th>']
    for column, value in zip(columns[1:], row[1:], strict=True):
        look = ' class="text"' if column.words else ""
        cells.append(f"<td{look}>{text(value)}</td>")
    return f"<tr>{''.join(cells)}</tr>"


def figure(svg: str, caption: str = "", *, wide: bool = False) -> str:
    """A picture, made smaller on a narrow screen as long as it can be read.

    Args:
        svg: The picture, embedded.
        caption: What is written below.
        wide: Whether it may be wider than a screen; it can then be moved by keys too.
    """
    width = _WIDTH.search(svg)
    size = f'style="--width: {width[1]}px"' if width else ""
    keys = ' tabindex="0"' if wide else ""
    below = f"<figcaption>{text(caption)}</figcaption>" if caption else ""
    return f'<figure><div class="picture" {size}{keys}>{svg}</div>{below}</figure>'


def paragraph(words: str) -> str:
    """A remark."""
    return f'<p class="note">{text(words)}</p>'


def terms(pairs: Sequence[tuple[str, str]], *, kind: str = "") -> str:
    """Names with their figures."""
    look = f' class="{kind}"' if kind else ""
    inside = "".join(f"<div><dt>{text(a)}</dt><dd>{text(b)}</dd></div>" for a, b in pairs)
    return f"<dl{look}>{inside}</dl>"


def section(anchor: str, heading: str, *parts: str) -> str:
    """A part of a page that links lead to."""
    body = "\n".join(part for part in parts if part)
    name = f'aria-labelledby="{anchor}"'
    return f'<section {name}>\n<h2 id="{anchor}">{text(heading)}</h2>\n{body}\n</section>'


def page(title: str, *parts: str) -> str:
    """The whole document."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8"/>\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}"/>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>\n'
        f"<title>{text(title)}</title>\n<style>{page_style()}{_STYLE}</style>\n</head>\n"
        "<body>\n<main>\n" + "\n".join(part for part in parts if part) + "\n</main>\n</body>\n"
        "</html>\n"
    )
