"""What the study of an experiment found: regimes, bottlenecks, nearness to a reference."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from streamgauge.drawing.quantities import duration, number, share
from streamgauge.experiments.studies import BottleneckSearch, Fidelity, LoadSweep
from streamgauge.experiments.study_results import (
    Difference,
    Gain,
    Regime,
    RepetitionRegime,
    compare_with_reference,
    find_regimes,
    rank_gains,
)
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
        table: The figures that it rests on.
        document: The same for programs.
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
    finding = ", ".join(f"{step} {name_regime(found)}" for step, found in by_step.items())
    rule = study.rule
    table = tabulate(
        f"Regimes: events from above {rule.enter:g} to below {rule.leave:g} times the"
        f" median latency of {study.baseline}; means over repetitions",
        [
            {
                Column("step"): step,
                Column("regime", words=True): name_regime(found),
                Column("events"): number(_average([float(len(one.events)) for one in found])),
                Column("each", "mean"): duration(_average([one.mean_seconds for one in found])),
                Column("of the time"): share(_average([one.share for one in found])),
                Column("σ throughput", "tuples/s"): number(
                    _average([one.throughput_deviation for one in found])
                ),
                Column("σ latency"): duration(_average([one.latency_deviation for one in found])),
            }
            for step, found in by_step.items()
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
                step: [_write_regime(one) for one in found] for step, found in by_step.items()
            },
        },
    )


def name_regime(repetitions: Sequence[RepetitionRegime]) -> str:
    """The regime of a step: the one that most of its repetitions had, and how many."""
    counts = {regime: sum(one.regime is regime for one in repetitions) for regime in Regime}
    regime = max(counts, key=lambda regime: counts[regime])
    total = len(repetitions)
    return regime if counts[regime] == total else f"{regime} ({counts[regime]}/{total})"


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
                ): f"{share(gain.throughput_floor)}, {share(gain.latency_floor)}",
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
    limiting = [gain for gain in ranked if gain.verdict == "limits throughput"]
    if limiting:
        first = limiting[0]
        more = share(first.throughput)
        return f"{first.operator}, whose halved service time raises throughput by {more}"
    if ranked and ranked[0].verdict == "adds latency":
        first = ranked[0]
        part = share(first.latency)
        return f"none of throughput; {first.operator} adds most latency: {part} of it"
    return "none was found"


def _read_fidelity(truth: Truth, study: Fidelity) -> StudyResult:
    differences = list(compare_with_reference(truth, study))
    means = [one for one in differences if one.figure in ("throughput", "latency, mean")]
    finding = f"nothing to compare with {study.reference} yet"
    if means:
        worst = max(means, key=lambda one: abs(one.part))
        finding = (
            f"within {share(abs(worst.part))} of {study.reference} in throughput and mean latency"
            f" (worst: {worst.figure} of {worst.step}, {_show_signed(worst.part)})"
        )
    table = tabulate(
        f"Difference from {study.reference}",
        [
            {
                Column("step"): one.step,
                Column("figure", words=True): one.figure,
                Column(study.reference): _show_figure(one, one.reference),
                Column("here"): _show_figure(one, one.value),
                Column("difference"): _show_signed(one.part),
                Column("floor"): share(one.floor),
            }
            for one in differences
        ],
    )
    return StudyResult(
        word="Fidelity",
        finding=finding,
        table=table,
        document={
            "kind": study.kind,
            "reference": study.reference,
            "differences": [asdict(one) for one in differences],
        },
    )


def _show_figure(difference: Difference, value: float) -> str:
    return number(value) if difference.figure == "throughput" else duration(value)


def _show_signed(part: float) -> str:
    text = share(abs(part))
    if not text[0].isdigit() or not part:
        return text
    return f"{'+' if part > 0.0 else '−'}{text}"


def _average(values: Sequence[float]) -> float:
    known = [value for value in values if math.isfinite(value)]
    return math.fsum(known) / len(known) if known else math.nan
