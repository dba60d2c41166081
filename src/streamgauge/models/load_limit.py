"""Load: what the threads of a plan do to each other, what is overloaded, and the highest rate."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from streamgauge.models.cpu_contention import Contention, contention
from streamgauge.models.crowding import find_variation
from streamgauge.models.machine_threads import Machines, Threads, multiply
from streamgauge.models.parameters import Parameters
from streamgauge.models.processor_sharing import TOLERANCE
from streamgauge.models.service import ServiceTimes, stretch_service
from streamgauge.models.worker_cpu import (
    machine_of_worker,
    share_polling,
    sum_at,
    wake_sleepers,
)
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import OperatorKind
from streamgauge.topology.tuple_flow import TupleFlow
from streamgauge.topology.workload import Workload

Vector = NDArray[np.float64]

# The highest rate is found to this part of it.
PRECISION = 1e-3
# Part of what a machine can do at most beyond which executors hardly ever have room.
CROWDED = 0.95
# What carries so many times its load is not limited by anything that was measured.
HIGHEST = 1e9
# What a worker's transfer queue is called where it is full; then comes the worker's name.
TRANSFER_QUEUE = "the transfer queue of"
# The same of a machine's network card.
NETWORK_CARD = "the network card of"
# Logarithm of a factor that is far enough off.
FARTHEST = 100.0
# Executors that the interpolation of that rate aims to have this much too busy, or not busy enough.
AIM = PRECISION / 3.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Loaded:
    """What the load does to executors and machines.

    Attributes:
        contention: Of all threads: executors first, then the triggers of time windows.
        utilisation: Offered load of each executor; one and more: overloaded.
        transfer_load: Offered load of each worker's transfer queue, likewise.
        network_load: Offered load of each machine's network card, likewise.
        cores: By executor: that its tuples and its windows keep busy.
        waking: By executor: cores that it uses to wake up and find nothing.
        overloaded: What is overloaded, the worst first: executors, transfer queues, machines and
            their network cards, with their load.
        variation: Of each machine's crowd: the squared coefficient of variation of a factor by
            which all stretches there vary together.
        at_crowd: Service times where the stretch of each executor is multiplied by a factor.
    """

    contention: Contention
    service: ServiceTimes
    utilisation: Vector
    transfer_load: Vector
    network_load: Vector
    cores: Vector
    waking: Vector
    overloaded: Mapping[str, float]
    variation: Callable[[], Vector]
    at_crowd: Callable[[Vector], ServiceTimes]


def load(
    parameters: Parameters,
    factor: float = 1.0,
    *,
    near: Loaded | None = None,
    tolerance: float = TOLERANCE,
) -> Loaded:
    """What the threads of a plan do to each other, with all rates `factor` times as high.

    `near` is what was found for a factor that is not far off: where to begin. Stretches may be
    wrong by the part `tolerance`.
    """
    if factor != 1.0 and not parameters.is_linear:
        parameters, factor = parameters.rescaled(factor), 1.0
    flow, works, plan = parameters.flow, parameters.works, parameters.flow.plan
    machine, on_thread = machine_of_executor(plan), fires_on_thread(flow)
    tuples, triggers = works.tuples, works.triggers
    rate = factor * tuples.per_second
    # Windows by count fire more often with more tuples, those by time do not.
    fired = np.where(on_thread, factor, 1.0) * triggers.per_second
    share = np.divide(fired, rate, out=np.zeros_like(rate), where=on_thread & (rate > 0.0))
    alone = np.flatnonzero(~on_thread & (fired > 0.0))
    threads = Threads(
        machine=np.concatenate([machine, machine[alone]]),
        rate=np.concatenate([rate, fired[alone]]),
        cpu_seconds=np.concatenate([tuples.cpu + share * triggers.cpu, triggers.cpu[alone]]),
        wait_seconds=np.concatenate([tuples.wait + share * triggers.wait, triggers.wait[alone]]),
        polls=np.concatenate([mark_bolts(flow), np.zeros(len(alone), dtype=bool)]),
    )
    machines, waking = find_machines(parameters, factor)
    shared = contention(
        threads,
        machines,
        parameters.mechanics,
        near=None if near is None else near.contention,
        tolerance=tolerance,
    )
    stretch = shared.stretch[: len(rate)]
    trigger_stretch = stretch.copy()
    trigger_stretch[alone] = shared.stretch[len(rate) :]
    service = stretch_service(works, stretch, trigger_stretch)
    cores = shared.used_cores[: len(rate)].copy()
    cores[alone] += shared.used_cores[len(rate) :]
    utilisation = multiply(rate, service.mean) + np.where(
        on_thread, multiply(fired, service.trigger_mean), 0.0
    )
    transfer_load = factor * parameters.transfer_load()
    network_load = factor * parameters.network_load()
    worst = _overloaded(plan, shared, threads, utilisation, machines)
    worst |= _held_up(plan, transfer_load, network_load)
    return Loaded(
        contention=shared,
        service=service,
        utilisation=utilisation,
        transfer_load=transfer_load,
        network_load=network_load,
        cores=cores,
        waking=waking,
        overloaded=dict(sorted(worst.items(), key=lambda one: -one[1])),
        variation=lambda: find_variation(threads, machines, shared),
        at_crowd=lambda factor: stretch_service(works, stretch * factor, trigger_stretch * factor),
    )


def find_machines(parameters: Parameters, factor: float = 1.0) -> tuple[Machines, Vector]:
    """The machines of a plan with what the engine itself takes of them, all rates so much higher.

    And by executor the cores of it that go to waking up.
    """
    plan = parameters.flow.plan
    machine = machine_of_executor(plan)
    waking = wake_sleepers(
        parameters.works, parameters.mechanics, mark_bolts(parameters.flow), machine, factor
    )
    count = len(plan.cluster.machines)
    engine = sum_at(machine_of_worker(plan), parameters.engine.cores(factor), count)
    engine += sum_at(machine, waking, count)
    machines = Machines.of(plan.cluster, parameters.behaviour.balance_ms)
    return replace(machines, engine_cores=engine), waking


def find_polling(parameters: Parameters, loaded: Loaded) -> Vector:
    """Cores by executor that it uses to poll."""
    polling = loaded.contention.polling_cores
    return share_polling(parameters, loaded.utilisation, polling, mark_bolts(parameters.flow))


def machine_of_executor(plan: PhysicalPlan) -> NDArray[np.int64]:
    """The place of each executor's machine in the cluster."""
    return machine_of_worker(plan)[np.asarray(plan.placement, dtype=np.intp)]


