"""The word count of Pagliari 2021, section 3.5, as the example jobs describe it."""

import math
from dataclasses import replace
from pathlib import Path

from streamgauge.planning.scheduling.contract import PlacementRequest, Schedule, load_scheduler
from streamgauge.planning.scheduling.packing import Needs
from streamgauge.profile.files.jobs import load_job
from streamgauge.profile.job import Job
from streamgauge.topology import ACKER
from streamgauge.topology.physical_plan import PhysicalPlan

EXAMPLES = Path(__file__).parents[3] / "examples"
LARGE = load_job(EXAMPLES / "word-count-top-3-large.yaml")
SMALL = load_job(EXAMPLES / "word-count-top-3-small.yaml")
LARGE_STEPS = tuple(LARGE.steps)
SMALL_STEPS = tuple(SMALL.steps)


def at(step: str) -> Job:
    """The job of Table 3.1 or 3.2 with the needs of a row."""
    return LARGE.at_step(step) if step in LARGE.steps else SMALL.at_step(step)


def scheduled(scheduler: str, job: Job, **changes) -> Schedule:
    configuration = replace(job.configuration, **changes)
    made = load_scheduler(scheduler, configuration)
    return made.schedule(PlacementRequest(job.topology, configuration, job.cluster))


def figures(plan: PhysicalPlan) -> tuple[int, int, int]:
    """Workers, nodes and ackers: the columns of the tables."""
    return len(plan.workers), len(plan.nodes), len(plan.logical.spans.get(ACKER, ()))


def acker_counts(plan: PhysicalPlan) -> list[int]:
    """Ackers of every worker."""
    workers = plan.executors_by_worker.values()
    return [sum(one.operator == ACKER for one in executors) for executors in workers]


def of_the_job(plan: PhysicalPlan) -> dict[tuple[str, int], str]:
    """The worker of every executor that is no acker, by operator and place."""
    return {
        (name, place): str(plan.workers[plan.placement[index]])
        for name, span in plan.logical.spans.items()
        if name != ACKER
        for place, index in enumerate(span)
    }


def estimate_ackers(executors: int, needs: Needs, *, node_cores: float, heap_bytes: float) -> int:
    """Nodes × workers of a full node, where all executors need the same and all nodes are alike.

    Pagliari 2021, section 3.4, gives it in words. It is an upper estimate, as the last node may be
    partly filled, and the memory of a node is no part of it.
    """
    per_node = math.floor(node_cores / needs.cores + 1e-9)
    per_worker = math.floor(heap_bytes / needs.memory_bytes + 1e-9)
    return math.ceil(executors / per_node) * math.ceil(per_node / per_worker)
