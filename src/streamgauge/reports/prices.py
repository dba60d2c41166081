"""What a recommendation says of money: machines now and then, and what is to be bought."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from streamgauge.drawing.wording import format_difference, format_share
from streamgauge.planning.packing.catalogue import HOURS_PER_MONTH
from streamgauge.reports.content import Column, Row, Table, tabulate

if TYPE_CHECKING:
    from streamgauge.planning.packing.choosing import JudgedPlan
    from streamgauge.planning.recommending.recommendation import Prices


def show_price(prices: Prices) -> str:
    """``0.391 → 0.198 USD an hour (-49 %)``."""
    currency = prices.catalogue.currency
    if prices.now is None:
        return f"{prices.then:.3f} {currency} an hour"
    change = format_difference(prices.then / prices.now - 1.0)
    return f"{prices.now:.3f} → {prices.then:.3f} {currency} an hour ({change})"


def show_both_prices(prices: Prices) -> tuple[str, str]:
    """``, 0.391 USD an hour``, now and then, to follow the name of a plan."""
    now, then = (
        "" if price is None else f", {price:.3f} {prices.catalogue.currency} an hour"
        for price in (prices.now, prices.then)
    )
    return now, then


def tabulate_prices(prices: Prices, *, is_moved: bool) -> Iterator[Table]:
    """The price now, then and the difference, and the machines.

    Args:
        prices: Of a recommendation.
        is_moved: Whether its plan is one for the machines that are bought.
    """
    currency, note, then = prices.catalogue.currency, "", "what the plan needs"
    if prices.bought is None:
        then = "as they are, as no cheaper ones were found"
    elif not is_moved:
        note = (
            "The plan is for the cluster that there is. What it needs: the cheapest machines on"
            " which its executors meet the objective, placed anew."
        )
    rows: list[Row] = [
        {
            Column("machines", words=True): name,
            Column("price", f"{currency} an hour"): None if price is None else f"{price:.3f}",
            Column("a month", currency): None
            if price is None
            else f"{price * HOURS_PER_MONTH:,.0f}",
        }
        for name, price in (
            ("now, as the cheapest types that have as much", prices.now),
            (f"then, {then}", prices.then),
            ("difference", prices.difference),
        )
    ]
    yield tabulate("Price now and then", rows, note=note)
    if prices.bought is not None:
        yield tabulate("What to buy", list(_list_machines(prices.bought)))


def document_prices(prices: Prices) -> dict[str, Any]:
    """The same for a document."""
    bought = prices.bought
    return {
        "catalogue": prices.catalogue.name,
        "currency": prices.catalogue.currency,
        "is_example_catalogue": prices.catalogue.is_example,
        "now_per_hour": prices.now,
        "then_per_hour": prices.then,
        "difference_per_hour": prices.difference,
        "odds": prices.odds,
        "meets": None if bought is None else bought.meets,
        "machines": None
        if bought is None
        else {machine.name: many for machine, many in bought.plan.bought.items()},
        "lower_bound_per_hour": None if bought is None else bought.plan.proven,
    }


def _list_machines(packed: JudgedPlan) -> Iterator[Row]:
    """A row for each machine, with what runs there."""
    for machine, content, predicted in zip(
        packed.plan.machines, packed.plan.contents, packed.prediction.machines, strict=True
    ):
        counted = Counter(packed.plan.instances.operators[index] for index in content)
        yield {
            Column("machine"): predicted.name,
            Column("price", "an hour"): f"{machine.price_per_hour:.3f}",
            Column("cores in use"): format_share(predicted.in_use),
            Column("runs", words=True): ", ".join(
                f"{many} {name}" for name, many in sorted(counted.items())
            ),
        }
