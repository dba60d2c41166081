"""A small writer of self-contained SVG pictures: one style for all of them, light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

MARGIN = 20.0

# Sans-serif letters are on average this part of the font size wide; bold ones a little more.
_LETTER = 0.56
_BOLD_LETTER = 0.61
_WIDE = 1.0

STYLE = """
text { font-family: "Inter", "Segoe UI", "Helvetica Neue", Arial, sans-serif; fill: #1d2733; }
.title { font-size: 17px; font-weight: 600; }
.subtitle { font-size: 12px; fill: #5b6876; }
.name { font-size: 13px; font-weight: 600; }
.detail { font-size: 11px; fill: #46535f; }
.label { font-size: 10.5px; fill: #2f3b47; }
.plate { fill: #ffffff; opacity: 0.86; }
.box { fill: #f4f6f8; stroke: #8795a3; stroke-width: 1.2; }
.source { fill: #e3effc; stroke: #2f6fb5; }
.sink { fill: #e6f4e8; stroke: #3b8a4c; }
.acker { fill: #f1ecf7; stroke: #86689f; stroke-dasharray: 4 2; }
.bar-source { fill: #2f6fb5; }
.bar-sink { fill: #3b8a4c; }
.edge { fill: none; stroke: #66737f; stroke-width: 1.3; }
.keyed { stroke: #a8571c; }
.copied { stroke: #7a3fa0; stroke-width: 2; }
.feedback { stroke-dasharray: 6 3; }
.node { fill: #fbfcfd; stroke: #46535f; stroke-width: 1.5; }
.worker { fill: #ffffff; stroke: #a9b4bf; stroke-width: 1; }
.chip { fill: #ffffff; stroke: #8795a3; stroke-width: 0.8; }
.local { stroke: #5f8f26; stroke-width: 1.6; }
.inter-local { stroke: #17795a; stroke-width: 1.5; stroke-dasharray: 7 3; }
.faint { opacity: 0.3; }
.remote { stroke: #8a3ea0; stroke-width: 1.2; stroke-dasharray: 2 2.5; }
"""
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
    "source": "dot dot-6",
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

# Errors by sign and size; letters are dark on all of them, and light on a dark screen.
HEAT = """
.heat { stroke: #ffffff; stroke-width: 1; }
.heat-0 { fill: #e6f4e8; }
.heat-under-1 { fill: #d6e6f5; }
.heat-under-2 { fill: #9cc3e6; }
.heat-under-3 { fill: #6aa5d9; }
.heat-over-1 { fill: #fde3cf; }
.heat-over-2 { fill: #f6b788; }
.heat-over-3 { fill: #ea8b4c; }
.heat-none { fill: #eceff2; }
.heat-apart { stroke: #8795a3; stroke-dasharray: 3 2; }
.heat-label { font-size: 11px; fill: #1d2733; }
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
.picture .heat { stroke: #171c22; }
.picture .heat-0 { fill: #17351f; }
.picture .heat-under-1 { fill: #1b334b; }
.picture .heat-under-2 { fill: #27507a; }
.picture .heat-under-3 { fill: #326ca6; }
.picture .heat-over-1 { fill: #46301f; }
.picture .heat-over-2 { fill: #744522; }
.picture .heat-over-3 { fill: #a2591f; }
.picture .heat-none { fill: #2a323b; }
.picture .heat-apart { stroke: #7d8b99; }
.picture .heat-label { fill: #e3e8ed; }
"""


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """About how wide a text is in a sans-serif font of that size."""
    letter = _BOLD_LETTER if bold else _LETTER
    return sum(size * (_WIDE if ord(char) > 0x2E80 else letter) for char in text)


def shorten(text: str, longest: int) -> str:
    """The text, cut with an ellipsis where it is longer than that."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


class Svg:
    """Collects the elements of one picture."""

    def __init__(self) -> None:
        self._parts: list[str] = []

    def open_group(
        self, *, kind: str = "", title: str = "", shift: tuple[float, float] | None = None
    ) -> None:
        """Begin a group; its title is what a pointer over it shows, `shift` moves all of it."""
        look = f" class={quoteattr(kind)}" if kind else ""
        moved = f' transform="translate({shift[0]:.1f},{shift[1]:.1f})"' if shift else ""
        self._parts.append(f"<g{look}{moved}>")
        if title:
            self._parts.append(f"<title>{escape(title)}</title>")

    def close_group(self) -> None:
        """End the group begun last."""
        self._parts.append("</g>")

    def rect(
        self, x: float, y: float, width: float, height: float, *, kind: str, radius: float = 0.0
    ) -> None:
        """A rectangle by its upper left corner."""
        self._parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
            f'rx="{radius:.1f}" class={quoteattr(kind)}/>'
        )

    def text(self, x: float, y: float, text: str, *, kind: str, anchor: str = "start") -> None:
        """A line of text on its baseline."""
        self._parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" class={quoteattr(kind)} '
            f'text-anchor="{anchor}">{escape(text)}</text>'
        )

    def path(self, d: str, *, kind: str, marker: str, title: str = "") -> None:
        """A curve with an arrow head."""
        tip = f"<title>{escape(title)}</title>" if title else ""
        self._parts.append(
            f'<path d="{d}" class={quoteattr(kind)} marker-end="url(#{marker})">{tip}</path>'
        )

    def line(self, d: str, *, kind: str, title: str = "") -> None:
        """A line or an outline without an arrow head."""
        tip = f"<title>{escape(title)}</title>" if title else ""
        self._parts.append(f'<path d="{d}" class={quoteattr(kind)}>{tip}</path>')

    def render(
        self,
        width: float,
        height: float,
        *,
        title: str,
        markers: Sequence[str] = (),
        style: str = STYLE,
        embedded: bool = False,
    ) -> str:
        """The whole picture.

        Args:
            width: Of the picture.
            height: Of the picture.
            title: What it shows, for those who cannot see it.
            markers: Arrow heads its curves use.
            style: Rules for the kinds of its elements.
            embedded: Leave rules and background to the HTML page that the picture stands in.
        """
        namespace = "" if embedded else 'xmlns="http://www.w3.org/2000/svg" '
        rules = "" if embedded else f"<style>{style}</style>\n"
        heads = f"<defs>{''.join(markers)}</defs>\n" if markers or not embedded else ""
        paper = "" if embedded else '<rect width="100%" height="100%" fill="#ffffff"/>\n'
        return (
            f'<svg {namespace}viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
            f'height="{height:.0f}" role="img" aria-label={quoteattr(title)}>\n'
            f"<title>{escape(title)}</title>\n{rules}{heads}{paper}"
            + "\n".join(self._parts)
            + "\n</svg>\n"
        )


TRIANGLE = "M0,0.5 L8,4 L0,7.5 Z"


def arrow(name: str, colour: str, *, shape: str = TRIANGLE, hollow: bool = False) -> str:
    """An arrow head; the shape lies in an 8 × 8 box and points right."""
    fill = "#ffffff" if hollow else colour
    return (
        f'<marker id="{name}" viewBox="-0.5 0 9 8" refX="8" refY="4" markerWidth="8" '
        'markerHeight="8" markerUnits="userSpaceOnUse" orient="auto">'
        f'<path d="{shape}" fill="{fill}" stroke="{colour}" stroke-width="1"/></marker>'
    )


def page_style() -> str:
    """Rules for embedded pictures, each inside an element of class ``picture``.

    Paper is never dark: these colours are for screens.
    """
    dark = f"@media screen and (prefers-color-scheme: dark) {{{_DARK}}}"
    # On paper a line would show through what lies over it.
    return f"{STYLE}{CHARTS}{GAUGES}{HEAT}.picture .plate {{ opacity: 1; }}\n{dark}\n"
