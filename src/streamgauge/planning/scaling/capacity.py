"""What one unit can process: by wall-clock time, and by the CPU it may use.

A unit is an executor with so many cores to itself, one unless said otherwise. Its thread is busy
for the whole of a tuple's time, waiting included, so it processes no more than one tuple in that
time; and no more than its cores allow.
"""

from __future__ import annotations

import math
from dataclasses import replace

from streamgauge.errors import Findings, NotEnoughData
from streamgauge.profile.figures import Figure, TimeFigures
from streamgauge.profile.profile import Profile
from streamgauge.topology.field_checks import check_number
from streamgauge.topology.logical_plan import Executor
from streamgauge.topology.topology import OperatorKind

WHOLE_CORE = 1.0
MS_PER_SECOND = 1e3


def unit_capacity(
    *,
    cpu_seconds: float,
    wait_seconds: float = 0.0,
    beside_seconds: float = 0.0,
    unit_cores: float = WHOLE_CORE,
) -> float:
    """Tuples per second of one unit; infinite where a tuple takes no time.

    Args:
        cpu_seconds: Of a tuple on a core.
        wait_seconds: Of a tuple off the cores.
        beside_seconds: On a core for each tuple, but on another thread: windows by time.
        unit_cores: Cores that the unit may keep busy.
    """
    wall_seconds, on_cores = cpu_seconds + wait_seconds, cpu_seconds + beside_seconds
    return min(
        1.0 / wall_seconds if wall_seconds > 0.0 else math.inf,
        unit_cores / on_cores if on_cores > 0.0 else math.inf,
    )


def estimated_unit_maximum(
    processed_per_second: float, *, used_cores: float, limit_cores: float = WHOLE_CORE
) -> float:
    """What a unit below saturation would process with all of its CPU in use.

    Puttaswamy 2018, chapter 7: CPU in use is correlated with tuples processed. Whatever else its
    thread does, such as polling, counts as work, so that this is an estimate from below.
    """
    findings = Findings()
    check_number(findings, processed_per_second, "processed_per_second")
    check_number(findings, used_cores, "used_cores", above=0.0)
    check_number(findings, limit_cores, "limit_cores", above=0.0)
    findings.raise_if_any()
    return processed_per_second / (used_cores / limit_cores)


def with_estimated_times(profile: Profile) -> tuple[Profile, tuple[str, ...]]:
    """The profile, where operators lack service times with those that their CPU suggests.

    Returns:
        The profile, and the operators whose times are estimates.

    Raises:
        NotEnoughData: Of an operator neither service time nor CPU and rate were measured.
    """
    missing = [
        operator.name
        for operator in profile.topology.operators
        if operator.kind is OperatorKind.PROCESSOR and not _is_timed(profile, operator.name)
    ]
    found = {name: _core_seconds(profile, name) for name in missing}
    unknown = [name for name, seconds in found.items() if seconds is None]
    if unknown:
        raise NotEnoughData(
            f"what a unit of {', '.join(unknown)} can process is not known: neither service times"
            " nor the CPU of executors and what they processed were measured; profile a longer"
            " period, or write the figures by hand"
        )
    if not missing:
        return profile, ()
    tasks = dict(profile.tasks)
    for one, task in tasks.items():
        seconds = found.get(one.operator)
        if seconds is not None:
            cpu = TimeFigures(mean_ms=Figure(value=seconds * MS_PER_SECOND))
            inputs = {key: replace(figures, cpu=cpu) for key, figures in task.inputs.items()}
            tasks[one] = replace(task, inputs=inputs)
    return replace(profile, tasks=tasks), tuple(missing)


def _is_timed(profile: Profile, operator: str) -> bool:
    """Whether a service time was measured of a stream into it."""
    received = {stream.key for stream in profile.topology.streams_into(operator)}
    return any(
        figures.wall is not None or figures.cpu is not None
        for task in profile.tasks_of(operator).values()
        for key, figures in task.inputs.items()
        if key in received
    )


def _core_seconds(profile: Profile, operator: str) -> float | None:
    """Time on a core for each tuple, by all that its executors' threads used; None: not known."""
    rates = [
        figures.per_second.value
        for task in profile.tasks_of(operator).values()
        for figures in task.inputs.values()
        if figures.per_second is not None
    ]
    cores = [
        figures.cores.value
        for label, figures in profile.executors.items()
        if figures.cores is not None and Executor.parse(label).operator == operator
    ]
    # What is known of some executors is taken to hold for all.
    used = math.fsum(cores) / max(len(cores), 1) * profile.configuration.executors_of(operator)
    processed = math.fsum(rates)
    if used <= 0.0 or processed <= 0.0:
        return None
    return 1.0 / estimated_unit_maximum(processed, used_cores=used)
