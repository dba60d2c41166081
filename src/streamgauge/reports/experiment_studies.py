"""What the study of an experiment found: regimes, bottlenecks, nearness to a reference."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from streamgauge.drawing.wording import format_duration, format_number, format_share
from streamgauge.experiments.regimes import Regime, RepetitionRegime, find_regimes
from streamgauge.experiments.step_differences import (
    Difference,
    Gain,
    compare_with_reference,
    rank_gains,
)
from streamgauge.experiments.studies import BottleneckSearch, Fidelity, LoadSweep
from streamgauge.reports.content import Column, Table, tabulate

if TYPE_CHECKING:
    from streamgauge.experiments.experiment import Experiment
    from streamgauge.experiments.truth import Truth


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyResult:
    """What a study found.

    Attributes:
        word: What it is about: the first word of the report.
        finding: The rest of the sentence.
    """

    word: str
    finding: str
    table: Table
    document: Mapping[str, Any]


def read_study(experiment: Experiment, truth: Truth) -> StudyResult | None:
    """What the experiment's study found; None where steps are only measured beside each other."""
    match experiment.study:
        case LoadSweep() as study:
            return _read_sweep(truth, study)
        case BottleneckSearch() as study:
            return _read_search(truth, study)
        case Fidelity() as study:
            return _read_fidelity(truth, study)
    return None


def _read_sweep(truth: Truth, study: LoadSweep) -> StudyResult:
    by_step = find_regimes(truth, study)
    regimes = {step: name_regime(repetitions) for step, repetitions in by_step.items()}
    finding = ", ".join(f"{step} {regime}" for step, regime in regimes.items())
    rule = study.rule
    table = tabulate(
        f"Regimes: events from above {rule.enter:g} to below {rule.leave:g} times the"
        f" median latency of {study.baseline}; means over repetitions",
        [
            {
                Column("step"): step,
                Column("regime", words=True): regimes[step],
                Column("events"): format_number(
                    _average([float(len(regime.events)) for regime in repetitions])
                ),
                Column("each", "mean"): format_duration(_average_of("mean_seconds", repetitions)),
                Column("of the time"): format_share(_average_of("share", repetitions)),
                Column("σ throughput", "tuples/s"): format_number(
                    _average_of("throughput_deviation", repetitions)
                ),
                Column("σ latency"): format_duration(_average_of("latency_deviation", repetitions)),
            }
            for step, repetitions in by_step.items()
        ],
    )
    return StudyResult(
        word="Regimes",
        finding=finding or "not known without the first step, which is the baseline",
        table=table,
        document={
            "kind": study.kind,
            "baseline": study.baseline,
            "steps": {
                step: list(map(_write_regime, repetitions)) for step, repetitions in by_step.items()
            },
        },
    )


def name_regime(repetitions: Sequence[RepetitionRegime]) -> str:
    """The regime of a step: the one that most of its repetitions had, and how many."""
    regimes = [repetition.regime for repetition in repetitions]
    most = max(Regime, key=regimes.count)
    share, total = regimes.count(most), len(regimes)
    return most if share == total else f"{most} ({share}/{total})"


def _write_regime(repetition: RepetitionRegime) -> dict[str, Any]:
    return {
        "regime": str(repetition.regime),
        "events": [asdict(event) for event in repetition.events],
        "total_seconds": repetition.total_seconds,
        "share": repetition.share,
        "throughput_deviation": repetition.throughput_deviation,
        "latency_deviation": repetition.latency_deviation,
    }


def _read_search(truth: Truth, study: BottleneckSearch) -> StudyResult:
    ranked = rank_gains(truth, study)
    table = tabulate(
        "Gains by halving the service time of one operator",
        [
            {
                Column("operator"): gain.operator,
                Column("throughput"): _show_signed(gain.throughput),
                Column("latency shorter by"): _show_signed(gain.latency),
                Column(
                    "floors", "throughput, latency"
                ): f"{format_share(gain.throughput_floor)}, {format_share(gain.latency_floor)}",
                Column("it", words=True): gain.verdict,
            }
            for gain in ranked
        ],
    )
    operators = [{**asdict(gain), "verdict": gain.verdict} for gain in ranked]
    return StudyResult(
        word="Bottleneck",
        finding=_name_bottleneck(ranked),
        table=table,
        document={"kind": study.kind, "base": study.base, "operators": operators},
    )


def _name_bottleneck(ranked: Sequence[Gain]) -> str:
    for gain in ranked:
        if gain.verdict == "limits throughput":
            more = format_share(gain.throughput)
            return f"{gain.operator}, whose halved service time raises throughput by {more}"
    if ranked and ranked[0].verdict == "adds latency":
        first, part = ranked[0].operator, format_share(ranked[0].latency)
        return f"none of throughput; {first} adds most latency: {part} of it"
    return "none was found"


def _read_fidelity(truth: Truth, study: Fidelity) -> StudyResult:
    differences = list(compare_with_reference(truth, study))
    means = [
        difference
        for difference in differences
        if difference.figure in ("throughput", "latency, mean")
    ]
    finding = f"nothing to compare with {study.reference} yet"
    if means:
        worst = max(means, key=lambda difference: abs(difference.part))
        finding = (
            f"within {format_share(abs(worst.part))} of {study.reference} in throughput and mean"
            f" latency (worst: {worst.figure} of {worst.step}, {_show_signed(worst.part)})"
        )
    table = tabulate(
        f"Difference from {study.reference}",
        [
            {
                Column("step"): difference.step,
                Column("figure", words=True): difference.figure,
                Column(study.reference): _show_figure(difference, difference.reference),
                Column("here"): _show_figure(difference, difference.value),
                Column("difference"): _show_signed(difference.part),
                Column("floor"): format_share(difference.floor),
            }
            for difference in differences
        ],
    )
    return StudyResult(
        word="Fidelity",
        finding=finding,
        table=table,
        document={
            "kind": study.kind,
            "reference": study.reference,
            "differences": list(map(asdict, differences)),
        },
    )


def _show_figure(difference: Difference, value: float) -> str:
    return format_number(value) if difference.figure == "throughput" else format_duration(value)


def _show_signed(part: float) -> str:
    text = format_share(abs(part))
    if not text[0].isdigit() or not part:
        return text
    return f"{'+' if part > 0.0 else '−'}{text}"


def _average_of(figure: str, repetitions: Sequence[RepetitionRegime]) -> float:
    return _average([getattr(repetition, figure) for repetition in repetitions])


def _average(values: Sequence[float]) -> float:
    known = [value for value in values if math.isfinite(value)]
    return math.fsum(known) / len(known) if known else math.nan
