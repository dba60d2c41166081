"""Packing: random jobs by all planners, the exact program at published sizes, many instances.

Ratios: gaps to the proven bound, how often ours is cheaper than a Meezan plan that is not proven
optimal, and the time of large problems.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import count, islice
from typing import Any

import numpy as np

from benchmarks.report import Entry, say
from streamgauge.errors import Infeasible
from streamgauge.planning.packing.catalogue import GIBIBYTE, Catalogue, Category, MachineType
from streamgauge.planning.packing.columns import Effort
from streamgauge.planning.packing.exact import pack_cheaply, pack_exactly
from streamgauge.planning.packing.instances import Instances, check_each_fits
from streamgauge.planning.packing.meezan import CategoryRule, pack_by_meezan

MANY, FEW = 100, 6
# Every third job is held back by its routers.
ROUTER_EVERY = 3
ROUTER_PER_SECOND = 40_000.0
SHAPES = {Category.GENERAL: 4, Category.COMPUTE: 2, Category.MEMORY: 8}
SIZES = (2, 4, 8, 16, 32)
# Kalim 2020, figures 4.8 and 4.9: 10 spouts, 25 copies of each type, 75 minutes.
SPOUTS, COPIES = 10, 25
LONG_EFFORT = Effort(seconds=60.0, nodes=1_000_000, patterns=60_000, looks=2_000_000)
PUBLISHED = {
    "accident detection": (0.9, 0.7, 0.5),
    "accident notification": (0.9, 0.8, 0.7, 0.5),
    "advertising": (0.6, 0.5, 0.7, 0.4, 0.8, 0.3),
    "word count": (0.8, 0.9),
}


def run(*, large: bool) -> list[Entry]:
    """Random jobs, published sizes, and a large problem."""
    return [_compare(MANY if large else FEW), _published(), _large(1_000 if large else 200)]


def make_catalogue(router: float | None, sizes: tuple[int, ...] = SIZES) -> Catalogue:
    """Three families near price planes, in tenths of a cent."""
    machines = []
    for category, each in SHAPES.items():
        for size in sizes:
            price = round(0.031 * size + 0.0043 * each * size + 0.004, 3)
            machines.append(
                MachineType(
                    name=f"{category}-{size}",
                    category=category,
                    cores=size,
                    memory_bytes=each * size * GIBIBYTE,
                    price_per_hour=price,
                    router_per_second=router,
                    reserved_cores=0.1,
                    reserved_memory_bytes=GIBIBYTE / 2,
                )
            )
    return Catalogue(name="benchmark", machines=tuple(machines))


def make_job(seed: int, *, most: int = 20) -> Instances:
    """A chain of three to seven operators with shuffle between them."""
    generator = np.random.default_rng(seed)
    many = int(generator.integers(3, 8))
    sizes = generator.integers(1, most + 1, size=many).tolist()
    cores = generator.uniform(0.1, 0.95, size=many)
    if seed % ROUTER_EVERY == 0:
        cores = cores * 0.2
    memory = generator.choice([0.5, 1.0, 2.0, 4.0, 6.0], size=many)
    flow = 1000.0 * sizes[0] * np.cumprod(np.concatenate([[1.0], generator.uniform(0.5, 1.5, 9)]))
    return chain(sizes, cores.tolist(), memory.tolist(), flow.tolist())


def chain(
    sizes: list[int], cores: list[float], memory: list[float], flow: list[float]
) -> Instances:
    """Operators in a row; `flow` is what each sends on, in tuples per second."""
    names: list[str] = []
    needs: list[list[float]] = []
    starts: list[int] = []
    edges: dict[tuple[int, int], float] = {}
    for number, size in enumerate(sizes):
        starts.append(len(names))
        entering = flow[number - 1] / size if number else 0.0
        leaving = flow[number] / size if number < len(sizes) - 1 else 0.0
        names += [f"op{number}"] * size
        row = [cores[number], memory[number] * GIBIBYTE, 0.0, 0.0, entering + leaving]
        needs += [row] * size
    for number in range(len(sizes) - 1):
        each = flow[number] / (sizes[number] * sizes[number + 1])
        for one in range(sizes[number]):
            for other in range(sizes[number + 1]):
                edges[starts[number] + one, starts[number + 1] + other] = each
    return Instances.of(names, needs, edges)


def _compare(jobs: int) -> Entry:
    entry = Entry("packing", "random jobs: Meezan, ours and the proven bound")
    gaps, open_cases, cheaper, dearer = [], 0, 0, 0
    for seed, router in islice(_packable_seeds(), jobs):
        catalogue, instances = make_catalogue(router), make_job(seed)
        meezan = min(
            (pack_by_meezan(instances, catalogue, rule) for rule in CategoryRule),
            key=lambda plan: plan.price_per_hour,
        )
        ours = pack_cheaply(instances, catalogue)
        assert ours.proven is not None
        gaps.append(ours.price_per_hour / ours.proven - 1.0)
        is_open = meezan.price_per_hour > ours.proven * (1.0 + 1e-9)
        open_cases += is_open
        cheaper += is_open and ours.price_per_hour < meezan.price_per_hour - 1e-9
        dearer += ours.price_per_hour > meezan.price_per_hour + 1e-9
        entry.cases[f"job {seed}"] = {
            "instances": len(instances),
            "router_bound": router is not None,
            "meezan": meezan.price_per_hour,
            "ours": ours.price_per_hour,
            "bound": ours.proven,
        }
        say(f"job {seed}: gap {gaps[-1]:.2%}")
    entry.ratios.update(
        {
            "gap_median": float(np.median(gaps)),
            "gap_p95": float(np.percentile(gaps, 95)),
            "cheaper_where_meezan_is_not_optimal": cheaper / max(open_cases, 1),
            "dearer_than_meezan": dearer / jobs,
        }
    )
    return entry


def _packable_seeds() -> Iterator[tuple[int, float | None]]:
    """Jobs whose every instance some machine holds, with the routers of the machines."""
    for seed in count():
        router = ROUTER_PER_SECOND if seed % ROUTER_EVERY == 0 else None
        try:
            check_each_fits(make_job(seed), make_catalogue(router))
        except Infeasible:
            continue
        yield seed, router


def _published() -> Entry:
    """The exact program at published sizes; needs are not printed, and only mirrored."""
    entry = Entry("packing_exact", "the exact program, 10 spouts, 25 copies of each type, 60 s")
    for name, cores in PUBLISHED.items():
        sizes = [SPOUTS] + [SPOUTS * (1 + number % 2) for number in range(len(cores))]
        flow = [10_000.0 * 0.9**number for number in range(len(sizes))]
        instances = chain(sizes, [0.3, *cores], [1.0] * len(sizes), flow)
        began = time.perf_counter()
        plan = pack_exactly(
            instances, make_catalogue(ROUTER_PER_SECOND), COPIES, effort=LONG_EFFORT
        )
        assert plan.gap is not None
        entry.cases[name] = _describe(instances, time.perf_counter() - began) | {
            "price": plan.price_per_hour,
            "gap": plan.gap,
        }
    entry.ratios["worst_gap"] = max(case["gap"] for case in entry.cases.values())
    return entry


def _large(many: int) -> Entry:
    """Many instances of ten operators onto 60 types."""
    entry = Entry("packing_large", "instances onto 60 machine types")
    catalogue = make_catalogue(ROUTER_PER_SECOND, sizes=tuple(range(2, 42, 2)))
    generator = np.random.default_rng(0)
    sizes = [many // 10] * 10
    cores, memory = generator.uniform(0.1, 0.9, 10), generator.uniform(0.5, 4.0, 10)
    flow = (1000.0 * many / 10 * generator.uniform(0.5, 1.5, 10)).tolist()
    instances = chain(sizes, cores.tolist(), memory.tolist(), flow)
    for name, work in (("meezan", pack_by_meezan), ("ours", _pack_quickly)):
        began = time.perf_counter()
        plan = work(instances, catalogue)
        entry.cases[name] = _describe(instances, time.perf_counter() - began) | {
            "price": plan.price_per_hour,
            "gap": plan.gap,
        }
    return entry


def _pack_quickly(instances: Instances, catalogue: Catalogue) -> Any:
    return pack_cheaply(
        instances, catalogue, effort=Effort(rounds=60, nodes=100, patterns=500, looks=5_000)
    )


def _describe(instances: Instances, seconds: float) -> dict[str, Any]:
    return {"instances": len(instances), "kinds": len(instances.kinds), "seconds": seconds}
