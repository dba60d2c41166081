"""Capacities in words and tables: measured beside computed, both rules of growth, CPU by output."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from streamgauge.drawing.wording import (
    count,
    format_difference,
    format_duration,
    format_duration_within,
    format_estimate,
    format_number,
    format_number_within,
    format_utilisation,
)
from streamgauge.models.capacity_check import find_tightest
from streamgauge.models.capacity_fit import relative_error
from streamgauge.models.measured_capacity import Basis
from streamgauge.models.parallelism_scaling import half_width
from streamgauge.reports.content import Cell, Column, Row, Table, tabulate

if TYPE_CHECKING:
    from streamgauge.models.backpressure_alert import BackpressureAlert
    from streamgauge.models.capacity_check import CheckedCapacity
    from streamgauge.models.capacity_fit import Fitted
    from streamgauge.models.measured_capacity import CapacityFit, OperatorFit
    from streamgauge.models.output_cpu import OutputCpu
    from streamgauge.profile.observed import Scaling

PER_SECOND = "tuples/s"


def tabulate_capacities(checked: Sequence[CheckedCapacity]) -> Table:
    """What comes to each operator, and how much it could take, computed and measured."""
    tightest = find_tightest(checked)
    return tabulate(
        "How much each operator can take on this plan",
        [_show_checked(one) for one in checked if one.arriving > 0.0],
        note="Computed: its busiest executor would be full, by service time on cores as crowded as"
        " here; the limit of this answer rests on it."
        + (
            " Measured: ± half of the 90 % interval, from plans that ran, by the learned exponent"
            f" where there is one; so {tightest.operator} would be full first, at"
            f" {format_estimate(tightest.headroom)} times the load. Linear rule: p executors do p"
            " times as much."
            if tightest is not None
            else " No operator was ever seen saturated, so none was measured."
        ),
    )


def _show_checked(one: CheckedCapacity) -> Row:
    linear = one.linear
    return {
        Column("operator"): one.operator,
        Column("executors"): one.executors,
        Column("in", PER_SECOND): format_number(one.arriving),
        Column("computed", PER_SECOND): _show_number(one.computed),
        Column("measured", PER_SECOND): _show_measured(one),
        Column("difference"): None
        if math.isnan(one.difference)
        else format_difference(one.difference),
        Column("linear rule", PER_SECOND): None if linear is None else format_number(linear.value),
        Column("told by", words=True): _show_basis(one),
    }


def _show_basis(one: CheckedCapacity) -> Cell:
    if one.rules is not None:
        return f"{one.rules.curve.basis}, {count(one.rules.curve.executors, 'executor')}"
    return "never saturated" if one.at_least > 0.0 else None


def _show_measured(one: CheckedCapacity) -> str | None:
    if one.measured is None and one.at_least > 0.0:
        return f"above {format_number(one.at_least)}"
    return show_fitted(one.measured)


def tabulate_output_cpu(checked: Sequence[CheckedCapacity]) -> Table:
    """CPU of executors' threads by the CPU model, and by output."""
    rows = [
        {
            Column("operator"): one.operator,
            Column("CPU model", "cores"): _show_number(one.cores),
            Column("by output (ψ)", "cores"): _show_number(one.psi_cores),
            Column("difference"): _show_difference(one.psi_cores, one.cores),
        }
        for one in checked
        if not math.isnan(one.psi_cores)
    ]
    return tabulate(
        "CPU of executors' threads, polling included",
        rows,
        note="ψ is a baseline: cores in proportion to what was emitted, whatever the plan.",
    )


def tabulate_alerts(alerts: Sequence[BackpressureAlert]) -> Table:
    """Who would hold its senders back, by both rules."""
    return tabulate(
        "Back-pressure alert at the busiest executor",
        [
            {
                Column("operator"): one.operator,
                Column("executor"): one.executor,
                Column("in", PER_SECOND): format_number(one.arriving),
                Column("busy"): format_utilisation(one.utilisation),
                Column("our alert"): "yes" if one.by_utilisation else "no",
                Column("rate × median service"): format_utilisation(one.load_by_median),
                Column("alert by median"): "yes" if one.by_median else "no",
                Column("median service", page_only=True): format_duration(one.median_seconds)
                + ("" if one.is_measured else " (from mean and variation)"),
            }
            for one in alerts
        ],
        note="Ours: busy for 95 % of the time and more, crowded cores included. By median: more"
        " comes than one over the median service time (Cooper 2020); where times are skewed it"
        " comes late.",
    )


def tabulate_curves(fits: Mapping[str, OperatorFit]) -> Table:
    """Throughput curves as they were measured."""
    rows = [_show_curve(name, one) for name, fit in fits.items() for one in fit.curves]
    return tabulate(
        "Throughput of one executor",
        rows,
        note="± half of the 90 % interval. Without a saturated observation only a lower bound is"
        " known, and predictions rest on service time, cores and contention.",
    )


def _show_curve(name: str, one: CapacityFit) -> Row:
    told: str = one.basis
    if one.caution:
        told = f"{told}; {one.caution}"
    return {
        Column("operator"): name,
        Column("executors"): one.executors,
        Column("saturates at", PER_SECOND): show_fitted(one.instance)
        or f"above {format_number(one.at_least)}",
        Column("out per in"): show_fitted(one.amplification) if one.amplification.value else None,
        Column("observations", "saturated, free"): f"{one.saturated}, {one.free}",
        Column("told by", words=True): told,
    }


