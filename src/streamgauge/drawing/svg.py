"""A small writer of self-contained SVG pictures: one style for all of them."""

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


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """About how wide a text is in a sans-serif font of that size."""
    letter = _BOLD_LETTER if bold else _LETTER
    return sum(size * (_WIDE if ord(char) > 0x2E80 else letter) for char in text)


def shorten(text: str, longest: int) -> str:
    """The text, cut with an ellipsis where it is longer than that."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def clip(name: str, longest: int) -> str:
    """The name, cut in its middle where it is longer: beginnings and ends tell names apart."""
    if len(name) <= longest:
        return name
    ending = (longest - 1) // 2
    return name[: longest - 1 - ending] + "…" + name[len(name) - ending :]


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
        if embedded:
            return (
                f'<svg viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
                f'height="{height:.0f}" role="img" aria-label={quoteattr(title)}>\n'
                f"<title>{escape(title)}</title>\n"
                + (f"<defs>{''.join(markers)}</defs>\n" if markers else "")
                + "\n".join(self._parts)
                + "\n</svg>\n"
            )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
            f'width="{width:.0f}" height="{height:.0f}" role="img" aria-label={quoteattr(title)}>\n'
            f"<title>{escape(title)}</title>\n<style>{style}</style>\n"
            f"<defs>{''.join(markers)}</defs>\n"
            f'<rect width="100%" height="100%" fill="#ffffff"/>\n'
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
