"""The simulation model: a job on another plan, followed tuple by tuple.

Routing, service times and network are those of the job's behaviour; what they lead to is simulated
in independent runs, until the mean latency is known well enough. Needs the extra ``simulation``.

Runs of different seeds differ by more than the batches of one run do, however long that is: three
runs of 20,000 s of one job gave means from 872 to 1,132 µs, each ± 0.4 or less. Probably the phases
of timers and sleeping threads, which are drawn at the beginning of a run, stay. So the interval
rests on the spread between runs, and more precision comes from more runs, not from longer ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from streamgauge.errors import Findings, InvalidInput
from streamgauge.models.byte_flow import find_byte_flow
from streamgauge.models.chained import split_chains
from streamgauge.models.end_to_end_latency import ENDLESS, PROBABILITIES, Latency
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.load_limit import (
    NETWORK_CARD,
    Loaded,
    find_limit,
    find_machines,
    load,
    mark_bolts,
)
from streamgauge.models.network import find_network
from streamgauge.models.parameters import Parameters, find_parameters
from streamgauge.models.pending_limit import hold_back, is_limited
from streamgauge.models.plan_check import check_case
from streamgauge.models.prediction import (
    Prediction,
    Swing,
    Verdict,
    list_machines,
    list_workers,
    warn_of_full_machines,
)
from streamgauge.models.regimes import Regimes, find_regimes
from streamgauge.models.run_length import MOST_HOPS, RunLength, steady_length, transient_length
from streamgauge.models.simulated_job import build_simulation, fill_in_rates
from streamgauge.models.simulated_overload import (
    Observed,
    executor_predictions,
    find_overload,
    find_swing,
    holds_back,
    named_loads,
    operator_predictions,
    reached_from,
)
from streamgauge.models.worker_cpu import WorkerCores, divide_cores, share_polling
from streamgauge.topology.field_checks import check_number, check_whole
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import ACKER
from streamgauge.topology.tuple_flow import as_slice
from streamgauge.topology.workload import Workload

if TYPE_CHECKING:
    from streamgauge.simulation.latencies import Latencies
    from streamgauge.simulation.replications import Run
    from streamgauge.simulation.results import ExecutorFigures, SimulationResult

Vector = NDArray[np.float64]

# Runs that the total length of a simulation is divided into, and
REPLICATIONS = 5
# how many there are before their spread is trusted, as far as the budget reaches.
FEWEST_RUNS = 10
# Half of the width of the mean latency's interval, as a part of it, that is narrow enough.
PRECISION = 0.05
# Part of the sources' roots of which it is said that they fail.
NOTEWORTHY = 0.01


class SimulationModel:
    """Tuples, queues, threads and cores, one event after the other.

    Args:
        seconds: Simulated time of each run after its beginning; as long as rates and windows make
            sensible when not given.
        seed: Of the first run; the same seed gives the same answer.
        replications: Independent runs; without `seconds` fewer where each would be too short. As
            many as `precision` takes when not given.
        precision: Half of the width of the mean latency's interval, as a part of it, at which no
            more runs are added.
        budget: Tuples and messages that executors get, in all runs, at which none are added either.
    """

    name = "simulation"

    def __init__(
        self,
        *,
        seconds: float | None = None,
        seed: int = 1,
        replications: int | None = None,
        precision: float = PRECISION,
        budget: int = MOST_HOPS,
    ) -> None:
        findings = Findings()
        if seconds is not None:
            check_number(findings, seconds, "seconds", above=0.0)
        check_whole(findings, seed, "seed", least=0)
        if replications is not None:
            check_whole(findings, replications, "replications")
        check_number(findings, precision, "precision", above=0.0)
        check_whole(findings, budget, "budget")
        findings.raise_if_any()
        self._seconds, self._seed, self._replications = seconds, seed, replications
        self._precision, self._budget = precision, budget

    def describe(self) -> str:
        """One sentence on what it looks at."""
        return "every tuple, queue, thread and core, simulated in several runs"

    @split_chains
    def predict(
        self, behaviour: JobBehaviour, plan: PhysicalPlan, workload: Workload
    ) -> Prediction:
        """How the job would behave on `plan` under `workload`."""
        check_case(behaviour, plan, workload)
        simulate = _simulator()
        steady = fill_in_rates(plan, workload, behaviour)
        parameters = find_parameters(behaviour, plan, steady)
        loaded = load(parameters)
        limit = find_limit(parameters, steady, loaded)
        if is_limited(parameters):
            network = find_network(plan, behaviour)
            held = hold_back(parameters, steady, loaded, limit, network, finds_fitting=False)
            limit = held.limit
        regimes = find_regimes(parameters, loaded)
        # Of what sources could emit at most, the plan lets through what it can do at most.
        part = 1.0 if steady is workload else min(limit.factor, 1.0)
        length = self._length(parameters, steady, regimes, part)
        taken, waking = find_machines(parameters, part)
        informed, behaviours, assumed = build_simulation(parameters, taken.engine_cores)
        run = partial(
            simulate,
            informed,
            behaviours,
            workload,
            seconds=length.seconds,
            warmup=length.warmup,
        )
        adds_runs = regimes == Regimes() and self._replications is None
        results, ended = self._replicate(run, length.runs, adds_runs=adds_runs)
        runs = _Runs(parameters, workload, results, regimes, loaded)
        acked = plan.logical.topology.has_ackers
        sources = [source.name for source in plan.logical.topology.sources]
        eager = workload.eager_sources
        used = runs.cores(waking)
        crowded = [one.name in runs.overloaded for one in plan.cluster.machines]
        machines = list_machines(plan, used, crowded)
        return Prediction(
            model=self.name,
            verdict=Verdict.OVERLOADED if runs.overloaded else Verdict.FITS,
            overloaded=runs.overloaded,
            limit=limit,
            latency=runs.latency(lambda one: one.latency),
            by_source={name: runs.latency(_of_source(name), name) for name in sources},
            operators=operator_predictions(parameters, runs.observed, runs.overload),
            executors=executor_predictions(parameters, runs.observed, runs.overload),
            workers=list_workers(plan, used, runs.sent()),
            machines=machines,
            bytes=find_byte_flow(parameters, behaviour, parameters.crossings),
            complete=runs.latency(lambda one: one.complete) if acked else None,
            seen_by_source=runs.latency(lambda one: one.seen_by_source) if acked else None,
            since_due=None if eager else runs.latency(lambda one: one.since_due),
            since_due_by_source={
                name: runs.latency(_due_of_source(name), name)
                for name in sources
                if name not in eager
            },
            swing=runs.swing,
            notes=(
                *parameters.notes,
                *assumed,
                *regimes.notes(),
                *_of_length(length),
                *ended,
                *runs.notes(),
                *warn_of_full_machines(machines, limit),
                *_of_eager_sources(workload, steady),
                "the highest rate is by formula, not simulated",
            ),
            provenance={
                **behaviour.provenance,
                "seed": str(self._seed),
                "runs": str(len(results)),
                "simulated_seconds": f"{runs.observed.seconds:g}",
            },
        )

    def _replicate(
        self, run: Run, runs: int, *, adds_runs: bool
    ) -> tuple[list[SimulationResult], list[str]]:
        """So many runs, and more until the mean latency is known; with a word on why they ended.

        Runs are added in groups that depend on what was seen and not on the number of cores.
        """
        from streamgauge.simulation.replications import replicate

        results = replicate(run, seed=self._seed, replications=runs)
        while adds_runs:
            runs = len(results)
            known = combine_latencies([one.latency for one in results])
            if known.halfwidth is None or any(_is_overloaded(one) for one in results):
                break
            part = known.halfwidth / known.mean if known.mean > 0.0 else 0.0
            # An interval is as narrow as the square root of the number of runs is large.
            wanted = max(FEWEST_RUNS, math.ceil(runs * (part / self._precision) ** 2)) - runs
            hops = sum(one.hops for one in results)
            affordable = (self._budget - hops) * runs // max(hops, 1)
            if wanted <= 0:
                return results, [f"{_known(part, runs)}: no more runs than that takes"]
            if affordable <= 0:
                budget = f"{self._budget:,} tuples and messages"
                return results, [f"{_known(part, runs)}: the budget of {budget} is used up"]
            # At most twice as many at a time, as few runs may be wrong about their spread.
            more = min(wanted, affordable, runs)
            results += replicate(run, seed=self._seed + runs, replications=more)
        return results, []

    def _length(
        self, parameters: Parameters, workload: Workload, regimes: Regimes, part: float
    ) -> RunLength:
        is_steady = regimes == Regimes()
        runs = self._replications or REPLICATIONS
        if is_steady:
            found = steady_length(parameters, workload, runs=runs, part=part)
        else:
            found = transient_length(parameters, workload, regimes)
        if self._seconds is None:
            return found
        return found.lasting(self._seconds, runs=runs if is_steady else 1)


def _simulator() -> Callable[..., SimulationResult]:
    """The simulator, or one line on what to install."""
    try:
        from streamgauge.simulation.topology_run import simulate
    except ModuleNotFoundError as error:
        raise InvalidInput.single(
            (),
            seen=f"no module {error.name!r}",
            expected="the extra that simulates",
            remedy="pip install 'streamgauge[simulation]'",
        ) from None
    return simulate


class _Runs:
    """What the runs of a plan showed, all together."""

    def __init__(
        self,
        parameters: Parameters,
        workload: Workload,
        results: Sequence[SimulationResult],
        regimes: Regimes,
        loaded: Loaded,
    ) -> None:
        self._parameters, self._results = parameters, results
        self._plan = parameters.flow.plan
        self._swinging = {one.operator for one in regimes.swinging}
        self.observed = self._observe(workload)
        # Whoever emits as fast as it can is held back in the end, if the engine does that.
        eager = any(one.per_second is None for one in workload.emissions)
        eager = eager and holds_back(parameters)
        executors = self._plan.logical.executors
        self.overload = find_overload(
            self.observed,
            mark_bolts(parameters.flow),
            bounded=np.asarray([eager or one.operator in self._swinging for one in executors]),
            outgrown=any(one.overloaded for one in results),
        )
        self.overloaded = named_loads(self._plan, self.overload, loaded)
        # Network cards are not simulated.
        self.overloaded |= {
            name: load for name, load in loaded.overloaded.items() if name.startswith(NETWORK_CARD)
        }
        if self._swinging:
            # All is served in the end; but not in every scope that shuffle uses.
            self.overloaded = {**loaded.overloaded, **self.overloaded}
        self.swing = self._swing() if self._swinging else None

    def _mean(self, pick: Callable[[SimulationResult], Any]) -> Any:
        """A figure, or many, on the mean over the time of all runs."""
        seconds = [one.seconds for one in self._results]
        return np.average([pick(one) for one in self._results], axis=0, weights=seconds)

    def _observe(self, workload: Workload) -> Observed:
        def mean(pick: Callable[[ExecutorFigures], float]) -> Vector:
            return np.asarray(self._mean(lambda one: [pick(figures) for figures in one.executors]))

        return Observed(
            seconds=sum(one.seconds for one in self._results),
            arrived=mean(lambda one: one.receive.arrived_per_second),
            executed=mean(lambda one: one.executed_per_second),
            emitted=mean(lambda one: one.emitted_per_second),
            utilisation=mean(lambda one: one.utilisation),
            cores=mean(lambda one: one.cores),
            held=mean(lambda one: one.blocked + one.throttled),
            length=mean(lambda one: one.receive.length),
            due=self._due(workload),
            by_operator={
                name: float(self._mean(_emitted_by(name))) for name in self._plan.logical.spans
            },
        )

    def _due(self, workload: Workload) -> Vector:
        """What executors of sources with a rate should emit."""
        due = np.zeros(len(self._plan.logical.executors))
        for emission in workload.emissions:
            if emission.per_second is not None:
                span = self._plan.logical.spans[emission.source]
                due[as_slice(span)] += self._parameters.rates.emitted[emission.key]
        return due

    def latency(
        self, pick: Callable[[SimulationResult], Latencies], source: str | None = None
    ) -> Latency:
        """One kind of latency over all runs; infinite where tuples come to a queue that grows."""
        sources = [one.name for one in self._plan.logical.topology.sources]
        reached = reached_from(self._plan.logical.topology, sources if source is None else [source])
        growing = {
            self._plan.logical.executors[place].operator
            for place in np.flatnonzero(self.overload.growing).tolist()
        }
        if growing & (reached | {ACKER}):
            return ENDLESS
        return combine_latencies([pick(one) for one in self._results])

    def cores(self, waking: Vector) -> WorkerCores:
        """What workers use: work and polling as simulated, the rest as in formulas."""
        polling = np.asarray(self._mean(lambda one: [each.polling for each in one.machines]))
        bolts = mark_bolts(self._parameters.flow)
        idle = share_polling(self._parameters, self.observed.utilisation, polling, bolts)
        return divide_cores(
            self._parameters,
            work=np.asarray(self._mean(lambda one: [each.cores for each in one.workers])),
            idle=idle + waking,
        )

    def sent(self) -> Vector:
        """Tuples and messages to other workers, by worker."""
        arrived = self._mean(
            lambda one: [figures.transfer.arrived_per_second for figures in one.workers]
        )
        return np.asarray(arrived)

    def _swing(self) -> Swing:
        """How latency goes up and down, where shuffle widens and narrows."""
        result = self._results[0]
        line = result.timeline
        later = line.ends > result.warmup
        waiting = np.sum([line.queued[name] for name in self._swinging], axis=0)
        return find_swing(line.ends[later], waiting[later], line.mean_seconds[later])

    def notes(self) -> Iterator[str]:
        """What to keep in mind."""
        runs = len(self._results)
        if any(one.overloaded for one in self._results):
            yield "more tuples were in flight than the simulator can hold: runs ended early"
        if self.swing is not None:
            period = self.swing.period
            every = "" if period is None else f", every {_seconds(period)}"
            yield (
                f"mean latency swings between {_seconds(self.swing.lowest)} and"
                f" {_seconds(self.swing.highest)}{every}; all other figures are means over time"
            )
        unsettled = sum(not one.settled for one in self._results)
        if unsettled and not self.overloaded and not self._swinging:
            yield f"no steady state was found in {unsettled} of {runs} runs: simulate for longer"
        late = self.overload.late
        if late.any():
            emitted, due = self.observed.emitted[late].sum(), self.observed.due[late].sum()
            yield f"sources are held back: they emit {_short(emitted)} of {_short(due)} tuples/s"
        failed = self._mean(lambda one: sum(f.failed_per_second for f in one.operators.values()))
        dropped = self._mean(lambda one: sum(f.dropped_per_second for f in one.operators.values()))
        if failed > NOTEWORTHY * self.observed.emitted[~mark_bolts(self._parameters.flow)].sum():
            yield f"{_short(failed)} roots/s fail or time out"
        if dropped > 0.0:
            yield f"{_short(dropped)} tuples/s are dropped because queues are full"


def combine_latencies(parts: Sequence[Latencies]) -> Latency:
    """Latencies of several runs as one; their means say how far the whole can be trusted."""
    from streamgauge.simulation.latencies import Latencies
    from streamgauge.simulation.replications import estimate

    whole = Latencies(
        counts=np.sum([one.counts for one in parts], axis=0),
        total_seconds=math.fsum(one.total_seconds for one in parts),
        batches=np.concatenate([one.batches for one in parts]),
        batch_seconds=np.concatenate([one.batch_seconds for one in parts]),
    )
    if not whole.count:
        return Latency(mean=math.nan, variance=math.nan, quantiles={}, parts={})
    means = [one.mean for one in parts if one.count]
    found = estimate(means) if len(means) > 1 else whole.mean_estimate()
    return Latency(
        mean=whole.mean,
        variance=_variance(whole.counts),
        quantiles={p: whole.quantile(p) for p in PROBABILITIES},
        parts={},
        halfwidth=found.half_width if math.isfinite(found.half_width) else None,
    )


def _variance(counts: NDArray[np.int64]) -> float:
    """Of latencies in bins that are taken as evenly filled, as for quantiles."""
    from streamgauge.simulation.binning import bin_edges

    low = bin_edges()
    high = np.append(low[1:], low[-1])
    weights = counts / counts.sum()
    mean = weights @ (low + high) / 2.0
    # Within [a, b] the mean square is (a² + ab + b²)/3.
    return float(weights @ (low * low + low * high + high * high) / 3.0 - mean * mean)


def _emitted_by(name: str) -> Callable[[SimulationResult], float]:
    return lambda one: one.operators[name].emitted_per_second


def _of_source(name: str) -> Callable[[SimulationResult], Latencies]:
    return lambda one: one.by_source[name]


def _due_of_source(name: str) -> Callable[[SimulationResult], Latencies]:
    from streamgauge.simulation.latencies import Latencies

    return lambda one: Latencies.merged(
        way.since_due for way in one.ways if way.operators[0] == name
    )


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100.0 else f"{value:.3g}"


def _seconds(value: float) -> str:
    return f"{_short(value)} s"


def _of_eager_sources(workload: Workload, steady: Workload) -> Iterator[str]:
    """On sources without a rate; `steady` has what they could emit at most."""
    for one, most in zip(workload.emissions, steady.emissions, strict=True):
        if one.per_second is None:
            yield (
                f"{one.source} emits as fast as it can: the limit is given as a share of the"
                f" {most.per_second:,.0f} tuples/s that it could emit"
            )


def _is_overloaded(result: SimulationResult) -> bool:
    """Whether there is no mean latency that more runs would make known."""
    return result.overloaded or any(one.saturated for one in result.operators.values())


def _known(part: float, runs: int) -> str:
    if runs == 1:
        return "there is one run, and runs of other seeds may differ by more than its interval says"
    return f"mean latency is known to ± {100 * part:.1f} % after {runs} runs"


def _of_length(length: RunLength) -> Iterator[str]:
    if not length.enough:
        yield (
            f"{_seconds(length.seconds)} were simulated in each run: at these rates too short to"
            f" see every cycle repeat, which takes {_seconds(length.wanted)}"
        )
