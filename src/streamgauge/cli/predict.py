"""``streamgauge predict``: how a job would behave on a plan that has never run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from streamgauge.cli.output import in_file, print_document, warn
from streamgauge.cli.simulate import OVERLOADED, at_rate

if TYPE_CHECKING:
    from streamgauge.profile.profile import Profile
    from streamgauge.topology.physical_plan import PhysicalPlan
    from streamgauge.topology.workload import Workload


def predict(
    profile: Annotated[
        str, typer.Option(help="A profile in JSON or YAML; - reads standard input.")
    ],
    plan: Annotated[
        str | None,
        typer.Option(help="A job file with the plan to predict; the profile's own when not given."),
    ] = None,
    step: Annotated[str | None, typer.Option(help="Configure the plan as in this step.")] = None,
    rate: Annotated[
        float | None, typer.Option(help="Tuples per second of all sources together.")
    ] = None,
    model: Annotated[str, typer.Option(help="Which model predicts.")] = "analytic",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Predict latency with percentiles, utilisation and the highest rate of a plan."""
    from streamgauge.cli.prediction_tables import about, print_prediction, verdict_of
    from streamgauge.models.contract import load_model
    from streamgauge.profile.files.jobs import load_profile

    chosen = load_model(model)
    measured = load_profile(profile)
    placed, workload, load = _proposed(measured, plan, step)
    if rate is not None:
        workload, load = at_rate(workload, rate), "the given rate"
    with in_file(plan or profile):
        found = chosen.predict(measured, placed, workload)
    if as_json:
        print_document({"prediction": _finite(found.to_dict()), "verdict": verdict_of(found)})
    else:
        emitted = sum(one.per_second or 0.0 for one in workload.emissions)
        print_prediction(
            found,
            about(
                placed.logical.topology.name,
                len(placed.logical.executors),
                len(placed.workers),
                len(placed.nodes),
                chosen.name,
                f"{emitted:g} tuples/s ({load})",
            ),
        )
    if found.overloaded:
        raise typer.Exit(OVERLOADED)


def _proposed(
    profile: Profile, file: str | None, step: str | None
) -> tuple[PhysicalPlan, Workload, str]:
    """The plan and its load, and where the load comes from."""
    from streamgauge.errors import InvalidInput
    from streamgauge.models.source_plan import measured_plan, measured_workload

    if file is None:
        if step is not None:
            raise InvalidInput.single(
                ("--step",), seen=f"step {step!r} without --plan", expected="a job file with steps"
            )
        return measured_plan(profile), measured_workload(profile), "as measured"
    from streamgauge.planning.scheduling.deploy import place_job
    from streamgauge.profile.files.jobs import load_job

    job = load_job(file)
    with in_file(file):
        schedule = place_job(job if step is None else job.at_step(step))
    warn(schedule.warnings)
    if job.workload is not None:
        return schedule.plan, job.workload, "as the plan's file says"
    return schedule.plan, measured_workload(profile), "as measured"


def _finite(value: Any) -> Any:
    """The document without infinities and NaN, which JSON does not have: they become null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return value