def is_bolt(flow: TupleFlow, operator: str) -> bool:
    """Whether an operator's threads wait for tuples."""
    return flow.plan.logical.topology.operator(operator).kind is not OperatorKind.SOURCE


def mark_bolts(flow: TupleFlow) -> NDArray[np.bool_]:
    """Which executors are fed by others."""
    operators = flow.plan.logical.operators_by_executor
    return np.asarray([one.kind is not OperatorKind.SOURCE for one in operators])


def fires_on_thread(flow: TupleFlow) -> NDArray[np.bool_]:
    """Whether an executor's windows fire by count, and so on its own thread."""
    windows = [one.window for one in flow.plan.logical.operators_by_executor]
    return np.asarray([one is not None and one.slide_tuples is not None for one in windows])


def _overloaded(
    plan: PhysicalPlan,
    shared: Contention,
    threads: Threads,
    utilisation: Vector,
    machines: Machines,
) -> dict[str, float]:
    """Machines, and executors that have too much to do with what they get of one."""
    wanted = sum_at(threads.machine, threads.rate * threads.cpu_seconds, len(machines.cores))
    worst = {
        plan.cluster.machines[index].name: _ratio(float(wanted[index]), float(machines.free[index]))
        for index in shared.overloaded_machines
    }
    # Executors of such a machine are as slow as it is, and say nothing of themselves.
    crowded = shared.overloaded[threads.machine[: len(utilisation)]]
    for index in np.flatnonzero((utilisation >= 1.0) & ~crowded).tolist():
        worst[plan.logical.executors[index].label] = float(utilisation[index])
    return worst


def _held_up(plan: PhysicalPlan, transfer_load: Vector, network_load: Vector) -> dict[str, float]:
    """Transfer queues and network cards that cannot take what is to be sent."""
    queues = [f"{TRANSFER_QUEUE} {worker}" for worker in plan.workers]
    cards = [f"{NETWORK_CARD} {machine.name}" for machine in plan.cluster.machines]
    loads = [*transfer_load.tolist(), *network_load.tolist()]
    named = zip([*queues, *cards], loads, strict=True)
    return {name: load for name, load in named if load >= 1.0}


def _ratio(wanted: float, free: float) -> float:
    """Load of a machine; without a free core any is too much."""
    return wanted / free if free > 0.0 else math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """How much more of the same load a plan would carry.

    Attributes:
        factor: By which all rates may grow, or must shrink; infinite where nothing limits them,
            NaN where it was not looked for.
        per_second: What all sources then emit together.
        by: What would be overloaded first: an executor, a machine, its network card, a transfer
            queue, or a source's limit on open roots.
    """

    factor: float
    per_second: float
    by: str

    @classmethod
    def unknown(cls) -> Limit:
        """It was not looked for."""
        return cls(factor=math.nan, per_second=math.nan, by="")


