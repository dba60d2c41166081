"""Plans drawn together: each as it is drawn alone, none on another."""

import re

import pytest

from streamgauge.drawing.plan_picture import PlanPanel, draw_plan, draw_plans
from streamgauge.topology import (
    Cluster,
    Configuration,
    LogicalPlan,
    Operator,
    OperatorKind,
    PhysicalPlan,
    Shuffle,
    Stream,
    Topology,
)
from streamgauge.topology.tuple_flow import TupleFlow
from streamgauge.transport.engine import load_engine


def flow(deal) -> TupleFlow:
    topology = Topology(
        name="t",
        operators=(Operator(name="s", kind=OperatorKind.SOURCE), Operator(name="a", tasks=3)),
        streams=(Stream(source="s", target="a", grouping=Shuffle()),),
    )
    logical = LogicalPlan.of(topology, Configuration(executors={"a": 3}, workers=2))
    cluster = Cluster.uniform(nodes=2)
    plan = PhysicalPlan.from_slots(logical, cluster, cluster.slots, deal)
    return TupleFlow.of(plan, load_engine("storm-2").hops)


def panel(title, deal) -> PlanPanel:
    return PlanPanel(title=title, about=f"about {title}", flow=flow(deal))


@pytest.fixture
def both() -> str:
    panels = [panel("before", [0, 1, 0, 1]), panel("after", [0, 0, 0, 0])]
    return draw_plans(panels, title="two plans")


def test_plans_stand_beside_each_other(both):
    shifts = [
        tuple(map(float, found)) for found in re.findall(r"translate\(([\d.]+),(.+?)\)", both)
    ]
    (alone,) = re.findall(r'width="(\d+)"', draw_plans([panel("before", [0, 1, 0, 1])], title="t"))[
        :1
    ]
    assert shifts == [(0.0, 0.0), (pytest.approx(float(alone), abs=1.0), 0.0)]


def test_every_plan_has_its_title_and_what_is_said_of_it(both):
    for text in ("before", "about before", "after", "about after"):
        assert f">{text}</text>" in both


def test_many_wide_plans_stand_below_each_other():
    wide = PlanPanel(title="wide " * 60, about="", flow=flow([0, 1, 0, 1]))
    shifts = re.findall(r"translate\(([\d.]+),([\d.]+)\)", draw_plans([wide, wide], title="t"))
    assert shifts[1][0] == "0.0"
    assert float(shifts[1][1]) > 0.0


def test_a_plan_alone_is_called_by_its_topology():
    picture = draw_plan(flow([0, 1, 0, 1]))
    assert ">t</text>" in picture
    assert "4 executors · 2 workers · 2 nodes" in picture
