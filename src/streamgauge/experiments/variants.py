"""Variants of a job: another rate, other service times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from streamgauge.errors import Findings, InvalidInput, did_you_mean
from streamgauge.profile.behaviour import Behaviour, Service
from streamgauge.profile.job import Job
from streamgauge.topology.field_checks import check_number

Rate = float | Mapping[str, float]


def set_rate(job: Job, rate: Rate) -> Job:
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
    if not isinstance(rate, Mapping):
        return replace(job, workload=job.workload.at_rate(rate))
    findings = Findings()
    workload = job.workload
    sources = list(dict.fromkeys(one.source for one in workload.emissions))
    for name, value in rate.items():
        streams = [one.key for one in workload.emissions if one.source == name]
        if not streams:
            findings.add(
                name,
                seen=f"a rate for {name!r}",
                expected="a source that emits",
                remedy=did_you_mean(name, sources),
            )
            continue
        with findings.at(name):
            workload = workload.at_rate(value, streams)
    findings.raise_if_any()
    return replace(job, workload=workload)


def scale_service(job: Job, factors: Mapping[str, float]) -> Job:
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
            behaviours[name] = _stretch(behaviours[name], factor)
    findings.raise_if_any()
    return replace(job, behaviours=behaviours)


def _stretch(behaviour: Behaviour, factor: float) -> Behaviour:
    inputs = {
        key: replace(one, service=_scale_distribution(one.service, factor)) if one.service else one
        for key, one in behaviour.inputs.items()
    }
    window = behaviour.window
    if window is not None:
        window = replace(
            window,
            service=_scale_distribution(window.service, factor),
            per_tuple_ms=window.per_tuple_ms * factor,
        )
    service = _scale_distribution(behaviour.service, factor)
    return replace(behaviour, service=service, inputs=inputs, window=window)


def _scale_distribution(service: Service, factor: float) -> Service:
    return Service(cpu_ms=service.cpu_ms.scale(factor), wait_ms=service.wait_ms.scale(factor))