def find_limit(parameters: Parameters, workload: Workload, loaded: Loaded | None = None) -> Limit:
    """The highest multiple of the load that fits; and what then overloads first.

    No more than every thread could do with a core to itself, and every machine with its threads
    never idle; where threads get in each other's way it is less. The busiest thread's
    utilisation is nearly a power of the rate, which tells where to look next.
    """
    emitted = sum(one.per_second or 0.0 for one in workload.emissions)
    threads, machines = _bounds(parameters)
    bound = min(threads, machines)
    if math.isinf(bound):
        return Limit(factor=math.inf, per_second=math.inf, by="nothing")
    if bound <= 0.0:
        by = next(iter(load(parameters).overloaded), "nothing")
        return Limit(factor=0.0, per_second=0.0, by=by)
    low, high = 0.0, bound * (1.0 + PRECISION)
    seen = {} if loaded is None else {1.0: loaded}
    # A thread may be alone and come up to its bound; machines do not, and near it are slow work.
    asked = min(threads * (1.0 - PRECISION), machines * CROWDED)
    if not parameters.is_linear:
        # What happens by time leaves room for more than that.
        high, asked = math.inf, 1.0
    while True:
        if asked not in seen:
            nearest = min(seen, key=lambda one: abs(math.log(one / asked)), default=None)
            seen[asked] = load(
                parameters,
                asked,
                near=None if nearest is None else seen[nearest],
                tolerance=PRECISION / 10.0,
            )
        if seen[asked].overloaded:
            high = min(high, asked)
        else:
            low = max(low, asked)
        # What does not fit at a thousandth of the bound does not fit at all: windows by time,
        # or others, keep the machine busy whatever the sources do.
        near = math.isfinite(high) and high - low <= 2.0 * PRECISION * high
        if near or high <= PRECISION * min(bound, 1.0):
            break
        if low > HIGHEST:
            return Limit(factor=math.inf, per_second=math.inf, by="nothing")
        asked = find_between(
            low, high, {at: _busiest(load_there) for at, load_there in seen.items()}
        )
    by = next(iter((seen.get(high) or load(parameters, high)).overloaded), "nothing")
    return Limit(factor=low, per_second=low * emitted, by=by)


def _busiest(loaded: Loaded) -> float:
    """Utilisation of the busiest thread; infinite with a machine that is overloaded."""
    if loaded.contention.overloaded.any():
        return math.inf
    loads = (loaded.utilisation, loaded.transfer_load, loaded.network_load)
    return max(float(one.max(initial=0.0)) for one in loads)


def find_between(low: float, high: float, busiest: Mapping[float, float]) -> float:
    """Where to look between a factor that fits and one that does not.

    Where the straight line through the logarithms of two known factors and utilisations meets one;
    a little before if that is nearer to the factor that does not fit, a little behind else.
    """
    known = sorted(
        (one for one, busy in busiest.items() if 0.0 < busy < math.inf),
        key=lambda one: abs(math.log(busiest[one])),
    )[:2]
    # The middle of a range from nothing, or to no end, is found by its order.
    middle = math.sqrt(low * high) if low > 0.0 else high / 10.0
    if math.isinf(high):
        middle = 10.0 * low
    if len(known) == 2:
        first, second = (math.log(busiest[one]) for one in known)
        if first != second:
            slope = math.log(known[0] / known[1]) / (first - second)
            # Where it hardly depends on the rate the line leads anywhere.
            guess = known[0] * math.exp(min(-slope * first, FARTHEST))
            if low < guess < high:
                aside = -AIM if guess * guess > low * high else AIM
                guess *= 1.0 + aside
                # At an end it would say next to nothing.
                if low * (1.0 + AIM) < guess < high * (1.0 - AIM):
                    return guess
    return middle


def _bounds(parameters: Parameters) -> tuple[float, float]:
    """Factors that nothing can exceed: for a thread's time, and for a machine's cores."""
    plan, works = parameters.flow.plan, parameters.works
    on_thread = fires_on_thread(parameters.flow)
    tuples, triggers = works.tuples, works.triggers
    fired = np.where(on_thread, triggers.per_second, 0.0)
    busy = tuples.per_second * (tuples.cpu + tuples.wait) + fired * (triggers.cpu + triggers.wait)
    cores = tuples.per_second * tuples.cpu + fired * triggers.cpu
    count = len(plan.cluster.machines)
    wanted = sum_at(machine_of_executor(plan), cores, count)
    fixed, all_of_it = (
        sum_at(machine_of_worker(plan), parameters.engine.cores(factor), count)
        for factor in (0.0, 1.0)
    )
    wanted += all_of_it - fixed
    free = np.maximum(Machines.of(plan.cluster).free - fixed, 0.0)
    busiest = np.concatenate([busy, parameters.transfer_load(), parameters.network_load()])
    with np.errstate(divide="ignore"):
        return float((1.0 / busiest).min()), float(
            (free / wanted)[wanted > 0.0].min(initial=np.inf)
        )
