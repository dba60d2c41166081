"""``streamgauge calibrate`` makes profiles of what was measured, and ``profile`` shows them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli.options import AsJson, Conf, Config, Master, Start
from streamgauge.cli.output import check_outputs, present, say
from streamgauge.cli.profilers import resources, router
from streamgauge.cli.spark import spark_options
from streamgauge.errors import Findings, in_file

app = typer.Typer(
    help="Show what was measured, and measure what instances need and routers carry.",
    no_args_is_help=True,
)
app.command()(resources)
app.command()(router)


@app.command()
def show(
    file: Annotated[str, typer.Argument(help="A profile in JSON or YAML; - reads standard input.")],
    operator: Annotated[str | None, typer.Option(help="Only this operator, task by task.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page to this file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show a profile: rates, service times, routing, CPU; what is well measured and what is not."""
    from streamgauge.api.loading import load_profile
    from streamgauge.reports.profile import ProfileReport

    profile = load_profile(file)
    # Ackers are operators too where they were measured.
    if operator is not None and not profile.tasks_of(operator):
        with in_file(file):
            profile.topology.operator(operator)
    present(ProfileReport(profile=profile, operator=operator), as_json=as_json, html=html)


def calibrate(
    lake: Annotated[str, typer.Option(help="The lake, as a path or URI.")],
    topology: Annotated[str | None, typer.Option(help="Name of the topology.")] = None,
    every: Annotated[bool, typer.Option("--all", help="All topologies of the lake.")] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where the profile goes; with --all, a folder."),
    ] = None,
    start: Start = None,
    end: Annotated[str | None, typer.Option("--to", help="End of the period, exclusive.")] = None,
    for_plan: Annotated[
        Path | None,
        typer.Option(help="A job file: take the recorded plan most like the plan it has."),
    ] = None,
    warmup: Annotated[
        float, typer.Option(help="Most seconds to leave out as warm-up after a start or rebalance.")
    ] = 60.0,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse a period that spans several plans.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the resampling.")] = 0,
    master: Master = None,
    conf: Conf = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Turn what was measured into profiles: small files that predictions are made from."""
    from streamgauge.api.calibrate import calibrate as run

    _check(topology, output, every=every)
    with spark_options(master, conf, config) as options:
        report = run(
            lake,
            topology,
            output=output,
            start=start,
            end=end,
            for_plan=for_plan,
            warmup_seconds=warmup,
            strict=strict,
            seed=seed,
            spark=options,
            say=say,
        )
    present(report, as_json=as_json)


def _check(topology: str | None, output: Path | None, *, every: bool) -> None:
    findings = Findings()
    if every == (topology is not None):
        findings.add(
            "topology",
            seen="both --topology and --all" if every else "neither --topology nor --all",
            expected="one of them",
        )
    if output is None:
        findings.add("output", seen="no --output", expected="where the profile should go")
    findings.raise_if_any()
    if not every:
        check_outputs(output)
