"""A physical plan as a picture: executors in workers on nodes, and how far tuples travel.

Executors of one operator in one worker share a cell, and connections are drawn from cell to
cell: sixteen executors on each side would otherwise be 256 lines for one stream.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from streamgauge.drawing.layered.graph import Box, Link
from streamgauge.drawing.layered.layout import lay_out
from streamgauge.drawing.side_by_side import WIDEST, WIDEST_EMBEDDED
from streamgauge.drawing.svg import MARGIN, Svg, arrow, shorten, text_width
from streamgauge.drawing.topology_picture import LONGEST_NAME, edge_label
from streamgauge.topology.logical_plan import Executor
from streamgauge.topology.physical_plan import ConnectionType, PhysicalPlan, Worker
from streamgauge.topology.topology import ACKER, Topology
from streamgauge.topology.tuple_flow import CONNECTION_TYPES, TupleFlow

HEADER = 54.0
LEGEND_LINE = 18.0
NODE_HEADER = 26.0
WORKER_HEADER = 20.0
GAP = 12.0
CELL_HEADER = 18.0
CHIP_HEIGHT = 16.0
CHIP_GAP = 4.0
CHIPS_IN_A_ROW = 4
COLUMN_GAP = 92.0
MANY_CURVES = 200
BACK_DROP = 14.0
BACK_BOW = 46.0

MARKERS = [
    arrow("local", "#5f8f26"),
    arrow("inter-local", "#17795a", hollow=True),
    arrow("remote", "#8a3ea0", shape="M0,4 L4,0.5 L8,4 L4,7.5 Z"),
]


@dataclass(frozen=True, slots=True)
class _Column:
    """One layer of operators: their names from top to bottom, and where it stands."""

    operators: list[str]
    left: float
    width: float


@dataclass(frozen=True, slots=True)
class _Cell:
    """The executors of one operator in one worker, with their place in the picture."""

    operator: str
    executors: tuple[Executor, ...]
    x: float
    y: float
    width: float
    height: float


def draw_plan(flow: TupleFlow, *, ackers: bool = False, embedded: bool = False) -> str:
    """The plan as an SVG, with or without ackers; a page that embeds it brings the style."""
    drawing = PlanDrawing(flow, ackers=ackers)
    svg = Svg()
    width, height = drawing.draw(svg)
    name = flow.plan.logical.topology.name
    return svg.render(width, height, title=f"plan of {name}", markers=MARKERS, embedded=embedded)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanPanel:
    """One of several plans to be drawn together: its title, a line about it, its connections."""

    title: str
    about: str
    flow: TupleFlow


def draw_plans(
    panels: Sequence[PlanPanel], *, title: str, ackers: bool = False, embedded: bool = False
) -> str:
    """Plans side by side, or one below the other where that would be too wide.

    The title is for those who cannot see the picture.
    """
    drawings = [
        PlanDrawing(panel.flow, ackers=ackers, title=panel.title, about=panel.about)
        for panel in panels
    ]
    sizes = [drawing.draw(Svg()) for drawing in drawings]
    together = sum(width for width, _ in sizes)
    widest, highest = max(width for width, _ in sizes), max(height for _, height in sizes)
    side_by_side = together <= (WIDEST_EMBEDDED if embedded else WIDEST) or widest < highest
    svg = Svg()
    x = y = 0.0
    for drawing, (width, height) in zip(drawings, sizes, strict=True):
        svg.open_group(shift=(x, y))
        drawing.draw(svg)
        svg.close_group()
        x, y = (x + width, y) if side_by_side else (x, y + height)
    size = (together, highest) if side_by_side else (widest, y)
    return svg.render(*size, title=title, markers=MARKERS, embedded=embedded)


class PlanDrawing:
    """A plan to be drawn into a picture that brings `MARKERS`.

    Args:
        flow: The plan with its connections.
        ackers: Whether to draw ackers and their streams too.
        title: What stands above it; the topology's name when not given.
        about: A line below that; its numbers of executors, workers and nodes when not given.
    """

    def __init__(
        self, flow: TupleFlow, *, ackers: bool = False, title: str = "", about: str = ""
    ) -> None:
        self._flow, self._ackers = flow, ackers
        self._title = title or flow.plan.logical.topology.name
        self._about = about or _summary(flow.plan)

    def draw(self, svg: Svg) -> tuple[float, float]:
        """Draw it from the upper left corner on; gives its width and height."""
        flow, plan = self._flow, self._flow.plan
        topology = plan.logical.topology
        shown = [op.name for op in topology.operators if self._ackers or op.name != ACKER]
        columns = _columns(plan, _layers(topology, shown))
        right = max(columns[-1].left + columns[-1].width + 2 * GAP, self._least_width())
        svg.text(MARGIN, MARGIN + 14, self._title, kind="title")
        svg.text(MARGIN, MARGIN + 32, self._about, kind="subtitle")
        y = MARGIN + HEADER
        cells: dict[tuple[Worker, str], _Cell] = {}
        for node in plan.nodes:
            placed = _place_node(plan, node, columns, y + NODE_HEADER)
            y = _draw_node(svg, plan, placed, top=y, right=right)
            cells.update(
                ((worker, cell.operator), cell) for worker, inside in placed for cell in inside
            )
        _draw_connections(svg, flow, cells)
        for (worker, _), cell in cells.items():
            _draw_cell(svg, worker, cell)
        _legend(svg, _legend_lines(flow, ackers=self._ackers), y + 8.0)
        return right + MARGIN, y + 3 * LEGEND_LINE + MARGIN

    def _least_width(self) -> float:
        title = text_width(self._title, 17, bold=True)
        legend = [text_width(line, 11) + 50.0 for line in _legend_lines(self._flow, ackers=True)]
        return MARGIN + max(title, text_width(self._about, 12), *legend)


def _layers(topology: Topology, shown: list[str]) -> list[list[str]]:
    """Operators by layer, each layer in the order that crosses least."""
    names = set(shown)
    boxes = [Box(id=name, width=1.0, height=1.0) for name in shown]
    links = [
        Link(source=stream.source, target=stream.target)
        for stream in topology.streams
        if {stream.source, stream.target} <= names and stream.source != ACKER
    ]
    placed = lay_out(boxes, links).nodes
    # Disconnected parts, such as the ackers without their streams, share the columns.
    layers: dict[int, list[tuple[int, int, str]]] = defaultdict(list)
    for node in placed:
        layers[node.layer].append((node.part, node.order, node.id))
    return [[name for _, _, name in sorted(layers[layer])] for layer in sorted(layers)]


def _chip_width(executors: tuple[Executor, ...]) -> float:
    return max(text_width(_tasks(executor), 10) for executor in executors) + 8.0


def _tasks(executor: Executor) -> str:
    if executor.first_task == executor.last_task:
        return str(executor.first_task)
    return f"{executor.first_task}-{executor.last_task}"


def _cell_size(operator: str, executors: tuple[Executor, ...]) -> tuple[float, float]:
    name = text_width(shorten(operator, LONGEST_NAME), 11, bold=True)
    in_a_row = min(len(executors), CHIPS_IN_A_ROW)
    chips = in_a_row * (_chip_width(executors) + CHIP_GAP) + CHIP_GAP
    rows = -(-len(executors) // CHIPS_IN_A_ROW)
    return max(name + 12.0, chips), CELL_HEADER + rows * (CHIP_HEIGHT + CHIP_GAP) + 2.0


def _by_operator(plan: PhysicalPlan, worker: Worker) -> dict[str, tuple[Executor, ...]]:
    grouped: dict[str, list[Executor]] = defaultdict(list)
    for executor in plan.executors_in(worker):
        grouped[executor.operator].append(executor)
    return {name: tuple(executors) for name, executors in grouped.items()}


def _columns(plan: PhysicalPlan, layers: list[list[str]]) -> list[_Column]:
    """Columns as wide as their widest cell, side by side."""
    grouped = [_by_operator(plan, worker) for worker in plan.workers]
    columns = []
    left = MARGIN + 2 * GAP
    for names in layers:
        sizes = [
            _cell_size(name, inside[name]) for inside in grouped for name in names if name in inside
        ]
        width = max((size[0] for size in sizes), default=40.0)
        columns.append(_Column(names, left, width))
        left += width + COLUMN_GAP
    return columns


def _place_node(
    plan: PhysicalPlan, node: str, columns: list[_Column], top: float
) -> list[tuple[Worker, list[_Cell]]]:
    """The cells of each of a node's workers, one worker below the other."""
    placed = []
    for worker in plan.workers:
        if worker.node == node:
            cells = _place_cells(plan, worker, columns, top + WORKER_HEADER)
            placed.append((worker, cells))
            top = _bottom(cells, top) + 2 * GAP
    return placed


