"""Storm-Tracer: the chain of Cooper 2020 for Storm 1.x, as it was published.

List sizes, executors behind flushed batches, send and transfer threads, windows, ways: sections
4.12 and 4.13 and Appendix B. Means only, and no machine is ever crowded.

Two of its errors make up for each other within a worker and are kept (`storm-tracer` 8, flaws 1 and
10): flushes come at random, so that a batch waits for a whole interval and not for half of one,
and the delays of threads vanish at low rates. Repaired are those that nobody would repeat: lists
hold whole tuples, maps count by their number, ways by the product of their shares, and a window
belongs to a task. The chain of an executor is solved, not simulated.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from streamgauge.errors import Infeasible, InternalError, InvalidInput
from streamgauge.models import transforms
from streamgauge.models.batching import Connections, ListSizes, list_sizes
from streamgauge.models.chained import split_chains
from streamgauge.models.delays import DelayLevels, Delays, Part
from streamgauge.models.end_to_end_latency import Latency
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.load_limit import Loaded, is_bolt
from streamgauge.models.parameters import Parameters, find_parameters
from streamgauge.models.plan_check import check_case
from streamgauge.models.prediction import Prediction, assemble
from streamgauge.models.queueing import Moments, divide_or
from streamgauge.models.transforms import Transform, Vector
from streamgauge.models.uncontended import single_servers, uncontended_limit, uncontended_load
from streamgauge.topology.configuration import Configuration
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import Operator, Topology
from streamgauge.topology.tuple_flow import as_slice
from streamgauge.topology.workload import Workload
from streamgauge.transport.batched_queue import BatchedQueue, Flush, Sojourn
from streamgauge.transport.engine import load_engine

Matrix = NDArray[np.float64]

# What takes no time takes this: a server needs some, and no clock shows it.
LEAST_SERVICE = 1e-9
# Phases of the batch below this probability change no digit shown.
NEGLIGIBLE = 1e-15
MAX_ITERATIONS = 100_000


class StormTracerModel:
    """The published model for Storm 1.x, to see what has been added to it since."""

    name = "storm-tracer"

    def describe(self) -> str:
        """One sentence on what it looks at."""
        return "the chain of Cooper 2020 for Storm 1.x as published: batches and queues, means only"

    @split_chains
    def predict(
        self, behaviour: JobBehaviour, plan: PhysicalPlan, workload: Workload
    ) -> Prediction:
        """How the job would behave on `plan` under `workload`."""
        check_case(behaviour, plan, workload)
        _check_send_threads(plan.logical.configuration)
        _check_windows(plan.logical.topology)
        found = find_parameters(behaviour, plan, workload)
        note = f"the model {self.name} leaves out shared cores and bursts, and knows means only"
        parameters = replace(found, notes=(*found.notes, note))
        stations = single_servers(parameters)
        loaded = uncontended_load(parameters, stations)
        delays = storm_tracer_delays(parameters, loaded)
        limit = uncontended_limit(parameters, workload, stations)
        prediction = assemble(self.name, parameters, loaded, DelayLevels.single(delays), limit)
        return replace(
            prediction,
            latency=_mean_only(prediction.latency),
            by_source={name: _mean_only(one) for name, one in prediction.by_source.items()},
        )


def _check_send_threads(configuration: Configuration) -> None:
    if not load_engine(configuration.engine).mechanics(configuration.settings).send_threads:
        raise InvalidInput.single(
            ("configuration", "engine"),
            seen=f"engine {configuration.engine!r}",
            expected="an engine whose executors have send threads, as in Storm 1.x",
            remedy="use another model",
        )


def _check_windows(topology: Topology) -> None:
    for operator in topology.operators:
        if operator.window is not None and not operator.window.is_tumbling:
            raise InvalidInput.single(
                ("topology", "operators", operator.name, "window"),
                seen="a window that slides",
                expected="windows that tumble, the only ones that Storm-Tracer knows",
                remedy="use another model",
            )


def _mean_only(latency: Latency) -> Latency:
    return replace(latency, variance=math.nan, quantiles={})


def storm_tracer_delays(parameters: Parameters, loaded: Loaded) -> Delays:
    """Mean delays in a plan; a transform is that of a constant, and there is no spread."""
    mechanics = parameters.mechanics
    limit, flush_seconds = mechanics.batch, mechanics.flush_seconds
    sizes = list_sizes(
        list_connections(parameters),
        limit=limit,
        flush_seconds=flush_seconds,
        list_mean=lambda batch, share: np.maximum(batch * share, 1.0),  # eq. 4.26
    )
    batching, waiting = _executors(parameters, loaded, sizes)
    service, windows = loaded.service.mean, _windows(parameters, loaded)
    send = thread_wait(sizes.connections.output_rate, limit=limit, flush_seconds=flush_seconds)
    transfer = thread_wait(sizes.map_rate, limit=limit, flush_seconds=flush_seconds)
    finite = np.where(np.isfinite(waiting), waiting, 0.0)
    return Delays(
        executors={
            Part.BATCHING: batching,
            Part.QUEUEING: waiting,
            Part.SERVICE: service,
            Part.WINDOW: windows,
        },
        spread=np.zeros_like(service),
        executor_transform=_constant(batching + finite + service + windows),
        send=_certain(send),
        send_transform=_constant(send),
        transfer=_certain(transfer),
        transfer_transform=_constant(transfer),
        utilisation=loaded.utilisation,
    )


def thread_wait(rate: ArrayLike, *, limit: int, flush_seconds: float) -> Vector:
    """Mean wait for a send or transfer thread: half a delivery interval, as printed.

    Eq. 4.35 and 4.36: (k/λ)·P(X_k ≤ δ) + δ·P(0 < N < k), half of it.
    """
    from scipy import special

    rates = np.asarray(rate, dtype=np.float64)
    load = rates * flush_seconds
    full = special.gammainc(limit, load)
    flushed = -np.expm1(-load) - full
    return np.asarray(
        (divide_or(limit * full, rates, otherwise=0.0) + flush_seconds * flushed) / 2.0
    )


def list_connections(parameters: Parameters) -> Connections:
    """All that executors send each other, acknowledgements included."""
    flow = parameters.flow
    sources, targets, rates = [], [], []
    for block in flow.blocks:
        sent = parameters.rates.emitted[block.stream.key][:, np.newaxis] * block.shares
        rows, columns = np.nonzero(sent)
        sources.append(rows + block.sources.start)
        targets.append(columns + block.targets.start)
        rates.append(sent[rows, columns])
    return Connections.between(
        np.concatenate(sources),
        np.concatenate(targets),
        np.concatenate(rates),
        worker=flow.plan.placement,
        workers=len(flow.plan.workers),
    )


def _executors(parameters: Parameters, loaded: Loaded, sizes: ListSizes) -> tuple[Vector, Vector]:
    """Mean times in receive queues: until the batch is released, and from then to the service.

    Appendix B for every executor that has such a queue, which sources have not.
    """
    flow, mechanics = parameters.flow, parameters.mechanics
    batching, waiting = np.zeros_like(loaded.utilisation), np.zeros_like(loaded.utilisation)
    offered = sizes.list_rate * sizes.list_size * loaded.service.mean
    full = np.maximum(loaded.utilisation, offered) >= 1.0
    stuck = full | np.isinf(loaded.contention.stretch)
    waiting[stuck] = np.inf
    solved: dict[BatchedQueue, Sojourn] = {}
    for index, executor in enumerate(flow.plan.logical.executors):
        rate = float(sizes.list_rate[index])
        if stuck[index] or rate <= 0.0 or not is_bolt(flow, executor.operator):
            continue
        queue = BatchedQueue(
            lists_per_second=rate,
            list_size=max(float(sizes.list_size[index]), 1.0),
            flush_seconds=mechanics.flush_seconds,
            service_seconds=max(float(loaded.service.mean[index]), LEAST_SERVICE),
            batch_limit=mechanics.batch,
            ring_limit=mechanics.receive_limit,
            flush=Flush.EXPONENTIAL,
        )
        if queue not in solved:
            solved[queue] = mean_sojourn(queue)
        batching[index] = solved[queue].batch_seconds
        waiting[index] = solved[queue].rest_seconds - queue.service_seconds
    return batching, waiting


def mean_sojourn(queue: BatchedQueue) -> Sojourn:
    """Mean sojourn of a tuple in an executor's queue with random flushes, to numerical precision.

    The number of lists in the batch is a Markov chain of its own, and each release starts it anew;
    the tuples beyond the batch are a BMAP/M/1 queue whose phase is that number. Its mean follows
    from the matrix G of first passages one tuple down (Neuts 1989).

    Raises:
        Infeasible: The server is offered as much as it can do, or more.
    """
    assert queue.flush is Flush.EXPONENTIAL
    check_feasible(queue)
    arrival, flush = queue.lists_per_second, 1.0 / queue.flush_seconds
    service = 1.0 / queue.service_seconds
    growth = arrival / (arrival + flush)
    enough = math.ceil(math.log(NEGLIGIBLE) / math.log(growth))
    phases = max(1, min(queue.batch_limit, enough))
    release = np.full(phases, flush)
    release[0] = 0.0
    # The last phase releases on arrival too, with one list more than it holds.
    stay = np.diag(-(arrival + release)) + np.diag(np.full(phases - 1, arrival), k=1)
    first_passage = _first_passage(queue, stay, release, service)
    mean = queue.list_size
    part = mean - math.floor(mean)
    # A fraction of the mean is the chance of one tuple more.
    variance = part * (1.0 - part)
    lists = np.arange(phases)
    released = release * (lists * mean)
    released[-1] += arrival * phases * mean
    # D''(1): second factorial moments of what is released.
    second = release * _second_factorial(lists, mean, variance)
    second[-1] += arrival * _second_factorial(phases, mean, variance)
    generator = stay.copy()
    generator[:, 0] += release
    generator[-1, 0] += arrival
    steady = find_stationary(generator)
    empty = (1.0 - queue.utilisation) * find_stationary(first_passage - np.eye(phases))
    # Π'(1)·D = μθ − μπ₀ − θD'(1), with every release ending in phase 0.
    right = service * steady - service * empty
    right[0] -= steady @ released
    ones = np.ones(phases)
    particular = np.linalg.solve((generator + np.outer(ones, steady)).T, right)
    particular -= particular.sum() * steady
    spare = service * ones - released
    beyond = float((steady @ (released + second / 2.0) - particular @ spare) / (steady @ spare))
    # P(n) ∝ rⁿ lists in the batch with r = λ/(λ + τ), n below the limit (`storm-tracer` 2.10.4).
    waiting = np.arange(queue.batch_limit)
    load = arrival * queue.flush_seconds
    weights = (load / (1.0 + load)) ** waiting
    # By Little's law, for lists in the batch and for tuples beyond it.
    return Sojourn(
        batch_seconds=float(waiting @ weights / weights.sum()) / arrival,
        rest_seconds=beyond / (arrival * queue.list_size),
    )


def check_feasible(queue: BatchedQueue) -> None:
    """Raise Infeasible where the server is offered as much as it can do, or more."""
    if queue.utilisation >= 1.0:
        raise Infeasible(
            f"utilisation {queue.utilisation:.3f}: expected below 1 for a mean to exist; "
            "give the operator more executors or less load"
        )


def _second_factorial(lists: NDArray[np.int64] | int, mean: float, variance: float) -> Vector:
    size = np.asarray(lists * mean, dtype=np.float64)
    return np.asarray(lists * variance + size * size - size, dtype=np.float64)


def _first_passage(queue: BatchedQueue, stay: Matrix, release: Vector, service: float) -> Matrix:
    """G: phase in which the tuples beyond the batch first fall by one, from each phase.

    Fixed point of G = −U⁻¹·μ with U = D₀ − μI + Σ Dₘ·Gᵐ; a release of n lists takes n times
    the passage H through one list's tuples.
    """
    phases = len(release)
    arrival = queue.lists_per_second
    whole = math.floor(queue.list_size)
    part = queue.list_size - whole
    identity = np.eye(phases)
    passage: Matrix = identity
    for _ in range(MAX_ITERATIONS):
        through = np.linalg.matrix_power(passage, whole)
        if part > 0.0:
            through = (1.0 - part) * through + part * (through @ passage)
        inner = stay - service * identity
        row = identity[0]
        for n in range(1, phases + 1):
            row = row @ through
            if n < phases:
                inner[n] += release[n] * row
            else:
                inner[phases - 1] += arrival * row
        updated = np.asarray(-service * np.linalg.inv(inner), dtype=np.float64)
        if np.max(np.abs(updated - passage)) < NEGLIGIBLE * 10:
            return updated
        passage = updated
    raise InternalError("first passages of the executor's queue did not converge")


def find_stationary(generator: Matrix) -> Vector:
    """The distribution that a generator leaves as it is."""
    size = len(generator)
    system = np.vstack([generator.T[:-1], np.ones(size)]) if size > 1 else np.ones((1, 1))
    right = np.zeros(size)
    right[-1] = 1.0
    return np.asarray(np.linalg.solve(system, right))


def _windows(parameters: Parameters, loaded: Loaded) -> Vector:
    """Half of what a window takes to fill, and what it takes when it fires (section 4.13.1)."""
    flow = parameters.flow
    found = np.zeros_like(loaded.utilisation)
    for operator in flow.plan.logical.topology.operators:
        if operator.window is not None:
            here = as_slice(flow.plan.logical.spans[operator.name])
            found[here] = _filling(parameters, operator) / 2.0 + loaded.service.trigger_mean[here]
    return found


def _filling(parameters: Parameters, operator: Operator) -> Vector:
    """τ_W of each executor's windows, one for every task that gets anything."""
    came = parameters.rates.into(parameters.flow, operator.name, system=False)
    window = operator.window
    assert window is not None
    if window.length_seconds is not None:
        return np.full_like(came, window.length_seconds)
    assert window.length_tuples is not None
    busy_tasks = parameters.conversions[operator.name].busy_tasks
    return divide_or(window.length_tuples * busy_tasks, came, otherwise=0.0)


def _certain(mean: Vector) -> Moments:
    return Moments(mean=mean, variance=np.zeros_like(mean))


def _constant(mean: Vector) -> Transform:
    return lambda s: transforms.constant(s, mean)
