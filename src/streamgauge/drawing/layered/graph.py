"""Input and output of a layered drawing, and the vertex graph between the steps.

The vertex graph is the proper hierarchy of Sugiyama, Tagawa and Toda (1981): every segment joins
neighbouring layers, and a long edge passes through a dummy vertex in each layer on its way.
"""

from __future__ import annotations

from dataclasses import dataclass, field

Point = tuple[float, float]

# Height from one self-loop of a box to the next, in label heights: a label and half of one free.
LOOP_PITCH = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A node to place."""

    id: str
    width: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """An edge to route; parallel links, self-loops and cycles are welcome.

    Attributes:
        back: Whether it is meant to run backwards, so that cycles are broken there first.
    """

    source: str
    target: str
    label_width: float = 0.0
    back: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Spacing:
    """Distances of a layout.

    Attributes:
        node_gap: Least free height between two boxes of a layer.
        edge_gap: Least free height between two edges that pass through a layer.
        layer_gap: Least free width between two layers.
        crowding: Width added to a gap for every edge in it after the first.
        label_height: Height of every edge label.
        label_margin: Free width on each side of a label within its gap.
        part_gap: Free space between disconnected parts.
    """

    node_gap: float = 28.0
    edge_gap: float = 18.0
    layer_gap: float = 56.0
    crowding: float = 2.0
    label_height: float = 14.0
    label_margin: float = 16.0
    part_gap: float = 40.0

    @property
    def lane(self) -> float:
        """Height between two parallel links, enough for a label on each."""
        return self.label_height + 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedNode:
    """A box with its place: layer and order count within its part, x and y are its centre."""

    id: str
    part: int
    layer: int
    order: int
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutedEdge:
    """The curve of one link.

    Attributes:
        index: Position of the link in the input.
        points: Control points of joined cubic Bézier curves: start, then three per curve.
        reversed: True for a feedback edge, which runs back to the left; self-loops included.
        label: Centre of the label.
    """

    index: int
    source: str
    target: str
    points: tuple[Point, ...]
    reversed: bool
    label: Point


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A finished drawing inside (0, 0)-(width, height); nodes and edges in input order."""

    nodes: tuple[PlacedNode, ...]
    edges: tuple[RoutedEdge, ...]
    width: float
    height: float
    crossings: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Parallel links that share one path.

    Attributes:
        path: Vertices from left to right. A forward route includes its two nodes; a feedback route
            lists only the points it passes, one per layer from its target's to its source's.
    """

    links: tuple[int, ...]
    source: int
    target: int
    path: tuple[int, ...]
    feedback: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrangement:
    """Layers, orders and heights of one connected part.

    Vertex v below ``len(boxes)`` is the box with input index ``boxes[v]``; the others are points
    that long edges pass through.
    """

    boxes: tuple[int, ...]
    layers: tuple[tuple[int, ...], ...]
    y: tuple[float, ...]
    routes: tuple[Route, ...]
    crossings: int


@dataclass(slots=True, kw_only=True)
class Graph:
    """Vertices with extents and segments between neighbouring layers, as (vertex, weight).

    Turns are the vertices that hold a place in the order for a feedback edge but are not drawn.

    Attributes:
        layer: Layer of every vertex.
        above: Extent of every vertex above its centre.
        below: Extent of every vertex below its centre.
        pad: Free height that every vertex claims on each side.
        rank: Place in the first order that is tried; smaller is higher.
        left: Segments of every vertex to the layer on its left.
        right: Segments of every vertex to the layer on its right.
        turns: Vertices that are not drawn.
        real: Number of boxes; vertices from here on are points or turns.
    """

    layer: list[int] = field(default_factory=list)
    above: list[float] = field(default_factory=list)
    below: list[float] = field(default_factory=list)
    pad: list[float] = field(default_factory=list)
    rank: list[float] = field(default_factory=list)
    left: list[list[tuple[int, int]]] = field(default_factory=list)
    right: list[list[tuple[int, int]]] = field(default_factory=list)
    turns: set[int] = field(default_factory=set)
    real: int = 0

    def add(self, layer: int, above: float, below: float, pad: float, rank: float) -> int:
        """Adds a vertex without segments and returns its number."""
        self.layer.append(layer)
        self.above.append(above)
        self.below.append(below)
        self.pad.append(pad)
        self.rank.append(rank)
        self.left.append([])
        self.right.append([])
        return len(self.layer) - 1

    def join(self, u: int, v: int, weight: int) -> None:
        """Adds the segment from u to v, which lies one layer further right."""
        self.right[u].append((v, weight))
        self.left[v].append((u, weight))

    def separation(self, upper: int, lower: int) -> float:
        """Least distance between the centres of two neighbours in a layer."""
        return self.below[upper] + self.pad[upper] + self.pad[lower] + self.above[lower]