def _place_cells(
    plan: PhysicalPlan, worker: Worker, columns: list[_Column], top: float
) -> list[_Cell]:
    grouped = _by_operator(plan, worker)
    cells = []
    for column in columns:
        y = top + 4.0
        for name in column.operators:
            if name in grouped:
                width, height = _cell_size(name, grouped[name])
                x = column.left + (column.width - width) / 2
                cells.append(_Cell(name, grouped[name], x, y, width, height))
                y += height + GAP
    return cells


def _bottom(cells: list[_Cell], top: float) -> float:
    # A worker may run ackers only, which are not drawn.
    return max((cell.y + cell.height for cell in cells), default=top + WORKER_HEADER)


def _draw_node(
    svg: Svg,
    plan: PhysicalPlan,
    placed: list[tuple[Worker, list[_Cell]]],
    *,
    top: float,
    right: float,
) -> float:
    """A node's box with its workers' boxes; gives the next free height."""
    y = top + NODE_HEADER
    bands = []
    for worker, cells in placed:
        height = _bottom(cells, y) + GAP - y
        bands.append((worker, y, height))
        y += height + GAP
    node = placed[0][0].node
    machine = plan.cluster.machine_of(node)
    svg.rect(MARGIN, top, right - MARGIN, y - top, kind="node", radius=8)
    svg.text(MARGIN + GAP, top + 17, f"node {node}", kind="name")
    about = f"machine {machine.name} · {machine.cores:g} core{'' if machine.cores == 1 else 's'}"
    svg.text(right - GAP, top + 17, about, kind="detail", anchor="end")
    for worker, band, height in bands:
        svg.rect(MARGIN + GAP, band, right - MARGIN - 2 * GAP, height, kind="worker", radius=5)
        count = len(plan.executors_in(worker))
        label = f"worker {worker} · {count} executor{'s' if count > 1 else ''}"
        svg.text(MARGIN + 2 * GAP, band + 14, label, kind="detail")
    return y + GAP


