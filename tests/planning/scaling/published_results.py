"""What each scaler makes of the topologies of Puttaswamy 2018, chapter 6.

Printed there are Tables 6.2, 6.6 and 6.8. The other rows come from a program that repaired the
published listings: a second opinion, not a measurement.
"""

from dataclasses import dataclass

from benchmarks.graph_variants import with_stepped_capacity, with_swapped_shares
from streamgauge.planning.scaling.graph import ScalingGraph
from tests.planning.scaling.published import (
    DIAMOND_A,
    DIAMOND_AS_PRINTED,
    DIAMOND_B,
    LINEAR,
    LINEAR_AS_PRINTED,
    TEST_MIX,
    TOPOLOGY_10,
    TOPOLOGY_17,
    TREE,
    TREE_AS_PRINTED,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What becomes of so many units.

    Attributes:
        table: Which topology.
        graph: It.
        units: To be given out.
        stela, predictive, residual: Each one's allocation and what it gains.
        pick: Whose allocation the combined scaler keeps; "tie" and "ours" are the residual one's.
        best: The gain of the best allocation there is, where it was looked for.
    """

    table: str
    graph: ScalingGraph
    units: int
    stela: tuple[dict[str, int], float]
    predictive: tuple[dict[str, int], float]
    residual: tuple[dict[str, int], float]
    pick: str
    best: float | None

    def __str__(self) -> str:
        return f"{self.table} with {self.units}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A topology before anything is added, and its rows."""

    name: str
    graph: ScalingGraph
    throughput: float
    congested: str
    text: str

    @property
    def rows(self) -> list[Row]:
        """units | Stela, gain | predictive, gain | residual, gain | pick | best gain."""
        rows = []
        for line in self.text.strip().splitlines():
            cells = [cell.strip() for cell in line.split("|")]
            if cells[5] == "same":
                cells[5] = cells[3]
            pairs = [(allocation(cells[at]), float(cells[at + 1])) for at in (1, 3, 5)]
            rows.append(
                Row(
                    table=self.name,
                    graph=self.graph,
                    units=int(cells[0]),
                    stela=pairs[0],
                    predictive=pairs[1],
                    residual=pairs[2],
                    pick=cells[7],
                    best=float(cells[8]) if cells[8] else None,
                )
            )
        return rows


def allocation(text: str) -> dict[str, int]:
    """Written as "2 3:2": one unit to 2, two to 3."""
    pairs = (f"{part}:1".split(":")[:2] for part in text.split())
    return {name: int(units) for name, units in pairs}


TABLES = (
    Table(
        name="linear, printed inputs",
        graph=LINEAR_AS_PRINTED,
        throughput=250.0,
        congested="2 3",
        text="""
        1 | 3 | 150 | 3 | 150 | same | 150 | tie | 150
        2 | 2 3 | 250 | 2 3 | 250 | same | 250 | tie | 250
        3 | 1 2 3 | 250 | 2 3 | 250 | 1 2 3 | 250 | tie | 250
        4 | 1 2 3:2 | 500 | 2 3 | 250 | 1 2 3:2 | 500 | tie | 500
        """,
    ),
    Table(
        name="linear, corrected inputs",
        graph=LINEAR,
        throughput=250.0,
        congested="2 3",
        text="""
        1 | 3 | 150 | 3 | 150 | same | 150 | tie | 150
        2 | 2 3 | 250 | 3 | 150 | 2 3 | 250 | tie | 250
        3 | 2 3:2 | 350 | 2 3:2 | 350 | same | 350 | tie | 350
        4 | 1 2 3:2 | 500 | 2 3:2 | 350 | 1 2 3:2 | 500 | tie | 500
        5 | 1 2 3:3 | 550 | 2 3:2 | 350 | 1 2 3:3 | 550 | tie | 550
        6 | 1 2:2 3:3 | 650 | 2 3:2 | 350 | 1 2:2 3:3 | 650 | tie | 650
        """,
    ),
    Table(
        name="diamond, printed inputs",
        graph=DIAMOND_AS_PRINTED,
        throughput=600.0,
        congested="2 3",
        text="""
        1 | 2 | 100 | 3 | 200 | same | 200 | ours | 200
        2 | 2 3 | 300 | 3:2 | 300 | same | 300 | tie | 300
        3 | 2 3:2 | 300 | 2 3:2 | 300 | same | 300 | tie | 400
        4 | 2 3:2 4 | 400 | 2 3:2 | 300 | 2 3:2 4 | 400 | tie | 600
        5 | 1 2 3:2 4 | 800 | 2 3:2 | 300 | 1 2 3:2 4 | 800 | tie | 800
        """,
    ),
    Table(
        name="diamond, variant A",
        graph=DIAMOND_A,
        throughput=600.0,
        congested="2 3",
        text="""
        1 | 2 | 150 | 3 | 200 | same | 200 | ours | 200
        2 | 2 3 | 350 | 2 3 | 350 | same | 350 | tie | 350
        3 | 2 3:2 | 350 | 2 3:2 | 350 | same | 350 | tie | 400
        4 | 2 3:2 4 | 400 | 2 3:2 | 350 | 2 3:2 4 | 400 | tie | 700
        5 | 1 2 3:2 4 | 800 | 2 3:2 | 350 | 1 2 3:2 4 | 800 | tie | 900
        6 | 1 2:2 3:2 4 | 1100 | 2 3:2 | 350 | 1 2:2 3:2 4 | 1100 | tie | 1200
        """,
    ),
    Table(
        name="diamond, variant B",
        graph=DIAMOND_B,
        throughput=600.0,
        congested="2 3",
        text="""
        1 | 2 | 150 | 3 | 200 | same | 200 | ours | 200
        2 | 2 3 | 250 | 2 3 | 250 | same | 250 | tie | 250
        3 | 2 3 4 | 350 | 2 3:2 | 250 | same | 250 | Stela | 400
        4 | 2 3:2 4 | 400 | 2 3:2 | 250 | 2 3:2 4 | 400 | tie | 700
        5 | 1 2 3:2 4 | 800 | 2 3:2 | 250 | 1 2 3:2 4 | 800 | tie | 900
        6 | 1 2:2 3:2 4 | 1100 | 2 3:2 | 250 | 1 2:2 3:2 4 | 1100 | tie | 1100
        """,
    ),
    Table(
        name="simple tree, printed inputs",
        graph=TREE_AS_PRINTED,
        throughput=1000.0,
        congested="2 3 4",
        text="""
        1 | 4 | 100 | 3 | 300 | same | 300 | ours | 300
        2 | 2 4 | 500 | 3 4 | 400 | same | 400 | Stela | 500
        3 | 2 3 4 | 800 | 2 3 4 | 800 | same | 800 | tie | 800
        4 | 2 3:2 4 | 800 | 2 3 4 | 800 | 2 3:2 4 | 800 | tie | 1000
        5 | 2 3:2 4 6 | 1000 | 2 3:2 4 6 | 1000 | same | 1000 | tie | 1400
        6 | 1 2 3:2 4 6 | 1300 | 2 3:2 4 6 | 1000 | 1 2 3:2 4 6 | 1300 | tie | 1700
        """,
    ),
    Table(
        name="simple tree, corrected inputs",
        graph=TREE,
        throughput=900.0,
        congested="2 3 4",
        text="""
        1 | 4 | 100 | 3 | 200 | same | 200 | ours | 200
        2 | 2 4 | 500 | 2 4 | 500 | same | 500 | tie | 500
        3 | 2 3 4 | 700 | 2 3 4 | 700 | same | 700 | tie | 700
        4 | 2 3:2 4 | 900 | 2 3:2 4 | 900 | same | 900 | tie | 900
        5 | 2 3:3 4 | 900 | 2 3:2 4 | 900 | 2 3:3 4 | 900 | tie | 1400
        6 | 2 3:3 4 6 | 1100 | 2 3:3 4 6 | 1100 | same | 1100 | tie | 1700
        7 | 1 2 3:3 4 6 | 1300 | 2 3:3 4 6 | 1100 | 1 2 3:3 4 6 | 1300 | tie |
        """,
    ),
    Table(
        name="topology 17 base",
        graph=TOPOLOGY_17,
        throughput=4740.0,
        congested="4 5 6 8 9 10 11 16",
        text="""
        1 | 6 | 40 | 16 | 500 | same | 500 | ours | 500
        2 | 6 9 | 140 | 16:2 | 700 | same | 700 | ours | 800
        3 | 6 9 17 | 200 | 11 16:2 | 1000 | same | 1000 | ours | 1040
        4 | 4 6 9 17 | 440 | 10 11 16:2 | 1200 | same | 1200 | ours | 1340
        5 | 4 6 8 9 17 | 500 | 9 11 16:2 17 | 1400 | same | 1400 | ours |
        6 | 4 6 8 9 16 17 | 1000 | 9 10 11 16:2 17 | 1600 | same | 1600 | ours |
        7 | 4 6 8 9 16:2 17 | 1500 | 4 9 11 16:3 17 | 2000 | same | 2000 | ours |
        8 | 4 6 8 9 16:3 17 | 1800 | 4 9 10 11 16:3 17 | 2200 | same | 2200 | ours |
        9 | 4 6 8 9 10 16:3 17 | 2000 | 4 8 9 10 11 16:3 17 | 2260 | same | 2260 | ours |
        10 | 4 5 6 8 9 10 16:3 17 | 2060 | 4 5 9 10 11:2 16:3 17 | 2320 | same | 2320 | ours |
        """,
    ),
    Table(
        name="topology 17, child ratios reversed",
        graph=with_swapped_shares(TOPOLOGY_17),
        throughput=4197.5,
        congested="4 8 9 11 16 17",
        text="""
        1 | 17 | 300 | 16 | 300 | same | 300 | tie | 642.5
        2 | 9 17 | 540 | 16 17 | 600 | same | 600 | ours | 942.5
        3 | 4 9 17 | 900 | 9 16 17 | 1000 | same | 1000 | ours | 1242.5
        4 | 4 9 17:2 | 1500 | 9 11 16 17 | 1037.5 | same | 1037.5 | Stela | 1642.5
        5 | 4 9:2 17:2 | 1800 | 8 9 15 16 17 | 1340 | same | 1340 | Stela |
        6 | 4 9:2 17:3 | 1980 | 8 9 11 15 16 17 | 1377.5 | same | 1377.5 | Stela |
        7 | 4 8 9:2 17:3 | 2180 | 8 9 11 15 16 17 | 1377.5 | 4 8 9 11 15 16 17 | 1777.5 | Stela |
        8 | 4 8 9:2 15 17:3 | 2320 | 8 9 11 15 16 17 | 1377.5 | 4 8 9 11 15 16 17:2 | 2377.5 | ours |
        9 | 4 8 9:2 15 16 17:3 | 2820 | 4 9:2 16:3 17:3 | 3400 | same | 3400 | ours |
        10 | 4 8 9:2 15 16:2 17:3 | 3320 | 4 9:2 11 16:3 17:3 | 3437.5 | same | 3437.5 | ours |
        """,  # noqa: E501
    ),
    Table(
        name="topology 17, step capacity",
        graph=with_stepped_capacity(TOPOLOGY_17, 200.0),
        throughput=6020.0,
        congested="4 16",
        text="""
        1 | 4 | 0 | 16 | 540 | same | 540 | ours | 702.5
        2 | 4 9 | 240 | 16 | 540 | 4 16 | 540 | ours | 1242.5
        3 | 4 9 16 | 1140 | 4 9 16 | 1140 | same | 1140 | tie | 1430
        4 | 1 4 9 16 | 1942.5 | 4 9 16 | 1140 | 1 4 9 16 | 1942.5 | tie | 1942.5
        5 | 1 2 4 9 16 | 2130 | 4 9 16 | 1140 | 1 4 9 16:2 | 2842.5 | ours |
        6 | 1 2 4 6 9 16 | 2490 | 4 9 16 | 1140 | 1 4 9 16:2 17 | 3342.5 | ours |
        7 | 1 2 4 6 9 16:2 | 3390 | 4 9 16 | 1140 | 1 4 7 9 16:2 17 | 3502.5 | ours |
        8 | 1 2 4 6 9 16:2 17 | 3890 | 4 9 16 | 1140 | 1 4 7 8 9 16:2 17 | 3642.5 | Stela |
        9 | 1 2 4 6 7 9 16:2 17 | 4050 | 4 9 16 | 1140 | 1 4 7 8 9 11 16:2 17 | 3685 | Stela |
        10 | 1 2 4 5 6 7 9 16:2 17 | 4100 | 4 9 16 | 1140 | 1 2 4 7 8 9 11 16:2 17 | 3880 | Stela |
        """,
    ),
    Table(
        name="topology 17, step capacity and reversed",
        graph=with_swapped_shares(with_stepped_capacity(TOPOLOGY_17, 200.0)),
        throughput=5235.0,
        congested="4 8 16 17",
        text="""
        1 | 17 | 140 | 8 | 140 | same | 140 | tie | 1167.5
        2 | 4 17 | 140 | 8 17 | 280 | same | 280 | ours | 1567.5
        3 | 4 9 17 | 1300 | 8 16 17 | 340 | same | 340 | Stela | 1960
        4 | 4 9 17:2 | 1580 | 8 16 17 | 340 | 4 8 16 17 | 340 | Stela | 2467.5
        5 | 4 9 16 17:2 | 2480 | 8 16 17 | 340 | 4 8 9 16 17 | 2340 | Stela |
        6 | 4 9 16:2 17:2 | 2600 | 4 9 16:2 17:2 | 2600 | same | 2600 | tie |
        7 | 4 8 9 16:2 17:2 | 2740 | 4 8 9 16:2 17:2 | 2740 | same | 2740 | tie |
        8 | 1 4 8 9 16:2 17:2 | 4167.5 | 4 8 9 16:2 17:2 | 2740 | 1 4 8 9 16:2 17:2 | 4167.5 | tie |
        9 | 1 4:2 8 9 16:2 17:2 | 4167.5 | 4 8 9 16:2 17:2 | 2740 | 1 4 8 9 15 16:2 17:2 | 4327.5 | ours |
        10 | 1 4:2 8 9:2 16:2 17:2 | 5967.5 | 4 8 9 16:2 17:2 | 2740 | 1 4:2 8 9 15 16:2 17:2 | 4327.5 | Stela |
        """,  # noqa: E501
    ),
    Table(
        name="testMix",
        graph=TEST_MIX,
        throughput=3420.0,
        congested="4 5 6 7",
        text="""
        1 | 6 | 1020 | 6 | 1020 | same | 1020 | tie | 1020
        2 | 6:2 | 1416 | 5 6 | 1060 | same | 1060 | Stela | 1416
        3 | 6:2 7 | 1716 | 4 6 8 | 1180 | same | 1180 | Stela | 1716
        4 | 6:2 7 17 | 1724 | 6:2 17 18 | 1428 | same | 1428 | Stela |
        5 | 4 6:2 7 17 | 1864 | 5 6:2 17 18 | 1468 | same | 1468 | Stela |
        6 | 4 6:2 7 8 17 | 1884 | 4 6:2 8 17 18 | 1588 | same | 1588 | Stela |
        7 | 4 6:2 7 8 13 17 | 2084 | 4 5 6:2 8 17 18 | 1628 | same | 1628 | Stela |
        8 | 4 6:2 7 8 13 17 20 | 2336 | 4 5 6:2 8 17 18 | 1628 | 4 5 6:2 7 8 17 18 | 1928 | Stela |
        9 | 4 5 6:2 7 8 13 17 20 | 2376 | 6:2 7 13 14 17 18 20 21 | 2348 | same | 2348 | Stela |
        10 | 4 5 6:2 7 8 13 14 17 20 | 2376 | 5 6:2 7 13 14 17 18 20 21 | 2388 | same | 2388 | ours |
        """,  # noqa: E501
    ),
    Table(
        name="testMixRev",
        graph=with_swapped_shares(TEST_MIX),
        throughput=3220.0,
        congested="4 5 6 7 9",
        text="""
        1 | 6 | 68 | 5 | 600 | same | 600 | ours | 600
        2 | 6 7 | 368 | 5:2 | 840 | same | 840 | ours | 900
        3 | 6 7 13 | 436 | 5:2 9 | 1040 | same | 1040 | ours | 1212
        4 | 5 6 7 13 | 1036 | 4 5:2 9 | 1200 | same | 1200 | ours |
        5 | 5:2 6 7 13 | 1276 | 4 5:2 6 9 | 1268 | same | 1268 | Stela |
        6 | 5:2 6 7 13 14 | 1276 | 5:2 7 13 14 21 | 1760 | same | 1760 | ours |
        7 | 5:2 6 7 13 14 21 | 1828 | 5:2 7 9 13 14 21 | 1960 | same | 1960 | ours |
        8 | 5:2 6 7 9 13 14 21 | 2028 | 4 5:2 7 9 13 14 21 | 2120 | same | 2120 | ours |
        9 | 4 5:2 6 7 9 13 14 21 | 2188 | 4 5:2 6 7 9 13 14 21 | 2188 | same | 2188 | tie |
        10 | 1 4 5:2 6 7 9 13 14 21 | 3312 | 4 5:2 6 7 9 13 14 21 | 2188 | 1 4 5:2 6 7 9 13 14 21 | 3312 | tie |
        """,  # noqa: E501
    ),
    Table(
        name="testMixStep",
        graph=with_stepped_capacity(TEST_MIX, 100.0),
        throughput=3930.0,
        congested="4 6 7",
        text="""
        1 | 7 | 468 | 6 | 1190 | same | 1190 | ours | 1190
        2 | 6 7 | 1658 | 6:2 | 1258 | same | 1258 | Stela | 1658
        3 | 6:2 7 | 1726 | 4 6:2 | 1318 | same | 1318 | Stela | 1930
        4 | 4 6:2 7 | 1786 | 6:2 7 13 | 1978 | same | 1978 | ours |
        5 | 4 6:2 7 13 | 2038 | 4 6:2 7 13 | 2038 | same | 2038 | tie |
        6 | 1 4 6:2 7 13 | 3090 | 4 6:2 7 13 | 2038 | 1 4 6:2 7 13 | 3090 | tie |
        7 | 1 3 4 6:2 7 13 | 3560 | 4 6:2 7 13 | 2038 | 1 4 5 6:2 7 13 | 3350 | Stela |
        8 | 1 3 4 6:3 7 13 | 3638 | 4 6:2 7 13 | 2038 | 1 4 5 6:2 7 13 20 | 3590 | Stela |
        9 | 1 3 4 6:3 7 13 20 | 3878 | 4 6:2 7 13 | 2038 | 1 4 5 6:2 7 8 13 20 | 3770 | Stela |
        10 | 1 3 4 6:3 7:2 13 20 | 4166 | 4 6:2 7 13 | 2038 | 1 4 5 6:2 7 8 13 14 20 | 3870 | Stela |
        """,  # noqa: E501
    ),
    Table(
        name="testMixStepRev",
        graph=with_swapped_shares(with_stepped_capacity(TEST_MIX, 100.0)),
        throughput=3813.0,
        congested="4 5 7 9",
        text="""
        1 | 7 | 368 | 5 | 700 | same | 700 | ours | 700
        2 | 7 14 | 468 | 5:2 | 740 | same | 740 | ours | 1068
        3 | 7 14 21 | 720 | 5:2 9 | 815 | same | 815 | ours | 1302
        4 | 5 7 14 21 | 1420 | 4 5:2 9 | 875 | same | 875 | Stela |
        5 | 5:2 7 14 21 | 1460 | 5:2 7 14 21 | 1460 | same | 1460 | tie |
        6 | 5:2 7 9 14 21 | 1535 | 5:2 7 9 14 21 | 1535 | same | 1535 | tie |
        7 | 4 5:2 7 9 14 21 | 1595 | 4 5:2 7 9 14 21 | 1595 | same | 1595 | tie |
        8 | 1 4 5:2 7 9 14 21 | 2717 | 4 5:2 7 9 14 21 | 1595 | 1 4 5:2 7 9 14 21 | 2717 | tie |
        9 | 1 2 4 5:2 7 9 14 21 | 3257 | 4 5:2 7 9 14 21 | 1595 | 1 4 5:2 6 7 9 14 21 | 3159 | Stela |
        10 | 1 2 4 5:3 7 9 14 21 | 3317 | 4 5:2 7 9 14 21 | 1595 | 1 4 5:2 6 7 9 13 14 21 | 3219 | Stela |
        """,  # noqa: E501
    ),
    Table(
        name="topology 10",
        graph=TOPOLOGY_10,
        throughput=10680.0,
        congested="2 3 4 5",
        text="""
        1 | 3 | 1312 | 4 | 1020 | same | 1020 | Stela | 1312
        2 | 3 5 | 1332 | 4 5 | 1040 | same | 1040 | Stela | 2500
        3 | 2 3 5 | 2956 | 3 4 7 | 2800 | same | 2800 | Stela | 4500
        4 | 2 3 5 7 | 3424 | 3 4 5 7 | 2820 | same | 2820 | Stela | 6000
        5 | 2 3 4 5 7 | 4444 | 3 4 5 7 | 2820 | 2 3 4 5 7 | 4444 | tie | 7520
        6 | 2 3 4 5 6 7 | 5160 | 2 3 4 5 6 7 | 5160 | same | 5160 | tie |
        7 | 1 2 3 4 5 6 7 | 10680 | 2 3 4 5 6 7 | 5160 | 1 2 3 4 5 6 7 | 10680 | tie |
        8 | 1 2 3:2 4 5 6 7 | 11600 | 2 3 4 5 6 7 | 5160 | 1 2 3:2 4 5 6 7 | 11600 | tie |
        9 | 1 2 3:2 4 5:2 6 7 | 11640 | 2 3 4 5 6 7 | 5160 | 1 2 3:2 4:2 5 6 7 | 11880 | ours |
        10 | 1 2:2 3:2 4 5:2 6 7 | 12776 | 2 3 4 5 6 7 | 5160 | 1 2 3:2 4:2 5:2 6 7 | 11920 | Stela |
        """,  # noqa: E501
    ),
)
ROWS = tuple(row for table in TABLES for row in table.rows)
