"""`sg.update`: what other numbers of executors would change, before anything is changed.

In the manner of Heron's ``update --dry-run`` (Caladrius; Kalim 2020, section 3.4): the plan that
the engine would make, predicted beside the one that runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from streamgauge.api.histories import HistoryPlace
from streamgauge.api.intervals import (
    WINDOW_SECONDS,
    PlanDraws,
    check_window,
    choose_errors,
    compare_draws,
    find_noise,
    warn_of_noise,
)
from streamgauge.api.loading import ProfileLike, choose_profile
from streamgauge.api.loads import resolve_load
from streamgauge.api.models import DEFAULT, ModelPanel
from streamgauge.api.predict import BackTestedIntervals, find_band, propose
from streamgauge.api.rates import Rates
from streamgauge.api.simulator import Say, stay_silent
from streamgauge.errors import Findings, InvalidInput, did_you_mean
from streamgauge.models.measured_plan import measured_plan
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.job import Job
from streamgauge.reports.prediction import PredictedPlan
from streamgauge.reports.update import UpdateReport, UpdateSide
from streamgauge.topology.physical_plan import diff_plans

if TYPE_CHECKING:
    from streamgauge.topology.configuration import Configuration
    from streamgauge.topology.topology import Topology

PLACE = "executors"
FORM = "OPERATOR=NUMBER, such as splitter=4"
# Operators by executors: as a mapping, or as the command line takes them.
Executors = Mapping[str, int] | Sequence[str]


def update(
    profile: ProfileLike | None = None,
    executors: Executors = (),
    *,
    workers: int | None = None,
    rate: Rates = None,
    load: str | None = None,
    series: str | Path | None = None,
    lake: str | None = None,
    topology: str | None = None,
    scheduler: str | None = None,
    intervals: bool = True,
    residuals: str | Path | None = None,
    window: float = WINDOW_SECONDS,
    say: Say = stay_silent,
) -> UpdateReport:
    """What a running job would do with other numbers of executors; nothing is changed.

    Args:
        profile: What was measured: a file or a profile.
        executors: By operator; the others keep theirs. ``{"splitter": 4}`` or ``["splitter=4"]``.
        workers: How many workers; as now when not given.
        rate: Tuples per second of all sources together, or by source; as measured if not given.
        load: Instead of a rate: ``mean``, ``peak``, ``p95`` … or ``forecast+1h@p95``.
        series: With `load`: a CSV file of source rates.
        lake: Instead of `profile`: a lake, whose newest profile counts; with `load`, its history.
        topology: With `lake`: the topology's name there.
        scheduler: Which scheduler places the executors; the engine's own even one by default.
        intervals: Whether figures get their 90 % intervals.
        residuals: Judged errors of models on other jobs, a file.
        window: Seconds for which figures would be measured, for the intervals.
        say: Gets progress messages for long steps.

    Raises:
        InvalidInput: An operator is not known, or has fewer tasks than executors are wanted.
        StreamgaugeError: What was given cannot be read, is wrong, or says too little.
    """
    chosen = choose_profile(profile, lake if profile is None else None, topology, None)
    measured = chosen.require_profile()
    place = HistoryPlace.choose(series, lake if load is not None else None, topology)
    rate, found = resolve_load(load, rate, place, measured.topology, measured, say)
    wanted = read_executors(executors, measured.topology)
    current = measured_plan(measured)
    configuration = _configure(measured.configuration, measured.topology, wanted, workers)
    job = Job(
        topology=measured.topology,
        configuration=configuration,
        cluster=measured.cluster or current.cluster,
    )
    schedule = place_job(job, scheduler)
    panel = ModelPanel(DEFAULT, None, say)
    own = propose(chosen, None, rate, found)
    proposals = {"now": own, "then": own._replace(name="updated", plan=schedule.plan)}
    errors = choose_errors(residuals)
    sides: dict[str, UpdateSide] = {}
    drawn: dict[str, PlanDraws] = {}
    for name, proposal in proposals.items():
        case = (chosen.behaviour, proposal.plan, proposal.workload)
        prediction = panel.ask_first(*case)
        if intervals:
            drawn[name] = PlanDraws(
                prediction=prediction,
                plan=proposal.plan,
                workload=proposal.workload,
                noise=find_noise(chosen, prediction),
                errors=errors,
                window_seconds=check_window(window),
                band=find_band(proposal, found),
            )
        sure = BackTestedIntervals(drawn[name].find_intervals() if intervals else None)
        prediction = panel.find_throughput(prediction, *case)
        assert prediction.throughput is not None, "the analytic model was asked"
        sides[name] = UpdateSide(
            predicted=PredictedPlan(**proposal._asdict(), prediction=prediction),
            throughput=prediction.throughput,
            intervals=sure.suit(prediction).intervals,
        )
    differences = {}
    if intervals:
        keys = [key for key in drawn["now"].figures if key.subject == "latency"]
        compared = {key: compare_draws(drawn["then"], drawn["now"], key) for key in keys}
        differences = {key: one for key, one in compared.items() if one is not None}
    return UpdateReport(
        before=sides["now"],
        after=sides["then"],
        wanted=wanted,
        workers=workers,
        scheduler=scheduler,
        diff=diff_plans(current, schedule.plan),
        job=job,
        differences=differences,
        profile=chosen.origin,
        warnings=(
            *schedule.warnings,
            *chosen.warnings,
            *panel.warnings,
            *warn_of_noise([one.noise for one in drawn.values()]),
            *(() if found is None else found.cautions),
        ),
    )


def read_executors(executors: Executors, topology: Topology) -> dict[str, int]:
    """Numbers of executors by operator, each checked.

    Raises:
        InvalidInput: Nothing is wanted, an operator is not known or named twice, or it has too few
            tasks.
    """
    known = {one.name: one.tasks for one in topology.operators}
    findings = Findings()
    found: dict[str, int] = {}
    if isinstance(executors, Mapping):
        pairs = [(name, str(number)) for name, number in executors.items()]
    else:
        pairs = [(text.partition("=")[0].strip(), text.partition("=")[2]) for text in executors]
    for name, number in pairs:
        if not number.strip().isdecimal() or int(number) < 1:
            seen = f"{name}={number}" if number else name
            findings.add(PLACE, seen=repr(seen), expected=f"{FORM}; one executor at least")
        elif name not in known:
            findings.add(
                PLACE,
                seen=f"unknown operator {name!r}",
                expected=f"an operator of {topology.name}",
                remedy=did_you_mean(name, list(known)),
            )
        elif name in found:
            findings.add(PLACE, seen=f"{name!r} twice", expected="each operator once")
        elif int(number) > known[name]:
            findings.add(
                PLACE,
                seen=f"{number} executors of {name}, which has {known[name]} tasks",
                expected=f"at most {known[name]}",
                remedy="tasks are fixed when the topology is submitted: submit it with more",
            )
        else:
            found[name] = int(number)
    if not pairs:
        findings.add(PLACE, seen="nothing to change", expected=FORM)
    findings.raise_if_any()
    return found


def _configure(
    configuration: Configuration, topology: Topology, wanted: dict[str, int], workers: int | None
) -> Configuration:
    if workers is not None and workers < 1:
        raise InvalidInput.single(("--workers",), seen=str(workers), expected="one worker at least")
    changed = configuration.with_executors(wanted)
    if workers is not None:
        changed = replace(changed, workers=workers)
    changed.check_against(topology)
    return changed
