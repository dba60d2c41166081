"""``streamgauge calibrate``: the lake's samples become profiles."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli.output import check_outputs, present, say
from streamgauge.cli.spark import Conf, Config, Master, spark_options
from streamgauge.errors import Findings


def calibrate(
    lake: Annotated[str, typer.Option(help="The lake, as a path or URI.")],
    topology: Annotated[str | None, typer.Option(help="Name of the topology.")] = None,
    every: Annotated[bool, typer.Option("--all", help="All topologies of the lake.")] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where the profile goes; with --all, a folder."),
    ] = None,
    start: Annotated[
        str | None, typer.Option("--from", help="Start of the period, RFC 3339.")
    ] = None,
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
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
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
