"""The sweep file: a job, plans as grid, list or random draws, rates, models, replicas."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field

from streamgauge.errors import InvalidInput
from streamgauge.models.cost_job import CostConstants
from streamgauge.models.dealt_plans import DealtPlan
from streamgauge.models.files.cost_file import load_constants
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.planning.sweeping.sweep import (
    COST,
    PAPER_COUNTS,
    PAPER_NODES,
    NodeKind,
    Sweep,
    SweptPlans,
    draw_plans,
    list_grid,
)
from streamgauge.plugins import MODELS, check_plugin
from streamgauge.profile.files.jobs import job_to_data
from streamgauge.profile.job import Job
from streamgauge.topology.files.document import Document, read_document
from streamgauge.topology.files.file_model import FileModel, list_keys, to_plain, validate
from streamgauge.topology.topology import Topology

# From a job's or a profile's path to the job under its load, and to what its operators do, by
# replica. Loading is the rim's business.
LoadJob = Callable[[Path, str | None, int], tuple[Job, tuple[JobBehaviour, ...]]]


class GridFile(FileModel):
    """Every combination of these."""

    nodes: list[int]
    executors: dict[str, list[int]]
    workers: list[int] = Field(description="on each node")


class RandomFile(FileModel):
    """Plans with numbers drawn from ranges, both ends included."""

    count: int
    seed: int = 1
    nodes: list[int] = Field(min_length=2, max_length=2)
    executors: dict[str, list[int]]
    workers: list[int] = Field(min_length=2, max_length=2, description="on each node")


class PlansFile(FileModel):
    """Plans; all that are named here together, each once."""

    grid: GridFile | None = None
    random: RandomFile | None = None
    listed: list[str] = Field(default=[], alias="list")
    paper: bool = Field(default=False, description="the grid of Bedini et al. 2013, section 4.3")


class RangeFile(FileModel):
    """So many rates, equally far apart."""

    first: float = Field(alias="from")
    last: float = Field(alias="to")
    steps: int


class NodeFile(FileModel):
    """What every node is."""

    cores: float = 1.0
    network_gbit_per_second: float | None = None
    latency_ms: float = 0.0
    price: float = 1.0
    worker_price: float = 0.0


class SweepFile(FileModel):
    """A sweep."""

    streamgauge: Literal[1]
    sweep: str
    about: str = ""
    job: str = Field(description="a job's file, or a profile's")
    step: str | None = None
    plans: PlansFile
    rates: list[float] | RangeFile
    models: list[str] = [COST]
    replicas: int = 1
    node: NodeFile = NodeFile()
    constants: str | None = None


def load_sweep(path: str | Path, load_job: LoadJob) -> Sweep:
    """The sweep that a file describes.

    Raises:
        UnreadableFile: The file, or one that it names, is no document.
        InvalidInput: What it says cannot be; every problem with its line.
    """
    document = read_document(path)
    if "sweep" not in document.data:
        raise InvalidInput.single(
            (),
            file=document.name,
            seen="a file without the sweep's name",
            expected="streamgauge: 1 and sweep: NAME at the top",
        )
    with _located(document):
        file: SweepFile = validate(SweepFile, document.data, _known_keys)
        folder = document.folder or Path()
        for place, model in enumerate(file.models):
            if model != COST:
                check_plugin(MODELS, model, ("models", place))
        if file.replicas < 1:
            raise InvalidInput.single(
                ("replicas",), seen=str(file.replicas), expected="one or more"
            )
    job, behaviours = load_job(folder / file.job, file.step, file.replicas)
    constants = CostConstants()
    if file.constants is not None:
        constants = load_constants(folder / file.constants, job.topology)
    with _located(document):
        plans = _list_plans(file.plans, job.topology)
        return Sweep(
            name=file.sweep,
            about=file.about,
            job=job,
            behaviours=behaviours,
            plans=plans,
            rates=_list_rates(file.rates),
            models=tuple(file.models),
            node=NodeKind(**file.node.model_dump()),
            constants=constants,
            described=_describe(file, job, constants),
        )


@contextmanager
def _located(document: Document) -> Any:
    try:
        yield
    except InvalidInput as error:
        raise document.locate_error(error) from None


def _list_rates(rates: list[float] | RangeFile) -> tuple[float, ...]:
    if isinstance(rates, RangeFile):
        if rates.steps < 1:
            raise InvalidInput.single(
                ("rates", "steps"), seen=str(rates.steps), expected="one or more"
            )
        return tuple(np.linspace(rates.first, rates.last, rates.steps).tolist())
    return tuple(rates)


def _list_plans(file: PlansFile, topology: Topology) -> SweptPlans:
    operators = [operator.name for operator in topology.operators]
    plans: list[DealtPlan] = []
    if file.grid is not None:
        executors = _by_operator(file.grid.executors, operators, "grid", [1])
        plans += list_grid(file.grid.nodes, executors, file.grid.workers)
    if file.paper:
        plans += list_grid(PAPER_NODES, [PAPER_COUNTS] * len(operators), PAPER_COUNTS)
    if file.random is not None:
        drawn = file.random
        spans = _by_operator(drawn.executors, operators, "random", [1, 1])
        for place, span in enumerate(spans):
            if len(span) != 2:
                raise InvalidInput.single(
                    ("plans", "random", "executors", operators[place]),
                    seen=f"{len(span)} numbers",
                    expected="the least and the most",
                )
        plans += draw_plans(
            drawn.count,
            drawn.seed,
            (drawn.nodes[0], drawn.nodes[1]),
            [(span[0], span[1]) for span in spans],
            (drawn.workers[0], drawn.workers[1]),
        )
    for place, text in enumerate(file.listed):
        plan = DealtPlan.parse(text)
        if len(plan.executors) != len(operators):
            raise InvalidInput.single(
                ("plans", "list", place),
                seen=f"{plan}, with executors of {len(plan.executors)} operators",
                expected=f"executors of {', '.join(operators)}, in this order",
            )
        plans.append(plan)
    if not plans:
        raise InvalidInput.single(
            ("plans",), seen="no plan", expected="a grid, a list, random plans, or the paper's"
        )
    return SweptPlans.of(plans)


def _by_operator(
    given: Mapping[str, list[int]], operators: list[str], kind: str, missing: list[int]
) -> list[list[int]]:
    for name in given:
        if name not in operators:
            raise InvalidInput.single(
                ("plans", kind, "executors", name),
                seen=f"unknown operator {name!r}",
                expected=f"one of {', '.join(operators)}",
            )
    return [given.get(name, missing) for name in operators]


def _describe(file: SweepFile, job: Job, constants: CostConstants) -> dict[str, Any]:
    """Everything that results depend on; what files that are named say, too."""
    described = file.model_dump(by_alias=True, exclude={"about", "job", "constants"})
    types = {str(key): asdict(one) for key, one in constants.types.items()}
    plain = {
        name: to_plain(getattr(constants, name))
        for name in ("groupings", "transport", "transport_serialises", "raw_bytes")
    }
    described["job"] = job_to_data(job)
    described["constants"] = {"types": types, **plain, "latency": list(constants.latency)}
    found: dict[str, Any] = to_plain(described)
    return found


@cache
def _known_keys() -> tuple[str, ...]:
    return tuple(list_keys(SweepFile.model_json_schema(by_alias=True)))
