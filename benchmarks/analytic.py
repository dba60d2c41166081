"""How far an analytic solver is from the simulation where it is not exact.

Two servers in a row under Poisson arrivals, with service times less and more variable than the
exponential: LINE's mean value analysis approximates, the simulation has no error but chance. For
exponential times both must be the same, which is the check of the comparison.
"""

from __future__ import annotations

import warnings
from typing import Any

from benchmarks.jobs import chain_job, simulate_job
from benchmarks.report import Entry
from streamgauge.transport.mechanics import PLAIN

RATE = 60.0
MEAN_SECONDS = {"a": 0.010, "b": 0.012}
SIMULATED_SECONDS, WARM_UP = 20_000.0, 100.0


def run(*, large: bool) -> list[Entry]:
    """Mean numbers of tuples at each server."""
    del large
    entry = Entry("analytic", "two servers in a row, 60 and 72 % busy; LINE is exact for scv 1")
    for scv in (0.25, 1.0, 4.0):
        ours, theirs = _simulate(scv), _solve(scv)
        for name in MEAN_SECONDS:
            entry.cases[f"scv {scv:g}, {name}"] = {"simulated": ours[name], "LINE": theirs[name]}
            label = f"LINE / simulated, mean population of {name}, scv {scv:g}"
            entry.ratios[label] = theirs[name] / ours[name]
    return [entry]


def _simulate(scv: float) -> dict[str, float]:
    services = {
        name: {"wait_ms": {"gamma": {"mean": 1000 * mean, "scv": scv}}}
        for name, mean in MEAN_SECONDS.items()
    }
    job = chain_job(services, rate=RATE)
    result = simulate_job(job, seconds=SIMULATED_SECONDS, warmup=WARM_UP, seed=1, mechanics=PLAIN)
    figures = result.operators
    return {name: figures[name].queue_length + figures[name].utilisation for name in MEAN_SECONDS}


def _solve(scv: float) -> dict[str, float]:
    with warnings.catch_warnings():
        # It uses parts of numpy that are to go away.
        warnings.simplefilter("ignore")
        import line_solver as line

        model = line.Network("tandem")
        source, sink = line.Source(model, "s"), line.Sink(model, "end")
        stations = [line.Queue(model, name, line.SchedStrategy.FCFS) for name in MEAN_SECONDS]
        tuples = line.OpenClass(model, "tuples")
        source.set_arrival(tuples, line.Exp(RATE))
        for station, mean in zip(stations, MEAN_SECONDS.values(), strict=True):
            station.set_service(tuples, _service(line, mean, scv))
        model.link(line.Network.serial_routing(source, *stations, sink))
        table = line.MVA(model, verbose=False).avg_table()
        return dict(zip(table["Station"], map(float, table["QLen"]), strict=True))


def _service(line: Any, mean: float, scv: float) -> Any:
    if scv == 1.0:
        return line.Exp(1.0 / mean)
    if scv < 1.0:
        return line.Erlang.fit_mean_and_order(mean, round(1.0 / scv))
    return line.HyperExp.fit_mean_and_scv(mean, scv)
