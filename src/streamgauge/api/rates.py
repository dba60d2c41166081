"""How much sources emit: given rates, what a job declares, or what was measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from streamgauge.errors import Findings, InvalidInput, NotEnoughData, did_you_mean
from streamgauge.models.measured_plan import measured_workload
from streamgauge.profile.job import Job
from streamgauge.profile.profile import Profile
from streamgauge.topology.topology import Topology
from streamgauge.topology.workload import MOST_PER_SECOND, Emission, Workload

OPTION = "--rate"

# One number for all sources together, numbers by source or ``SOURCE/STREAM``, or the same as
# texts: ``2000``, ``SOURCE=NUMBER``, ``SOURCE/STREAM=NUMBER``.
Rates = float | str | Mapping[str, float] | Sequence[str] | None


def apply_rates(workload: Workload, rates: Rates) -> Workload:
    """The workload at other rates; as it is where none are given.

    Raises:
        InvalidInput: A rate is no number above zero, or names something that does not emit.
    """
    texts = list_rates(rates)
    if not texts:
        return workload
    findings = Findings()
    if len(texts) == 1 and "=" not in texts[0]:
        with findings.at(OPTION):
            workload = workload.at_rate(_parse_rate(texts[0], texts[0]))
        findings.raise_if_any()
        return workload
    for text in texts:
        name, _, amount = text.rpartition("=")
        streams = [
            emission.key
            for emission in workload.emissions
            if name in (emission.source, f"{emission.source}/{emission.stream}")
        ]
        if not streams:
            known = sorted({emission.source for emission in workload.emissions})
            findings.add(
                OPTION,
                seen=f"{text!r}: no source {name!r}"
                if name
                else f"{text!r} together with other rates",
                expected=f"SOURCE=NUMBER, SOURCE one of {', '.join(known)}",
                remedy=did_you_mean(name, known) if name else "",
            )
            continue
        with findings.at(OPTION):
            workload = workload.at_rate(_parse_rate(amount, text), streams)
    findings.raise_if_any()
    return workload


def choose_workload(job: Job, profile: Profile | None, rates: Rates) -> Workload | None:
    """A job's own load, or what was measured, at the given rates; None where nothing says."""
    if job.workload is not None:
        return apply_rates(job.workload, rates)
    if profile is not None:
        return measure_workload(profile, rates)
    return apply_rates(_emit_evenly(job.topology), rates) if list_rates(rates) else None


def measure_workload(profile: Profile, rates: Rates) -> Workload:
    """What was measured, at the given rates; sources emit alike where nothing was measured.

    Raises:
        NotEnoughData: The rate of a source was not measured, and none is given.
    """
    try:
        workload = measured_workload(profile)
    except NotEnoughData:
        if not list_rates(rates):
            raise
        workload = _emit_evenly(profile.topology)
    return apply_rates(workload, rates)


def list_rates(rates: Rates) -> list[str]:
    """The rates as texts, as the command line takes them."""
    if rates is None:
        return []
    if isinstance(rates, str):
        return [rates]
    if isinstance(rates, Mapping):
        return [f"{name}={amount}" for name, amount in rates.items()]
    return list(rates) if isinstance(rates, Sequence) else [str(rates)]


def _emit_evenly(topology: Topology) -> Workload:
    """All streams of sources at one rate."""
    streams = {
        stream.key for source in topology.sources for stream in topology.streams_from(source.name)
    }
    return Workload(
        emissions=tuple(
            Emission(source=key.source, stream=key.name, per_second=1.0) for key in sorted(streams)
        )
    )


def is_range(rate: Rates) -> bool:
    """Whether rates are a range of them, such as ``50..500``."""
    return any(".." in text for text in list_rates(rate))


def _parse_rate(text: str, whole: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 < value <= MOST_PER_SECOND:
        raise InvalidInput.single(
            (),
            seen=repr(whole),
            expected="tuples per second above zero and at most "
            f"{MOST_PER_SECOND:g}, or SOURCE=NUMBER",
            remedy="ranges are for `predict --rate` and sg.load_curve" if ".." in text else "",
        )
    return value
