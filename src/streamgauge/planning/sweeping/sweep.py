"""Sweeps: plans × rates × models × replicas, in an order that never changes.

A case is a number; blocks of cases are what is evaluated at once, and what a sweep that was stopped
need not do again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamgauge.errors import Findings, InvalidInput
from streamgauge.models.cost_job import CostConstants
from streamgauge.models.dealt_plans import DealtPlan
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.profile.job import Job
from streamgauge.topology.field_checks import check_number, check_whole
from streamgauge.topology.topology import Operator

Counts = NDArray[np.int64]

# The model that evaluates many plans as arrays; all others take one after the other.
COST = "cost"
# Cases of a block: what takes some seconds.
BLOCK, BLOCK_OF_ARRAYS = 20, 100_000
MOST_PLANS = 10_000_000
NO_CONSTANTS = CostConstants()
# Section 4.3: nodes, executors of spout and bolt, workers a node.
PAPER_NODES = (1, 2, 3, 4)
PAPER_COUNTS = (1, 2, 4, 8, 16, 24, 32)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeKind:
    """The nodes of all plans, each on a machine of its own.

    Attributes:
        price: Of a node; what plans cost.
        worker_price: Of a worker, on top of that.
    """

    cores: float = 1.0
    network_gbit_per_second: float | None = None
    latency_ms: float = 0.0
    price: float = 1.0
    worker_price: float = 0.0

    def __post_init__(self) -> None:
        with Findings() as findings:
            check_number(findings, self.cores, "cores", above=0.0)
            check_number(findings, self.latency_ms, "latency_ms")
            check_number(findings, self.price, "price")
            check_number(findings, self.worker_price, "worker_price")
            if self.network_gbit_per_second is not None:
                speed = self.network_gbit_per_second
                check_number(findings, speed, "network_gbit_per_second", above=0.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SweptPlans:
    """Configurations as arrays: nodes, executors of operators in their order, workers a node."""

    nodes: Counts
    executors: Counts
    workers: Counts

    @classmethod
    def of(cls, plans: Sequence[DealtPlan]) -> SweptPlans:
        """Those plans, each once, in their order."""
        distinct = list(dict.fromkeys(plans))
        return cls(
            nodes=np.asarray([plan.nodes for plan in distinct], dtype=np.int64),
            executors=np.asarray([plan.executors for plan in distinct], dtype=np.int64),
            workers=np.asarray([plan.workers for plan in distinct], dtype=np.int64),
        )

    def __len__(self) -> int:
        return len(self.nodes)

    def plan(self, place: int) -> DealtPlan:
        """One of them."""
        executors = tuple(self.executors[place].tolist())
        return DealtPlan(int(self.nodes[place]), executors, int(self.workers[place]))

    def take(self, places: NDArray[np.intp]) -> SweptPlans:
        """Some of them."""
        return SweptPlans(
            nodes=self.nodes[places], executors=self.executors[places], workers=self.workers[places]
        )


class Block(NamedTuple):
    """Cases of one model and replica, from `start` on until before `stop`, in plans × rates."""

    number: int
    model: str
    replica: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sweep:
    """What is to be evaluated.

    Attributes:
        job: Whose executors are placed; its workload says how sources share a rate.
        behaviours: What its operators do: one for each replica.
        rates: Tuples per second of all sources together.
        models: ``cost``, or the name of any model.
        described: All that the file says, as plain data: what must not change.
    """

    name: str
    job: Job
    behaviours: tuple[JobBehaviour, ...]
    plans: SweptPlans
    rates: tuple[float, ...]
    models: tuple[str, ...] = (COST,)
    node: NodeKind = NodeKind()
    constants: CostConstants = NO_CONSTANTS
    about: str = ""
    described: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        findings = Findings()
        for place, rate in enumerate(self.rates):
            check_number(findings, rate, "rates", place, above=0.0)
        for name, given in (("rates", self.rates), ("models", self.models)):
            if not given:
                findings.add(name, seen=f"no {name}", expected="at least one")
        if not len(self.plans):
            findings.add("plans", seen="no plan", expected="at least one")
        findings.raise_if_any()
        check_executors(self.job.topology.operators, self.plans)

    @property
    def cases(self) -> int:
        """How many there are."""
        return len(self.models) * len(self.behaviours) * self._each

    @property
    def _each(self) -> int:
        return len(self.plans) * len(self.rates)

    def blocks(self) -> Iterator[Block]:
        """All blocks, those of the first model first."""
        number = 0
        for model, replica in product(self.models, range(len(self.behaviours))):
            size = BLOCK_OF_ARRAYS if model == COST else BLOCK
            for start in range(0, self._each, size):
                yield Block(number, model, replica, start, min(start + size, self._each))
                number += 1


def check_executors(operators: Sequence[Operator], plans: SweptPlans) -> None:
    """Raise InvalidInput where an operator would have more executors than tasks."""
    findings = Findings()
    for place, operator in enumerate(operators):
        most = int(plans.executors[:, place].max(initial=1))
        if most > operator.tasks:
            findings.add(
                "plans",
                "executors",
                operator.name,
                seen=f"{most} executors of {operator.name}",
                expected=f"at most as many as it has tasks, {operator.tasks}",
                remedy="give the operator more tasks in the job's file",
            )
    findings.raise_if_any()


def list_grid(
    nodes: Sequence[int], executors: Sequence[Sequence[int]], workers: Sequence[int]
) -> list[DealtPlan]:
    """Every combination; workers vary first.

    Raises:
        InvalidInput: There are too many, or a number is none.
    """
    size = len(nodes) * len(workers)
    for one in executors:
        size *= len(one)
    if size > MOST_PLANS:
        raise InvalidInput.single(
            ("plans", "grid"),
            seen=f"a grid of {size:,} plans",
            expected=f"at most {MOST_PLANS:,}",
            remedy="give fewer values, or draw random plans",
        )
    findings = Findings()
    for name, numbers in (
        ("nodes", nodes),
        ("workers", workers),
        *(("executors", e) for e in executors),
    ):
        for number in numbers:
            check_whole(findings, number, "plans", "grid", name)
    findings.raise_if_any()
    return [
        DealtPlan(first, tuple(middle), last)
        for first, *middle, last in product(nodes, *executors, workers)
    ]


def draw_plans(
    count: int,
    seed: int,
    nodes: tuple[int, int],
    executors: Sequence[tuple[int, int]],
    workers: tuple[int, int],
) -> list[DealtPlan]:
    """Random plans, each number even between two, both included; the same for the same seed.

    Raises:
        InvalidInput: A range is empty, or a number is none.
    """
    findings = Findings()
    check_whole(findings, count, "plans", "random", "count", most=MOST_PLANS)
    for name, span in (
        ("nodes", nodes),
        ("workers", workers),
        *(("executors", e) for e in executors),
    ):
        if check_whole(findings, span[0], "plans", "random", name):
            check_whole(findings, span[1], "plans", "random", name, least=span[0])
    findings.raise_if_any()
    generator = np.random.default_rng(seed)
    columns = [
        generator.integers(low, high, size=count, endpoint=True)
        for low, high in (nodes, *executors, workers)
    ]
    return [
        DealtPlan(first, tuple(middle), last)
        for first, *middle, last in np.stack(columns, axis=1).tolist()
    ]
