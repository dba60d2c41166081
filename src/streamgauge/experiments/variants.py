"""Variants of a job: another rate, other service times."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from streamgauge.errors import Findings, InvalidInput, did_you_mean
from streamgauge.profile.behaviour import Behaviour, Service
from streamgauge.profile.job import Job
from streamgauge.topology.validation import check_number
from streamgauge.topology.workload import Emission, Poisson, Unlimited, Workload

Rate = float | Mapping[str, float]


def at_rate(job: Job, rate: Rate) -> Job:
    """The job under another load.

    Args:
        job: With a workload.
        rate: Tuples per second of all sources together, in the proportions they had, or by
            source.

    Raises:
        InvalidInput: A rate is no number above zero, or is for what does not emit.
    """
    if job.workload is None:
        raise InvalidInput.single(
            (), seen="a rate for a job without a workload", expected="what its sources emit"
        )
    emissions = job.workload.emissions
    if not isinstance(rate, Mapping):
        shared = _shared(emissions, rate)
        return replace(job, workload=Workload(emissions=shared))
    findings = Findings()
    sources = list(dict.fromkeys(one.source for one in emissions))
    found = dict(enumerate(emissions))
    for name, value in rate.items():
        mine = {place: one for place, one in found.items() if one.source == name}
        if not mine:
            findings.add(
                name,
                seen=f"a rate for {name!r}",
                expected="a source that emits",
                remedy=did_you_mean(name, sources),
            )
            continue
        with findings.at(name):
            found.update(zip(mine, _shared(tuple(mine.values()), value), strict=True))
    findings.raise_if_any()
    return replace(job, workload=Workload(emissions=tuple(found.values())))


def with_service(job: Job, factors: Mapping[str, float]) -> Job:
    """The job with the service times of some operators made longer or shorter.

    Args:
        job: With behaviours.
        factors: Times what they were, by operator.

    Raises:
        InvalidInput: A factor is no number above zero, or is for what has no behaviour.
    """
    findings = Findings()
    behaviours = dict(job.behaviours)
    for name, factor in factors.items():
        if name not in behaviours:
            findings.add(
                name,
                seen=f"a factor for {name!r}",
                expected="an operator with a behaviour",
                remedy=did_you_mean(name, list(behaviours)),
            )
        elif check_number(findings, factor, name, above=0.0):
            behaviours[name] = _stretched(behaviours[name], factor)
    findings.raise_if_any()
    return replace(job, behaviours=behaviours)


def _shared(emissions: tuple[Emission, ...], rate: float) -> tuple[Emission, ...]:
    """Emissions with `rate` in all, in the proportions they had."""
    findings = Findings()
    check_number(findings, rate, above=0.0)
    findings.raise_if_any()
    if len(emissions) == 1:
        (only,) = emissions
        shape = Poisson() if isinstance(only.shape, Unlimited) else only.shape
        return (replace(only, per_second=rate, shape=shape),)
    total = math.fsum(one.per_second or 0.0 for one in emissions)
    if not total > 0.0:
        raise InvalidInput.single(
            (),
            seen=f"{rate:g} tuples/s for sources that have no rate to change",
            expected="a rate by source",
        )
    return tuple(
        one if one.per_second is None else replace(one, per_second=one.per_second * rate / total)
        for one in emissions
    )


def _stretched(behaviour: Behaviour, factor: float) -> Behaviour:
    inputs = {
        key: replace(one, service=_service(one.service, factor)) if one.service else one
        for key, one in behaviour.inputs.items()
    }
    window = behaviour.window
    if window is not None:
        window = replace(
            window,
            service=_service(window.service, factor),
            per_tuple_ms=window.per_tuple_ms * factor,
        )
    service = _service(behaviour.service, factor)
    return replace(behaviour, service=service, inputs=inputs, window=window)


def _service(service: Service, factor: float) -> Service:
    return Service(cpu_ms=service.cpu_ms.scaled(factor), wait_ms=service.wait_ms.scaled(factor))