def _draw_cell(svg: Svg, worker: Worker, cell: _Cell) -> None:
    svg.open_group(title=f"{len(cell.executors)} × {cell.operator} in {worker}")
    svg.rect(cell.x, cell.y, cell.width, cell.height, kind="box", radius=4)
    name = shorten(cell.operator, LONGEST_NAME)
    svg.text(cell.x + cell.width / 2, cell.y + 13, name, kind="detail", anchor="middle")
    chip = _chip_width(cell.executors)
    in_a_row = min(len(cell.executors), CHIPS_IN_A_ROW)
    left = cell.x + (cell.width - in_a_row * (chip + CHIP_GAP) + CHIP_GAP) / 2
    for index, executor in enumerate(cell.executors):
        row, column = divmod(index, CHIPS_IN_A_ROW)
        x = left + column * (chip + CHIP_GAP)
        y = cell.y + CELL_HEADER + row * (CHIP_HEIGHT + CHIP_GAP)
        svg.rect(x, y, chip, CHIP_HEIGHT, kind="chip", radius=3)
        svg.text(x + chip / 2, y + 12, _tasks(executor), kind="detail", anchor="middle")
    svg.close_group()


def _draw_connections(svg: Svg, flow: TupleFlow, cells: dict[tuple[Worker, str], _Cell]) -> None:
    """Curves from cell to cell; the farthest first, so that the near ones lie on top."""
    counted: dict[tuple[Worker, Worker, int], int] = defaultdict(int)
    streams = flow.plan.logical.topology.streams
    for index, block in enumerate(flow.blocks):
        for row, column in zip(*block.exists.nonzero(), strict=True):
            source = flow.plan.workers[flow.plan.placement[block.sources[row]]]
            target = flow.plan.workers[flow.plan.placement[block.targets[column]]]
            counted[source, target, index] += 1
    order = {ConnectionType.REMOTE: 0, ConnectionType.INTER_LOCAL: 1, ConnectionType.LOCAL: 2}
    # Hundreds of curves at full strength would hide the plan behind them.
    fade = " faint" if len(counted) > MANY_CURVES else ""
    drawn = sorted(
        counted.items(), key=lambda item: order[ConnectionType.between(item[0][0], item[0][1])]
    )
    for (source, target, index), count in drawn:
        stream = streams[index]
        near, far = cells.get((source, stream.source)), cells.get((target, stream.target))
        if near is not None and far is not None:
            kind = ConnectionType.between(source, target)
            title = (
                f"{stream.source} → {stream.target}, {edge_label(stream)}: "
                f"{count} {kind} connection{'s' if count > 1 else ''}"
            )
            look = f"edge {kind}{'' if kind is ConnectionType.LOCAL else fade}"
            svg.path(_curve(near, far), kind=look, marker=str(kind), title=title)


