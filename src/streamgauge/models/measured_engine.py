"""What the engine cost where a profile was measured: figures for the regression of `engine_costs`.

Beside its work an executor's thread handles tuples and waits for them. Beside its executors'
threads a worker sends, receives, collects garbage and keeps time. CPU times are measured; work,
rates, messages between workers and polling are those that models find for the measured plan.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from streamgauge.errors import InvalidInput, NotEnoughData
from streamgauge.models.engine_costs import Seen, fit_costs, guess_costs
from streamgauge.models.job_behaviour import (
    HANDLING,
    CostEstimates,
    JobBehaviour,
    OperatorBehaviour,
    Origin,
)
from streamgauge.models.load_limit import Loaded, find_polling, load
from streamgauge.models.measured_plan import (
    SECONDS_PER_MS,
    match_executors,
    measured_plan,
    measured_workload,
)
from streamgauge.models.parameters import Parameters, find_parameters
from streamgauge.models.worker_cpu import count_handled
from streamgauge.profile.figures import ExecutorFigures, Figure, WorkerFigures
from streamgauge.profile.profile import Profile
from streamgauge.transport.costs import Cost, EngineCosts
from streamgauge.transport.engine import load_engine

# Threads that cost the same in the model differ by about this part of it in reality.
UNLIKE = 0.1
# Cores that cannot be told from none,
LEAST = 1e-4
# and the part of a sum that is rounding: what adds up so well leaves nothing, as in an emulator.
ROUNDING = 1e-6
# How many times as unsure one is of what handling costs operators whose own times are not known.
UNTIMED = 20.0
# Costs of threads that move messages; of those that collect garbage; of all others.
MOVING = ("network_cores", "sent_seconds", "received_seconds")
COLLECTING = ("executed_seconds",)
STAYING = ("worker_cores",)


NOT_COUNTED = "the profile has no workers: CPU time of the engine itself is left out"
NOT_MEASURED = (
    "CPU time of the engine itself was not measured: usual figures of the engine are used"
)


def learn_costs(behaviour: JobBehaviour, profile: Profile) -> tuple[CostEstimates, str]:
    """What the engine costs, and a note where the profile does not tell."""
    if not profile.workers:
        return CostEstimates(), NOT_COUNTED
    configuration = profile.configuration
    record = load_engine(configuration.engine).mechanics(configuration.settings).costs
    guess = guess_costs(
        record, {name: _guess_handling(record, one) for name, one in behaviour.operators.items()}
    )
    try:
        plan, workload = measured_plan(profile), measured_workload(profile)
        parameters = find_parameters(replace(behaviour, costs=guess), plan, workload)
        labels = match_executors(profile.placement, plan.logical)
    except (InvalidInput, NotEnoughData):
        return guess, NOT_MEASURED
    loaded = load(parameters)
    executors = [profile.executors.get(label) for label in labels]
    seen = [
        *_see_executors(parameters, loaded, executors),
        *_see_workers(parameters, loaded, executors, profile),
    ]
    return (fit_costs(guess, seen), "") if seen else (guess, NOT_MEASURED)


def _guess_handling(record: EngineCosts, operator: OperatorBehaviour) -> Cost:
    """Whoever has no time of its own, as sources seen from outside, may spend any in its thread."""
    cost = record.handled_seconds
    services = [operator.emit, *(one.service for one in operator.inputs.values())]
    is_timed = any(one.mean_ms > 0.0 for one in services)
    return cost if is_timed else Cost(cost.mean, UNTIMED * cost.deviation)


def _see_executors(
    parameters: Parameters, loaded: Loaded, executors: list[ExecutorFigures | None]
) -> Iterator[Seen]:
    """What executors' threads used beyond the work of the job's own code."""
    plan = parameters.flow.plan
    polling = find_polling(parameters, loaded)
    handled = count_handled(parameters)
    for index, (executor, figures) in enumerate(
        zip(plan.logical.executors, executors, strict=True)
    ):
        if figures is None or figures.cores is None or not _is_timed(parameters, executor.operator):
            continue
        idle = {"polling": float(polling[index]), "waking": float(loaded.waking[index])}
        name = parameters.engine.costs.name_handling(executor.operator)
        handling = {name: float(handled[index])}
        beyond = figures.cores.value - float(loaded.contention.used_cores[index])
        if figures.idle_cores is None:
            yield _see(figures.cores, beyond, idle | handling)
        else:
            noise = figures.idle_cores.standard_error or 0.0
            yield _see(figures.idle_cores, figures.idle_cores.value, idle, noise)
            yield _see(figures.cores, beyond - figures.idle_cores.value, handling)


def _is_timed(parameters: Parameters, operator: str) -> bool:
    """Whether the work of an operator is CPU time that was measured, or none."""
    own = parameters.behaviour.operators.get(operator)
    if own is None:
        return False
    services = [own.emit, *(one.service for one in own.inputs.values())]
    times = [service.cpu.mean_ms for service in services]
    return all(one.origin is Origin.MEASURED or float(one) == 0.0 for one in times)


def _see_workers(
    parameters: Parameters,
    loaded: Loaded,
    executors: list[ExecutorFigures | None],
    profile: Profile,
) -> Iterator[Seen]:
    """What workers used beyond their executors' threads and those of windows."""
    plan, names = parameters.flow.plan, parameters.engine.costs.names
    amounts = parameters.engine.fixed + parameters.engine.growing
    # Windows by time fire on threads of their own.
    windows = loaded.cores - loaded.contention.used_cores[: len(loaded.cores)]
    for index, slot in enumerate(plan.workers):
        figures = profile.workers.get(str(slot))
        here = [place for place, worker in enumerate(plan.placement) if worker == index]
        known = [executors[place] for place in here]
        cores = [one.cores.value for one in known if one is not None and one.cores is not None]
        if figures is None or figures.cores is None or len(cores) < len(here):
            continue
        made_of = {
            name: float(amount)
            for name, amount in zip(names, amounts[index], strict=True)
            if amount > 0.0 and not name.startswith(HANDLING)
        }
        fired = figures.window_cores
        rest = figures.cores.value - math.fsum(cores)
        rest -= float(windows[here].sum()) if fired is None else fired.value
        yield from _see_groups(figures, figures.cores, rest, made_of)
        yield from _see_growth(figures, made_of)