def tabulate_scaling(fits: Mapping[str, OperatorFit]) -> Table:
    """How capacity grows with executors, the linear rule beside it."""
    rows: list[Row] = []
    for name, fit in fits.items():
        if fit.scaling is None:
            continue
        power = 2.0**fit.scaling.exponent
        rows.append(
            {
                Column("operator"): name,
                Column("exponent"): _show_exponent(fit.scaling),
                Column("linear rule"): "1",
                Column("twice the executors do", "times as much"): format_number(power),
                Column("learned from", "executors"): ", ".join(map(str, fit.scaling.executors))
                or "written by hand",
            }
        )
    return tabulate(
        "How capacity grows with executors",
        rows,
        note="Capacity grows as that power of the number of executors, on machines and placements"
        " as they were. ± half of the 90 % interval.",
    )


def tabulate_psi(fits: Mapping[str, OperatorFit]) -> Table:
    """CPU by output."""
    return tabulate(
        "CPU of executors' threads by output (ψ)",
        [
            {
                Column("operator"): name,
                Column("core time", "each tuple out"): _show_psi(fit.output_cpu),
                Column("idle", "cores each"): format_number(fit.output_cpu.idle_cores),
                Column("observations"): fit.output_cpu.psi.observations,
            }
            for name, fit in fits.items()
            if fit.output_cpu is not None
        ],
        note="A baseline. Of an operator without outputs: each tuple in.",
    )


def _show_psi(one: OutputCpu) -> str:
    return format_duration_within(one.psi.value, one.psi.half_width)


def _show_exponent(scaling: Scaling) -> str:
    return format_number_within(scaling.exponent, half_width(scaling))


def show_fitted(one: Fitted | None) -> str | None:
    """``651 ± 12``."""
    return None if one is None else format_number_within(one.value, one.half_width)


def _show_number(value: float) -> str | None:
    return None if math.isnan(value) else format_number(value)


def _show_difference(value: float, reference: float) -> str | None:
    if math.isnan(value) or math.isnan(reference) or reference <= 0.0:
        return None
    return format_difference(value / reference - 1.0)


def document_capacities(checked: Sequence[CheckedCapacity]) -> list[dict[str, Any]]:
    """For ``--json``; what is not known is null."""
    return [
        {
            "operator": one.operator,
            "executors": one.executors,
            "arriving_per_second": one.arriving,
            "computed_per_second": _known(one.computed),
            "measured_per_second": _document_fitted(one.measured),
            "linear_rule_per_second": _document_fitted(one.linear),
            "basis": Basis.UNKNOWN if one.rules is None else one.rules.curve.basis,
            "measured_executors": None if one.rules is None else one.rules.curve.executors,
            "at_least_per_second": one.at_least,
            "relative_error": None
            if one.measured is None or math.isnan(one.difference)
            else relative_error(one.computed, one.measured.value),
            "differs": one.differs,
            "measured_headroom": _known(one.headroom),
            "cpu_model_cores": _known(one.cores),
            "psi_cores": _known(one.psi_cores),
        }
        for one in checked
    ]


def document_alerts(alerts: Sequence[BackpressureAlert]) -> list[dict[str, Any]]:
    """For ``--json``."""
    return [
        {
            "operator": one.operator,
            "executor": one.executor,
            "arriving_per_second": one.arriving,
            "utilisation": one.utilisation,
            "alert": one.by_utilisation,
            "median_service_seconds": one.median_seconds,
            "median_is_measured": one.is_measured,
            "load_by_median": one.load_by_median,
            "alert_by_median": one.by_median,
        }
        for one in alerts
    ]


def document_fits(fits: Mapping[str, OperatorFit]) -> dict[str, Any]:
    """Curves, exponents and ψ of a profile, for ``--json``."""
    return {name: dict(_document_fit(fit)) for name, fit in fits.items()}


def _document_fit(fit: OperatorFit) -> Iterator[tuple[str, Any]]:
    yield (
        "curves",
        [
            {
                "executors": one.executors,
                "saturation_per_second": _document_fitted(one.instance),
                "saturation_throughput_per_second": _known(one.throughput),
                "amplification": _document_fitted(one.amplification),
                "at_least_per_second": one.at_least,
                "saturated": one.saturated,
                "free": one.free,
                "basis": one.basis,
                "plans": list(one.plans),
                "caution": one.caution,
            }
            for one in fit.curves
        ],
    )
    scaling, psi = fit.scaling, fit.output_cpu
    yield (
        "scaling",
        None
        if scaling is None
        else {
            "exponent": scaling.exponent,
            "half_width": _known(half_width(scaling)),
            "linear": 1.0,
            "executors": list(scaling.executors),
        },
    )
    yield (
        "psi",
        None
        if psi is None
        else {
            "core_seconds_per_tuple": _document_fitted(psi.psi),
            "idle_cores": psi.idle_cores,
        },
    )


def _document_fitted(one: Fitted | None) -> dict[str, Any] | None:
    if one is None or math.isnan(one.value):
        return None
    return {
        "value": one.value,
        "low": _known(one.low),
        "high": _known(one.high),
        "observations": one.observations,
    }


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
