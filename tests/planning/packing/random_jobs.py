"""Random jobs and small catalogues for tests of packing."""

import numpy as np

from streamgauge.planning.packing.catalogue import GIBIBYTE, Catalogue, Category, MachineType
from streamgauge.planning.packing.instances import Instances

SHAPES = {Category.GENERAL: 4, Category.COMPUTE: 2, Category.MEMORY: 8}


def machine(
    name: str,
    category: Category,
    cores: float,
    gib: float,
    price: float,
    router: float | None = None,
) -> MachineType:
    return MachineType(
        name=name,
        category=category,
        cores=cores,
        memory_bytes=gib * GIBIBYTE,
        price_per_hour=price,
        router_per_second=router,
    )


def make_catalogue(
    router: float | None = None, sizes: tuple[int, ...] = (2, 4, 8, 16)
) -> Catalogue:
    """Three families; prices near a plane, in tenths of a cent."""
    machines = []
    for category, each in SHAPES.items():
        for size in sizes:
            price = round(0.031 * size + 0.0043 * each * size + 0.004, 3)
            limit = None if router is None else router
            machines.append(
                machine(f"{category}-{size}", category, size, each * size, price, limit)
            )
    return Catalogue(name="small", machines=tuple(machines))


def make_job(
    seed: int, *, operators: int = 4, most: int = 6, router_bound: bool = False
) -> Instances:
    """A chain of operators with shuffle between them; rates add up from source to sink."""
    generator = np.random.default_rng(seed)
    sizes = generator.integers(1, most + 1, size=operators)
    rate, names, needs, starts = 1000.0 * sizes[0], [], [], []
    flows = [rate]
    for _ in range(operators):
        rate *= float(generator.uniform(0.5, 1.5))
        flows.append(rate)
    for number, size in enumerate(sizes.tolist()):
        starts.append(len(names))
        cores = float(generator.uniform(0.1, 0.95)) * (0.2 if router_bound else 1.0)
        gib = float(generator.choice([0.5, 1.0, 2.0, 4.0, 6.0]))
        entering = 0.0 if number == 0 else flows[number] / size
        leaving = flows[number + 1] / size if number < operators - 1 else 0.0
        for _ in range(size):
            names.append(f"op{number}")
            needs.append([cores, gib * GIBIBYTE, 0.0, 0.0, entering + leaving])
    edges = {}
    for number in range(operators - 1):
        many, next_many = int(sizes[number]), int(sizes[number + 1])
        each = flows[number + 1] / (many * next_many)
        for one in range(many):
            for other in range(next_many):
                edges[starts[number] + one, starts[number + 1] + other] = each
    return Instances.of(names, needs, edges)