def _see_groups(
    figures: WorkerFigures, cores: Figure, rest: float, made_of: dict[str, float]
) -> Iterator[Seen]:
    """The rest of a worker, by groups of threads where all were measured."""

    def only(names: tuple[str, ...]) -> dict[str, float]:
        return {name: made_of[name] for name in names if name in made_of}

    transfer, network, collector = figures.transfer_cores, figures.network_cores, figures.gc_cores
    if transfer is None or network is None or collector is None:
        yield _see(cores, rest, made_of)
        return
    moving = transfer.value + network.value
    yield _see(network, moving, only(MOVING))
    yield _see(collector, collector.value, only(COLLECTING))
    yield _see(cores, rest - moving - collector.value, only(STAYING))


def _see_growth(figures: WorkerFigures, made_of: dict[str, float]) -> Iterator[Seen]:
    """What a tuple more cost, where there were times with more and with fewer.

    All that grows did so together: so much of each cost comes with a tuple that is executed.
    """
    slope, executed = figures.engine_ms_per_tuple, made_of.get("executed_seconds", 0.0)
    if slope is not None and slope.standard_error and executed > 0.0:
        yield Seen(
            figure=slope.value * SECONDS_PER_MS,
            error=slope.standard_error * SECONDS_PER_MS,
            made_of={
                name: amount / executed
                for name, amount in made_of.items()
                if name.endswith("_seconds")
            },
        )


def _see(figure: Figure, value: float, made_of: dict[str, float], noise: float = 0.0) -> Seen:
    """Part of a figure, and of what it is made up.

    A figure's own standard error is left out unless given: over minutes CPU time is known better
    than by `UNLIKE`, and where load changed, its error is mostly that of the load.
    """
    error = ROUNDING * max(figure.value, LEAST)
    if abs(value) > error:
        error = math.hypot(noise, UNLIKE * value, LEAST)
    return Seen(figure=value, error=error, made_of=made_of)
