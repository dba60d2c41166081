"""How far an analytic solver is from the simulation where it is not exact.

Two servers in a row under Poisson arrivals, with service times less and more variable than the
exponential: LINE's mean value analysis approximates, the simulation has no error but chance. For
exponential times both must be the same, which is the check of the comparison.
"""

from __future__ import annotations

import warnings
from typing import Any

from benchmarks.report import Entry
from streamgauge.planning.scheduling.deploy import place_job
from streamgauge.profile.files.jobs import parse_job
from streamgauge.simulation.topology_run import simulate
from streamgauge.transport.mechanics import PLAIN

RATE, FIRST, SECOND = 60.0, 0.010, 0.012
SECONDS = 20_000.0
STATIONS = ("a", "b")


def run(*, large: bool) -> list[Entry]:
    """The entries of this module."""
    del large
    cases, ratios = {}, {}
    for scv in (0.25, 1.0, 4.0):
        ours, theirs = _simulated(scv), _solved(scv)
        for name in STATIONS:
            cases[f"scv {scv:g}, {name}"] = {"simulated": ours[name], "LINE": theirs[name]}
            ratios[f"LINE / simulated, mean population of {name}, scv {scv:g}"] = (
                theirs[name] / ours[name]
            )
    about = "two servers in a row, 60 and 72 % busy; LINE is exact for scv 1"
    return [Entry(name="analytic", about=about, cases=cases, ratios=ratios)]


def _simulated(scv: float) -> dict[str, float]:
    job = parse_job(
        f"""
streamgauge: 1
topology:
  name: t
  operators: {{s: {{kind: source}}, a: {{}}, b: {{}}}}
  streams: [{{from: s, to: a, grouping: shuffle}}, {{from: a, to: b, grouping: shuffle}}]
behaviours:
  a:
    service: {{wait_ms: {{gamma: {{mean: {1000 * FIRST}, scv: {scv}}}}}}}
    outputs: {{default: 1}}
  b: {{service: {{wait_ms: {{gamma: {{mean: {1000 * SECOND}, scv: {scv}}}}}}}}}
workload: [{{source: s, per_second: {RATE}}}]
"""
    )
    assert job.workload is not None
    result = simulate(
        place_job(job).plan,
        job.behaviours,
        job.workload,
        seconds=SECONDS,
        warmup=100.0,
        seed=1,
        mechanics=PLAIN,
    )
    figures = result.operators
    return {name: figures[name].queue_length + figures[name].utilisation for name in STATIONS}


def _solved(scv: float) -> dict[str, float]:
    with warnings.catch_warnings():
        # It uses parts of numpy that are to go away.
        warnings.simplefilter("ignore")
        import line_solver as line

        model = line.Network("tandem")
        source, sink = line.Source(model, "s"), line.Sink(model, "end")
        stations = [line.Queue(model, name, line.SchedStrategy.FCFS) for name in STATIONS]
        tuples = line.OpenClass(model, "tuples")
        source.set_arrival(tuples, line.Exp(RATE))
        for station, mean in zip(stations, (FIRST, SECOND), strict=True):
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
