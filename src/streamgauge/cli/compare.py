"""``streamgauge compare``: which of several proposed plans is best, by one model or by vote.

N-version planning (Cooper 2020, section 6.2): plans of several schedulers or people are judged
before any of them is deployed, and a model that errs can be outvoted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from streamgauge.cli.output import in_file, print_document, print_table, printable, say, warn
from streamgauge.cli.predict import chosen_models, predictions_of
from streamgauge.cli.simulate import OVERLOADED

if TYPE_CHECKING:
    from streamgauge.cli.proposed import Proposed
    from streamgauge.models.contract import Model
    from streamgauge.models.prediction import Prediction
    from streamgauge.models.ranking import Ranking
    from streamgauge.profile.profile import Profile

STEP_MARK = "@"


def compare(
    plans: Annotated[
        list[str],
        typer.Argument(help="Job files with plans of the profile's topology; FILE@STEP for a step"),
    ],
    profile: Annotated[
        str | None, typer.Option(help="A profile in JSON or YAML; - reads standard input.")
    ] = None,
    lake: Annotated[
        str | None,
        typer.Option(help="Instead of --profile: a lake, of whose profiles the most alike serves."),
    ] = None,
    topology: Annotated[
        str | None, typer.Option(help="With --lake: whose profiles; as in the plans by default.")
    ] = None,
    rate: Annotated[
        list[str] | None,
        typer.Option(help="Tuples per second of all sources together, or SOURCE=NUMBER."),
    ] = None,
    by: Annotated[
        str, typer.Option(help="What counts: mean, p50, p90, p95, p99, or rate (the highest).")
    ] = "p99",
    model: Annotated[
        str, typer.Option(help="Which model judges; all: everyone has a vote.")
    ] = "analytic",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Rank several proposed plans, and say what the majority of models prefers."""
    from streamgauge.cli.prediction_report import finite
    from streamgauge.cli.proposed import find_profile, place_file, proposed
    from streamgauge.models.ranking import rank

    models = chosen_models(model)
    placed = []
    for text in plans:
        file, _, step = text.rpartition(STEP_MARK) if STEP_MARK in text else (text, "", "")
        placed.append(place_file(file, step or None))
    source, which = find_profile(profile, lake, topology, placed[0])
    if lake is not None:
        say(which)
    # Files are called by their names, or by their paths where names do not tell them apart.
    short = [one.name for one in placed]
    names = short if len(set(short)) == len(short) else plans
    wanted: dict[str, Proposed] = {}
    found: dict[str, list[Prediction]] = {}
    # In the order in which they came up; said once, however many plans a model cannot judge.
    silent: dict[str, None] = {}
    for text, name, one in zip(plans, names, placed, strict=True):
        with in_file(text):
            wanted[name] = proposed(one, source, rate or ())
            found[name] = _judged(models, source, wanted[name], silent)
    warn(silent)
    ranking = rank(found, by=by)
    if as_json:
        print_document(
            {
                "preferred": ranking.preferred,
                "by": ranking.by,
                "votes": dict(ranking.votes),
                "ranking": list(ranking.order),
                "plans": {
                    name: [finite(one.to_dict()) for one in predictions]
                    for name, predictions in found.items()
                },
                "profile": which,
            }
        )
    else:
        _print(ranking, wanted, found)
    if found[ranking.preferred][0].overloaded:
        raise typer.Exit(OVERLOADED)


def _judged(
    models: list[Model], profile: Profile, wanted: Proposed, silent: dict[str, None]
) -> list[Prediction]:
    """What the models say: the first one must, others may have nothing to say of such a plan."""
    first = models[0].predict(profile, wanted.plan, wanted.workload)
    others, why_not = predictions_of(models[1:], profile, wanted)
    silent.update(dict.fromkeys(why_not))
    return [first, *others]


def _print(
    ranking: Ranking, wanted: dict[str, Proposed], found: dict[str, list[Prediction]]
) -> None:
    from streamgauge.cli.seen import (
        any_duration,
        any_share,
        busiest_of,
        highest_rate,
        mean_of,
        percentile,
        quantile_of,
        verdict_parts,
    )

    print(printable(verdict(ranking, found)))
    print()
    levels = (0.5, 0.9, 0.99)
    print_table(
        f"Plans, the best first by {ranking.by} of {found[ranking.preferred][0].model}",
        ["plan", "executors", "verdict", "mean", *map(percentile, levels), "busiest", "up to"],
        [
            [
                name,
                len(wanted[name].plan.logical.executors),
                verdict_parts(one)[0],
                mean_of(one.latency),
                *(any_duration(quantile_of(one.latency, level)) for level in levels),
                any_share(busiest_of(one)),
                highest_rate(one.limit.per_second),
            ]
            for name in ranking.order
            for one in found[name][:1]
        ],
    )
    if len(ranking.votes) > 1:
        print_table("Votes", ["model", "prefers"], [[*pair] for pair in ranking.votes.items()])


def verdict(ranking: Ranking, found: dict[str, list[Prediction]]) -> str:
    """What it comes to, in one sentence or two."""
    from streamgauge.cli.prediction_verdict import verdict_of

    first = found[ranking.preferred][0]
    models = len(ranking.votes)
    who = f"{first.model} prefers"
    if models > 1:
        who = f"{ranking.majority} of {models} models prefer"
    text = f"{who} {ranking.preferred}."
    if models > 1 and ranking.order[0] != ranking.preferred:
        text += f" {first.model} alone would take {ranking.order[0]}."
    if ranking.equals:
        text += f" As good: {', '.join(ranking.equals)}."
    if first.overloaded:
        text += f" But no plan carries the load. {verdict_of(first)}"
    return text
