"""``streamgauge profile``: look at what was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from streamgauge.cli.output import in_file, print_document

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamgauge.profile.profile import Profile
    from streamgauge.profile.quality import Assessment

app = typer.Typer(help="Look at what was measured.", no_args_is_help=True)


# Without this, a group of one command would be that command.
@app.callback()
def _group() -> None:
    """Look at what was measured."""


@app.command()
def show(
    file: Annotated[str, typer.Argument(help="A profile in JSON or YAML; - reads standard input.")],
    operator: Annotated[str | None, typer.Option(help="Only this operator, task by task.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Show a profile: rates, service times, routing, CPU; what is well measured and what is not."""
    from streamgauge.profile.files.jobs import load_profile
    from streamgauge.profile.quality import assess_profile

    profile = load_profile(file)
    if operator is not None:
        with in_file(file):
            _check_operator(profile, operator)
    assessments = [
        one for one in assess_profile(profile) if operator is None or one.operator == operator
    ]
    if as_json:
        print_document(profile_document(profile, assessments, operator))
        return
    from streamgauge.cli.profile_tables import print_operator, print_profile

    if operator is None:
        print_profile(profile, assessments)
    else:
        print_operator(profile, operator, assessments)


def profile_document(
    profile: Profile, assessments: Sequence[Assessment], operator: str | None = None
) -> dict[str, Any]:
    """The profile as its file holds it, and what is to be thought of its figures.

    With an operator, the tasks of all others are left out.
    """
    from streamgauge.profile.files.jobs import profile_to_data

    data = profile_to_data(profile)
    if operator is not None:
        seen = data["profile"].get("operators", {})
        data["profile"]["operators"] = {name: seen[name] for name in seen if name == operator}
    return {"profile": data, "quality": [one.to_dict() for one in assessments]}


def _check_operator(profile: Profile, operator: str) -> None:
    """Ackers are operators too where they were measured."""
    if not profile.tasks_of(operator):
        profile.topology.operator(operator)