def _curve(near: _Cell, far: _Cell) -> str:
    x1, y1 = near.x + near.width, near.y + near.height / 2
    x2, y2 = far.x, far.y + far.height / 2
    if x2 > x1:
        bow = max((x2 - x1) / 2, 40.0)
        return (
            f"M{x1:.1f},{y1:.1f} C{x1 + bow:.1f},{y1:.1f} {x2 - bow:.1f},{y2:.1f} {x2:.1f},{y2:.1f}"
        )
    # Backwards, below both cells: a straight way would lie on what runs forwards.
    low = max(near.y + near.height, far.y + far.height) + BACK_DROP
    middle = (x1 + x2) / 2
    return (
        f"M{x1:.1f},{y1:.1f} C{x1 + BACK_BOW:.1f},{y1:.1f} {x1 + BACK_BOW:.1f},{low:.1f} "
        f"{middle:.1f},{low:.1f} S{x2 - BACK_BOW:.1f},{y2:.1f} {x2:.1f},{y2:.1f}"
    )


def _summary(plan: PhysicalPlan) -> str:
    return (
        f"{len(plan.logical.executors)} executors · {len(plan.workers)} workers · "
        f"{len(plan.nodes)} nodes · small boxes are executors with their tasks"
    )


def _legend_lines(flow: TupleFlow, *, ackers: bool) -> list[str]:
    counts = flow.count_types(data_only=not ackers)
    return [
        f"{kind}: {counts[kind]} connection{'' if counts[kind] == 1 else 's'} {meaning}"
        for kind, meaning in zip(
            CONNECTION_TYPES,
            ("in one worker", "between workers of a node", "between nodes"),
            strict=True,
        )
    ]


def _legend(svg: Svg, lines: list[str], y: float) -> None:
    for kind, line in zip(CONNECTION_TYPES, lines, strict=True):
        d = f"M{MARGIN:.1f},{y:.1f} L{MARGIN + 42:.1f},{y:.1f}"
        svg.path(d, kind=f"edge {kind}", marker=str(kind))
        svg.text(MARGIN + 50, y + 4, line, kind="detail")
        y += LEGEND_LINE
