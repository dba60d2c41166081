"""`sg.sweep`: thousands of plans under several loads, here or on Spark, and the best of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from streamgauge.api.loading import describe_job
from streamgauge.api.simulator import Say, stay_silent
from streamgauge.api.spark import HERE, SparkOptions, open_session
from streamgauge.drawing.wording import count
from streamgauge.errors import InvalidInput, NotEnoughData
from streamgauge.extras import require_extra
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.parameter_noise import is_parameter
from streamgauge.planning.sweeping.choice import check_figure, read_conditions
from streamgauge.planning.sweeping.sweep import COST, Block, Sweep
from streamgauge.profile.changed_figures import change_figures
from streamgauge.profile.job import Job
from streamgauge.profile.profile import Profile
from streamgauge.reports.sweep import SweepReport
from streamgauge.topology.files.document import read_document

if TYPE_CHECKING:
    import pyarrow as pa

    from streamgauge.lake.sweep_results import SweepResults

# About how long a case takes by a model, in seconds: to know where Spark is worth its start.
USUAL_SECONDS = {COST: 2e-6, "simulation": 10.0}
OTHER_SECONDS = 0.05
WORTH_SPARK_SECONDS = 120.0


def sweep(
    file: str | Path,
    *,
    best: str | None = None,
    where: str = "",
    output: str | Path | None = None,
    on_spark: bool | None = None,
    spark: SparkOptions = HERE,
    say: Say = stay_silent,
) -> SweepReport:
    """Evaluate plans × rates × models × replicas, and choose.

    Args:
        file: The sweep's file.
        best: The figure that decides: ``p99``, ``cost``, ``limit`` …; by default p99 where a model
            predicts latency, else the cost.
        where: Conditions that the best must meet, such as ``cost<8 and saturation<0.8``.
        output: A folder that keeps the results, as a Delta table. A sweep that was stopped goes on
            there.
        on_spark: Whether Spark evaluates; by default where one process would take minutes.
        spark: Where Spark runs.
        say: Takes what is being done, in words.

    Raises:
        InvalidInput: The file is wrong, or another than that which was swept in the folder.
        NotEnoughData: No load is known, or replicas that are not there are asked for.
        MissingExtra: A package is not installed.
    """
    from streamgauge.planning.sweeping.files.sweep_file import load_sweep

    conditions = read_conditions(where)
    if best is not None:
        check_figure(best, "--best")
    wanted = load_sweep(file, load_job)
    with require_extra("lake"):
        import pyarrow as pa

        from streamgauge.api.sweep_rows import SCHEMA, evaluate_block
    results, left = _open_results(wanted, output)
    evaluate = partial(evaluate_block, wanted)
    found: list[pa.Table] = []
    if on_spark is None:
        on_spark = _guess_seconds(wanted, left) > WORTH_SPARK_SECONDS
    total = sum(block.stop - block.start for block in left)
    say(f"{count(total, 'case')} to evaluate{' on Spark' if on_spark and left else ''}")
    for table in _evaluate(evaluate, left, SCHEMA, spark, on_spark=on_spark):
        if results is None:
            found.append(table)
        else:
            results.append(table)
        total -= len(table)
        say(f"{count(total, 'case')} left")
    rows = pa.concat_tables(found) if results is None else results.read()
    return SweepReport.of(wanted, rows, best=best, conditions=conditions, folder=str(output or ""))


def _evaluate(
    evaluate: Callable[[Block], pa.Table],
    blocks: list[Block],
    schema: pa.Schema,
    spark: SparkOptions,
    *,
    on_spark: bool,
) -> Iterator[pa.Table]:
    if not on_spark or not blocks:
        yield from map(evaluate, blocks)
        return
    by_number = {block.number: block for block in blocks}
    with open_session("sweep", spark) as session:
        from streamgauge.pipeline.sweeps import evaluate_blocks

        def evaluate_number(number: int) -> pa.Table:
            return evaluate(by_number[number])

        yield from evaluate_blocks(session, list(by_number), evaluate_number, schema)


def _guess_seconds(wanted: Sweep, blocks: list[Block]) -> float:
    return sum(
        USUAL_SECONDS.get(block.model, OTHER_SECONDS) * (block.stop - block.start)
        for block in blocks
    )


def _open_results(
    wanted: Sweep, output: str | Path | None
) -> tuple[SweepResults | None, list[Block]]:
    """Where results are kept, and blocks that are not there yet.

    Raises:
        InvalidInput: The folder has results of another sweep.
    """
    blocks = list(wanted.blocks())
    if output is None:
        return None, blocks
    from streamgauge.experiments.journal import list_changes
    from streamgauge.lake.sweep_results import SweepResults

    results = SweepResults(Path(output))
    before, now = results.read_description(), dict(wanted.described)
    if before is None:
        results.write_description(now)
        return results, blocks
    changes = list_changes(before, now)
    if changes:
        raise InvalidInput.single(
            (),
            file=str(output),
            seen="a sweep that has changed since it was begun: " + "; ".join(changes),
            expected="the sweep that was begun there",
            remedy="undo the change, or name another folder with --output",
        )
    done = results.done()
    return results, [block for block in blocks if block.number not in done]


def load_job(path: Path, step: str | None, replicas: int) -> tuple[Job, tuple[JobBehaviour, ...]]:
    """The job of a file under its load, and what its operators do, by replica."""
    described = describe_job(read_document(path), step=step)
    job, profile = described.job, described.profile
    if job.workload is None:
        raise NotEnoughData(
            f"{path.name} does not say what its sources emit: add a workload, which rates share"
        )
    if profile is None:
        if replicas > 1:
            raise InvalidInput.single(
                ("replicas",),
                seen=f"{replicas} replicas of a job that is only declared",
                expected="one; replicas are of what was measured",
                remedy="name a profile as the job",
            )
        return job, (JobBehaviour.from_job(job),)
    if replicas == 1:
        return job, (JobBehaviour.from_profile(profile),)
    return job, _resample(profile, path.parent, replicas)


def _resample(profile: Profile, folder: Path, replicas: int) -> tuple[JobBehaviour, ...]:
    """Behaviours of the first replicas of a profile."""
    known = profile.replicas
    if known is None or not known.file or known.count < replicas:
        there = 0 if known is None or not known.file else known.count
        raise NotEnoughData(f"{replicas} replicas are asked for, and the profile has {there}")
    with require_extra("lake"):
        from streamgauge.lake.replica_files import read_replicas
    resampled = read_replicas(profile, str(folder))
    behaviours = []
    for index in range(replicas):
        changed = {
            path: value for path, value in resampled.replica(index).items() if is_parameter(path)
        }
        behaviours.append(JobBehaviour.from_profile(change_figures(profile, changed)))
    return tuple(behaviours)
