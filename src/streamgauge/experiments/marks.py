"""Windows that do not count, by a rule that was fixed before measuring."""

from __future__ import annotations

from streamgauge.experiments.distributions import NANOSECONDS
from streamgauge.experiments.experiment import Marking
from streamgauge.experiments.figures import find_reported_seconds
from streamgauge.experiments.placements import Placement
from streamgauge.experiments.readings import Span, WindowReadings
from streamgauge.lake.metrics import Metric


def list_marks(
    window: WindowReadings, placement: Placement, span: Span, rule: Marking
) -> tuple[str, ...]:
    """Why a window is left out; nothing where it counts."""
    return (
        *_list_unreported(window, placement, span, rule),
        *_list_stolen(window, rule),
        *_list_collections(window, rule),
    )


def _list_unreported(
    window: WindowReadings, placement: Placement, span: Span, rule: Marking
) -> list[str]:
    short = {
        worker: reported
        for worker in placement.workers
        if (reported := find_reported_seconds(window, worker))
        < rule.coverage * span.window_seconds * (1.0 - 1e-9)
    }
    return [
        f"worker {worker} reported only {reported:g} s of {span.window_seconds:g} s"
        for worker, reported in short.items()
    ]


def _list_stolen(window: WindowReadings, rule: Marking) -> list[str]:
    found = []
    cores = {machine: spent.most for machine, spent in window.of(Metric.MACHINE_CORES)}
    for machine, spent in window.of(Metric.MACHINE_STOLEN):
        share = spent.value / (spent.seconds * NANOSECONDS * cores.get(machine, 1.0))
        if share > rule.stolen_share:
            found.append(f"the host took {100 * share:.1f} % of machine {machine}")
    return found


def _list_collections(window: WindowReadings, rule: Marking) -> list[str]:
    return [
        f"worker {worker} collected garbage for {spent.most / NANOSECONDS:.2g} s in one bucket"
        for worker, spent in window.of(Metric.GC_TIME)
        if spent.most > rule.collection_seconds * NANOSECONDS
    ]
