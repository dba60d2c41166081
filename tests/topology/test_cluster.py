"""Clusters: machines with cores, nodes with slots, latency between nodes."""

import pytest

from streamgauge.errors import InvalidInput
from streamgauge.topology import Cluster, Link, Machine, Node, Slot

MACHINE = Machine(name="m", cores=4)
NODES = tuple(Node(name=name, machine="m") for name in "abc")


def cluster(*links: Link, latency_ms: float = 0.0) -> Cluster:
    return Cluster(machines=(MACHINE,), nodes=NODES, links=links, latency_ms=latency_ms)


def test_a_uniform_cluster_has_a_node_a_machine():
    made = Cluster.uniform(nodes=2, slots=3, cores=8, latency_ms=0.5)
    assert [(node.name, node.machine, node.ports) for node in made.nodes] == [
        ("n1", "m1", (6700, 6701, 6702)),
        ("n2", "m2", (6700, 6701, 6702)),
    ]
    assert made.machine_of("n2").cores == 8


def test_names_of_a_uniform_cluster_sort_as_numbers_do():
    names = [node.name for node in Cluster.uniform(nodes=12).nodes]
    assert names == sorted(names)


def test_slots_are_listed_by_port():
    node = Node(name="a", machine="m", ports=(7, 5, 6))
    assert node.slots == (Slot("a", 5), Slot("a", 6), Slot("a", 7))


def test_nodes_may_share_a_machine():
    assert cluster().machine_of("a") is cluster().machine_of("b")


def test_latency_is_that_of_the_link_else_of_the_way_back_else_the_default():
    made = cluster(
        Link(source="a", target="b", latency_ms=1),
        Link(source="b", target="a", latency_ms=2),
        Link(source="b", target="c", latency_ms=3),
        latency_ms=9,
    )
    pairs = ["ab", "ba", "bc", "cb", "ac", "aa"]
    assert [made.latency_between(*pair) for pair in pairs] == [1, 2, 3, 3, 9, 0]


def test_an_unknown_node_is_refused_with_a_suggestion():
    with pytest.raises(InvalidInput, match="did you mean 'n1'"):
        Cluster.uniform(nodes=1).node("n11")


@pytest.mark.parametrize(
    ("make", "seen"),
    [
        (lambda: Machine(name="m", cores=0), "cores: 0"),
        (lambda: Machine(name="m", cores=float("nan")), "cores: nan"),
        (lambda: Machine(name="m", cores=10**400), "cores: 1000"),
        (lambda: Machine(name="m", cores=2, background_cores=3), "background_cores: 3"),
        (lambda: Machine(name="m", cores=2, memory_bytes=0), "memory_bytes: 0"),
        (lambda: Node(name="a", machine="m", ports=()), "no slot"),
        (lambda: Node(name="a", machine="m", ports=(1, 1)), "a port twice"),
        (
            lambda: Node(name="a", machine="m", ports=(65_536,)),
            "65536; expected a whole number of at least 1 and at most 65535",
        ),
        (lambda: Link(source="a", target="b", latency_ms=-1), "latency_ms: -1"),
        (lambda: Cluster(machines=(), nodes=()), "no machines"),
        (lambda: Cluster(machines=(MACHINE,), nodes=()), "no nodes"),
        (lambda: Cluster(machines=(MACHINE,) * 2, nodes=NODES), "the name 'm' twice"),
        (lambda: Cluster(machines=(MACHINE,), nodes=NODES[:1] * 2), "the name 'a' twice"),
        (
            lambda: Cluster(machines=(MACHINE,), nodes=(Node(name="a", machine="k"),)),
            "nodes.a.machine: unknown name 'k'",
        ),
        (
            lambda: cluster(Link(source="a", target="x", latency_ms=1)),
            r"links\[0\].to: unknown name 'x'",
        ),
        (
            lambda: cluster(*[Link(source="a", target="b", latency_ms=1)] * 2),
            "a second link from 'a' to 'b'",
        ),
        (lambda: cluster(latency_ms=-1), "latency_ms: -1"),
        (lambda: Cluster.uniform(nodes=0), "nodes: 0"),
        (lambda: Cluster.uniform(nodes=1, slots=0), "slots: 0"),
    ],
)
def test_a_cluster_that_cannot_be_is_refused(make, seen):
    with pytest.raises(InvalidInput, match=seen):
        make()


def test_more_slots_than_there_are_ports_is_one_problem():
    with pytest.raises(InvalidInput) as caught:
        Cluster.uniform(nodes=1, slots=100_000)
    assert len(caught.value.problems) == 1
