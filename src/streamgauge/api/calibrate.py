"""``calibrate``: what was measured becomes profiles, small files that predictions are made from."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from streamgauge.api.loading import JobLike, TimeLike, load_plan, microseconds_of, read_time
from streamgauge.api.simulator import Say, stay_silent
from streamgauge.api.spark import HERE, SparkOptions, open_session
from streamgauge.errors import Findings, InvalidInput, NotEnoughData
from streamgauge.extras import require_extra
from streamgauge.profile.files.jobs import parse_profile
from streamgauge.profile.quality import ProfileQuality, assess_profile
from streamgauge.reports.calibration import CalibratedProfile, CalibrationReport
from streamgauge.topology.field_checks import check_number
from streamgauge.topology.files.document import check_writable, make_folder, write_whole

if TYPE_CHECKING:
    from streamgauge.lake.tables import Lake
    from streamgauge.pipeline.calibrate.job import Calibrated
    from streamgauge.pipeline.calibrate.periods import Wish


def calibrate(
    lake: str | Path,
    topology: str | None = None,
    *,
    output: str | Path | None = None,
    start: TimeLike | None = None,
    end: TimeLike | None = None,
    for_plan: JobLike | None = None,
    warmup_seconds: float = 60.0,
    strict: bool = False,
    seed: int = 0,
    spark: SparkOptions = HERE,
    say: Say = stay_silent,
) -> CalibrationReport:
    """Turn what was measured into profiles, on Spark; the lake keeps them, too.

    Args:
        lake: The lake, as a path or URI.
        topology: Name of the topology; all of the lake where none is named.
        output: Where the profile goes; without a topology, the folder for all of them.
        start: First time to take into account, with its zone; give both ends or neither.
        end: Time to stop before.
        for_plan: A job: take the recorded plan that is most like the plan it has.
        warmup_seconds: What to leave out after a start or rebalance, at most.
        strict: Refuse a period that spans several plans.
        seed: Of the resampling.
        spark: Where Spark runs.
        say: Takes what is being done, in words.

    Raises:
        NotEnoughData: The lake has too little to make any profile.
        InvalidInput: There is no lake, the arguments contradict each other, or a file cannot be
            written.
        JobFailed: Spark could not finish.
        MissingExtra: Spark is not installed.
    """
    with require_extra("pipeline"):
        from streamgauge.lake.tables import Lake
        from streamgauge.pipeline.calibrate.job import calibrate as run

    wish = _choose_period(start, end, for_plan, warmup_seconds, strict=strict)
    source = Lake(lake)
    source.check_exists()
    rows = source.table("samples").snapshot().rows
    target = None if output is None else Path(output)
    if target is not None:
        make_folder(target) if topology is None else check_writable(target)
    with (
        open_session("calibrate", spark, input_rows=rows) as session,
        # Closed before the session ends, which has to forget what was cached.
        closing(run(session, source, topology, wish, seed=seed, say=say)) as made,
    ):
        report = _write_profiles(source, made, target, every=topology is None, say=say)
    if not report.profiles:
        listed = "; ".join(f"{name}: {fault}" for name, fault in report.faults.items())
        raise NotEnoughData(
            f"{source.uri}: no profile could be made of {len(report.faults)} topologies: {listed}"
        )
    return report


def _choose_period(
    start: TimeLike | None,
    end: TimeLike | None,
    for_plan: JobLike | None,
    warmup_seconds: float,
    *,
    strict: bool,
) -> Wish:
    from streamgauge.lake.plans import PlanLayout
    from streamgauge.pipeline.calibrate.periods import Period, WarmUp, Wish

    findings = Findings()
    check_number(findings, warmup_seconds, "warmup")
    if (start is None) != (end is None):
        findings.add("from", seen="only one of --from and --to", expected="both or neither")
    findings.raise_if_any()
    period = None
    if start is not None and end is not None:
        first, last = read_time(start, "from"), read_time(end, "to")
        period = Period(start_us=microseconds_of(first), end_us=microseconds_of(last))
    like = None if for_plan is None else PlanLayout.of_plan(load_plan(for_plan).plan)
    return Wish(period=period, like=like, strict=strict, warm_up=WarmUp(seconds=warmup_seconds))


def _write_profiles(
    lake: Lake, made: Iterable[Calibrated], output: Path | None, *, every: bool, say: Say
) -> CalibrationReport:
    """Write profiles as they are made, here and in the lake; topologies without one are listed."""
    from streamgauge.lake.profile_names import file_name
    from streamgauge.lake.profiles import keep_profile

    profiles: list[CalibratedProfile] = []
    faults: dict[str, str] = {}
    for result in made:
        name = result.topology if result.cluster is None else f"{result.cluster}/{result.topology}"
        if result.profile is None:
            faults[name] = result.fault or "no figures"
            continue
        uri = keep_profile(lake, name, result.profile, result.replicas)
        path = output / f"{file_name(name)}.json" if every and output is not None else output
        if path is not None:
            _write_profile(path, result.profile, result.replicas)
            say(f"wrote {path}")
        quality = ProfileQuality.of(assess_profile(parse_profile(result.profile, name)))
        profiles.append(CalibratedProfile(topology=name, uri=uri, file=path, quality=quality))
    return CalibrationReport(
        lake=lake.uri,
        profiles=tuple(profiles),
        faults=faults,
        warnings=[f"{name}: {fault}" for name, fault in sorted(faults.items())],
    )


def _write_profile(path: Path, profile: str, replicas: tuple[str, bytes] | None) -> None:
    """Write the profile last: where it is, its replicas are, too."""
    if replicas is None:
        write_whole(path, profile)
        return
    beside = path.with_name(replicas[0])
    was_there = beside.exists()
    write_whole(beside, replicas[1])
    try:
        write_whole(path, profile)
    except InvalidInput:
        if not was_there:
            beside.unlink()
        raise
