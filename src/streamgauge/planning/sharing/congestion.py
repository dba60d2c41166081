"""Which operators are congested, by a metric that can be exchanged (Henge, section 2.6.1).

Each metric gives a *pressure*: above one an operator is congested, and the more so the higher.
"""

from __future__ import annotations

from enum import StrEnum

from streamgauge.planning.sharing.observation import CONGESTED, JobSeen, OperatorSeen

# Tuples that wait for an executor: as many as in front of one that is busy for 91 % of the time.
LONG_QUEUE = 10.0
# An operator is congested that is sent so many times what it executes (Stela, Xu et al. 2016).
STELA_CONGESTED = 1.2


class Congestion(StrEnum):
    """The metrics.

    CAPACITY: The part of the time that the busiest executor is busy, over a threshold (eq. 2.3).
    QUEUE: Tuples that wait for an executor, over `LONG_QUEUE`.
    ETP: Effective throughput percentage (Stela): of operators that are sent more than they execute,
        the part of all sinks' throughput that they alone hold up.
    """

    CAPACITY = "capacity"
    QUEUE = "queue"
    ETP = "etp"


def find_pressures(
    job: JobSeen, by: Congestion = Congestion.CAPACITY, capacity_threshold: float = CONGESTED
) -> dict[str, float]:
    """The pressure on each operator; sources execute nothing and have none."""
    operators = {name: one for name, one in job.operators.items() if not one.is_source}
    if by is Congestion.QUEUE:
        return {name: one.queue / one.executors / LONG_QUEUE for name, one in operators.items()}
    if by is Congestion.ETP:
        held_up = find_etp(job)
        return {
            name: 1.0 + held_up[name] if _is_sent_too_much(one) else 0.0
            for name, one in operators.items()
        }
    # What exceeds one is time that a thread waited for a core.
    return {name: min(one.capacity, 1.0) / capacity_threshold for name, one in operators.items()}


def find_etp(job: JobSeen) -> dict[str, float]:
    """Effective throughput percentage of every operator, from 0 to 1.

    The throughput of the sinks that are reached without passing another congested operator, over
    that of all sinks; a sink that is reached on two ways counts once.
    """
    children: dict[str, list[str]] = {name: [] for name in job.operators}
    for name, one in job.operators.items():
        for parent in one.executed:
            children.setdefault(parent, []).append(name)
    sinks = {
        name: job.operators[name].input_per_second for name in job.operators if not children[name]
    }
    total = sum(sinks.values())
    if total <= 0.0:
        return dict.fromkeys(job.operators, 0.0)
    return {
        name: sum(sinks[sink] for sink in _reached(name, job, children) & sinks.keys()) / total
        for name in job.operators
    }


def _reached(name: str, job: JobSeen, children: dict[str, list[str]]) -> set[str]:
    """An operator and what is behind it, up to the next congested ones."""
    reached, ahead = {name}, [name]
    while ahead:
        for child in children[ahead.pop()]:
            if child not in reached and not _is_sent_too_much(job.operators[child]):
                reached.add(child)
                ahead.append(child)
    return reached


def _is_sent_too_much(one: OperatorSeen) -> bool:
    executed = one.input_per_second
    sent = executed if one.arrived_per_second is None else one.arrived_per_second
    # What senders that are held back do not send they would send.
    held = min(max(one.held_back, 0.0), 0.999)
    return sent / (1.0 - held) > STELA_CONGESTED * executed
