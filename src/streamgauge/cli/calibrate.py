"""``streamgauge calibrate``: the lake's samples become profiles."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from streamgauge.cli.ingest import moment
from streamgauge.cli.output import counted, make_folder, print_document, say, warn
from streamgauge.cli.spark import Conf, Config, Master, spark_session
from streamgauge.errors import Findings, NotEnoughData
from streamgauge.extras import require_extra

if TYPE_CHECKING:
    from streamgauge.lake.tables import Lake
    from streamgauge.pipeline.calibrate.choosing import Wish
    from streamgauge.pipeline.calibrate.job import Calibrated


def calibrate(
    lake: Annotated[str, typer.Option(help="The lake, as a path or URI.")],
    topology: Annotated[str | None, typer.Option(help="Name of the topology.")] = None,
    every: Annotated[bool, typer.Option("--all", help="All topologies of the lake.")] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where the profile goes; with --all, a folder."),
    ] = None,
    start: Annotated[str | None, typer.Option("--from", help="First time, RFC 3339.")] = None,
    end: Annotated[str | None, typer.Option("--to", help="Time to stop before.")] = None,
    for_plan: Annotated[
        Path | None,
        typer.Option(help="A job file: take the recorded plan most like the plan it has."),
    ] = None,
    warmup: Annotated[
        float, typer.Option(help="Seconds to leave out after a start or rebalance, at most.")
    ] = 60.0,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse a period that spans several plans.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Of the resampling.")] = 0,
    master: Master = None,
    conf: Conf = None,
    config: Config = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Turn what was measured into profiles: small files that predictions are made from."""
    with require_extra("pipeline"):
        from streamgauge.lake.tables import Lake

    _check(topology, output, every=every)
    wish = _wish(start, end, for_plan, warmup, strict=strict)
    source = Lake(lake)
    source.check_exists()
    rows = source.table("samples").snapshot().rows
    with spark_session("calibrate", master, conf, config, input_rows=rows) as spark:
        from streamgauge.pipeline.calibrate.job import calibrate as run

        made = run(spark, source, topology, wish, seed=seed, say=say)
        written, faults = write_profiles(source, made, output, every=every)
    if as_json:
        print_document({"profiles": written, "faults": faults})
    warn(f"{name}: {fault}" for name, fault in sorted(faults.items()))
    if not written:
        raise NotEnoughData(f"{source.uri}: no profile could be made of {len(faults)} topologies")
    if every:
        say(f"wrote {counted(len(written), 'profile')} to {output}")


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


def _wish(
    start: str | None, end: str | None, for_plan: Path | None, warmup: float, *, strict: bool
) -> Wish:
    from streamgauge.lake.plan_similarity import Seating
    from streamgauge.pipeline.calibrate.choosing import Wish
    from streamgauge.pipeline.calibrate.stretches import Period, WarmUp
    from streamgauge.pipeline.ingest.listing import EPOCH
    from streamgauge.topology.validation import check_number

    findings = Findings()
    check_number(findings, warmup, "warmup")
    if (start is None) != (end is None):
        findings.add("from", seen="only one of --from and --to", expected="both or neither")
    findings.raise_if_any()
    period = None
    if start is not None and end is not None:
        ends = [(moment(one, name) - EPOCH) for one, name in ((start, "from"), (end, "to"))]
        first, last = (round(one.total_seconds() * 1e6) for one in ends)
        period = Period(start_us=first, end_us=last)
    like = None
    if for_plan is not None:
        from streamgauge.planning.scheduling.deploy import place_job
        from streamgauge.profile.files.jobs import load_job

        like = Seating.of_plan(place_job(load_job(for_plan)).plan)
    return Wish(period=period, like=like, strict=strict, warm_up=WarmUp(seconds=warmup))


def write_profiles(
    lake: Lake, made: Iterable[Calibrated], output: Path | None, *, every: bool
) -> tuple[list[dict[str, str]], dict[str, str]]:
    """Write profiles as they come, here and in the lake; faults are gathered."""
    from streamgauge.lake.profiles import file_name, keep_profile

    assert output is not None
    if every:
        make_folder(output)
    written: list[dict[str, str]] = []
    faults: dict[str, str] = {}
    for one in made:
        name = one.topology if one.cluster is None else f"{one.cluster}/{one.topology}"
        if one.profile is None:
            faults[name] = one.fault or "no figures"
            continue
        path = output / f"{file_name(name)}.json" if every else output
        keep_profile(lake, name, one.profile, one.replicas)
        _put(path, one.profile, one.replicas)
        if not every:
            say(f"wrote {path}")
        written.append({"topology": name, "file": str(path)})
    return written, faults


def _put(path: Path, profile: str, replicas: tuple[str, bytes] | None) -> None:
    """The profile last: whoever sees it finds its replicas."""
    from streamgauge.topology.files.document import write_whole

    if replicas is not None:
        path.with_name(replicas[0]).write_bytes(replicas[1])
    write_whole(path, profile)
