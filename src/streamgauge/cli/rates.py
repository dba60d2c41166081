"""``--rate``: how much sources emit, all together or each."""

from __future__ import annotations

import math
from collections.abc import Sequence

from streamgauge.errors import Findings, InvalidInput, did_you_mean
from streamgauge.topology.workload import MOST_PER_SECOND, Emission, Workload

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
    findings = Findings()
    if len(wanted) == 1 and "=" not in wanted[0]:
        with findings.at(OPTION):
            workload = workload.at_rate(_number(wanted[0], wanted[0]))
        findings.raise_if_any()
        return workload
    for text in wanted:
        name, _, amount = text.rpartition("=")
        streams = [one.key for one in workload.emissions if _is_meant(one, name)]
        if not streams:
            known = sorted({one.source for one in workload.emissions})
            findings.add(
                OPTION,
                seen=f"{text!r}: no source {name!r}" if name else f"{text!r} beside other rates",
                expected=f"SOURCE=NUMBER, SOURCE one of {', '.join(known)}",
                remedy=did_you_mean(name, known) if name else "",
            )
            continue
        with findings.at(OPTION):
            workload = workload.at_rate(_number(amount, text), streams)
    findings.raise_if_any()
    return workload


def _is_meant(emission: Emission, name: str) -> bool:
    return name in (emission.source, f"{emission.source}/{emission.stream}")


def _number(text: str, whole: str) -> float:
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
        )
    return value
