"""Layered layout of a directed graph, sources left and sinks right.

The steps are those of Sugiyama, Tagawa and Toda (1981), one module each: break cycles and assign
layers (``layers``), order each layer for few crossings (``crossings``), find coordinates by Brandes
and Köpf (2002) (``coordinates``), then column widths (``columns``) and curves (``routes``);
``layout`` runs them. Everything is a function of its arguments and free of recursion. Lengths are
in whatever unit the boxes use; y grows downwards.
"""

from streamgauge.drawing.layered.crossings import count_crossings
from streamgauge.drawing.layered.graph import (
    Arrangement,
    Box,
    Layout,
    Link,
    PlacedNode,
    Point,
    Route,
    RoutedEdge,
    Spacing,
)
from streamgauge.drawing.layered.layers import feedback_links
from streamgauge.drawing.layered.layout import arrange, lay_out
from streamgauge.drawing.layered.routes import svg_path

__all__ = [
    "Arrangement",
    "Box",
    "Layout",
    "Link",
    "PlacedNode",
    "Point",
    "Route",
    "RoutedEdge",
    "Spacing",
    "arrange",
    "count_crossings",
    "feedback_links",
    "lay_out",
    "svg_path",
]
