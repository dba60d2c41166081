"""Looks beyond the plain picture: charts, gauges on operators, and all of it on a dark page."""

from __future__ import annotations

from streamgauge.drawing.svg import STYLE

# Lines differ by colour and by dash, so that they differ without colour, too.
SERIES = 6

# One colour for one meaning on all pages; what is not listed is coloured by its place in a chart.
# Waiting for the network, tuples between nodes: the same thing, so the same colour.
COLOURS = {
    "service": "dot dot-0",
    "queueing": "dot dot-1",
    "transfer": "dot dot-2",
    "network": "dot dot-3",
    "batching": "dot dot-4",
    "wake-up": "dot dot-5",
    "window": "bar",
    "local": "dot dot-6",
    "inter-worker": "dot dot-2",
    "remote": "dot dot-3",
    "before": "dot dot-5",
    "after": "dot dot-0",
}

CHARTS = """
.heading { font-size: 13px; font-weight: 600; }
.tick { font-size: 10.5px; fill: #46535f; }
.grid { fill: none; stroke: #e2e6ea; stroke-width: 1; }
.axis { fill: none; stroke: #8795a3; stroke-width: 1; }
.warmup { fill: #8795a3; opacity: 0.18; }
.bar { fill: #a9c8e8; stroke: #ffffff; stroke-width: 0.5; }
.mark { fill: none; stroke: #b3362b; stroke-width: 1.2; stroke-dasharray: 3 2; }
.mark-label { font-size: 11px; fill: #8f2a20; font-weight: 600; }
.series { fill: none; stroke-width: 1.6; stroke-linejoin: round; stroke-linecap: round; }
.dot { stroke: none; }
.series-0 { stroke: #0b62a4; }
.series-1 { stroke: #c04a12; stroke-dasharray: 6 3.5; }
.series-2 { stroke: #17795a; stroke-dasharray: 2 3.5; }
.series-3 { stroke: #8a3ea0; stroke-dasharray: 9 3.5 2 3.5; }
.series-4 { stroke: #806000; stroke-dasharray: 12 4; }
.series-5 { stroke: #46535f; stroke-dasharray: 4 4; }
.dot-0 { fill: #0b62a4; }
.dot-1 { fill: #c04a12; }
.dot-2 { fill: #17795a; }
.dot-3 { fill: #8a3ea0; }
.dot-4 { fill: #806000; }
.dot-5 { fill: #46535f; }
.dot-6 { fill: #5f8f26; }
"""

GAUGES = """
.gauge { fill: #ffffff; stroke: #a9b4bf; stroke-width: 0.8; }
.gauge-low { fill: #3b8a4c; }
.gauge-middle { fill: #c98a12; }
.gauge-high { fill: #b3362b; }
.alarm { fill: none; stroke: #b3362b; stroke-width: 3; }
.alarm-word { font-size: 11px; font-weight: 700; fill: #b3362b; }
"""

# Every rule is one class stronger than those above, wherever in the page these stand.
_DARK = """
.picture text { fill: #e3e8ed; }
.picture .subtitle, .picture .detail, .picture .tick { fill: #b4bfca; }
.picture .label { fill: #d3dae1; }
.picture .plate { fill: #171c22; }
.picture .box { fill: #232b34; stroke: #7d8b99; }
.picture .source { fill: #16304b; stroke: #5b9bdc; }
.picture .sink { fill: #17351f; stroke: #5fb573; }
.picture .acker { fill: #2c2237; stroke: #a98bc4; }
.picture .bar-source { fill: #5b9bdc; }
.picture .bar-sink { fill: #5fb573; }
.picture .edge { stroke: #97a4b1; }
.picture .keyed { stroke: #e09a5c; }
.picture .copied { stroke: #c08be0; }
.picture #plain path { fill: #97a4b1; stroke: #97a4b1; }
.picture #keyed path { fill: #e09a5c; stroke: #e09a5c; }
.picture #copied path { fill: #c08be0; stroke: #c08be0; }
.picture .node { fill: #1b2129; stroke: #97a4b1; }
.picture .worker { fill: #171c22; stroke: #56626e; }
.picture .chip { fill: #12161b; stroke: #7d8b99; }
.picture .local { stroke: #a9d36b; }
.picture .inter-local { stroke: #58cba0; }
.picture .remote { stroke: #cd9ae6; }
.picture #local path { fill: #a9d36b; stroke: #a9d36b; }
.picture #inter-local path { fill: #171c22; stroke: #58cba0; }
.picture #remote path { fill: #cd9ae6; stroke: #cd9ae6; }
.picture .grid { stroke: #2e3741; }
.picture .axis { stroke: #7d8b99; }
.picture .warmup { opacity: 0.28; }
.picture .bar { fill: #2f5f8f; stroke: #171c22; }
.picture .mark { stroke: #ff8a7a; }
.picture .mark-label, .picture .alarm-word { fill: #ff9d8f; }
.picture .gauge { fill: #12161b; stroke: #7d8b99; }
.picture .gauge-low { fill: #5fb573; }
.picture .gauge-middle { fill: #e0ad45; }
.picture .gauge-high { fill: #ff6f5e; }
.picture .alarm { fill: none; stroke: #ff6f5e; }
.picture .series-0 { stroke: #6cb4f2; }
.picture .series-1 { stroke: #f2905f; }
.picture .series-2 { stroke: #58cba0; }
.picture .series-3 { stroke: #cd9ae6; }
.picture .series-4 { stroke: #e3c253; }
.picture .series-5 { stroke: #b4bfca; }
.picture .dot-0 { fill: #6cb4f2; }
.picture .dot-1 { fill: #f2905f; }
.picture .dot-2 { fill: #58cba0; }
.picture .dot-3 { fill: #cd9ae6; }
.picture .dot-4 { fill: #e3c253; }
.picture .dot-5 { fill: #b4bfca; }
.picture .dot-6 { fill: #a9d36b; }
"""


def page_style() -> str:
    """Rules for embedded pictures, each inside an element of class ``picture``.

    Paper is never dark: these colours are for screens.
    """
    dark = f"@media screen and (prefers-color-scheme: dark) {{{_DARK}}}"
    # On paper a line would show through what lies over it.
    return f"{STYLE}{CHARTS}{GAUGES}.picture .plate {{ opacity: 1; }}\n{dark}\n"
