"""Topologies of Puttaswamy 2018, chapter 6.

The topologies are those of Tables 6.1, 6.3, 6.5, 6.7, 6.10 and 6.11. Where a table contradicts
itself or the results that are printed for it, a corrected variant stands beside or instead of it:

* Table 6.1: the source emits 600, not 500; only then row 3 of Table 6.2 is possible.
* Table 6.3: Table 6.4 fits no set of inputs; variants A and B each fit all but one of its rows.
* Table 6.5: component 3 processes 200, not 300; only then Table 6.6 comes out.
* Table 6.7: component 9 emits two tuples for one; only then Table 6.8 comes out.
* Table 6.10: 3 feeds 6 and 7, component 15 processes 600, and inputs follow from the shares;
  17 emits two for one, as printed.
* Table 6.11: inputs follow from the shares.
"""

from streamgauge.planning.scaling.graph import (
    Component,
    Edge,
    LinearLaw,
    ScalingGraph,
)


def graph(name: str, table: str) -> ScalingGraph:
    """Rows of: name, units, most that all units process, tuples out per one in, children.

    The first row is the source: what it emits stands in place of what it processes.
    """
    components, edges = [], []
    for line in table.strip().splitlines():
        row = line.split()
        units, most = int(row[1]), float(row[2])
        components.append(
            Component(
                name=row[0],
                units=units,
                law=LinearLaw(per_unit=most / units),
                source=not components,
                out_per_in=float(row[3]),
            )
        )
        for child, share in (part.split(":") for part in row[4:]):
            edges.append(Edge(source=row[0], target=child, share=float(share)))
    return ScalingGraph(name=name, components=tuple(components), edges=tuple(edges))


def chain(source: float) -> ScalingGraph:
    """Table 6.1."""
    return graph(
        "linear",
        f"""
        1 1 {source} 1 2:1
        2 1 400 1 3:1
        3 1 250 1 4:1
        4 1 900 1
        """,
    )


def diamond(split: float, most: float) -> ScalingGraph:
    """Table 6.3: what goes to 2, and what 4 processes."""
    return graph(
        "diamond",
        f"""
        1 1 1000 1 2:{split} 3:{1 - split}
        2 1 400 1 4:1
        3 1 200 1 4:1
        4 1 {most} 1
        """,
    )


def tree(most: float) -> ScalingGraph:
    """Table 6.5: what 3 processes."""
    return graph(
        "simple tree",
        f"""
        1 1 2000 1 2:0.6 3:0.4
        2 1 800 1 4:0.75 5:0.25
        3 1 {most} 1 6:1
        4 1 500 1
        5 1 900 1
        6 1 600 1
        """,
    )


LINEAR_AS_PRINTED, LINEAR = chain(500), chain(600)
DIAMOND_AS_PRINTED, DIAMOND_A, DIAMOND_B = diamond(0.5, 900), diamond(0.55, 950), diamond(0.55, 850)
TREE_AS_PRINTED, TREE = tree(300), tree(200)
TOPOLOGY_17 = graph(
    "topology 17",
    """
    1 2 2000 1 2:0.4 3:0.35 4:0.25
    2 1 900 2 5:0.55 6:0.45
    3 1 1100 2 7:0.6 8:0.4
    4 1 400 3 9:1
    5 1 800 1.5 10:0.5 11:0.5
    6 1 700 2 12:0.5 13:0.5
    7 1 900 1 14:1
    8 1 500 1 15:1
    9 1 1000 2 16:0.6 17:0.4
    10 1 400 1
    11 1 300 1
    12 1 900 1
    13 1 800 1
    14 1 900 1
    15 1 700 1
    16 1 500 1
    17 1 900 1
    """,
)
TEST_MIX = graph(
    "testMix",
    """
    1 2 2000 1 2:0.4 3:0.6
    2 2 1500 2 4:0.6 5:0.4
    3 1 1500 2 6:0.6 7:0.4
    4 1 800 1 8:0.75 9:0.25
    5 1 600 1
    6 1 600 1 10:0.4 11:0.35 12:0.25
    7 1 500 2 13:0.6 14:0.4
    8 1 700 1 15:0.75 16:0.25
    9 1 400 1
    10 1 600 1
    11 1 800 2 17:0.5 18:0.5
    12 1 600 1 19:1
    13 1 700 1 20:1
    14 1 600 1 21:1
    15 1 600 1 22:0.75 23:0.25
    16 1 400 1
    17 1 500 2
    18 1 500 1
    19 1 500 1
    20 1 900 1
    21 1 600 1
    22 1 700 1
    23 1 500 1
    """,
)
TOPOLOGY_10 = graph(
    "topology 10",
    """
    1 2 16000 1 2:0.44 3:0.33 4:0.22
    2 1 4700 1 5:0.6 6:0.4
    3 1 3500 1 7:0.6 8:0.4
    4 1 2500 1 9:0.6 10:0.4
    5 1 2800 1
    6 1 2100 1
    7 1 2700 1
    8 1 3800 1
    9 1 3800 1
    10 1 3600 1
    """,
)
