"""``--rate``: how much sources emit, all together or each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from streamgauge.errors import Findings, InvalidInput, did_you_mean
from streamgauge.topology.workload import Emission, Poisson, Unlimited, Workload

OPTION = "--rate"


def with_rates(workload: Workload, wanted: Sequence[str]) -> Workload:
    """The workload with other rates.

    Args:
        workload: What sources emit.
        wanted: One number for all sources together, or any of ``SOURCE=NUMBER`` and
            ``SOURCE/STREAM=NUMBER``.

    Raises:
        InvalidInput: A rate is no number above zero, or names what does not emit.
    """
    if not wanted:
        return workload
    if len(wanted) == 1 and "=" not in wanted[0]:
        return at_rate(workload, _number(wanted[0], wanted[0]))
    emissions = list(workload.emissions)
    findings = Findings()
    for text in wanted:
        name, _, amount = text.rpartition("=")
        found = [index for index, one in enumerate(emissions) if _is_meant(one, name)]
        if not found:
            known = sorted({one.source for one in emissions})
            findings.add(
                OPTION,
                seen=f"{text!r}: no source {name!r}" if name else f"{text!r} beside other rates",
                expected=f"SOURCE=NUMBER, SOURCE one of {', '.join(known)}",
                remedy=did_you_mean(name, known) if name else "",
            )
            continue
        for index, one in zip(
            found, _shared([emissions[i] for i in found], _number(amount, text)), strict=True
        ):
            emissions[index] = one
    findings.raise_if_any()
    return replace(workload, emissions=tuple(emissions))


def at_rate(workload: Workload, rate: float) -> Workload:
    """The same workload with all rates scaled to `rate` in all."""
    if not rate > 0.0:
        raise InvalidInput.single((OPTION,), seen=f"{rate:g}", expected="a rate above zero")
    return replace(workload, emissions=tuple(_shared(workload.emissions, rate)))


def _is_meant(emission: Emission, name: str) -> bool:
    return name in (emission.source, f"{emission.source}/{emission.stream}")


def _shared(emissions: Sequence[Emission], rate: float) -> list[Emission]:
    """Emissions with `rate` in all, in the proportions they had."""
    if len(emissions) == 1:
        (only,) = emissions
        shape = Poisson() if isinstance(only.shape, Unlimited) else only.shape
        return [replace(only, per_second=rate, shape=shape)]
    total = math.fsum(one.per_second or 0.0 for one in emissions)
    if not total > 0.0:
        names = ", ".join(str(one.key) for one in emissions)
        raise InvalidInput.single(
            (OPTION,),
            seen=f"{rate:g} for {names}, which emits as fast as it can or not at all",
            expected="sources with a rate to change",
        )
    return [
        one if one.per_second is None else replace(one, per_second=one.per_second * rate / total)
        for one in emissions
    ]


def _number(text: str, whole: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 < value < math.inf:
        raise InvalidInput.single(
            (OPTION,),
            seen=repr(whole),
            expected="tuples per second above zero, or SOURCE=NUMBER",
        )
    return value
